"""Every saved array of every agent, perturbed: the file is refused, or every public call works on what was loaded."""

import numpy as np
import pytest

from helpers import perturbed, registry_cases as cases, toys
from unipac import AGENTS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # assumptions that perturbed data refute

KINDS = tuple(cases.MAKERS)
FIRST = [cases.MAKERS[kind](AGENTS[name])[0] for kind in KINDS for name in cases.names(kind)]
SAMPLED = 25
"""One in so many files is tried where it must be quick."""


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_perturbed_files_are_refused_or_work(case, tmp_path):
    tried, accepted = perturbed.check_perturbed(case, tmp_path, SAMPLED)
    assert tried > 1
    assert accepted < tried


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for kind in KINDS for case in cases.all_cases(kind)], ids=str)
def test_all_perturbed_files_are_refused_or_work(case, tmp_path):
    tried, accepted = perturbed.check_perturbed(case, tmp_path)
    assert 0 < accepted < 0.6 * tried


@pytest.mark.parametrize("cls", [toys.ToyBandit, toys.ToyMDP, toys.ToySearch], ids=lambda cls: cls.__name__)
def test_an_agent_of_a_users_passes(cls, tmp_path):
    case = cases.MAKERS[cls.kind](cls)[0]
    tried, accepted = perturbed.check_perturbed(case, tmp_path)
    assert 0 < accepted < tried


def try_deployments(folder, part):
    rng, answers = np.random.default_rng(1), []
    for word, content in perturbed.deployment_files(rng, folder / "whole.npz"):
        if rng.integers(part) == 0:
            try:
                answers.append(perturbed.held_deployment(content, folder / "deployment.npz"))
            except AssertionError as error:
                raise AssertionError(f"{word}: {error}") from error
    assert 0 < sum(answers) < len(answers)


def test_perturbed_deployments_are_refused_or_work(tmp_path):
    try_deployments(tmp_path, 8)


@pytest.mark.slow
def test_all_perturbed_deployments_are_refused_or_work(tmp_path):
    try_deployments(tmp_path, 1)


def test_every_type_of_array_is_perturbed_in_every_way():
    """No saved array is left out, and each way is tried on some."""
    words, left_out = set(), []
    for case in FIRST:
        agent = perturbed.crafted.brought(case, perturbed.HOW_FAR[case.cls.kind][0])
        for name, array in perturbed.crafted.contents(agent)[1].items():
            found = perturbed.ways(array)
            words |= {(array.dtype.kind, word) for word in found}
            left_out += [(str(case), name)] if array.size and len(found) < 3 else []
    assert not left_out
    assert {(kind, word) for kind, ways in perturbed.BY_TYPE.items() for word in ways} <= words

"""The contract of bandit agents, held against every one in the registry."""

import math

import pytest

import unipac
from helpers import any_checks, bandit_checks, registry_cases as cases

NAMES = cases.names("bandit")
CASES = cases.all_cases("bandit")
OTHERS = [case for case in CASES if case.label not in NAMES]
REFUTED = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")


def plain(name):
    return cases.bandit_case(unipac.AGENTS[name], name)


@pytest.mark.boundscheck
@REFUTED
@pytest.mark.parametrize("case", CASES, ids=str)
def test_play_is_the_loop(case):
    bandit_checks.check_play_is_the_loop(case)


@REFUTED
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("word", [word for word in bandit_checks.CHECKS if word != "play is the loop"])
def test_promises(name, word):
    bandit_checks.CHECKS[word](plain(name))


@pytest.mark.boundscheck
@REFUTED
@pytest.mark.parametrize("case", OTHERS, ids=str)
@pytest.mark.parametrize("word", ["times", "late rewards", "bounds"])
def test_promises_with_other_parameters(case, word):
    bandit_checks.CHECKS[word](case)


@pytest.mark.parametrize("case", [c for c in OTHERS if "reward_range" not in c.parameters], ids=str)
def test_certificates_with_other_parameters(case):
    bandit_checks.check_certificates(case, runs=20)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if "reward_range" not in c.parameters], ids=str)
def test_certificates_in_many_runs(case):
    bandit_checks.check_certificates(case, runs=200)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_not_certified_has_no_certificate(case):
    """Also in the very round in which rewards, far too large, are found to refute the assumptions."""
    agent = case.make()
    for t in range(40):
        decision = agent.choose(bandit_checks.offered(case, t))
        assert decision.certified or math.isnan(decision.certificate)
        agent.update(decision, reward=bandit_checks.far_off(agent, t))


@REFUTED
@pytest.mark.parametrize("case", CASES, ids=str)
def test_copies_and_files_go_on_alone(case, tmp_path):
    bandit_checks.check_goes_on(case, any_checks.WAYS, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_never_reused(name, tmp_path):
    bandit_checks.check_ids(plain(name), tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_says_what_is_proven(case):
    any_checks.check_says_what_is_proven(case)
    any_checks.check_parameters_are_fields(case)


@pytest.mark.parametrize("name", NAMES)
def test_is_documented(name):
    any_checks.check_is_documented(name, unipac.AGENTS[name])

"""OFUL makes the decisions of the slow transcription in ``helpers.judges.levelled``."""

import functools

import numpy as np
import pytest

import unipac
from helpers import levelled
from helpers.judges.levelled import FastNaiveAgent
from helpers.levelled import KINDS

TIGHT = {
    "determinant": (unipac.OFUL, {}, "single", "determinant", {}),
    "mixture": (unipac.OFUL, {"radius": "mixture"}, "single", "mixture", {}),
    "scaled": (unipac.OFUL, {"radius": "mixture", "bonus_scale": 0.3}, "single", "mixture", {}),
}
VARIANTS = {
    "determinant": (unipac.OFUL, {"tight": False}, "single", "determinant", {}),
    "mixture": (unipac.OFUL, {"radius": "mixture", "tight": False}, "single", "mixture", {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rounds", [400, pytest.param(1000, marks=pytest.mark.slow)])
def test_decides_as_the_pseudo_code(rounds, variant, kind):
    levelled.check_decisions(VARIANTS[variant], kind, 8 + [*VARIANTS].index(variant), rounds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", TIGHT)
@pytest.mark.parametrize("told", [{}, {"reward_range": (-1.0, 1.0)}, {"rewards_within": (0.0, 1.0)}], ids=str)
def test_with_sets_it_decides_and_certifies_as_the_pseudo_code(told, variant, kind):
    number = 8 + [*TIGHT].index(variant)
    by_a = levelled.check_tight_run(TIGHT[variant], kind, number, 120, **told)
    assert by_a > 10 or variant == "determinant" or kind != "unit"


def test_the_choices_of_the_paper_do_not_depend_on_the_sets():
    instance = unipac.envs.sphere(4, 8, noise=0.3, seed=1)
    tight, plain = (
        unipac.OFUL(4, noise=0.3, tight=tight).play(instance, rounds=500) for tight in (True, False)
    )
    assert (tight.index == plain.index).all()
    assert np.median(tight.certificate[-100:]) < np.median(plain.certificate[-100:]) / 1.5


@pytest.mark.parametrize("rounds", [1500, pytest.param(5000, marks=pytest.mark.slow)])
def test_thousands_of_rounds(rounds):
    levelled.check_many_rounds(VARIANTS["determinant"], rounds)


@pytest.mark.nojit
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_judge_with_lists_agrees_too(variant):
    levelled.check_by_lists(VARIANTS[variant])


def test_the_judge_can_say_no():
    """Negative control: a wrong regularization, a wrong radius."""
    levelled.check_judge_says_no(
        functools.partial(unipac.OFUL, tight=False),
        FastNaiveAgent(3, "single", "determinant", regularization=1.01),
        FastNaiveAgent(3, "single", "mixture"),
    )

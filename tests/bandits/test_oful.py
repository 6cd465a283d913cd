"""OFUL makes the decisions of the slow transcription in ``helpers.judges.levelled``."""

import pytest

import unipac
from helpers import levelled
from helpers.judges.levelled import FastNaiveAgent
from helpers.levelled import KINDS

VARIANTS = {
    "determinant": (unipac.OFUL, {}, "single", "determinant", {}),
    "mixture": (unipac.OFUL, {"radius": "mixture"}, "single", "mixture", {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rounds", [400, pytest.param(1000, marks=pytest.mark.slow)])
def test_decides_as_the_pseudo_code(rounds, variant, kind):
    levelled.check_decisions(VARIANTS[variant], kind, 8 + [*VARIANTS].index(variant), rounds)


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
        unipac.OFUL,
        FastNaiveAgent(3, "single", "determinant", regularization=1.01),
        FastNaiveAgent(3, "single", "mixture"),
    )

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
def test_decides_as_the_pseudo_code(variant, kind):
    levelled.check_decisions(VARIANTS[variant], kind, 8 + [*VARIANTS].index(variant))


def test_thousands_of_rounds():
    levelled.check_thousands_of_rounds(VARIANTS["determinant"])


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

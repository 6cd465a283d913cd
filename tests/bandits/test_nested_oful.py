"""NestedOFUL makes the decisions of the slow transcription in ``helpers.judges.levelled``."""

import functools

import numpy as np
import pytest

import unipac
from helpers import levelled
from helpers.actions import action_sets
from helpers.judges.levelled import FastNaiveAgent
from helpers.levelled import KINDS

TIGHT = {
    "mixture": (unipac.NestedOFUL, {}, "nested", "mixture", {}),
    "determinant": (unipac.NestedOFUL, {"radius": "determinant"}, "nested", "determinant", {}),
    "scaled": (unipac.NestedOFUL, {"bonus_scale": 0.3}, "nested", "mixture", {}),
}
VARIANTS = {
    "mixture": (unipac.NestedOFUL, {"tight": False}, "nested", "mixture", {"all_data": True}),
    "levels": (unipac.NestedOFUL, {"all_data": False}, "nested", "mixture", {}),
    "determinant": (
        unipac.NestedOFUL, {"radius": "determinant", "tight": False}, "nested", "determinant", {"all_data": True}),
    "theorem": (
        unipac.NestedOFUL, {"radius": "theorem", "tight": False}, "nested", "theorem", {"all_data": True}),
    "scaled": (
        unipac.NestedOFUL, {"bonus_scale": 0.3, "tight": False}, "nested", "mixture", {"all_data": True}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rounds", [400, pytest.param(1000, marks=pytest.mark.slow)])
def test_decides_as_the_pseudo_code(rounds, variant, kind):
    levelled.check_decisions(VARIANTS[variant], kind, 3 + [*VARIANTS].index(variant), rounds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", TIGHT)
@pytest.mark.parametrize("told", [{}, {"reward_range": (-1.0, 1.0)}, {"rewards_within": (0.0, 1.0)}], ids=str)
def test_with_sets_it_decides_and_certifies_as_the_pseudo_code(told, variant, kind):
    number = 3 + [*TIGHT].index(variant)
    by_a = levelled.check_tight_run(TIGHT[variant], kind, number, 120, **told)
    assert by_a > 10 or kind != "unit"


@pytest.mark.parametrize("rounds", [1500, pytest.param(5000, marks=pytest.mark.slow)])
def test_thousands_of_rounds(rounds):
    levelled.check_many_rounds(VARIANTS["mixture"], rounds)


@pytest.mark.nojit
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_judge_with_lists_agrees_too(variant):
    levelled.check_by_lists(VARIANTS[variant])


@pytest.mark.parametrize("action_norm", [0.01, 30.0])
def test_other_norm_bounds(action_norm):
    rng = np.random.default_rng(8)
    agent, judge = levelled.pair(
        VARIANTS["mixture"], 3, action_norm=action_norm, norm=0.5, regularization=4.0
    )
    X = action_norm * action_sets(rng, 3, 500, 5, "repeats")
    levelled.check_run(agent, judge, X, X @ np.full(3, 0.2) + rng.standard_normal((500, 1)))


def test_the_judge_can_say_no():
    """Negative control: a wrong regularization, a wrong rule of levels."""
    levelled.check_judge_says_no(
        functools.partial(unipac.NestedOFUL, tight=False),
        FastNaiveAgent(3, "nested", "mixture", regularization=1.01, all_data=True),
        FastNaiveAgent(3, "disjoint", "mixture", all_data=True),
    )

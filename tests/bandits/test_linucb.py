"""LinUCB decides as its formula."""

import numpy as np

import unipac
from helpers import levelled
from helpers.actions import action_sets
from helpers.judges.levelled import FastNaiveAgent
from helpers.levelled import check_run


def test_linucb_decides_as_its_formula():
    rng = np.random.default_rng(3)
    agent = unipac.LinUCB(4, alpha=0.7, regularization=0.1)
    judge = FastNaiveAgent(4, "single", None, regularization=0.1, alpha=0.7)
    X = action_sets(rng, 4, 1000, 6, "norms")
    check_run(agent, judge, X, X @ np.full(4, 0.5) + rng.standard_normal((1000, 1)))


def test_the_judge_can_say_no():
    """Negative control: another width of the bonus."""
    levelled.check_judge_says_no(unipac.LinUCB, FastNaiveAgent(3, "single", None, alpha=1.01))

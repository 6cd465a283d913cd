"""OPPQ asks for what the transcription in ``helpers.judges.planning`` asks for, and answers as it does."""

import numpy as np
import pytest
from scipy.stats import binom

import unipac
from helpers import planners
from helpers.judges import planning as judges
from helpers.planners import anchored, planned, signed
from unipac.pac import oppq, planning

pytestmark = pytest.mark.nojit


def judge(world, eps, delta, trail):
    return judges.oppq(world, eps, delta, trail)


@pytest.mark.parametrize("kind", ["anchored", "table"])
def test_asks_and_answers_as_the_pseudo_code(kind):
    planners.check_asks_and_answers(unipac.OPPQ, judge, kind)


def test_the_judge_can_say_no():
    planners.check_judge_says_no(unipac.OPPQ, judge)


def test_coefficients_of_both_signs_are_refused():
    for discount in (0.5, 0.3, 0.6):
        with pytest.raises(ValueError, match="coefficients must be >= 0"):
            unipac.OPPQ.made_for(signed(discount), eps=0.5)


def test_on_its_event_oppq_is_below_in_every_run(monkeypatch):
    """Where all means are within their widths, V ≤ V^π for sure: no run may break it. The widths are cut so that
    the event fails in some runs; with all of it, in none of these 40."""
    mdp = anchored(0.7, seed=4)
    rows = mdp.transitions.reshape(10, 5)[mdp.anchors]
    held = []
    for share in (0.5, 1.0):
        event = True

        def means(counts, value, failure):
            nonlocal event
            w, e = planning.means(counts, value, failure)
            event &= bool((np.abs(w - rows @ value) <= share * e + 1e-12).all())  # noqa: B023
            return w, share * e  # noqa: B023

        monkeypatch.setattr(oppq, "means", means)
        for seed in range(40):
            event = True
            answer = unipac.OPPQ.made_for(mdp, eps=0.5, delta=0.5).run(mdp, seed=seed, max_pulls=10**9)
            if event:
                value = mdp.policy_value(answer.policy)
                assert (answer.lower <= value + 1e-12).all()
                assert (mdp.optimal_value() - value).max() <= answer.certificate + 1e-12
            held.append(event)
    assert 0 < sum(held[:40]) < 40
    assert all(held[40:])


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "eps"), [(0.5, 0.1), (0.8, 0.3), (0.9, 0.5)])
def test_the_lower_value_of_oppq_is_below_in_200_runs(discount, eps):
    """Null: it is not, with probability at most δ = .05; 200 runs, false alarms at most 1e-6."""
    found = planned(discount, eps, range(200), "OPPQ")
    assert sum(not below or gap > eps for _, gap, below in found) <= binom.isf(1e-6, 200, 0.05)
    pulls, gaps, below = map(np.array, zip(*found, strict=True))
    print(discount, eps, pulls.mean(), pulls.max(), (gaps > eps).sum(), gaps.max(), (~below).sum())

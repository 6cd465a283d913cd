"""CertifiedPlanning asks for what the transcription in ``helpers.judges.planning`` asks for, and answers as it does."""

import numpy as np
import pytest
from scipy.stats import binom

import unipac
from helpers import planners
from helpers.judges import planning as judges
from helpers.planners import WORLDS, hard, planned, wrong_runs
from unipac import envs
from unipac.pac import certified_planning, planning

pytestmark = pytest.mark.nojit


def judge(world, eps, delta, trail):
    return judges.certified_planning(world, eps, delta)


@pytest.mark.parametrize("kind", WORLDS)
def test_asks_and_answers_as_the_pseudo_code(kind):
    planners.check_asks_and_answers(unipac.CertifiedPlanning, judge, kind)


def test_the_judge_can_say_no():
    planners.check_judge_says_no(unipac.CertifiedPlanning, judge)


def test_a_deterministic_world_is_planned_exactly():
    chain = np.eye(4)[np.array([[0, 1], [0, 2], [1, 3], [3, 0]])]
    mdp = envs.DiscountedMDP(chain, [[0.05, 0], [0, 0], [0, 0], [1, 0]], 0.8)
    answer = unipac.CertifiedPlanning.made_for(mdp, eps=0.2).run(mdp)
    assert answer.policy.tolist() == [1, 1, 1, 0] == mdp.optimal_policy().tolist()


def test_certificates_from_shrunk_widths_are_found_wrong(monkeypatch):
    """The control: with a twentieth of the width, more runs fail than a δ of .05 allows."""

    def too_sure(counts, value, failure):
        w, e = planning.means(counts, value, failure)
        return w, 0.05 * e

    monkeypatch.setattr(certified_planning, "means", too_sure)
    assert wrong_runs(unipac.CertifiedPlanning, hard(), 0.02, 0.05, 60, first=8) > binom.isf(1e-6, 60, 0.05)


BUDGETS = [(0.5, 0.1, 200_000), (0.8, 0.3, 200_000), (0.9, 0.5, 400_000)]


@pytest.mark.parametrize(("discount", "eps", "most"), BUDGETS)
def test_planning_stays_within_its_budget(discount, eps, most):
    for pulls, gap, below in planned(discount, eps, range(3)):
        assert pulls <= most
        assert gap <= eps
        assert below


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "eps", "most"), BUDGETS)
def test_planning_keeps_its_promise_in_200_runs(discount, eps, most):
    """Null: the gap exceeds ε with probability at most δ = .05; 200 runs, false alarms at most 1e-6."""
    found = planned(discount, eps, range(200))
    assert max(pulls for pulls, _, _ in found) <= most
    assert sum(gap > eps for _, gap, _ in found) <= binom.isf(1e-6, 200, 0.05)
    pulls, gaps, below = map(np.array, zip(*found, strict=True))
    print(discount, eps, pulls.mean(), pulls.max(), (gaps > eps).sum(), gaps.max(), (~below).sum())

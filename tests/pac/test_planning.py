"""What the searches for a policy share: what needs no samples, and what is proven."""

import pytest
from scipy.stats import binom

import unipac
from helpers.planners import hard, table, wrong_runs
from unipac import envs

pytestmark = pytest.mark.nojit


def test_what_needs_no_samples():
    one = envs.DiscountedMDP([[[1.0]]], [[0.5]], 0.9)
    myopic = envs.DiscountedMDP(table().transitions, table().rewards, 0.0)
    for name in ("CertifiedPlanning", "PPQ", "OPPQ"):
        for mdp in (one, myopic):
            search = unipac.AGENTS[name].made_for(mdp)
            assert search.done
            assert (search.answer.certificate, search.pulls) == (0.0, 0)
            assert (mdp.policy_value(search.answer.policy) == mdp.optimal_value()).all()


@pytest.mark.parametrize("name", ["CertifiedPlanning", "OPPQ"])
def test_certificates_and_lower_values_hold(name):
    """Null: a run fails with probability at most δ = .5; 60 runs, false alarms at most 1e-6."""
    cls = unipac.AGENTS[name]
    assert wrong_runs(cls, hard(), 0.02, 0.5, 60) <= binom.isf(1e-6, 60, 0.5)


def test_lower_values_of_another_world_are_found_wrong():
    """The control for OPPQ, whose value is below by more than its widths when it stops: a world a little worse."""
    worse = hard(chance=0.48)
    for name in ("CertifiedPlanning", "OPPQ"):
        wrong = wrong_runs(unipac.AGENTS[name], worse, 0.02, 0.05, 20, sampled=hard())
        assert wrong > binom.isf(1e-6, 20, 0.05)

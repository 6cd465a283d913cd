"""Guarded holds what it promises: sets, certificates, convergence, and a bad heuristic saved."""

import numpy as np
import pytest

import unipac
from unipac.envs import fixed_arms, killer, sphere

pytestmark = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")


def runs_with_a_violation(delta, told, runs=500, rounds=400):
    """Runs in which the truth leaves a set, or a certificate is below the gap, at any time; true noise 1.

    A run that refutes the assumptions, which are true, counts as both: from then on it has no certificates.
    """
    left = wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rounds, 4, 2))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        theta = np.array([0.6, 0.8])
        y = X @ theta + rng.choice([-1.0, 1.0], size=(rounds, 1))
        agent = unipac.Guarded(
            unipac.LinUCB(2, alpha=0.1), delta=delta, noise=told, gate=0.5, regularization=0.5
        )
        trace = agent.play(X, y, truth=theta)
        left += not trace.covered.all() or not agent.consistent
        wrong += bool((trace.certificate < trace.gap - 1e-9).any()) or not agent.consistent
    return left, wrong


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_sets_and_certificates_hold(delta):
    """Null: violated in a fraction δ of the runs. 500 runs; a binomial exceeds these limits with probability 1e-3."""
    left, wrong = runs_with_a_violation(delta, told=1.0)
    limit = {0.5: 284, 0.1: 72}[delta]
    assert left <= limit
    assert wrong <= limit


def test_the_test_can_fail():
    """Negative control: an agent that is told a third of the noise."""
    left, _ = runs_with_a_violation(0.1, told=1 / 3)
    assert left > 72


def bad_pulls(forced):
    agent = unipac.Guarded(unipac.LinUCB(2))
    agent.update(agent.choose([[1.0, 0.0]]), 0.5, times=forced)
    trace = agent.play(killer(forced), rounds=2000)
    return int((trace.gap > 0.49).sum())


def test_bad_pulls_do_not_grow_with_the_number_of_forced_rounds():
    pulls = [bad_pulls(10**k) for k in (5, 12, 15, 18)]
    assert len(set(pulls)) == 1
    assert pulls[0] <= 130


def test_a_greedy_heuristic_is_saved():
    """Arms .5 and .6, noise 1: greedy alone stays with the wrong arm in half of the runs."""
    instance = fixed_arms(np.eye(2), [0.5, 0.6], noise=1.0)
    greedy, guarded = [], []
    for seed in range(100):
        greedy.append(unipac.LinUCB(2, alpha=0.0).play(instance, rounds=20_000, seed=seed).gap.sum())
        agent = unipac.Guarded(unipac.LinUCB(2, alpha=0.0), gate=4.0)
        guarded.append(agent.play(instance, rounds=20_000, seed=seed).gap.sum())
    assert np.mean(guarded) <= 0.2 * np.mean(greedy)
    assert sum(np.array(guarded) > 400) <= 5


def test_a_good_heuristic_is_left_alone():
    """Contexts in 5 dimensions: the regret of Guarded(OFUL with 0.3 of its bonus) is at most that of OFUL."""
    instance = sphere(dim=5, n_actions=20, noise=1.0)
    ours, theirs = [], []
    for seed in range(10):
        agent = unipac.Guarded(unipac.OFUL(5, bonus_scale=0.3))
        trace = agent.play(instance, rounds=20_000, seed=seed)
        assert (trace.certificate >= trace.gap - 1e-12).all()
        ours.append(trace.gap.sum())
        theirs.append(unipac.OFUL(5).play(instance, rounds=20_000, seed=seed).gap.sum())
    assert np.mean(ours) <= np.mean(theirs)

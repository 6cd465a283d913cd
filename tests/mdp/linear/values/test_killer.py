"""Forced episodes along one feature: they slow down LSVI-UCB for ever, and UPACLSVI only up to a point.

An episode that is forced to e1 raises the determinant of all data and so the radius of every other feature, though it
says nothing of it. 30 seeds, 20,000 choices after the forced episodes. Null: the mean number of mistakes is the same
after 10^12 as after 10^6 forced episodes; t-test of paired differences, 29 degrees of freedom, |t| < 5.5, false alarm
6e-6. LSVI-UCB is the negative control.
"""

import numpy as np
import pytest

import unipac
from unipac.envs import LinearMDP
from unipac.linalg import levels as stack, ridge
from unipac.mdp.linear.values import plan as lsvi, state as lsvi_state

SAME = {"replan": "lazy", "replan_factor": 1.05}
"""MonotoneLSVI has the radii of UPACLSVI on one set of all data."""


def killer_mdp():
    """State 0 has one feature e1; state 1 chooses between (.95, .05) and (0, 1), which leads to the bad state."""
    phi = np.zeros((4, 2, 2))
    phi[0], phi[1, 0], phi[1, 1], phi[2], phi[3] = (1, 0), (0.95, 0.05), (0, 1), (1, 0), (0, 1)
    laws = np.array([[0, 0, 0.8, 0.2], [0, 0, 0.3, 0.7]])
    paid = np.stack([np.zeros((4, 2)), phi @ [1.0, 0.0]])
    return LinearMDP(phi, phi @ laws, paid, [0.5, 0.5, 0, 0], horizon=2)


def force(agent, times, rng):
    """So many episodes from state 0 at once: what they add to the levels is that of single ones."""
    agent.play(killer_mdp(), episodes=1, seed=0, initial_states=[0])
    law, x = killer_mdp().transitions[0, 0, 0], np.array([1.0, 0.0])
    level = 1
    while times > 0:
        agent.state = lsvi_state.with_room(agent.state, agent._rules)
        data = agent.state.data
        if level > data.open[0, 0]:
            data.rows[0, 0, level - 1] = data.rows[0, 0, level - 2]
            data.arrivals[0, 0, level - 1] = data.arrivals[0, 0, level - 2]
            data.open[0, 0] = level
        _, width2 = ridge.evaluate(data.rows[0, 0, level - 1], x)
        rounds = stack.share(width2, level, times) if agent._rules.levelled else times
        for i in range(level - 1, data.open[0, 0] if rounds > 0 else 0):
            ridge.add(data.rows[0, 0, i], x, 0.0, float(rounds), np.empty(4))
            ridge.refresh(data.rows[0, 0, i])
            data.logdet[0, 0, i] = ridge.log_determinant(data.rows[0, 0, i], agent.regularization)
        following = rng.multinomial(rounds, law)
        data.arrivals[0, 0, level - 1 : data.open[0, 0]] += np.outer(following, x)
        data.size[0, 0, level - 1] += rounds
        times -= rounds
        level += 1
    agent.state.age[0] = lsvi.STALE


def mistakes(cls, forced, seed):
    mdp, choices = killer_mdp(), np.ones(20_000, dtype=np.int64)
    agent = cls.made_for(mdp, rounds=1, terminates=False, **SAME)
    force(agent, forced, np.random.default_rng(seed))
    trace = agent.play(mdp, episodes=len(choices), seed=seed, initial_states=choices)
    return int((trace.gap > 0.1).sum())


def test_forcing_at_once_is_forcing_one_by_one():
    """Sizes of levels and determinants; next states are drawn in another way."""
    mdp = killer_mdp()
    one, other = (unipac.UPACLSVI.made_for(mdp, terminates=False) for _ in range(2))
    one.play(mdp, episodes=1000, seed=0, initial_states=np.zeros(1000, dtype=np.int64))
    force(other, 999, np.random.default_rng(0))
    L = one.state.data.open[0, 0]
    assert other.state.data.open[0, 0] == L
    np.testing.assert_array_equal(one.state.data.size[0, 0, :L], other.state.data.size[0, 0, :L])
    np.testing.assert_allclose(one.state.data.logdet[0, 0, :L], other.state.data.logdet[0, 0, :L], rtol=1e-9)


@pytest.mark.parametrize(("cls", "grows"), [(unipac.UPACLSVI, False), (unipac.MonotoneLSVI, True)])
def test_forced_episodes_slow_down_lsvi_only(cls, grows):
    more = np.array([mistakes(cls, 10**12, seed) - mistakes(cls, 10**6, seed) for seed in range(30)])
    error = more.std(ddof=1) / np.sqrt(len(more))
    assert (more.mean() > 5.5 * error) == grows
    assert grows or more.mean() > -5.5 * error

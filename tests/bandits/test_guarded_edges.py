"""Guarded at the edges: heuristics that raise or pick what is not there, interrupts, late rewards, tiny λ."""

import copy
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import unipac
from helpers.interrupts import interrupt
from helpers.regressions import world
from unipac import _agents
from unipac.bandits.protocol import play

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


class RefusalError(Exception):
    """What a bad heuristic, or an interrupt, raises."""


class Counted(NamedTuple):
    counts: np.ndarray


def spoil(counts, agent):
    """A kernel that writes, and then perhaps raises."""
    counts[0] += 1.0
    if agent.bad == "kernel":
        raise RefusalError


@_agents.agent
class Fragile(unipac.bandits.BanditAgent):
    """Plays the first action; raises, or picks what is not there, when it is told to.

    {parameters}
    """

    bad = ""
    pick = 0

    def _empty(self):
        return Counted(np.zeros(1))

    def _bounds(self, X):
        return (np.zeros(len(X)),) * 4

    def _choose(self, X):
        return type(self).pick, 0

    def _learn(self, x, y, level, times, noise=None):
        if self.bad == "learn":
            raise RefusalError
        return spoil, (self.state.counts, type(self))


@pytest.mark.parametrize("bad", ["learn", "kernel"])
def test_a_heuristic_that_raises_has_learned_nothing_and_so_has_its_guard(bad, monkeypatch):
    agent = unipac.Guarded(Fragile(2), noise=0.1)
    agent.update(agent.choose(ARMS), 0.5)
    waiting = agent.choose(ARMS)
    before = agent.digest()
    monkeypatch.setattr(Fragile, "bad", bad)
    for _ in range(2):
        with pytest.raises(RefusalError):
            agent.update(waiting, 0.5)
        assert (agent.digest(), agent.rounds, [*agent.pending]) == (before, 1, [waiting.id])
    monkeypatch.setattr(Fragile, "bad", "")
    agent.update(waiting, 0.5)
    assert (agent.rounds, len(agent.pending), agent._inner.state.counts[0]) == (2, 0, 2.0)


def test_an_update_that_the_heuristic_refuses_is_not_learned_by_the_guard():
    agent = unipac.Guarded(unipac.WeightedOFUL(2, noise=1e-3))
    waiting = agent.choose(ARMS)
    before = agent.digest()
    with pytest.raises(ValueError, match="times must be at most"):
        agent.update(waiting, 0.5, times=10**16)
    assert (agent.digest(), agent.rounds, len(agent.pending)) == (before, 0, 1)
    agent.update(waiting, 0.5, times=10**6)
    assert agent.rounds == 10**6


MADE = {
    "LinUCB": lambda: unipac.LinUCB(2),
    "LinUCB, λ of its own": lambda: unipac.LinUCB(2, regularization=0.5),
    "LinUCB, fixed": lambda: unipac.LinUCB(2, fixed_actions=ARMS),
    "OFUL, scaled and fixed": lambda: unipac.OFUL(2, bonus_scale=0.5, fixed_actions=ARMS),
    "NestedOFUL": lambda: unipac.NestedOFUL(2, noise=0.1),
    "LinTS": lambda: unipac.LinTS(2, noise=0.1, seed=3),
    "WeightedOFUL": lambda: unipac.WeightedOFUL(2, noise=0.1),
    "AnytimeSupLinUCB": lambda: unipac.AnytimeSupLinUCB(2, noise=0.1),
    "VOFUL": lambda: unipac.VOFUL(2, noise=0.1),
    "Guarded": lambda: unipac.Guarded(unipac.LinTS(2, seed=1), gate=1.0),
    "user's": lambda: Fragile(2),
}


@pytest.mark.parametrize("name", MADE)
def test_an_update_is_made_or_not_made_whenever_it_is_interrupted(name):
    agent = unipac.Guarded(MADE[name](), noise=0.1, gate=0.5)
    for _ in range(40):
        agent.update(agent.choose(ARMS), 0.5)
    decision = agent.choose(ARMS)
    done = copy.copy(agent)
    done.update(decision.id, 0.25)
    outcomes = []
    while True:
        tried = copy.copy(agent)
        if interrupt(partial(tried.update, decision.id, 0.25), len(outcomes) + 1) is None:
            break
        outcomes.append(tried.digest() == done.digest())
        assert outcomes[-1] or tried.digest() == agent.digest()
        assert outcomes[-1] == (decision.id not in tried.pending)
        if not outcomes[-1]:
            tried.update(decision.id, 0.25)
            assert tried.digest() == done.digest()
    assert outcomes[0] is False
    assert len(outcomes) > 10


@pytest.mark.parametrize("index", [-1, 3, 2**40, 0.0, None])
def test_a_heuristic_may_pick_from_its_list_alone(index, monkeypatch):
    agent = unipac.Guarded(Fragile(2))
    before = agent.digest()
    monkeypatch.setattr(Fragile, "pick", index)
    monkeypatch.setattr(play, "decide", lambda agent, X, fixed: (index, *[0] * 7))
    with pytest.raises(ValueError, match=r"heuristic must be such that it picks one of 3 .*from Fragile"):
        agent.choose(ARMS)
    assert agent.digest() == before
    assert not agent.pending


@pytest.mark.parametrize("waiting", [1, 20, 200])
def test_levels_keep_their_bound_if_rewards_come_late(waiting):
    """Decided before any of them is learned, 200 rounds are explored; no more than the bound may count as such."""
    agent = unipac.Guarded(unipac.LinUCB(2), gate=0.5, noise=0.5)
    for _ in range(5):
        agent.update(agent.choose([[1.0, 0.0]]), 0.5)
    for _ in range(0, 3000, waiting):
        decisions = [agent.choose(ARMS) for _ in range(waiting)]
        for decision in decisions:
            agent.update(decision, 0.1)
    levels = agent.levels()
    assert levels[0].size > 0
    assert all(level.size <= level.bound for level in levels)


def test_a_regularization_that_is_lost_to_rounding_is_refused():
    with pytest.raises(ValueError, match="regularization must be at least"):
        unipac.Guarded(unipac.LinUCB(2), regularization=1e-11)
    with pytest.raises(ValueError, match="regularization must be at least"):
        unipac.Guarded(
            unipac.LinUCB(2, action_norm=100.0, regularization=1e-5), action_norm=100.0, regularization=1e-7
        )
    agent = unipac.Guarded(unipac.LinUCB(2), regularization=1e-10)
    decision = agent.choose(ARMS)
    before = agent.digest()
    with pytest.raises(ValueError, match="times must be at most"):
        agent.update(decision, 0.5, times=10**12)
    assert agent.digest() == before


def test_its_repr_shows_the_heuristic_without_a_counter():
    agent = unipac.Guarded(unipac.LinUCB(2, alpha=0.5), noise=0.5)
    agent.update(agent.choose(ARMS), 1.0)
    assert repr(agent) == "<Guarded(LinUCB(2, alpha=0.5), noise=0.5): 1 rounds>"
    outer = unipac.Guarded(unipac.Guarded(unipac.LinUCB(2)))
    assert repr(outer) == "<Guarded(Guarded(LinUCB(2))): 0 rounds>"


def test_a_guarded_guard_goes_on_from_a_copy():
    agent = unipac.Guarded(unipac.Guarded(unipac.LinTS(2, seed=1), gate=0.5), gate=0.5)
    X, rewards = world(6, 2, "unit")
    agent.play(X[:60], rewards[:60])
    other = copy.copy(agent)
    agent.play(X[60:90], rewards[60:90])
    other.play(X[60:90], rewards[60:90])
    assert agent.digest() == other.digest()

"""What was learned changes at the commit alone, and what every kind of agent says of itself has one form."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import unipac
from helpers import registry_cases as cases
from unipac.mdp import Episode
from unipac.pac import BestArm, Request

FIRST = {
    kind: [cases.MAKERS[kind](unipac.AGENTS[name], name)[0] for name in cases.names(kind)]
    for kind in cases.MAKERS
}
ALL = [case for kind in FIRST for case in FIRST[kind]]


def one_episode(agent: Any, mdp: Any) -> Episode:
    """By the agent's own plan: each stage leads to the likeliest next state."""
    plan, steps, s, level = agent._plan(), [], int(mdp.initial.argmax()), -1
    for h in range(agent.horizon):
        a = int(plan.action[h, level, s])
        level = int(plan.level[h, level, s])
        table = mdp.tables[min(h, len(mdp.tables) - 1), s, a]
        steps.append((s, a, level, float(mdp.reward_range[0]), int(table.argmax())))
        s = steps[-1][-1]
    return Episode(*(np.array(column) for column in zip(*steps, strict=True)))


@pytest.mark.parametrize("case", FIRST["mdp"], ids=str)
def test_learning_changes_nothing_until_the_commit(case):
    agent = case.make()
    episode = one_episode(agent, case.instance)
    known = agent.levels(), np.asarray(agent.policy()).tolist(), agent.episodes
    agent._learn(episode)  # it may make room
    assert (agent.levels(), np.asarray(agent.policy()).tolist(), agent.episodes) == known
    before = agent.digest()
    change = agent._learn(episode)
    assert agent.digest() == before
    agent._commit(change, 1)
    assert agent.digest() != before
    assert agent.episodes == 1


@pytest.mark.parametrize("case", ALL, ids=str)
def test_digests_and_capabilities(case):
    agent = case.make()
    assert copy.copy(agent).digest() == agent.digest()
    assert agent.consistent is True
    for name in ("counts_many", "absorbs", "draws"):
        assert isinstance(getattr(case.cls, name), bool), name
    assert isinstance(case.cls.theorem, str)


@unipac._agents.agent
class Fragile(BestArm):
    """Raises once, after it was sent something."""

    def _steps(self):
        sums = np.zeros(len(self._X))
        for k in range(4):
            sums = sums + (
                yield Request(np.arange(len(sums)), np.ones(len(sums)), int(sums.argmax()), 9.0 - k)
            )
            if k == 1 and not getattr(self, "raised", False):
                self.raised = True
                raise KeyboardInterrupt
        return int(sums.argmax()), 0.0


def test_an_interrupted_tell_has_not_happened():
    search, other = Fragile(np.eye(2)), Fragile(np.eye(2))
    other.raised = True
    told = [[1.0, 0.0], [0.0, 3.0], [0.0, 1.0], [1.0, 0.0]]
    search.tell(told[0])
    before = search.digest(), search.answer
    with pytest.raises(KeyboardInterrupt):
        search.tell(told[1])
    assert search.digest() == before[0]
    assert repr(search.answer) == repr(before[1])
    for sums in told[1:]:
        search.tell(sums)
    for sums in told:
        other.tell(sums)
    assert search.done
    assert repr(search.answer) == repr(other.answer)
    assert search.digest() == other.digest()


def test_many_episodes_in_one_step_need_a_short_horizon():
    mdp = unipac.envs.mixture_swim(n_states=3, horizon=4)
    agent = unipac.UCRLVTR(mdp.features, horizon=4, rewards=mdp.rewards)
    zero = np.zeros(1, dtype=np.int64)
    before = agent.digest()
    with pytest.raises(ValueError, match=r"times must be 1 where values .*, got 2"):
        agent.absorb((zero, zero, zero, np.zeros(1), zero), times=2)
    assert agent.digest() == before

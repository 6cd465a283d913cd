"""What the public calls of a bandit agent change, as lists for ``unipac._atomic.commit``: nothing here changes it yet.

A deployment puts its own changes beside these, so that both are made at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import delitem
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac._atomic import Change
from unipac.bandits.protocol.inputs import as_decided
from unipac.bandits.protocol.records import Decision
from unipac.registry import ours

if TYPE_CHECKING:
    from unipac.bandits.protocol.agent import BanditAgent

_made: Any = tuple.__new__
_set = object.__setattr__
_float64 = np.dtype(np.float64)

Step = tuple[Any, ...] | list[Change]
"""What ``_learn`` returns: a new state, or a plain tuple (kernel, arguments), or a list of changes."""


def chosen(agent: BanditAgent, X: Array, labels: Sequence[Any] | None, fixed: bool) -> tuple[Decision, bool]:
    """The next decision, and whether it refutes the assumptions, which nothing did before."""
    index, level, mean, width, ucb, lcb, certificate, refuted = agent._decide(X, fixed)
    ledger = agent._ledger
    consistent = ledger.consistent if ledger.played else ledger.sound
    certified = consistent and not refuted
    if not certified:
        certificate = math.nan
    action = X[index].copy()
    action.setflags(False)  # a keyword takes longer
    label = None if labels is None else labels[index]
    certified = certified and agent._proven
    decision = _made(Decision, (
        ledger.next_id, index, action, level, mean, width, ucb, lcb, certificate, certified, label, None, False, 0,
    ))  # fmt: skip
    zeta = agent._answered()
    if zeta is not None:
        _set(decision, "misspecification", zeta)  # as ``under`` does, which takes longer
    return decision, consistent and refuted


def taught(
    agent: BanditAgent, waiting: Decision, value: float, times: int = 1, scale: float | None = None
) -> list[Change]:
    """What the reward of a decision that waits under its id changes."""
    ledger = agent._ledger
    if ledger.played:
        ledger.book()
    counted, id_ = ledger.counted + times, waiting.id
    if counted > check.LARGEST_COUNT:
        ledger.check_total("times", times)
    place = ledger.place(id_)
    late = ledger.late = place < ledger.newest
    action = waiting.action
    if action.shape != (agent.dim,) or action.dtype is not _float64:
        waiting = as_decided(waiting, agent.dim)
    if scale is None:
        step = agent._reward(waiting, value, times)
    else:
        step = agent._learn(np.array(waiting.action), value, waiting.level, times, scale)
    first = step if type(step) is list else of_step(agent, step)
    changes = [*first, (delitem, ledger.pending, id_), (setattr, ledger, "counted", counted)]
    if not late and len(ledger.pending) > 1:  # if no other waits, none can be overtaken
        changes.append((setattr, ledger, "newest", place))
    if times != 1:
        changes.append((setattr, ledger, "surplus", ledger.surplus - times + 1))
    return changes


def forgotten(agent: BanditAgent, decision: Decision | SupportsIndex) -> list[Change]:
    """What giving up a decision changes."""
    return given_up(agent, agent._ledger.waiting(decision).id)


def given_up(agent: BanditAgent, id_: int) -> list[Change]:
    """What giving up the decision that waits under this id changes."""
    ledger = agent._ledger
    return [(delitem, ledger.pending, id_), (setattr, ledger, "surplus", ledger.surplus + 1)]


def learned(agent: BanditAgent, step: Step, times: int) -> list[Change]:
    """What a step of ``_learn`` changes, including the count of rounds."""
    ledger = agent._ledger
    if ledger.played:
        ledger.book()
    return [*of_step(agent, step), (setattr, ledger, "counted", ledger.counted + times)]


def of_step(agent: BanditAgent, step: Step) -> list[Change]:
    """A step of ``_learn`` as changes of what was learned."""
    if type(step) is list:
        return step
    if type(step) is tuple:
        kernel, arguments = step
        return [(kernel, *arguments)]
    if step is None:
        words = "must return a new state, or (kernel, arguments), got None"
        raise TypeError(f"_learn of {type(agent).__name__} {words}")
    return [(setattr, agent, "state", step)]


def twin_of(agent: Any) -> Any:
    """An agent that has learned the same and learns by itself: what it learns can be taken over at once."""
    if not ours(agent):  # who knows what a user's agent holds
        return agent._clone()
    twin = object.__new__(type(agent))
    twin.__dict__.update(agent.__dict__)
    twin._ledger = agent._ledger.copy()
    twin._own_what_is_learned()
    return twin


def taken_over(agent: BanditAgent, twin: BanditAgent) -> list[Change]:
    """The changes after which an agent has learned what its twin has."""
    learned = [(setattr, agent, name, getattr(twin, name)) for name in agent.learns_in]
    return [(setattr, agent._ledger, "counted", twin.rounds), *learned]

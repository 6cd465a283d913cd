"""The agent of a deployment shares its pending decisions with the deployment, so each is in memory once.

The agent's ledger holds the ``Decision`` of the deployment, which has the user's id, under a number of its own. So
before such an agent is copied, saved or compared, it is made bare (it waits for nothing) or full (it waits for
decisions with ids of its own).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from operator import setitem
from typing import TYPE_CHECKING, Any

from unipac._atomic import Change
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import given_up, taught
from unipac.bandits.protocol.ledger import Ledger
from unipac.bandits.protocol.records import Decision

if TYPE_CHECKING:
    from unipac.deployment.deployment import Deployment


def _with(agent: Any, ledger: Ledger) -> Any:
    """The same agent with another ledger; the result may be read but must not learn."""
    other = object.__new__(type(agent))
    other.__dict__.update(agent.__dict__)
    other._ledger = ledger
    return other


def bare(agent: BanditAgent) -> BanditAgent:
    """The agent without pending decisions; it still counts them."""
    held, ledger = agent._ledger, Ledger()
    ledger.counted, ledger.sound = held.rounds, held.consistent
    ledger.surplus = held.surplus + len(held.pending)
    made: BanditAgent = _with(agent, ledger)
    return made


def learned_by(d: Deployment) -> BanditAgent:
    """A copy of the agent of a deployment without pending decisions: far quicker than ``Deployment.agent``."""
    with d._lock:
        return copy.copy(bare(d._agent))


def full(agent: BanditAgent) -> BanditAgent:
    """The agent with decisions of its own, as if it had made them alone."""
    ledger = agent._ledger.copy()
    ledger.pending = {
        number: tuple.__new__(Decision, (number, *decision[1:11], None, False, 0))
        for number, decision in ledger.pending.items()
    }
    made: BanditAgent = _with(agent, ledger)
    return made


def share(agent: BanditAgent, entries: Mapping[Any, Any]) -> None:
    """Replace the pending decisions of a full agent by those of the entries with the same numbers."""
    taught = (entry for entry in entries.values() if entry.number is not None)
    agent._ledger.pending.update((entry.number, entry.decision) for entry in taught)


def fill(agent: BanditAgent, decisions: Iterable[Decision], late: int) -> list[int]:
    """Let a bare agent wait for decisions; younger rewards have overtaken the first ``late``. Returns their numbers."""
    ledger = agent._ledger
    ledger.take_new_ids()
    numbers = []
    for decision in decisions:
        numbers.append(ledger.next_id)
        ledger.pending[ledger.next_id] = decision
        ledger.next_id += 1
    ledger.surplus -= len(numbers)
    ledger.newest = late if late else -math.inf
    return numbers


# -- changes -------------------------------------------------------------------------------------


def decided(agent: BanditAgent, decision: Decision) -> tuple[int | None, list[Change]]:
    """The number of a decision, and what it changes; holdout decisions have None, as the agent does not learn them."""
    ledger = agent._ledger
    number = ledger.next_id
    changes: list[Change] = [(setattr, ledger, "next_id", number + 1)]
    if decision.holdout:
        changes.append((setattr, ledger, "surplus", ledger.surplus + 1))
    else:
        changes.append((setitem, ledger.pending, number, decision))
    if not decision.certified and agent.certified:  # it refutes the assumptions
        changes.append((setattr, ledger, "sound", False))
    return None if decision.holdout else number, changes


def learned(agent: BanditAgent, number: int, decision: Decision, value: float) -> list[Change]:
    """What the reward of a decision changes."""
    return taught(agent, tuple.__new__(Decision, (number, *decision[1:])), value)


def dropped(agent: BanditAgent, number: int) -> list[Change]:
    """What giving up a decision changes."""
    return given_up(agent, number)

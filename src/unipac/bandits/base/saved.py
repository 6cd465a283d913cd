"""Agents on disk: every array as it is, the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _storage as storage
from unipac._inputs import read_only
from unipac.bandits.base.records import Decision
from unipac.linalg import levels as stack

if TYPE_CHECKING:
    from unipac.bandits.base.agent import LinearAgent


def save(agent: LinearAgent, path: str | os.PathLike[str]) -> None:
    """Write the whole state of an agent."""
    waiting = list(agent._pending.values())
    header = {
        "agent": type(agent).__name__,
        "dim": agent.dim,
        "parameters": agent._parameters,
        "rounds": agent._rounds,
        "next_id": agent._next_id,
        "consistent": agent._consistent,
        "owner": agent._owner,
        "pending": [[d.id, d.index, d.level, d.certified] for d in waiting],
        "random": agent._random_state(),
    }
    values = [[d.mean, d.width, d.ucb, d.lcb, d.certificate] for d in waiting]
    arrays: dict[str, NDArray[Any]] = {
        **{f"levels.{name}": array for name, array in agent._levels._asdict().items()},
        "fixed_actions": agent._arms,
        "pending.actions": np.array([d.action for d in waiting]).reshape(-1, agent.dim),
        "pending.values": np.array(values, dtype=np.float64).reshape(-1, 5),
    }
    storage.write(path, header, arrays)


def restore(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], agents: Mapping[str, type[LinearAgent]]
) -> LinearAgent:
    """The agent of a header and arrays; some exception if they do not fit."""
    if arrays["levels.rows"].shape[1] != header["dim"]:
        raise ValueError("dim does not fit the arrays")
    fixed = arrays["fixed_actions"]
    agent = agents[header["agent"]](
        header["dim"], **header["parameters"], fixed_actions=fixed if len(fixed) else None
    )
    if agent._parameters != header["parameters"]:
        raise ValueError("parameters are missing")
    _restore(agent, header, arrays)
    return agent


def _restore(agent: LinearAgent, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    capacity = len(arrays["levels.size"])
    empty = stack.empty(capacity, agent.dim, 1.0)
    levels = stack.Levels(
        *(storage.like(model, arrays, f"levels.{name}") for name, model in empty._asdict().items())
    )
    if levels.size.min() < 0 or not (levels.rows[0].diagonal(1) > 0).all():
        raise ValueError("the levels are not those of any data")
    agent._set_state(levels)
    agent._rounds = check.count("rounds", header["rounds"], least=0, most=check.LARGEST_COUNT)
    agent._next_id = check.count("next_id", header["next_id"], least=0)
    agent._owner = check.count("owner", header["owner"], least=0)
    agent._consistent = check.flag("consistent", header["consistent"])
    agent._set_random_state(header["random"])
    waiting = len(header["pending"])
    actions = storage.like(np.empty((waiting, agent.dim)), arrays, "pending.actions")
    values = arrays["pending.values"]
    if values.shape != (waiting, 5) or values.dtype != np.float64:
        raise ValueError("the pending decisions are not complete")
    agent._pending = {}
    for (id_, index, level, certified), action, numbers in zip(
        header["pending"], actions, values, strict=True
    ):
        check.count("id", id_, least=0, most=agent._next_id - 1)
        mean, width, ucb, lcb, certificate = numbers.tolist()
        agent._pending[id_] = Decision(
            id_,
            check.count("index", index, least=0),
            read_only(action),
            check.count("level", level),
            mean,
            width,
            ucb,
            lcb,
            certificate,
            check.flag("certified", certified),
            agent._owner,
        )

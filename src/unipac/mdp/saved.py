"""MDP agents on disk: every array as it is, the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _storage as storage
from unipac.mdp import backward, counted

if TYPE_CHECKING:
    from unipac.mdp.agent import EpisodicAgent


def save(agent: EpisodicAgent, path: str | os.PathLike[str]) -> None:
    """Write the whole state of an agent, also in the middle of an episode."""
    header = {
        "agent": type(agent).__name__,
        "parameters": agent._parameters,
        "episodes": agent._episodes,
        "stage": agent._stage,
        "previous": agent._previous,
        "opened": agent._opened,
        "waiting": agent._waiting,
    }
    arrays: dict[str, NDArray[Any]] = {
        **{f"data.{name}": array for name, array in agent._data._asdict().items()},
        **{f"plan.{name}": array for name, array in agent._plan._asdict().items()},
        "dirty": agent._dirty,
    }
    storage.write(path, header, arrays)


def restore(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], agents: Mapping[str, type[EpisodicAgent]]
) -> EpisodicAgent:
    """The agent of a header and arrays; some exception if they do not fit."""
    agent = agents[header["agent"]](arrays["data.features"], **header["parameters"])
    if agent._parameters != header["parameters"]:
        raise ValueError("parameters are missing")
    capacity = arrays["data.size"].shape[1]
    data = counted.empty(agent._data.features, agent.horizon, capacity, 1.0)
    plan = backward.empty(agent._plan.cap, capacity, agent.n_states, agent.n_actions)
    agent._set_state(
        counted.Counted(*(storage.like(m, arrays, f"data.{name}") for name, m in data._asdict().items())),
        backward.Plan(*(storage.like(m, arrays, f"plan.{name}") for name, m in plan._asdict().items())),
    )
    agent._dirty = storage.like(agent._dirty, arrays, "dirty")
    agent._episodes = check.count("episodes", header["episodes"], least=0)
    agent._stage = check.count("stage", header["stage"], least=0, most=agent.horizon - 1)
    agent._previous = check.count("previous", header["previous"], least=0, most=capacity + 1)
    agent._opened = check.flag("opened", header["opened"])
    if header["waiting"] is not None:
        s, a, level = header["waiting"]
        agent._waiting = (
            check.count("state", s, least=0, most=agent.n_states - 1),
            check.count("action", a, least=0, most=agent.n_actions - 1),
            check.count("level", level, most=capacity),
        )
    if data.size.min() < 0 or np.any(agent._data.first < 1):
        raise ValueError("the levels are not those of any data")
    return agent

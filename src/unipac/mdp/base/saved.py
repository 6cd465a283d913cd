"""MDP agents on disk: every array as it is, the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _storage as storage
from unipac.mdp.feature_maps import FEATURE_MAPS, FeatureMap
from unipac.mdp.linear.base import backward, counted

if TYPE_CHECKING:
    from unipac.mdp.base.agent import EpisodicAgent, FeatureFunction


def save(agent: EpisodicAgent, path: str | os.PathLike[str]) -> None:
    """Write the whole state of an agent, also in the middle of an episode."""
    header: dict[str, Any] = {
        "agent": type(agent).__name__,
        "parameters": agent._parameters,
        "episodes": agent._episodes,
        "stage": agent._stage,
        "previous": agent._previous,
        "opened": agent._opened,
        "waiting": None,
    }
    arrays: dict[str, NDArray[Any]] = {"dirty": agent._dirty}
    if agent._stored is None:
        header["waiting"] = agent._waiting
        arrays |= {f"data.{name}": array for name, array in agent._data._asdict().items()}
        arrays |= {f"plan.{name}": array for name, array in agent._plan._asdict().items()}
    else:
        own = agent._feature_map if isinstance(agent._feature_map, FeatureMap) else None
        header["map"] = {
            "name": None if own is None else type(own).__name__,
            "parameters": None if own is None else own.parameters,
            "n_actions": agent.n_actions,
            "dim": agent.dim,
        }
        arrays |= agent._stored.arrays()
        if agent._waiting is not None:
            taken, a, level = agent._waiting
            header["waiting"] = [None, a, level]
            arrays["taken"] = taken
    storage.write(path, header, arrays)


def restore(
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    agents: Mapping[str, type[EpisodicAgent]],
    feature_map: FeatureFunction | None,
) -> EpisodicAgent:
    """The agent of a header and arrays; some exception if they do not fit."""
    cls = agents[header["agent"]]
    if "map" in header:
        agent = _with_map(cls, header, arrays, feature_map)
        capacity = arrays["stored.data.size"].shape[1]
    else:
        agent = cls(arrays["data.features"], **header["parameters"])
        capacity = arrays["data.size"].shape[1]
        data = counted.empty(agent._data.features, agent.horizon, capacity, 1.0)
        plan = backward.empty(agent._plan.cap, capacity, agent.n_states, agent.n_actions)
        agent._set_state(
            counted.Counted(*(storage.like(m, arrays, f"data.{name}") for name, m in data._asdict().items())),
            backward.Plan(*(storage.like(m, arrays, f"plan.{name}") for name, m in plan._asdict().items())),
        )
        if agent._data.size.min() < 0 or np.any(agent._data.first < 1):
            raise ValueError("the levels are not those of any data")
    if agent._parameters != header["parameters"]:
        raise ValueError("parameters are missing")
    agent._dirty = storage.like(agent._dirty, arrays, "dirty")
    agent._episodes = check.count("episodes", header["episodes"], least=0)
    agent._stage = check.count("stage", header["stage"], least=0, most=agent.horizon - 1)
    agent._previous = check.count("previous", header["previous"], least=0, most=capacity + 1)
    agent._opened = check.flag("opened", header["opened"])
    if header["waiting"] is not None:
        s, a, level = header["waiting"]
        if agent._stored is None:
            s = check.count("state", s, least=0, most=agent.n_states - 1)
        else:
            s = storage.like(np.empty(agent.dim), arrays, "taken")
        a = check.count("action", a, least=0, most=agent.n_actions - 1)
        agent._waiting = (s, a, check.count("level", level, most=capacity + 1))
    return agent


def _with_map(
    cls: type[EpisodicAgent],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    feature_map: FeatureFunction | None,
) -> EpisodicAgent:
    known = header["map"]
    if feature_map is None:
        if known["name"] is None:
            raise ValueError("feature_map must be given: the agent was saved with a function of the user's")
        feature_map = FEATURE_MAPS[known["name"]](**known["parameters"])
    agent = cls(
        feature_map=feature_map, n_actions=known["n_actions"], dim=known["dim"], **header["parameters"]
    )
    assert agent._stored is not None
    levels = len(arrays["stored.data.size"][0])
    if levels > agent._stored.data.size.shape[1]:
        agent._stored.grow(agent._make_rules(levels))
    agent._stored.restore(arrays)
    return agent

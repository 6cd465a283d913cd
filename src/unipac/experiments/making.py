"""Make agents and instances as a spec describes them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from unipac.envs import SwitchingArms
from unipac.envs.bandits.instance import ROUNDING
from unipac.envs.mdps.factories import ForcedFirst
from unipac.experiments import registry
from unipac.experiments.spec import Agent, Instance

FROM_INSTANCE = ("dim", "features", "horizon", "feature_map", "n_actions", "n_states", "arms")
"""Arguments of an agent that a file must not set: they come from the instance."""

_OF_A_SEARCH = {
    "bandit": (),
    "mdp": ("rewards",),
    "discounted": ("rewards", "discount", "anchors", "coefficients"),
}

MOST_FORCED = 10**8
"""The most forced episodes that are played one by one, for agents that cannot learn them in one step."""


def from_instance(kind: registry.Kind, plays: registry.World) -> tuple[str, ...]:
    """The arguments that an agent of this kind takes from the instance, so that a file must not set them."""
    return (*FROM_INSTANCE, *(_OF_A_SEARCH[plays] if kind == "search" else ()))


def make_instance(instance: Instance, seed: np.random.SeedSequence | None = None) -> Any:
    """Make an instance, the same for every agent; if it takes a seed and the spec sets none, it gets this one.

    Instances of the library never change, so the latest ones are kept and shared.
    """
    make = registry.find("instance", instance.instance, registry.INSTANCES)
    parameters = dict(instance.parameters)
    if seed is not None and registry.takes(make, "seed"):
        parameters.setdefault("seed", number_of(seed))
    if instance.instance in registry.INSTANCES:
        return _made_by_us(instance.instance, json.dumps(parameters, sort_keys=True))
    return make(**parameters)


@lru_cache(maxsize=4)
def _made_by_us(name: str, parameters: str) -> Any:
    return registry.INSTANCES[name](**json.loads(parameters))


def make_agent(agent: Agent, instance: Any, rounds: int, *, seed: int) -> Any:
    """Make an agent for an instance."""
    make: Any = registry.find("agent", agent.agent, registry.AGENTS)
    parameters = dict(agent.parameters)
    stored = parameters.pop("stored", False)
    searched = agent.kind == "search"
    if searched and agent.plays == "bandit" and getattr(instance, "actions", None) is None:
        raise ValueError(
            f"{agent.agent} searches among fixed arms, but the arms of {instance.name} change; use agents = [...]"
            " to leave it out"
        )
    if agent.kind == "mdp":
        rounds += forced_episodes(instance)
    if stored:
        features = instance.features
        n_actions, dim = features.shape[1:]
        parameters |= {"features": None, "feature_map": lambda state: features[state]}
        parameters |= {"n_actions": n_actions, "dim": dim}
    if hasattr(make, "made_for"):
        seed = parameters.pop("seed", seed)
        made = make.made_for(instance, rounds=rounds, seed=seed, **parameters)
    elif searched and agent.plays != "bandit":
        raise ValueError(f"{agent.agent} must have a method made_for, as every search for a policy")
    else:
        made = _made_by_arguments(make, agent.kind, instance, rounds, seed, parameters)
    if isinstance(instance, SwitchingArms) and not getattr(made, "counts_many", False):
        raise ValueError(
            f"{instance.name} takes its forced rounds in one step, update(..., times=), which {agent.agent} "
            "does not have; use agents = [...] to leave it out"
        )
    if agent.kind == "mdp" and forced_one_by_one(made, instance) > MOST_FORCED:
        raise ValueError(
            f"{agent.agent} would play the {instance.forced:,} forced episodes of {instance.name} one by one, and"
            f" more than {MOST_FORCED:,} are too many; use agents = [...] to leave it out"
        )
    return made


def _made_by_arguments(
    make: Callable[..., Any],
    kind: registry.Kind,
    instance: Any,
    rounds: int,
    seed: int,
    parameters: Mapping[str, Any],
) -> Any:
    """Make an agent of a class without ``made_for``: its arguments are matched by name with values of the instance."""
    offered: dict[str, Any] = {"seed": seed}
    if kind == "mdp":
        offered |= {name: getattr(instance, name, None) for name in ("features", "n_states", "n_actions")}
        offered |= {"horizon": instance.horizon, "episodes": rounds}
    else:
        offered |= {name: getattr(instance, name) for name in ("noise", "norm", "dim", "n_actions")}
        offered |= {"rounds": rounds, "arms": instance.actions}
    names = registry.accepted(make)
    if names is None:  # it accepts any name: pass the arguments that agents of the library usually have
        names = [name for name in ("features", "horizon", "dim", "noise", "norm", "seed") if name in offered]
    arguments = {name: offered[name] for name in names if name in offered} | dict(parameters)
    lacking = [name for name in registry.required(make) if name not in arguments]
    if lacking:
        raise ValueError(
            f"{getattr(make, '__name__', make)} asks for {', '.join(lacking)}, which neither the file nor the "
            f"instance gives; an instance gives {', '.join(sorted(offered))}"
        )
    return make(**arguments)


def value_of(made: Any, agent: Agent, name: str, otherwise: float) -> float:
    """The value of a parameter: the agent's attribute; else its value in the spec; else ``otherwise``."""
    return float(getattr(made, name, agent.parameters.get(name, otherwise)))


def assumptions_hold(made: Any, agent: Agent, instance: Any) -> bool:
    """Whether an instance meets the assumptions of an agent.

    A bandit must be linear, with noise and norm at most those that the agent assumes. An MDP must have equal stages if
    the agent pools them. For a search among functions, Q* must be one of them.
    """
    if agent.kind == "mdp":
        return not getattr(made, "homogeneous", False) or _stages_alike(made, instance)
    if agent.kind == "search" and agent.plays == "mdp":
        functions, truth = getattr(made, "functions", None), instance.optimal_q()
        return functions is None or any(np.allclose(f, truth, rtol=0.0, atol=1e-9) for f in functions)
    if agent.plays != "bandit":
        return True
    theta = instance.theta
    if theta is None:
        return False
    length = float(np.linalg.norm(theta)) / (1.0 + ROUNDING)
    passed = {"noise": instance.noise, "norm": instance.norm, **agent.parameters}
    noise, norm = (getattr(made, name, passed[name]) for name in ("noise", "norm"))
    return bool(noise >= instance.noise and norm >= length)


def _stages_alike(agent: Any, mdp: Any) -> bool:
    """Whether all stages have the same transitions, and the same rewards if the agent learns them."""
    learned = getattr(agent, "rewards", None) is None
    tables = (mdp.tables, mdp.reward_tables) if learned else (mdp.tables,)
    return all(bool((table == table[:1]).all()) for table in tables)


def forced_episodes(mdp: Any) -> int:
    """The number of forced episodes, which come before the episodes that a spec counts."""
    return mdp.forced if isinstance(mdp, ForcedFirst) else 0


def forced_one_by_one(agent: Any, mdp: Any) -> int:
    """The number of forced episodes that the agent must play one by one; 0 if it learns them in one step."""
    in_one_step = hasattr(mdp, "forced_episode") and getattr(agent, "absorbs", False) and agent.counts_many
    return 0 if in_one_step else forced_episodes(mdp)


def number_of(seed: np.random.SeedSequence) -> int:
    """A seed sequence as one integer."""
    return int(seed.generate_state(1, np.uint64)[0])


@contextmanager
def importing_from(folder: str | None) -> Iterator[None]:
    """Allow imports from this folder."""
    if folder is None:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)

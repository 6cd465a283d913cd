"""For every registered agent, a small problem that it can play: what the contract is tested on.

Nothing here knows an agent by name. A case is made from what a class says of itself: its kind, its fields and its
capabilities. A line in ``unipac.registry`` is enough to be tested.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import unipac
from unipac._agents import described
from unipac._storage import digest

ROUNDS = 200
"""So many rounds, or episodes, an agent is told to expect where it must know."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A way to make an agent, and what it plays."""

    label: str
    cls: type[Any]
    instance: Any
    parameters: dict[str, Any] = dataclasses.field(default_factory=dict)
    features: Any = None
    """For agents that are given a feature map: the features of the states."""

    def make(self, **more: Any) -> Any:
        """A new agent."""
        given = {**self.parameters, **more}
        if self.features is not None:
            features, told = self.features, taken(self.cls, {"total_episodes": ROUNDS})
            _, n_actions, dim = features.shape
            return self.cls(
                feature_map=FeaturesOf(features),
                n_actions=n_actions,
                dim=dim,
                horizon=self.instance.horizon,
                **{**told, **given},
            )
        return self.cls.made_for(self.instance, rounds=ROUNDS, seed=1, **given)

    @property
    def fixed(self) -> bool:
        """Whether it is given its arms when it is made."""
        return bool(taken(self.cls, {"arms": None}))

    def __str__(self) -> str:
        return self.label


class FeaturesOf:
    """A feature map of the user's own: a table."""

    def __init__(self, features: Any) -> None:
        self.features = features

    def __call__(self, state: Any) -> Any:
        return self.features[int(state)]


def taken(cls: type[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Those of the arguments that a class takes."""
    names = {entry.name for entry in dataclasses.fields(cls) if entry.init}
    return {name: value for name, value in arguments.items() if name in names}


def accepted(make: Callable[..., Any], parameters: dict[str, Any]) -> bool:
    """Whether an agent can be made so."""
    try:
        make(**parameters)
    except (TypeError, ValueError):
        return False
    return True


def variants(case: Case, *options: dict[str, Any]) -> list[Case]:
    """The case itself, and with each of the options that its class accepts."""
    found = [case]
    for option in options:
        if taken(case.cls, option) == option and accepted(case.make, option):
            words = " ".join(f"{name}={value}" for name, value in option.items())
            found.append(
                dataclasses.replace(
                    case, label=f"{case.label} {words}", parameters={**case.parameters, **option}
                )
            )
    return found


def names(kind: str) -> list[str]:
    """The registered agents of a kind."""
    return [name for name, cls in unipac.AGENTS.items() if cls.kind == kind]


def arms(dim: int = 3, n: int = 5, noise_kind: str = "gaussian") -> Any:
    """Fixed arms, two of them collinear and two equal."""
    X = np.random.default_rng(5).standard_normal((n, dim))
    X /= 1.25 * np.linalg.norm(X, axis=1, keepdims=True)
    X[1], X[2] = 0.5 * X[0], X[3]
    theta = np.linspace(0.3, -0.6, dim)
    return unipac.envs.fixed_arms(X, theta, noise=0.25, noise_kind=noise_kind)


def world(cls: type[Any]) -> dict[str, Any]:
    """The dimension and the noise that a bandit agent is made for."""
    return {"dim": cls.only_dim or 3, "noise_kind": "rademacher" if cls.bounded_noise else "gaussian"}


def bandit_case(cls: type[Any], label: str | None = None) -> Case:
    """A bandit agent on contexts, or on arms if it must know them."""
    label = cls.__name__ if label is None else label
    fixed = taken(cls, {"arms": None})
    instance = (
        arms(**world(cls)) if fixed else unipac.envs.sphere(n_actions=5, noise=0.25, seed=2, **world(cls))
    )
    return Case(label, cls, instance, taken(cls, {"regularization": 0.7}))


def bandit_cases(cls: type[Any], label: str | None = None) -> list[Case]:
    """The same, also with fixed actions and with parameters that change what is computed."""
    case = bandit_case(cls, label)
    fixed = np.array(arms(**world(cls)).actions)
    more = variants(
        case,
        {"bonus_scale": 0.5},
        {"radius": "mixture"},
        {"radius": "ball"},
        {"reward_range": (-0.5, 0.5)},
        {"rewards_within": (-6.0, 6.0)},
    )
    with_actions = dataclasses.replace(
        case,
        label=f"{case.label} fixed_actions",
        instance=arms(**world(cls)),
        parameters={**case.parameters, "fixed_actions": fixed},
    )
    return [*more, with_actions] if taken(cls, {"fixed_actions": None}) else more


def mdp_case(cls: type[Any], label: str | None = None) -> Case:
    """An agent for MDPs on a table."""
    label = cls.__name__ if label is None else label
    fast = taken(cls, {"regularization": 0.7, "ascent_steps": 3})
    return Case(label, cls, unipac.envs.river_swim(3, 3), fast)


def mdp_cases(cls: type[Any], label: str | None = None) -> list[Case]:
    """The same on several MDPs, lazily planned, with a proven radius, and with a feature map."""
    case = mdp_case(cls, label)
    cases = variants(
        case,
        {"replan": "lazy"},
        {"radius": "finite"},
        {"radius": "vertex"},
        {"bonus_scale": 0.1},
        {"radius": "mixture"},
        {"replan_every": 20, "ties": "spread"},
    )
    simplex = unipac.envs.random_simplex(4, 2, 3, 3, seed=4)
    for option in ({}, {"radius": "mixture", "replan": "lazy", "bonus_scale": 0.05}):
        other = dataclasses.replace(case, label=f"{case.label} simplex", instance=simplex)
        if taken(cls, option) == option and accepted(other.make, option):
            other = dataclasses.replace(other, parameters={**case.parameters, **option})
            cases.append(
                dataclasses.replace(other, label=f"{other.label} {'lazy' if option else ''}".strip())
            )
            if taken(cls, {"feature_map": None}):
                stored = dataclasses.replace(
                    other,
                    features=np.array(simplex.features),
                    label=f"{other.label} {'lazy ' if option else ''}map",
                )
                cases.append(stored)
    return cases


def candidates(mdp: Any) -> Any:
    """Candidates for Q*, (N, H, S, A): the truth is the one that promises least, the last."""
    truth = mdp.optimal_q()
    rng = np.random.default_rng(0)
    return np.array([*(np.minimum(truth + rng.random(truth.shape), 1.0) for _ in range(3)), truth])


def policy_search_cases(cls: type[Any], label: str) -> list[Case]:
    """A search for a policy: by next states of pairs, with anchors and without, or by episodes."""
    if cls.samples == "episodes":
        one = np.ones((1, 1))
        mdp = unipac.envs.random_simplex(3, 2, 2, 2, seed=1)
        mdp = unipac.envs.FiniteMDP(mdp.transitions, mdp.rewards / 2, mdp.initial)
        trivial = unipac.envs.FiniteMDP(one[None], 0.5 * one, horizon=1)
        found = [("", mdp, 0.9), ("accurate", mdp, 0.3), ("one state", trivial, 0.5)]
        return [
            Case(f"{label} {word}".strip(), cls, on, {"eps": eps, "functions": candidates(on)})
            for word, on, eps in found
        ]
    anchored = unipac.envs.random_anchors(6, 2, 3, discount=0.5, seed=1)
    plain = unipac.envs.DiscountedMDP(anchored.transitions[:3, :, :3] * 0 + 1 / 3, anchored.rewards[:3], 0.4)
    trivial = unipac.envs.DiscountedMDP([[[1.0]]], [[0.5]], 0.9)
    found = [
        ("", anchored, 0.6),
        ("accurate", anchored, 0.2),
        ("table", plain, 0.5),
        ("one pair", trivial, 0.5),
    ]
    return [Case(f"{label} {word}".strip(), cls, on, {"eps": eps}) for word, on, eps in found]


def search_case(cls: type[Any], label: str | None = None) -> Case:
    """A search on arms that are hard to tell apart."""
    label = cls.__name__ if label is None else label
    soare = unipac.envs.soare(3, 0.7)
    last_is_best = unipac.envs.fixed_arms(soare.actions[::-1], soare.theta, noise=0.5)
    return Case(label, cls, last_is_best, taken(cls, {"regularization": 0.7}))


def search_cases(cls: type[Any], label: str | None = None) -> list[Case]:
    """The same, also on collinear and equal arms, on one arm, and up to some accuracy; or searches for a policy."""
    if cls.samples != "rewards":
        return policy_search_cases(cls, cls.__name__ if label is None else label)
    case = search_case(cls, label)
    cases = variants(case, {"eps": 0.2})
    one = unipac.envs.fixed_arms([[0.5, 0.5]], [0.6, 0.0], noise=0.25)
    for word, instance, more in (("collinear", arms(), {"eps": 0.05}), ("one arm", one, {})):
        parameters = {**case.parameters, **taken(cls, more)}
        cases.append(
            dataclasses.replace(case, label=f"{case.label} {word}", instance=instance, parameters=parameters)
        )
    return cases


MAKERS = {"bandit": bandit_cases, "mdp": mdp_cases, "search": search_cases}


def all_cases(kind: str) -> list[Case]:
    """Every case of every registered agent of a kind."""
    return [case for name in names(kind) for case in MAKERS[kind](unipac.AGENTS[name], name)]


def fingerprint(agent: Any) -> str:
    """Of all that an agent would write to a file."""
    return digest(*described(agent))

"""The calls of README, Start and the guides, as type checkers see them: a function for each part of a page.

Nothing here is run. ``make lint`` has it checked by mypy and pyright, ``wrong.py`` is the control.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import unipac
from unipac import Deployment, Guarded, LinUCB, features, logs, metrics, theory
from unipac.deployment import fold
from unipac.envs import FiniteMDP


def readme_deployment() -> None:
    requests = pd.DataFrame({"tokens": [120, 4000, 900], "kind": ["chat", "code", None]})
    columns = features.Columns().fit(requests)
    phi = features.Blocks(["small", "large"], columns)
    agent = Guarded(LinUCB(phi.dim), noise=theory.bounded_noise(0, 1), norm=2.0, reward_range=(0, 1))
    assert_type(agent, unipac.Guarded)
    deployment = Deployment(agent, phi, window=3600)
    decision = deployment.decide(requests.iloc[1], ["small", "large"], id="request 1")
    print(decision.label, decision.certificate, decision.certified)
    deployment.reward("request 1", 1.0)


def readme_bandit() -> None:
    rng = np.random.default_rng(0)
    theta = np.array([0.6, 0.8])
    agent = unipac.NestedOFUL(dim=2, delta=0.05, noise=0.1)
    actions = rng.standard_normal((5, 2))
    decision = agent.choose(actions)
    reward = decision.action @ theta + 0.1 * rng.standard_normal()
    agent.update(decision, reward)
    gap = (actions @ theta).max() - decision.action @ theta
    print(bool(gap <= decision.certificate < 0.1))


def readme_play() -> None:
    instance = unipac.envs.sphere(dim=5, n_actions=20, noise=0.1)
    trace = unipac.NestedOFUL(5, noise=0.1).play(instance, rounds=20_000, seed=0)
    assert_type(trace, unipac.Trace)
    print(unipac.metrics.mistakes(trace.gap, eps=[0.5, 0.1, 0.01]).tolist())
    print(unipac.NestedOFUL(5, noise=0.1).mistake_bound(eps=0.1))


def readme_mdp() -> None:
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)
    agent = unipac.CertVI(mdp.n_states, mdp.n_actions, horizon=3, delta=0.05)
    trace = agent.play(mdp, episodes=5000, seed=0)
    assert_type(trace, unipac.EpisodeTrace)
    print(bool((trace.gap <= trace.certificate + 1e-9).all()), agent.guarantee)


def start() -> None:
    agent = unipac.NestedOFUL(dim=2, delta=0.05, noise=0.1)
    decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    assert_type(decision, unipac.Decision)
    agent.update(decision, decision.action @ [0.6, 0.8])
    guarded = unipac.Guarded(unipac.LinUCB(5), noise=0.1)
    trace = guarded.play(unipac.envs.sphere(dim=5, n_actions=20, noise=0.1), rounds=5000, seed=0)
    mistakes = metrics.mistakes(trace.gap, eps=0.1)
    print(bool((trace.gap <= trace.certificate + 1e-9).all()), mistakes <= guarded.mistake_bound(eps=0.1))
    router = unipac.Deployment(unipac.NestedOFUL(2))
    router.reward(router.decide(None, np.eye(2), id="request 1").id, 1.0)


def guide_features() -> None:
    visits = pd.DataFrame({"age": [20.0, 35.0, None], "plan": ["free", "paid", "free"]})
    print(features.Columns().fit(visits).names)
    columns = features.Columns(
        ranges={"age": (18, 90)},
        categories={"plan": ["free", "paid"]},
        booleans=["new"],
        missing="error",
        unknown="error",
    )
    print(columns.encode({"age": 54, "plan": "paid", "new": False}) * 2)
    phi = features.Blocks(["mail", "call"], columns)
    actions = phi({"age": 54, "plan": "paid", "new": False}, ["mail", "call"])
    print(actions.labels, actions.vectors.shape, phi.dim, unipac.NestedOFUL(phi.dim).choose(actions).label)
    shared = features.Interactions(columns, features.Columns(ranges={"price": (0, 10)}, missing="error"))
    print(shared({"age": 54, "plan": "paid"}, {"tea": {"price": 3}, "milk": {"price": 2}}).labels)


def guide_instances() -> None:
    arms = unipac.envs.soare(dim=2, noise=0.5)
    print(arms.pulls([0, 2], [10, 10**9], batch=0, seed=0).shape)
    stay_or_go = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    print(FiniteMDP(stay_or_go, rewards=[[0, 0], [1, 1]], horizon=3).optimal_value())
    mdp = unipac.envs.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=100)
    print(round(float(mdp.optimal_value()[0]), 3))


def guide_late_rewards() -> None:
    phi = features.Blocks(["mail", "call"], features.Columns(ranges={"age": (18, 90)}))
    seconds = [0.0]
    agent = Guarded(LinUCB(phi.dim), noise=unipac.theory.bounded_noise(most=0.1))
    deployment = Deployment(agent, phi, window=3600, clock=lambda: seconds[0])
    print(deployment.decide({"age": 54}, ["mail", "call"], id="visit 1").label)
    print(deployment.reward("visit 1", 1.0), deployment.agent.rounds, deployment.close())
    compared = Deployment(unipac.NestedOFUL(2, reward_range=(0.0, 1.0)), holdout=0.1)
    compared.compare("incumbent", 0)
    compared.compare("own", lambda context, offered: offered[0])
    print(compared.advantage("incumbent").upper < 0.0, compared.linearity.alarm)
    test = Deployment(unipac.NestedOFUL(2, noise=0.25))
    test.watch("both", np.eye(2), eps=0.2)
    settled = test.settled("both")
    print(test.decide(None, np.eye(2), id=1).index, settled and settled.index)
    print(fold(deployment.events()).digest() == deployment.agent.digest())


def guide_logs() -> None:
    rng = np.random.default_rng(0)
    sets = rng.uniform(-0.5, 0.5, (2000, 4, 3))
    index = rng.integers(4, size=2000)
    log = logs.Log(sets, index, rng.uniform(size=2000), propensities=np.full(2000, 0.25))
    print(logs.check(log, noise=0.5))
    agent = unipac.OFUL(log.dim, delta=0.05, noise=0.5, norm=1.0)
    best: Callable[[NDArray[np.float64]], Any] = lambda X: (X @ [0.3, 0.0, 0.4]).argmax()  # noqa: E731
    found = logs.value(agent, log, best)
    print(round(found.estimate, 3), round(found.lower, 3), round(found.upper, 3), found.certified)
    print(logs.compare(agent, log, best, lambda X: 0).winner)
    weighed = logs.value(log, best, by="weights", reward_range=(0, 1))
    print(weighed.ipw, logs.compare(log, best, "logged", by="weights", reward_range=(0, 1)).difference.width)
    each = logs.value(log, {"best": best, "first": lambda X: 0}, by="weights", reward_range=(0, 1), alpha=0.1)
    print(each["best"].effective_rounds)
    mean = unipac.weights.RunningMean(reward_range=(0, 1), largest_weight=4)
    mean.add(4.0, 0.5)
    print(mean.lower(0.05))
    print(logs.replay(unipac.LinUCB(log.dim), log).mean > 0.14)


def agents_of_all_kinds() -> None:
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)
    assert_type(unipac.UBEV(3, 2, horizon=3), unipac.mdp.UBEV)
    assert_type(unipac.FLUTE(mdp.features, horizon=3), unipac.mdp.FLUTE)
    unipac.NestedFLUTE([[[1.0, 0.0]]], horizon=3)
    unipac.UCBVI(3, 2, horizon=3, total_episodes=300, rewards=[[0.0, 1.0]] * 3)
    unipac.CertVI(3, 2, horizon=3, rewards=mdp.rewards[0])
    search = unipac.LinGapE([[1.0, 0.0], [0.0, 1.0]], delta=0.05, noise=0.5, eps=0.1)
    assert_type(search, unipac.pac.LinGapE)
    unipac.PhasedElimination([[1.0, 0.0], [0.0, 1.0]])
    fixed = unipac.OFUL(2, fixed_actions=[[1.0, 0.0], [0.0, 1.0]])
    print(fixed.choose().index)
    print(unipac.RAGE(np.eye(3), delta=0.05).theorem, unipac.LinTS(3, seed=1).dim, sorted(unipac.AGENTS))


def own_agents() -> None:
    name: str = unipac.AGENTS["OFUL"].__name__
    loaded = unipac.load(Path("agent.npz"))
    print(name, loaded)

"""The problems, all seeded, and the programs on our side: the library and the loops that users write.

Times are processor time of one thread: a machine that others use troubles them little.
"""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers.serve import timed

import unipac
from unipac.mdp.linear.stored.memory import StoredMemory

SEED = 0
SMALL = {"dim": 20, "n_actions": 10}
LARGE = {"dim": 50, "n_actions": 1000}
MDP = {"n_states": 5, "horizon": 6}
SWIM = {"n_states": 6, "horizon": 20}
OURS: dict[str, Callable[..., Any]] = {
    "NestedOFUL": unipac.NestedOFUL,
    "NestedOFUL, tight=False": functools.partial(unipac.NestedOFUL, tight=False),
    "OFUL": unipac.OFUL,
    "OFUL, tight=False": functools.partial(unipac.OFUL, tight=False),
}
"""As by default, and without the sets that make certificates smaller."""


def seconds(work: Callable[[], object]) -> float:
    """Processor time of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def sphere(rounds: int, *, dim: int, n_actions: int) -> dict[str, np.ndarray]:
    """Rounds of ``envs.sphere``: fresh actions of norm 1 in every round, one parameter, noise 1."""
    drawn = unipac.envs.sphere(dim, n_actions).rounds(0, rounds, seed=SEED)
    return {"actions": drawn.actions, "rewards": drawn.rewards}


def small_mdp() -> unipac.envs.LinearMDP:
    """RiverSwim, 10 pairs of state and action, one-hot features."""
    return unipac.envs.river_swim(**MDP)


def mdp_arrays(mdp: unipac.envs.LinearMDP) -> dict[str, Any]:
    """An MDP that is equal at all stages, for a peer."""
    return {
        "features": mdp.features,
        "transitions": mdp.transitions[0],
        "rewards": mdp.rewards[0],
        "horizon": mdp.horizon,
        "first_state": int(np.argmax(mdp.initial)),
    }


def ucbvi(agent: str, episodes: int, seed: int, **parameters: Any) -> dict[str, float]:
    """(i): whole runs of a tabular agent, stages pooled, rewards learned; the mean return."""
    mdp = unipac.envs.river_swim(**SWIM)
    made = unipac.AGENTS[agent].made_for(mdp, rounds=episodes, homogeneous=True, **parameters)
    begin = time.process_time()
    trace = made.play(mdp, episodes=episodes, seed=seed)
    spent = time.process_time() - begin
    return {"rounds": episodes, "seconds": spent, "reward": float(trace.reward.mean())}


def one_by_one(agent: Any, problem: dict[str, np.ndarray], limit: float) -> dict[str, float]:
    """Rounds through ``choose`` and ``update``, driven as the peers are."""
    waiting: list[Any] = []

    def choose(actions: np.ndarray) -> int:
        decision = agent.choose(actions)
        waiting.append(decision)
        index: int = decision.index
        return index

    def update(actions: np.ndarray, k: int, reward: float) -> None:
        agent.update(waiting.pop(), reward)

    return timed(choose, update, list(problem["actions"]), problem["rewards"].tolist(), limit)


def numpy_oful(problem: dict[str, np.ndarray], limit: float) -> dict[str, float]:
    """The loop that users write: Sherman-Morrison and vectorised scores, one level, no checks."""
    d = problem["actions"].shape[2]
    A, b, w = np.eye(d), np.zeros(d), np.zeros(d)
    logdet = 0.0

    def choose(X: np.ndarray) -> int:
        beta = math.sqrt(logdet + 2 * math.log(20)) + 1
        return int(np.argmax(X @ w + beta * np.sqrt(((X @ A) * X).sum(1))))

    def update(X: np.ndarray, k: int, reward: float) -> None:
        nonlocal A, b, w, logdet
        x = X[k]
        Ax = A @ x
        q = x @ Ax
        A -= np.outer(Ax, Ax) / (1 + q)
        b += reward * x
        logdet += math.log1p(q)
        w = A @ b

    return timed(choose, update, list(problem["actions"]), problem["rewards"].tolist(), limit)


def whole_run(agent: Callable[[int], Any], problem: dict[str, np.ndarray]) -> dict[str, float]:
    """One call of ``play`` on arrays, construction included."""
    actions, rewards = problem["actions"], problem["rewards"]
    wall = time.perf_counter()
    spent = seconds(lambda: agent(actions.shape[2]).play(actions, rewards))
    return {"rounds": len(rewards), "seconds": spent, "wall": time.perf_counter() - wall}


def fixed_arms(rounds: int) -> dict[str, Callable[[], float]]:
    """(d): the same agent on the same 1,000 arms, with and without ``fixed_actions``."""
    rng = np.random.default_rng(SEED)
    n, d = LARGE["n_actions"], LARGE["dim"]
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rewards = X @ X[0] + rng.standard_normal((rounds, 1))

    def loop(agent: Any, offered: np.ndarray | None) -> None:
        for values in rewards[: rounds // 5]:
            decision = agent.choose(offered)
            agent.update(decision, values[decision.index])

    work: dict[str, Callable[[], float]] = {}
    for name, agent in {**OURS, "UPACOFUL": unipac.UPACOFUL}.items():
        work[f"{name} free"] = lambda a=agent: seconds(lambda: a(d).play(X, rewards))
        work[f"{name} fixed"] = lambda a=agent: seconds(lambda: a(d, fixed_actions=X).play(X, rewards))
    without_sets = OURS["NestedOFUL, tight=False"]
    work["loop free"] = lambda: seconds(lambda: loop(without_sets(d), X))
    work["loop fixed"] = lambda: seconds(lambda: loop(without_sets(d, fixed_actions=X), None))
    return work


def lsvi_ucb(episodes: int) -> float:
    """(e): construction and play, per call; many calls, as one takes less than a millisecond."""
    mdp = small_mdp()
    calls = max(1, 20_000 // episodes)

    def run() -> None:
        for seed in range(calls):
            agent = unipac.LSVIUCB(mdp.features, horizon=mdp.horizon, total_episodes=episodes)
            agent.play(mdp, episodes=episodes, seed=seed)

    return seconds(run) / calls


def flute_growth(kind: str, checkpoints: list[int]) -> Iterator[dict[str, float]]:
    """(f): cost of an episode, and of an episode and level, after k episodes."""
    mdp = small_mdp()
    agent = getattr(unipac, kind)(mdp.features, horizon=mdp.horizon, replan="always")
    done = 0
    for k in checkpoints:
        agent.play(mdp, episodes=k - done, seed=SEED)
        span = min(k, 20_000)
        spent = seconds(lambda: agent.play(mdp, episodes=span, seed=SEED))  # noqa: B023
        done = k + span
        levels = len(agent.levels()) // mdp.horizon
        yield {"episodes": k, "levels": levels, "per_episode": spent / span}


def stored_plan(episodes: int) -> dict[str, Any]:
    """(g): one backward pass of a stored NestedFLUTE, all widths anew, and the BLAS products it contains."""
    rng = np.random.default_rng(SEED)
    n_actions, d, horizon = 5, 40, 4
    agent = unipac.NestedFLUTE(
        feature_map=lambda x: x, n_actions=n_actions, dim=d, horizon=horizon, radius="mixture"
    )
    features = rng.standard_normal((episodes * horizon + 1, n_actions, d))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    position = 0
    for _ in range(episodes):
        for h in range(horizon):
            agent.act(features[position])
            position += 1
            agent.observe(rng.random(), features[position], False, h == horizon - 1)
    memory: StoredMemory = agent._memory
    S = memory.levels

    def plan() -> None:
        memory.state.dirty[:] = 1
        memory.state.fresh[:] = 0
        memory.replan()  # which makes another state

    plan()
    state = memory.state
    stored = [
        stage[0].following[:n].reshape(-1, d)
        for stage, n in zip(state.rounds, state.counts[:, 0], strict=True)
    ]
    out = np.empty(d * max(len(x) for x in stored))

    def products() -> None:
        for h, x in enumerate(stored):
            for i in range(S):
                np.matmul(state.estimates.factors[h + 1, i], x.T, out=out[: x.size].reshape(d, -1))

    return {"levels": S, "transitions": sum(map(len, stored)) // n_actions, "plan": plan, "blas": products}


def large_choice(agent: Callable[..., Any], worst: bool) -> dict[str, Callable[[], object]]:
    """(h): one choice, n = 1,000, d = 128, 6 levels, and the product X @ [A_1 ... A_6] alone.

    With the sets behind certificates there are two more matrices than levels. In the worst case the radii of the outer
    levels are a hundred times too large: no level rules out an action before all were looked at.
    """
    rng = np.random.default_rng(SEED)
    n, d = 1000, 128
    X = rng.standard_normal((4000, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    made = agent(d)
    while len(made.levels()) < 6:
        made.absorb(X, X[:, 0] + rng.standard_normal(4000))
    actions = rng.standard_normal((n, d))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    inverses, out = rng.standard_normal((d, 6 * d)), np.empty((n, 6 * d))
    if worst:
        made.state.levels.beta[1:6] *= 100.0

    def ten(work: Callable[[], object]) -> Callable[[], object]:
        return lambda: [work() for _ in range(10)]

    return {
        "choose": ten(lambda: made.forget(made.choose(actions))),
        "blas": ten(lambda: np.dot(actions, inverses, out=out)),
    }


def start() -> dict[str, float]:
    """Seconds to import the library, and of the first use of an agent with an empty and a full cache."""
    use = (
        "import unipac, numpy as np; a = unipac.NestedOFUL(3); d = a.choose(np.eye(3)); a.update(d, 0.5);"
        "a.play(np.eye(3), np.zeros((10, 3)))"
    )

    def python(code: str, **extra: str) -> float:
        timer = f"import time; {code}; print(time.process_time())"
        environment = {**os.environ, **extra}
        done = subprocess.run(
            [sys.executable, "-c", timer], check=True, env=environment, capture_output=True, text=True
        )
        return float(done.stdout.split()[-1])

    python("import unipac")
    nothing = min(python("pass") for _ in range(3))
    imports = min(python("import unipac") for _ in range(3)) - nothing
    with tempfile.TemporaryDirectory() as cache:
        cold = python(use, NUMBA_CACHE_DIR=cache)
        warm = min(python(use, NUMBA_CACHE_DIR=cache) for _ in range(3))
    return {"import": imports, "first use": cold, "later": warm}

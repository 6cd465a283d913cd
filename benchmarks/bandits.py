"""Speed of the bandit agents, as ratios measured in one process with one BLAS thread.

Run by ``make bench``. Each ratio is the median over repetitions in which both sides alternate, so that a
noisy machine troubles both alike; the spread is that of the single ratios.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import unipac


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ratio(slow: Callable[[], object], fast: Callable[[], object], repetitions: int = 7) -> str:
    """How many times longer ``slow`` takes: median, least and largest."""
    fast()
    values = sorted(seconds(slow) / seconds(fast) for _ in range(repetitions))
    return f"{values[len(values) // 2]:.2f} ({values[0]:.2f} to {values[-1]:.2f})"


def numpy_oful(actions: np.ndarray, rewards: np.ndarray) -> None:
    """The loop that users write: Sherman-Morrison and vectorised scores."""
    d = actions.shape[2]
    A = np.eye(d)
    b = np.zeros(d)
    w = np.zeros(d)
    logdet = 0.0
    for X, y in zip(actions, rewards, strict=True):
        beta = math.sqrt(logdet + 2 * math.log(20)) + 1
        scores = X @ w + beta * np.sqrt(((X @ A) * X).sum(1))
        k = int(np.argmax(scores))
        x = X[k]
        Ax = A @ x
        q = x @ Ax
        A -= np.outer(Ax, Ax) / (1 + q)
        b += y[k] * x
        logdet += math.log1p(q)
        w = A @ b


def whole_runs() -> None:
    instance = unipac.envs.sphere(10, 10)
    rounds = instance.rounds(0, 20_000, seed=0)
    for agent in (unipac.NestedOFUL, unipac.UPACOFUL, unipac.OFUL):
        play = lambda agent=agent: agent(10).play(rounds.actions, rounds.rewards)  # noqa: E731
        loop = lambda: numpy_oful(rounds.actions, rounds.rewards)  # noqa: E731
        figures = ratio(loop, play)
        micro = min(seconds(play) for _ in range(5)) / 20_000 * 1e6
        print(
            f"{agent.__name__}.play, d = 10, n = 10: {figures} times the NumPy loop; {micro:.2f} µs a round"
        )


def one_by_one() -> None:
    instance = unipac.envs.sphere(10, 10)
    rounds = instance.rounds(0, 5_000, seed=0)

    def run() -> None:
        agent = unipac.NestedOFUL(10)
        for X, y in zip(rounds.actions, rounds.rewards, strict=True):
            decision = agent.choose(X)
            agent.update(decision, y[decision.index])

    run()
    best = min(seconds(run) for _ in range(5)) / 5_000 * 1e6
    print(f"NestedOFUL.choose + update, d = 10, n = 10: {best:.1f} µs a round")


def large_choice() -> None:
    """One choice, n = 1000, d = 128, 6 levels, against the product X @ [A_1 ... A_6] alone."""
    rng = np.random.default_rng(0)
    n, d = 1000, 128
    X = rng.standard_normal((4000, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    agent = unipac.NestedOFUL(d)
    while len(agent.levels()) < 6:
        agent.absorb(X, X[:, 0] + rng.standard_normal(4000))
    actions = rng.standard_normal((n, d))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    inverses = rng.standard_normal((d, 6 * d))
    out = np.empty((n, 6 * d))
    product = lambda: np.dot(actions, inverses, out=out)  # noqa: E731
    choose = lambda: agent.forget(agent.choose(actions))  # noqa: E731
    print(f"choose, n = 1000, d = 128, 6 levels: {ratio(choose, product)} times the product")
    # The bounds of the outer levels, which are looked at first, made useless: all levels are needed.
    agent._levels.beta[1:6] *= 100.0
    print(f"the same where no level rules out an action: {ratio(choose, product)} times the product")


def fixed_arms() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 50))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rewards = X @ X[0] + rng.standard_normal((3000, 1))
    free = lambda: unipac.NestedOFUL(50).play(X, rewards[:300])  # noqa: E731
    fixed = lambda: unipac.NestedOFUL(50, fixed_actions=X).play(X, rewards[:300])  # noqa: E731
    print(f"fixed_actions, n = 1000, d = 50: {ratio(free, fixed, 5)} times faster")


def starting() -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def python(code: str, **extra: str) -> float:
        command = [sys.executable, "-c", code]
        return seconds(lambda: subprocess.run(command, check=True, env={**environment, **extra}))

    use = (
        "import unipac, numpy as np; a = unipac.NestedOFUL(3); d = a.choose(np.eye(3)); a.update(d, 0.5);"
        "a.play(np.eye(3), np.zeros((10, 3)))"
    )
    imports = min(python("import unipac") for _ in range(5)) - min(python("pass") for _ in range(5))
    print(f"import unipac: {imports:.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        cold = python(use, NUMBA_CACHE_DIR=cache)
        warm = min(python(use, NUMBA_CACHE_DIR=cache) for _ in range(3))
    print(f"first use (choose, update, play): {cold:.1f} s with a cold cache, {warm:.2f} s with a warm one")


if __name__ == "__main__":
    for part in (whole_runs, one_by_one, large_choice, fixed_arms, starting):
        part()

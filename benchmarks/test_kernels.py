"""Times of single kernels, for developers: ``make bench-kernels``.

Compare two states of the code with ``--benchmark-save`` and ``--benchmark-compare``. Times depend on the
machine and its load; ``make bench-instructions`` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unipac
from unipac.bandits.levelled import rounds
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast.evaluate import evaluate_one
from unipac.mdp.linear.counted import backward

SHAPES = [(5, 20), (20, 10), (50, 1000), (128, 1000)]


def unit_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def trained(agent: Callable[..., Any], d: int, **options: Any) -> Any:
    """An agent after 2,000 rounds."""
    rng = np.random.default_rng(0)
    learner = agent(d, **options)
    X = unit_rows(rng, 2000, d)
    learner.absorb(X, X[:, 0] + rng.standard_normal(2000))
    return learner


@pytest.mark.parametrize(("d", "n"), SHAPES)
@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.OFUL])
def test_choose(benchmark: Any, agent: Any, d: int, n: int) -> None:
    learner = trained(agent, d)
    X = unit_rows(np.random.default_rng(1), n, d)
    benchmark(rounds.choose, learner._memory, None, None, *learner._held_sets(n), X)


@pytest.mark.parametrize(("d", "n"), SHAPES)
def test_choose_among_fixed_actions(benchmark: Any, d: int, n: int) -> None:
    X = unit_rows(np.random.default_rng(1), n, d)
    learner = trained(unipac.NestedOFUL, d, fixed_actions=X, tight=False)
    benchmark(rounds.choose, learner._memory, learner._fixed, None, None, None, X)


@pytest.mark.parametrize(("d", "n"), SHAPES)
def test_play_100_rounds(benchmark: Any, d: int, n: int) -> None:
    rng = np.random.default_rng(1)
    X = unit_rows(rng, n, d)
    rewards = X[:, 0] + rng.standard_normal((100, 1))
    benchmark(lambda: unipac.NestedOFUL(d).play(X, rewards))


@pytest.mark.parametrize("d", [5, 20, 50, 128])
@pytest.mark.parametrize("kernel", ["add", "refresh", "solve", "evaluate"])
def test_ridge(benchmark: Any, kernel: str, d: int) -> None:
    learner = trained(unipac.OFUL, d)
    rows = learner.state.rows[0]
    x = unit_rows(np.random.default_rng(1), 1, d)[0]
    arguments = {
        "add": (rows, x, 0.1, 1.0, np.empty(d + 2)),
        "refresh": (rows,),
        "solve": (rows, x, np.empty(d)),
        "evaluate": (rows, x),
    }[kernel]
    benchmark(getattr(ridge, kernel), *arguments)


@pytest.mark.parametrize("d", [5, 20, 50, 128])
def test_evaluate_all_levels(benchmark: Any, d: int) -> None:
    learner = trained(unipac.NestedOFUL, d)
    levels = learner.state
    S = stack.top(levels)
    x = unit_rows(np.random.default_rng(1), 1, d)[0]
    benchmark(evaluate_one, levels, S, x, np.empty(S), np.empty(S))


@pytest.mark.parametrize("agent", ["FLUTE", "NestedFLUTE"])
def test_backward(benchmark: Any, agent: str) -> None:
    mdp = unipac.envs.river_swim(n_states=6, horizon=10)
    learner = getattr(unipac, agent)(mdp.features, horizon=10)
    learner.play(mdp, episodes=1000, seed=0)
    S = len(learner.levels()) // 10

    def plan() -> None:
        backward.backward(learner.state.data, learner.state.plan, S, np.ones(10, dtype=np.int64))

    benchmark(plan)


@pytest.mark.parametrize("agent", ["FLUTE", "NestedFLUTE", "LSVIUCB"])
def test_play_100_episodes(benchmark: Any, agent: str) -> None:
    mdp = unipac.envs.river_swim(n_states=6, horizon=10)
    options = {"total_episodes": 100} if agent == "LSVIUCB" else {}

    def play() -> None:
        getattr(unipac, agent)(mdp.features, horizon=10, **options).play(mdp, episodes=100, seed=0)

    benchmark(play)

"""Speed of the bandit agents and searches beside NestedOFUL, as ratios of processor time in one run.

    python benchmarks/family.py [--repetitions 5]

``play`` of Guarded(LinUCB) and NestedOFUL alternate on the same random contexts, that of PhasedElimination and
NestedOFUL on the same fixed arms; construction is part of it. A ratio is taken within a repetition: rounds per second
relative to NestedOFUL; the table has the median and the range. Then a design for many arms, and a pull of LinGapE.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import unipac
from unipac.linalg.design import design

NOISE = 0.5


def unit(rng: np.random.Generator, *shape: int) -> np.ndarray:
    X = rng.standard_normal(shape)
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def seconds(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compare(
    name: str, agent: Callable[[], Any], dim: int, X: np.ndarray, y: np.ndarray, repetitions: int
) -> None:
    def ours() -> None:
        agent().play(X, y)

    def reference() -> None:
        unipac.NestedOFUL(dim, noise=NOISE).play(X, y)

    ours(), reference()  # compile
    ratios = [seconds(reference) / seconds(ours) for _ in range(repetitions)]
    median = statistics.median(ratios)
    print(f"{name:66}{median:6.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    rng = np.random.default_rng(0)
    print(f"{'speed of play relative to NestedOFUL':66}")
    for n, d, rounds in ((10, 20, 20_000), (20, 5, 20_000), (100, 20, 5_000), (5, 3, 20_000)):
        X, theta = unit(rng, rounds, n, d), unit(rng, d)
        y = X @ theta + NOISE * rng.standard_normal((rounds, n))
        name = f"Guarded(LinUCB), {n} random actions, d = {d}, {rounds:,} rounds"
        compare(name, lambda d=d: unipac.Guarded(unipac.LinUCB(d), noise=NOISE), d, X, y, repetitions)
    for n, d, rounds in ((10, 3, 20_000), (10, 3, 100_000), (20, 5, 20_000), (100, 20, 20_000)):
        arms, theta = unit(rng, n, d), unit(rng, d)
        y = arms @ theta + NOISE * rng.standard_normal((rounds, 1))
        name = f"PhasedElimination, {n} fixed arms, d = {d}, {rounds:,} rounds"
        compare(name, lambda a=arms: unipac.PhasedElimination(a, noise=NOISE), d, arms, y, repetitions)
    arms = unit(rng, 1000, 20)
    spent = [seconds(lambda: design(arms, tolerance=0.05)) for _ in range(repetitions)]
    print(
        f"{'G-optimal design, 1,000 arms, d = 20, tolerance .05':66}{statistics.median(spent) * 1e3:6.1f} ms"
    )
    instance = unipac.envs.fixed_arms(unit(rng, 100, 10), unit(rng, 10), noise=1.0)
    pulls = 5_000

    def search() -> None:
        unipac.pac.LinGapE.made_for(instance, delta=0.05).run(instance, max_pulls=pulls)

    search()  # compile
    spent = [seconds(search) for _ in range(repetitions)]
    print(
        f"{'LinGapE, 100 arms, d = 10, a pull of the first 5,000':66}{statistics.median(spent) / pulls * 1e6:6.1f} µs"
    )


if __name__ == "__main__":
    main()

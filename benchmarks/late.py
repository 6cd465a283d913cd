"""Offers that depend on rewards not yet learned: when bounds fail and when they hold; writes ``late.json``.

python benchmarks/late.py

One action, whose reward is ±1 with equal chances, so that its mean is 0. Decisions are made until the last eleven
rewards were all 1, which the agent has not learned then; it learns all of them afterwards, in some order.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unipac import OFUL, Deployment, Guarded, LinUCB, NestedOFUL

WRITTEN = Path(__file__).with_suffix(".json")
HEADS, RUNS, DELTA, W = 11, 20, 0.05, 1e6
ASSUMED: dict[str, Any] = {"delta": DELTA, "noise": 1.0, "norm": 0.1, "tight": False}
AGENTS: dict[str, Callable[[], Any]] = {
    "OFUL": lambda: OFUL(1, **ASSUMED),
    "NestedOFUL": lambda: NestedOFUL(1, **ASSUMED),
    "Guarded(LinUCB)": lambda: Guarded(LinUCB(1), **ASSUMED),
}
ORDERS = {"window=None, the last reward first": None, "window=W, told in the same order": W}
"""With a window, rewards wait and are learned in the order of the decisions, whenever they were told."""


def leaves(make: Callable[[], Any], window: float | None, seed: int) -> tuple[int, bool]:
    """How many decisions there were, and whether the bounds ever excluded the truth, 0."""
    rng, x = np.random.default_rng(seed), [[1.0]]
    seconds = [0.0]
    deployment = Deployment(make(), window=window, drift=0.0, clock=lambda: seconds[0])
    rewards: list[float] = []
    while rewards[-HEADS:] != [1.0] * HEADS:
        deployment.decide(None, x, id=len(rewards))
        seconds[0] += 1.0
        rewards.append(float(rng.choice([-1.0, 1.0])))
    n, left = len(rewards), False
    for k in reversed(range(n)):
        deployment.reward(k, rewards[k])
        if window is None:
            left |= excluded(deployment, x)
    for k in range(n if window is not None else 0):
        seconds[0] = k + W
        deployment.close()
        left |= excluded(deployment, x)
    assert deployment.agent.rounds == n
    return n, left


def excluded(deployment: Deployment, x: Any) -> bool:
    bounds = deployment._agent.bounds(
        x
    )  # not of a copy, which takes as long as there are decisions that wait
    return bool(bounds.lcb[0] > 0.0 or bounds.ucb[0] < 0.0)


def table(results: dict[str, Any]) -> str:
    """What the page shows."""
    words = (
        f"Runs of {results['runs']} in which the truth left the bounds (`tight=False`), δ = {results['delta']}; "
        f"an agent made {results['least']:,} to {results['most']:,} decisions before it learned:"
    )
    lines = [words, "", "| | " + " | ".join(results["left"]) + " |", "|---|" + "---|" * len(results["left"])]
    for order in results["orders"]:
        cells = " | ".join(str(found[order]) for found in results["left"].values())
        lines.append(f"| {order} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # bounds that exclude the truth refute the assumptions in the end
    left: dict[str, dict[str, int]] = {}
    lengths: list[int] = []
    for name, make in AGENTS.items():
        left[name] = {}
        for order, window in ORDERS.items():
            found = [leaves(make, window, seed) for seed in range(RUNS)]
            left[name][order] = sum(out for _, out in found)
            lengths += [n for n, _ in found]
    results = {
        "runs": RUNS, "delta": DELTA, "least": min(lengths), "most": max(lengths), "orders": list(ORDERS), "left": left
    }  # fmt: skip
    WRITTEN.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))

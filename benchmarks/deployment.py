"""Processor time of one decide and its reward: features, agent, deployment, each alone and together.

python benchmarks/deployment.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import unipac
from unipac import features


def median(call, rounds=4000, repeats=7):
    """Median and least over repeats of the mean processor time of a call, in µs."""
    for k in range(500):
        call(k)
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        for k in range(rounds):
            call(k)
        times.append((time.thread_time() - begin) / rounds * 1e6)
    return statistics.median(times), min(times)


def show(name, call):
    middle, least = median(call)
    print(f"{name:58} {middle:6.1f} µs (least {least:.1f})", flush=True)


def main():
    rng = np.random.default_rng(0)
    ids = ["a", "b", "c", "d", "e"]
    ranges = {f"x{k}": (-1.0, 1.0) for k in range(11)}
    columns = features.Blocks(ids, features.Columns(ranges=ranges, missing="error"))
    numbers = features.Blocks(ids, features.Numbers(11))
    arrays = rng.uniform(-1, 1, (1000, 11))
    rows = [dict(zip(ranges, row.tolist(), strict=True)) for row in arrays]
    agents = {
        "Guarded(LinUCB)": lambda: unipac.Guarded(unipac.LinUCB(60), noise=0.5),
        "NestedOFUL": lambda: unipac.NestedOFUL(60, noise=0.5),
    }
    show("Blocks(5, Columns of 11), d = 60", lambda k: columns(rows[k % 1000], ids))
    show("Blocks(5, Numbers(11)), d = 60", lambda k: numbers(arrays[k % 1000], ids))
    for name, make in agents.items():
        made, agent = numbers.many(arrays, ids), make()
        show(f"{name}: choose + update", lambda k, a=agent, X=made: a.update(a.choose(X[k % 1000]), 0.5))
        for words, phi, contexts in (("Columns", columns, rows), ("Numbers", numbers, arrays)):
            for drift in (0.01, 0.0):
                deployment = unipac.Deployment(make(), phi, drift=drift)

                def both(k, d=deployment, c=contexts):
                    d.reward(d.decide(c[k % 1000], ids).id, 0.5)

                show(f"{name}, {words}, {'drift' if drift else 'no alarm'}: decide + reward", both)


if __name__ == "__main__":
    main()

"""Rounds until certificates are below ε, by dimension and noise: the table of docs/guide/parameters.md.

Guarded(LinUCB) on ten random unit vectors a round, ‖μ*‖ = 1, δ = 0.05. Rounds are cut at powers of 10^0.05; what is
told is the end of the first cut whose median certificate is at most ε: the median of three seeds, or "more".

    python benchmarks/certificates.py
"""

from __future__ import annotations

import sys

import numpy as np

import unipac

EPS = (0.5, 0.2, 0.1, 0.05)
CUTS = np.unique((10 ** np.arange(1, 6.01, 0.05)).astype(int))


def rounds_until(dim, noise, seed):
    """For every ε, after how many rounds."""
    instance = unipac.envs.sphere(dim, 10, noise=noise, seed=seed)
    agent = unipac.Guarded(unipac.LinUCB(dim), noise=noise, tight=False)
    found = dict.fromkeys(EPS, np.inf)
    for end in CUTS:
        trace = agent.play(instance, rounds=int(end) - agent.rounds, seed=seed)
        middle = np.median(trace.certificate)
        for eps in EPS:
            if middle <= eps:
                found[eps] = min(found[eps], end)
        if middle <= min(EPS):
            break
    return [found[eps] for eps in EPS]


def main():
    print("| d | noise | " + " | ".join(f"ε = {eps:g}" for eps in EPS) + " |")
    print("|---|---|" + "---|" * len(EPS))
    for dim in (2, 5, 10, 20):
        for noise in (0.1, 0.25, 0.5):
            middle = np.median([rounds_until(dim, noise, seed) for seed in range(3)], axis=0)
            cells = [f"{int(float(f'{value:.2g}')):,}" if np.isfinite(value) else "more" for value in middle]
            print(f"| {dim} | {noise:g} | " + " | ".join(cells) + " |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

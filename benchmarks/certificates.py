"""How small certificates are, and how soon: what the pages say of them.

Guarded(LinUCB) with δ = 0.05; a figure is the median certificate of the last tenth of the rounds, and of three seeds.
"before" is ``tight=False`` without blocks. "soon": rounds until the median of 500 is below ε.

    python benchmarks/certificates.py [part ...]        writes benchmarks/certificates.json; parts: see PARTS

A part that is not named keeps its figures.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import unipac
from unipac import data, envs

SEEDS = 3
FILE = Path(__file__).with_suffix(".json")


def sphere(dim, noise, rounds, seed, powers=1.0):
    """Ten unit vectors a round; column i times ``powers``^i."""
    drawn = envs.sphere(dim, 10, noise=noise, seed=seed).rounds(0, rounds, seed=seed)
    if powers == 1.0:
        return drawn.actions, drawn.rewards
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    X = drawn.actions * powers ** np.arange(dim)
    return X, X @ theta + noise * rng.standard_normal((rounds, 1))


def bernoulli(dim, low, high, rounds, seed):
    """Ten unit vectors a round whose means are uniform in (low, high); rewards 0 or 1."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    p = rng.uniform(low, high, (rounds, 10))
    z = rng.standard_normal((rounds, 10, dim))
    z -= (z @ theta)[..., None] * theta
    z /= np.linalg.norm(z, axis=2, keepdims=True)
    return p[..., None] * theta + np.sqrt(1 - p**2)[..., None] * z, (rng.random((rounds, 10)) < p) * 1.0


def told(make, ends, seed, **parameters):
    """The figure at each end, the first ζ refuted and the last in force, and the time of a round in µs."""
    X, y = make(max(ends), seed)
    agent = unipac.Guarded(unipac.LinUCB(X.shape[-1], alpha=1.0), **parameters)
    agent.play(X[:2], y[:2])
    agent = unipac.Guarded(unipac.LinUCB(X.shape[-1], alpha=1.0), **parameters)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = agent.play(X, y)
    spent = (time.process_time() - begin) / len(y) * 1e6
    wrong = np.isnan(trace.certificate)
    refuted = int(wrong.argmax()) if wrong.any() else None
    moved = [] if trace.misspecification is None else [
        int(np.argmax(trace.misspecification >= zeta)) for zeta in np.unique(trace.misspecification)[1:]
    ]  # fmt: skip
    figures = [float(np.median(trace.certificate[int(0.9 * end) : end])) for end in ends]
    lost = y.max(axis=1) - y[np.arange(len(y)), trace.index]  # the gap of the label, where rewards are 0 or 1
    below = float((trace.certificate < lost - 1e-9).mean())
    return {"at": figures, "refuted": refuted, "moved": moved, "us": round(spent, 2), "below": below}


def middle(make, ends, seeds=SEEDS, **parameters):
    """Over the seeds: the median at each end, and what was refuted, by seed."""
    runs = [told(make, ends, seed, **parameters) for seed in range(seeds)]
    figures = [float(np.median([run["at"][i] for run in runs])) for i in range(len(ends))]
    return {
        "at": [None if np.isnan(value) else round(value, 4) for value in figures],
        "refuted": [run["refuted"] for run in runs],
        "moved": [run["moved"] for run in runs],
        "us": round(float(np.median([run["us"] for run in runs])), 2),
        "below": round(float(np.median([run["below"] for run in runs])), 5),
    }


def of_instance(instance):
    """Rounds of an instance."""

    def make(rounds, seed):
        drawn = instance.rounds(0, rounds, seed=seed)
        return drawn.actions, drawn.rewards

    return make


def both(make, ends, seeds=SEEDS, blocks=1, **parameters):
    """Without and with the sets."""
    before = middle(make, ends, seeds, tight=False, **parameters)
    return {
        "ends": list(ends),
        "before": before,
        "now": middle(make, ends, seeds, blocks=blocks, **parameters),
    }


def spheres():
    """Spheres, the norm as it is and ten times too large."""
    found = {}
    for dim, noise, ends in ((5, 0.5, (1000, 10_000)), (20, 0.1, (1000, 10_000)), (20, 0.5, (1000, 10_000)),
                             (60, 0.1, (1000, 10_000))):  # fmt: skip
        name = f"sphere d={dim} R={noise}"
        make = lambda rounds, seed, dim=dim, noise=noise: sphere(dim, noise, rounds, seed)  # noqa: E731
        found[name] = both(make, ends, noise=noise, norm=1.0)
        found[name]["norm 10"] = middle(make, ends, noise=noise, norm=10.0)
        print(name, found[name], flush=True)
    return found


def long():
    """10^5 rounds."""
    return {
        "sphere d=20 R=0.5, long": both(
            lambda rounds, seed: sphere(20, 0.5, rounds, seed), (100_000,), noise=0.5
        )
    }


def coins():
    """Rewards 0 or 1."""
    found = {}
    for dim, low, high in ((5, 0.01, 0.03), (20, 0.01, 0.03), (20, 0.1, 0.3), (20, 0.3, 0.7)):
        make = lambda rounds, seed, d=dim, a=low, b=high: bernoulli(d, a, b, rounds, seed)  # noqa: E731
        ends = (1000, 10_000)
        found[f"0/1 d={dim} p={low}-{high}"] = both(make, ends, noise=0.5, reward_range=(0.0, 1.0))
        print(f"0/1 d={dim} p={low}-{high}", found[f"0/1 d={dim} p={low}-{high}"], flush=True)
    return found


def within():
    """Rewards 0 or 1, told that every reward is in [0, 1], beside the sets without that."""
    found = {}
    for dim, low, high in (
        (5, 0.01, 0.03),
        (20, 0.01, 0.03),
        (5, 0.97, 0.99),
        (20, 0.1, 0.3),
        (20, 0.3, 0.7),
    ):
        make = lambda rounds, seed, d=dim, a=low, b=high: bernoulli(d, a, b, rounds, seed)  # noqa: E731
        ends, assumed = (1000, 10_000), {"noise": 0.5, "reward_range": (0.0, 1.0)}
        name = f"within, 0/1 d={dim} p={low}-{high}"
        found[name] = {
            "ends": list(ends),
            "without": middle(make, ends, **assumed),
            "within": middle(make, ends, rewards_within=(0.0, 1.0), **assumed),
        }
        print(name, found[name], flush=True)
    return found


def uneven():
    """Features whose sizes fall like .8^i and .5^i, the norm as it is, 10 and 100 times too large."""
    found = {}
    for powers in (0.8, 0.5):
        for noise in (0.1, 0.5):
            make = lambda rounds, seed, p=powers, r=noise: sphere(20, r, rounds, seed, p)  # noqa: E731
            name = f"uneven {powers}^i R={noise}"
            found[name] = both(make, (1000, 10_000), noise=noise)
            for norm in (10.0, 100.0):
                found[name][f"norm {norm:g}"] = middle(make, (1000, 10_000), noise=noise, norm=norm)
            print(name, found[name], flush=True)
    return found


def digits():
    """The digits, 15 components: 160 features in 10 blocks."""
    instance = data.digits(15)
    make, ends = of_instance(instance), (3000, 10_000, 14_000)
    assumed = {"noise": 0.5, "norm": instance.norm, "reward_range": (0.0, 1.0)}
    found = both(make, ends, blocks=10, **assumed)
    for zeta in (0.01, 0.02, 0.05, 0.1):
        found[f"zeta {zeta}"] = middle(make, ends, blocks=10, misspecification=zeta, **assumed)
    print(found, flush=True)
    return {"digits": found}


def cancer():
    """Breast cancer, 5 components: 12 features in 2 blocks."""
    instance = data.breast_cancer(5)
    make, ends = of_instance(instance), (1000, 10_000)
    assumed = {"noise": 0.5, "norm": instance.norm, "reward_range": (0.0, 1.0)}
    found = both(make, ends, blocks=2, **assumed)
    for zeta in ((0.0, 0.05, 0.1), 0.05, 0.1):
        found[f"zeta {zeta}"] = middle(make, ends, blocks=2, misspecification=zeta, **assumed)
    print(found, flush=True)
    return {"breast cancer": found}


def travel():
    """Swissmetro, features that actions share; and 60 features in 3 blocks."""
    instance = data.swissmetro()
    assumed = {"noise": 0.5, "norm": instance.norm, "reward_range": (0.0, 1.0)}
    shared = both(of_instance(instance), (10_000, 100_000), **assumed)
    instance = data.swissmetro("blocks")
    assumed["norm"] = instance.norm
    make, ends = of_instance(instance), (10_000, 100_000)
    found = both(make, ends, blocks=3, **assumed)
    for zeta in ((0.0, 0.02, 0.05, 0.1), 0.05):
        found[f"zeta {zeta}"] = middle(make, ends, blocks=3, misspecification=zeta, **assumed)
    return {"swissmetro shared": shared, "swissmetro blocks": found}


def soon():
    """Rounds until the median of 500 certificates is below ε, and the median of the last tenth; one seed."""
    found = {}
    for dim in (5, 20, 60):
        for noise in (0.1, 0.25, 0.5):
            row = {}
            for name, parameters in (("before", {"tight": False}), ("now", {})):
                agent = unipac.Guarded(unipac.LinUCB(dim), noise=noise, **parameters)
                trace = agent.play(envs.sphere(dim, 10, noise=noise), rounds=100_000, seed=0)
                cuts = np.median(trace.certificate.reshape(-1, 500), axis=1)
                below = [cuts <= eps for eps in (0.5, 0.2, 0.1, 0.05)]
                row[name] = [500 * (int(hit.argmax()) + 1) if hit.any() else None for hit in below]
                ends = (1000, 10_000, 100_000)
                row[name] += [
                    round(float(np.median(trace.certificate[end - end // 10 : end])), 3) for end in ends
                ]
            found[f"{dim}, {noise}"] = row
            print(dim, noise, row, flush=True)
    return {"soon": found}


PARTS = {f.__name__: f for f in (cancer, digits, spheres, coins, within, uneven, soon, long, travel)}


def main():
    """Measure the parts that are named, or all."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in sys.argv[1:] or PARTS:
        known |= PARTS[name]()
        FILE.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()

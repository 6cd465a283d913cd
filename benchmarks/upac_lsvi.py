"""What docs/agents/upac_lsvi.md reports: regret, levels against one set of all data, time per episode.

python benchmarks/upac_lsvi.py regret [radius] | levels [seeds] [radius] | speed
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import unipac
from unipac.envs import hypercube, random_simplex, river_swim

MDPS = {
    "RiverSwim 3 x 3": lambda seed: river_swim(n_states=3, horizon=3),
    "RiverSwim 4 x 6": lambda seed: river_swim(n_states=4, horizon=6),
    "RiverSwim 6 x 20": lambda seed: river_swim(n_states=6, horizon=20),
    "simplex 4": lambda seed: random_simplex(dim=4, seed=seed),
    "simplex 5": lambda seed: random_simplex(dim=5, seed=seed),
    "simplex 6": lambda seed: random_simplex(dim=6, seed=seed),
    "hypercube": lambda seed: hypercube(dim=4, horizon=4, seed=seed),
}


def run(cls: type[Any], mdp: Any, seed: int, episodes: int = 10**5, **parameters: Any) -> Any:
    agent = cls.made_for(mdp, rounds=episodes, terminates=False, **parameters)
    return agent.play(mdp, episodes=episodes, seed=seed)


def regret(radius: str = "monotone") -> None:
    for name, make in MDPS.items():
        traces = [run(unipac.UPACLSVI, make(seed), seed, radius=radius) for seed in range(5)]
        total = [trace.gap.sum() for trace in traces]
        fixed = [run(unipac.UPACLSVI, make(0), seed, radius=radius).gap.sum() for seed in range(5)]
        below = sum(int((trace.certificate < trace.gap - 1e-9).sum()) for trace in traces)
        ends = [(trace.certificate[10**4 - 1], trace.certificate[-1]) for trace in traces]
        early, late = np.mean(ends, axis=0)
        plans = np.mean([trace.replanned.sum() for trace in traces])
        large = np.mean([(trace.gap > 0.1).sum() for trace in traces])
        print(
            f"{name}, {radius}: regret {np.mean(total):.1f} +- {np.std(total) / 2:.1f}, same MDP {np.mean(fixed):.1f}; "
            f"certificate {early:.3f}, {late:.3f}, below the gap {below}; plans {plans:.0f}; N_.1 {large:.0f}",
            flush=True,
        )


def levels(seeds: str = "30", radius: str = "monotone") -> None:
    """UPACLSVI against MonotoneLSVI, which has the same radius on one set of all data."""
    ratios, both = [], (unipac.UPACLSVI, unipac.MonotoneLSVI)
    same = {"radius": radius, "replan": "lazy", "replan_factor": 1.05}
    for name in ("simplex 4", "simplex 5", "simplex 6", "hypercube"):
        pairs = []
        for seed in range(int(seeds)):
            mdp = MDPS[name](seed)
            pairs.append([run(cls, mdp, seed, **same).gap.sum() for cls in both])
        with_levels, without = np.mean(pairs, axis=0)
        ratios.append(with_levels / without)
        error = np.std(np.diff(pairs, axis=1)) / np.sqrt(len(pairs)) / without
        print(
            f"{name}: {with_levels:.1f} / {without:.1f} = {ratios[-1]:.3f} (s.e. of the difference {error:.3f})",
            flush=True,
        )
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}")


def speed() -> None:
    for name in ("simplex 4", "simplex 6", "RiverSwim 4 x 6", "hypercube"):
        mdp = MDPS[name](0)
        agent = unipac.UPACLSVI.made_for(mdp, terminates=False)
        agent.play(mdp, episodes=1000, seed=0)
        for episodes in (9_000, 90_000, 900_000):
            begin = time.process_time()
            agent.play(mdp, episodes=episodes, seed=0)
            seconds = time.process_time() - begin
            print(
                f"{name}: up to {agent.episodes:,} {seconds / episodes * 1e6:.2f} us an episode", flush=True
            )


if __name__ == "__main__":
    what, *arguments = sys.argv[1:] or ["regret"]
    {"regret": regret, "levels": levels, "speed": speed}[what](*arguments)

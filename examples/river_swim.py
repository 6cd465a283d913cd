"""Learns RiverSwim with a certified agent and shows how the gap of its policy falls.

python examples/river_swim.py [--episodes 2000000]
"""

from __future__ import annotations

import argparse

import unipac


def main() -> None:
    """Play in parts, and print what is proven and what is true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2_000_000)
    episodes = parser.parse_args().episodes
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)
    agent = unipac.NestedFLUTE(mdp.features, horizon=3, delta=0.05)
    print(f"{mdp!r}, optimal value {mdp.optimal_value()[0]:.4f}; certified: {agent.certified}")
    print(f"{'episodes':>12}{'mean gap':>12}{'upper bound':>14}{'plans':>8}{'levels':>8}")
    done = 0
    while done < episodes:
        trace = agent.play(mdp, episodes=min(max(done, 1000), episodes - done), seed=0)
        done += len(trace)
        levels = max(level.level for level in agent.levels())
        bound = trace.bound[-1]
        print(f"{done:12,}{trace.gap.mean():12.5f}{bound:14.4f}{trace.replanned.sum():8}{levels:8}")


if __name__ == "__main__":
    main()

"""Would the bounds of StarLSVI help UPACLSVI? Both bound V* from the episodes that UPACLSVI plays.

python benchmarks/star_bounds.py [--episodes 5000] [--seed 300]

Prints the mean of U − V* over first states: of UPACLSVI, of StarLSVI from the same data, without and with the promise
``mixture=True``; and in how many states the latter's bound is smaller.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import unipac
from unipac import envs
from unipac.envs.play.simulation import world_of
from unipac.mdp.linear.star.episodes import told_of
from unipac.mdp.protocol.plan import Episode


def played(agent: Any, mdp: Any, rng: Any) -> Episode:
    """One episode of an agent."""
    world = world_of(mdp)
    s, steps = int(rng.choice(mdp.n_states, p=mdp.initial)), []
    for h in range(mdp.horizon):
        a = agent.act(s)
        t = min(int((world.cumulative[h, s, a] <= rng.random()).sum()), mdp.n_states - 1)
        agent.observe(float(mdp.rewards[h, s, a]), t)
        steps.append((s, a, 0, float(mdp.rewards[h, s, a]), t))
        s = t
    return Episode(*(np.array(part) for part in zip(*steps, strict=True)))


def compare(name: str, mdp: Any, episodes: int, seed: int) -> None:
    """Print the bounds after a tenth, three tenths and all of the episodes."""
    rng, best = np.random.default_rng(seed), mdp.optimal_value()
    agent = unipac.UPACLSVI.made_for(mdp, terminates=False)
    stars = [unipac.StarLSVI.made_for(mdp, mixture=m, terminates=False, wait=False) for m in (False, True)]
    for k in range(1, episodes + 1):
        episode = played(agent, mdp, rng)
        for star in stars:
            star._commit(star._learn(episode), 1)
        if k in (episodes // 10, 3 * episodes // 10, episodes):
            bound = agent._plan().bound
            words = [f"UPACLSVI {mdp.initial @ (bound - best):.3f}"]
            for star, word in zip(stars, ("general", "mixture"), strict=True):
                top = np.array([told_of(star.state, star._rules, phi)[1] for phi in star._table])
                words.append(f"{word} {mdp.initial @ (top - best):.3f} (smaller in {(top < bound).sum()})")
            print(f"{name}, {k:,} episodes: {', '.join(words)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=300)
    given = parser.parse_args()
    for name, mdp in (
        ("simplex d = 4", envs.random_simplex(dim=4, seed=given.seed)),
        ("simplex d = 6", envs.random_simplex(dim=6, seed=given.seed)),
        ("simplex d = 4, 40 states", envs.random_simplex(40, 4, 4, 4, seed=given.seed)),
    ):
        compare(name, mdp, given.episodes, given.seed)

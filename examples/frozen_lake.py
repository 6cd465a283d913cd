"""Learns slippery FrozenLake with CertVI, which says how much its policy can lose, beside Q-learning, which does not.

python examples/frozen_lake.py [--episodes 20000]

The value is the exact probability that the greedy policy reaches the goal within 100 steps; the certificate is proven
before each episode: with probability 0.95, never is the policy worse than the best by more. CertVI is told by its
return range that an episode pays at most 1, Q-learning, in one of two ways, by its first values. What CertVI plays
still explores; what it recommends is the best policy under what it has counted, as Q-learning's greedy policy is.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np

import unipac


def main() -> None:
    """Play in parts, and print what is true and what is proven."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=20_000)
    episodes = parser.parse_args().episodes
    mdp = unipac.envs.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=100)
    paid_once = {"homogeneous": True, "return_range": (0.0, 1.0)}
    usual = {"learning_rate": 0.1, "discount": 0.99}
    eager = {"initial_value": 1.0, "epsilon_start": 0.0, "epsilon_end": 0.0}
    certified = unipac.CertVI.made_for(mdp, **paid_once)
    agents = [
        certified,
        unipac.QLearning.made_for(mdp, **usual),
        unipac.QLearning.made_for(mdp, **usual, **eager),
    ]

    print(f"{mdp!r}, best value {mdp.optimal_value()[0]:.4f}")
    print(f"{'':>10}{'CertVI':>10}{'CertVI':>13}{'':>13}{'QLearning,':>13}{'certificate':>14}")
    print(f"{'episodes':>10}{'plays':>10}{'recommends':>13}{'QLearning':>13}{'Q = 1 first':>13}{'of CertVI':>14}")
    done, part = 0, 250
    while done < episodes:
        count = min(part, episodes - done)
        values = []
        for agent in agents:
            agent.play(mdp, episodes=count, seed=0)
            policies = [agent.policy()] + ([agent.recommended().policy] if agent is certified else [])
            values += [unipac.envs.policy_value(mdp, np.asarray(policy))[0, 0] for policy in policies]
        done += count
        part = done
        print("{:10,}{:10.4f}{:13.4f}{:13.4f}{:13.4f}{:14.4f}".format(done, *values, certified.certificate(0)))


if __name__ == "__main__":
    main()

"""Learns a river without numbered states, and shows what is proven of each policy beside what is true.

python examples/continuous.py [--episodes 3000] [--seed 0]

The swimmer is anywhere in [0, 1]; the next place comes from a mixture of five known laws, whose weights are the
features. So every coordinate of the features is a law of next states, and ``mixture=True`` is a promise that is kept.
Values are exact, by quadrature: the agent does not see them.
"""

from __future__ import annotations

import argparse

import unipac


def main() -> None:
    """Learn in parts, and print what is proven and what is true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    mdp = unipac.envs.continuous_swim(dim=5, horizon=4)
    env = unipac.envs.ContinuousMDPEnv(mdp)
    agent = unipac.StarLSVI(
        feature_map=mdp.feature_map, horizon=4, mixture=True, terminates=False, rewards=mdp.weights
    )
    best = mdp.optimal_value()
    print(f"{mdp!r}, optimal value {best:.4f} from {mdp.initial[0]}")
    print(f"{'episodes':>10}{'mean return':>14}{'value':>10}{'gap':>10}{'certificate':>14}")
    while agent.episodes < given.episodes:
        more = min(max(agent.episodes, 100), given.episodes - agent.episodes)
        returns = agent.learn(env, episodes=more, seed=given.seed if agent.episodes == 0 else None)
        policy = agent.policy()
        value = mdp.policy_value(policy)
        told = policy.certificate(mdp.initial)
        print(
            f"{agent.episodes:10,}{returns.returns.mean():14.4f}{value:10.4f}{best - value:10.4f}{told:14.4f}"
        )
    place = 0.9123  # an observation that was surely never seen
    print(f"from {place}: action {agent.policy()([place], 1)}, certificate {agent.certificate([place]):.4f}")


if __name__ == "__main__":
    main()

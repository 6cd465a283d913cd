"""Learns to balance CartPole through a feature map, and compares the return with random play.

python examples/control.py [--episodes 1000] [--seed 0]

Each action is held for 4 time steps, so 25 decisions are up to 100 time steps; the return is the number of
time steps until the pole falls. The features are one-hots of a 6 x 6 grid over the angle of the pole and
its velocity; position and velocity of the cart are left out.

Nothing is certified here: the radius is a heuristic that is scaled down to 2 %, rewards are rescaled, and
CartPole is not linear in these features, so that no radius would make the bounds hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import unipac
from unipac.features import Aggregation

HOLD = 4
HORIZON = 25
BLOCKS = 5
TESTS = 100
TEST_SEED = 1_000_000
"""Of the episodes that compare policies; apart from those of learning."""


class Hold(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Repeats each action, and sums the rewards."""

    def __init__(self, env: gymnasium.Env[Any, Any], times: int) -> None:
        super().__init__(env)
        self.times = times

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Up to ``times`` steps with the same action."""
        total = 0.0
        for _ in range(self.times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def returns(
    env: gymnasium.Env[Any, Any], policy: Callable[[Any, int], int], horizon: int
) -> NDArray[np.float64]:
    """The returns of a policy, which is given observations and stages from 1 on."""
    sums = np.zeros(TESTS)
    for k in range(TESTS):
        observation, _ = env.reset(seed=TEST_SEED + k)
        for stage in range(1, horizon + 1):
            observation, reward, terminated, truncated, _ = env.step(policy(observation, stage))
            sums[k] += float(reward)
            if terminated or truncated:
                break
    return sums


def show(what: str, sums: NDArray[np.float64]) -> None:
    """Print a row of the table."""
    print(f"{what:<36}{sums.mean():8.1f}{sums.std():8.1f}", flush=True)


def main() -> None:
    """Play at random, learn, and play what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    single = gymnasium.make("CartPole-v1")
    env = Hold(gymnasium.make("CartPole-v1"), HOLD)
    # The limits of the angle are those of CartPole; the velocities have none, and are clipped to these.
    features = Aggregation.from_env(env, low=[-2.4, -3, -0.21, -2], high=[2.4, 3, 0.21, 2], bins=[1, 1, 6, 6])
    agent = unipac.LSVIUCB(
        feature_map=features,
        horizon=HORIZON,
        total_episodes=arguments.episodes,
        radius="mixture",
        bonus_scale=0.02,
        regularization=0.1,
        replan="lazy",
        replan_factor=2.0,
        reward_range=(0, HOLD),
    )
    print(f"CartPole, at most {HOLD * HORIZON} time steps; {features!r}; certified: {agent.certified}")
    print(f"{'return':<36}{'mean':>8}{'std':>8}")
    rng = np.random.default_rng(arguments.seed)

    def random(observation: Any, stage: int) -> int:
        return int(rng.integers(2))

    show("random, a new action every step", returns(single, random, HOLD * HORIZON))
    show(f"random, actions held {HOLD} steps", returns(env, random, HORIZON))
    start = time.perf_counter()
    learned = agent.learn(env, episodes=arguments.episodes, seed=arguments.seed, progress=sys.stdout.isatty())
    seconds = time.perf_counter() - start
    first = 1
    for block in np.array_split(learned.returns, BLOCKS):
        show(f"learning, episodes {first:,}-{first + len(block) - 1:,}", block)
        first += len(block)
    show("agent.policy() after learning", returns(env, agent.policy(), HORIZON))
    print(f"{seconds:.0f} s to learn")


if __name__ == "__main__":
    main()

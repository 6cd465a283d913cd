"""Would the other policy have had more clicks? Bounds by weights on a real log, looked at as often as one likes.

unipac data get open-bandit
python examples/clicks.py [--campaign men]

An online shop showed 10,000 items that were drawn uniformly, and logged the clicks: fewer than one in 200. What would
its Thompson sampling have earned on the same rounds? The interval by weights assumes nothing but the propensities, and
holds at all times at once, so that looking after every day costs nothing. The interval by a model assumes that an
item's chance of a click does not change; it holds for all policies at once, but rare clicks are lost in it.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import unipac
from unipac import logs


def main() -> None:
    """Value the shop's Thompson sampling on a log of uniform choices."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaign", default="men", choices=["all", "men", "women"])
    campaign = parser.parse_args().campaign
    try:
        found = unipac.data.open_bandit(campaign)
    except FileNotFoundError as error:
        sys.exit(str(error))
    log, policy = found.log, found.thompson()
    print(f"{log!r}, {int(log.rewards.sum())} clicks")
    for problem in logs.check(log, policy=policy):
        print(f"the log: {problem.message}")

    print(f"\n{'rounds':>7}{'SNIPW':>9}   by weights, with probability 0.95 at all times")
    mean = unipac.weights.RunningMean(reward_range=(0.0, 1.0))
    chances = policy[np.arange(len(log)), log.index]
    for begin in range(0, len(log), 2000):
        part = slice(begin, begin + 2000)
        # Choices were uniform, so the largest weight that any item could have had is known before each draw.
        mean.add(chances[part] * log.dim, log.rewards[part], largest=policy[part].max(axis=1) * log.dim)
        lower, upper = mean.interval(0.05)
        print(f"{mean.rounds:7,}{mean.snipw:9.4f}   {lower:.4f} to {upper:.4f}")

    known = logs.value(log, policy, by="weights", reward_range=(0.0, 1.0))
    agent = unipac.OFUL(log.dim, delta=0.05, noise=0.5, norm=1.0, reward_range=(0.0, 1.0))
    model = logs.value(agent, log, policy)
    print(f"\nby weights: {known.lower:.4f} to {known.upper:.4f}, worth {known.effective_rounds:,.0f} rounds")
    print(f"by a model: {model.lower:.4f} to {model.upper:.4f}")

    better = logs.compare(log, policy, "logged", by="weights", reward_range=(0.0, 1.0)).difference
    print(f"more clicks than uniform choices: {better.lower:+.4f} to {better.upper:+.4f}")


if __name__ == "__main__":
    main()

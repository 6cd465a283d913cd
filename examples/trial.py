"""When could the trial ACTG175 have stopped? Certified comparisons of treatments, looked at as often as one likes.

unipac data get actg175
python examples/trial.py [--every 50] [--order 0]

2,139 patients with HIV were given one of four treatments at random; the reward is 1 if a patient has at least as many
CD4 cells after 20 weeks as before, else 0. After every so many patients all comparisons are looked at; a verdict is
called when an interval leaves 0. All intervals, of all policies and at all times, hold together with probability 0.95,
so looking costs nothing, and a policy may be thought of after looking.

What is assumed is only that the expected reward of a treatment does not change with time. Four treatments are four
unit vectors, in which any expected rewards are linear; rewards in [0, 1] have noise 1/2; less one half, they have means
within ±1/2, so that the norm is at most 1. The outcome must be fixed beforehand, which it was not here: it was picked
because it tells the treatments apart (docs/data/actg175.md), so this shows the method and is no finding.
With --order k > 0 patients come in a random order.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import unipac
from unipac import logs
from unipac.data.trial import ARMS

POLICIES = {  # shares of the patients that get each of the four treatments
    "zidovudine for all": (1.0, 0.0, 0.0, 0.0),
    "zidovudine and didanosine for all": (0.0, 1.0, 0.0, 0.0),
    "didanosine, with zidovudine for half": (0.0, 0.5, 0.0, 0.5),
}
PAIRS = (
    ("zidovudine and didanosine for all", "zidovudine for all"),
    ("didanosine, with zidovudine for half", "zidovudine for all"),
    ("zidovudine and didanosine for all", "didanosine, with zidovudine for half"),
)


def main() -> None:
    """Go through the patients, and say when each comparison was settled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=50, help="patients between two looks")
    parser.add_argument("--order", type=int, default=0, help="0: as in the file, else the seed of an order")
    options = parser.parse_args()
    try:
        log = unipac.data.actg175()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if options.order:
        log = log[np.random.default_rng(options.order).permutation(len(log))]
    for finding in logs.check(log, noise=0.5):
        print(f"the log: {finding.message}")

    one = log[:1]  # the vectors are the same for all patients, and so is the mean of what a policy gives
    agent = unipac.NestedOFUL(log.dim, delta=0.05, noise=0.5, norm=1.0)
    verdicts: dict[tuple[str, str], tuple[int, str]] = {}
    for begin in range(0, len(log), options.every):
        part = log[begin : begin + options.every]
        agent.absorb(part.actions, part.rewards - 0.5)
        for first, second in PAIRS:
            if (first, second) in verdicts:
                continue
            found = logs.compare(agent, one, [POLICIES[first]], [POLICIES[second]], learned=True)
            if found.winner is not None:
                verdicts[first, second] = agent.rounds, found.winner

    print(f"{log!r}, {len(ARMS)} treatments, looked at after every {options.every}")
    print(f"\n{'CD4 cells kept or gained by':38}{'share':>7}   with probability 0.95")
    for name, shares in POLICIES.items():
        known = logs.value(agent, one, [shares], learned=True)
        print(f"{name:38}{known.estimate + 0.5:7.3f}   {known.lower + 0.5:.3f} to {known.upper + 0.5:.3f}")
    for first, second in PAIRS:
        known = logs.compare(agent, one, [POLICIES[first]], [POLICIES[second]], learned=True).difference
        print(f"\n{first}, less {second}:")
        print(f"  {known.estimate:+.3f}, with probability 0.95 {known.lower:+.3f} to {known.upper:+.3f}")
        if (first, second) in verdicts:
            patients, winner = verdicts[first, second]
            print(f"  verdict after {patients:,} patients: the {winner} is better")
        else:
            print(f"  not settled by {len(log):,} patients")


if __name__ == "__main__":
    main()

"""Prints what ``play_many`` tells of a few agents, as JSON: python simulated.py cpu|cuda [rounds] [seeds]."""

import json
import sys

import numpy as np

import unipac
from unipac import envs

CASES = {
    "NestedOFUL": (lambda: unipac.NestedOFUL(5, noise=0.1, tight=False), envs.sphere(5, 20, noise=0.1)),
    "UPACOFUL": (lambda: unipac.UPACOFUL(3, noise=0.1), envs.sphere(3, 6, noise=0.1, shortest=0.5)),
    "OFUL": (lambda: unipac.OFUL(3, noise=0.1, tight=False), envs.soare(3, noise=0.1)),
    "LinUCB": (lambda: unipac.LinUCB(9), envs.sphere(9, 5, noise=0.2, noise_kind="rademacher")),
    "Guarded": (
        lambda: unipac.Guarded(unipac.LinUCB(3), noise=0.1, tight=False, gate=0.2),
        envs.sphere(3, 6, noise=0.1),
    ),
    "Guarded, arms": (
        lambda: unipac.Guarded(unipac.LinUCB(2, alpha=0.2), noise=0.1, tight=False, gate=0.5),
        envs.end_of_optimism(0.03, noise=0.1),
    ),
    "killer": (lambda: unipac.NestedOFUL(2, noise=0.1, tight=False), envs.killer(20)),
}
NAMES = "regret", "mistakes", "last_mistake", "level", "left", "undercut", "refuted"


def main(device, rounds=50, seeds=4):
    found = {}
    for name, (make, instance) in CASES.items():
        runs = unipac.play_many(
            make(), instance, rounds=rounds, seeds=seeds, device=device, checkpoints=[10, rounds]
        )
        found[name] = {what: np.asarray(getattr(runs, what)).tolist() for what in NAMES}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], *(int(number) for number in sys.argv[2:]))

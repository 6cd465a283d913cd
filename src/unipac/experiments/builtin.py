"""The experiments that come with the library, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.paper import PAPER


def _quickstart(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 20_000,
        "agents": {
            "NestedOFUL": {"agent": "NestedOFUL", "noise": 0.5},
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture", "noise": 0.5},
            "UPACOFUL (as printed)": {"agent": "UPACOFUL", "noise": 0.5},
            "LinUCB": {"agent": "LinUCB"},
            "NestedFLUTE": {"agent": "NestedFLUTE"},
            "LSVIUCB": {"agent": "LSVIUCB", "radius": "finite"},
        },
        "instances": {
            "random contexts": {"instance": "sphere", "dim": 3, "n_actions": 10, "noise": 0.5},
            "RiverSwim": {
                "instance": "river_swim",
                "n_states": 3,
                "horizon": 3,
                "rounds": 200_000,
            },
            "killer": {
                "instance": "killer",
                "rounds": 3000,
                "agents": ["NestedOFUL", "OFUL (mixture)"],
                "sweep": {"forced": [10**3, 10**6, 10**9, 10**12, 10**15, 10**18]},
            },
        },
    }


QUICKSTART = Experiment(
    "quickstart",
    "A first look",
    "Bandit agents on random contexts, agents for MDPs on RiverSwim, and the two-armed instance on which OFUL"
    " errs ever more often the longer its past: K rounds offer only the good arm, then both.",
    _quickstart,
)

EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "quickstart": (QUICKSTART,),
    "paper": PAPER,
    **{experiment.name: (experiment,) for experiment in PAPER},
}
"""A name stands for one experiment or several, which are run together."""

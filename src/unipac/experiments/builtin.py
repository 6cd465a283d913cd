"""The experiments that come with the library, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper import PAPER
from unipac.experiments.paper.measures import mean_regret, numbers, only
from unipac.experiments.results import Results

_OPTIMISTS = ("NestedOFUL", "OFUL (mixture)")
_GREEDY = {"agent": "LinUCB", "alpha": 0.0}


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
            "Guarded(LinUCB)": {"agent": "Guarded", "noise": 0.5},
            "greedy": _GREEDY,
            "Guarded(greedy)": {"agent": "Guarded", "heuristic": _GREEDY, "gate": 4.0, "noise": 0.5},
            "CertVI": {"agent": "CertVI"},
            "UPACLSVI": {"agent": "UPACLSVI"},
        },
        "instances": {
            "random contexts": {
                "instance": "sphere",
                "dim": 3,
                "n_actions": 10,
                "noise": 0.5,
                "agents": [*_OPTIMISTS, "UPACOFUL (as printed)", "LinUCB", "Guarded(LinUCB)"],
            },
            "RiverSwim": {
                "instance": "river_swim",
                "n_states": 3,
                "horizon": 3,
                "rounds": 200_000,
            },
            "killer": {
                "instance": "killer",
                "rounds": 3000,
                "agents": [*_OPTIMISTS],
                "sweep": {"forced": [10**3, 10**6, 10**9, 10**12, 10**15, 10**18]},
            },
            "two arms": {
                "instance": "fixed_arms",
                "arms": [[1.0, 0.0], [0.0, 1.0]],
                "theta": [0.5, 0.6],
                "noise": 0.5,
                "agents": [*_OPTIMISTS, "greedy", "Guarded(greedy)"],
            },
        },
    }


def _quickstart_predictions(results: Results) -> list[Finding]:
    def explored(agent: str, instance: str) -> float:
        sizes = only(results.levels, agent=agent, instance=instance)
        runs = only(results.curves, agent=agent, instance=instance)["seed"].n_unique()
        return float(sizes["size"].sum()) / runs

    free = [mean_regret(results, agent, "random contexts") for agent in ("LinUCB", "Guarded(LinUCB)")]
    caught = [mean_regret(results, agent, "two arms") for agent in ("greedy", "Guarded(greedy)")]
    tables = [mean_regret(results, agent, "RiverSwim") for agent in ("CertVI", "UPACLSVI", "NestedFLUTE")]
    return [
        Finding(
            "A guard leaves a good heuristic alone: Guarded(LinUCB) has at most 1.1 times the regret of LinUCB on"
            " random contexts.",
            free[1] <= 1.1 * free[0],
            f"regret {numbers(free)}; {explored('Guarded(LinUCB)', 'random contexts'):.1f} explored rounds a run.",
        ),
        Finding(
            "It keeps a bad one from being stuck: Guarded(greedy) has at most a fifth of the regret of greedy on two"
            " arms.",
            caught[1] <= 0.2 * caught[0],
            f"regret {numbers(caught)}; {explored('Guarded(greedy)', 'two arms'):.1f} explored rounds a run.",
        ),
        Finding(
            "On RiverSwim CertVI and UPACLSVI have at most a tenth of the regret of NestedFLUTE.",
            max(tables[:2]) <= 0.1 * tables[2],
            f"regret {numbers(tables)} of CertVI, UPACLSVI, NestedFLUTE.",
        ),
    ]


QUICKSTART = Experiment(
    "quickstart",
    "A first look",
    "Bandit agents on random contexts, agents for MDPs on RiverSwim, the two-armed instance on which OFUL"
    " errs ever more often the longer its past (K rounds offer only the good arm, then both), and two arms on which"
    " greedy is stuck unless it is guarded.",
    _quickstart,
    _quickstart_predictions,
)

EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "quickstart": (QUICKSTART,),
    "paper": PAPER,
    **{experiment.name: (experiment,) for experiment in PAPER},
}
"""A name stands for one experiment or several, which are run together."""

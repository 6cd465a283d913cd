"""E8, E9 and E10: how regret grows with K and d, and what each ingredient is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import (
    exponent,
    largest,
    mean,
    mean_curve,
    mean_regret,
    numbers,
    only,
    within,
)
from unipac.experiments.results import Results, ends, labels

_OURS = "NestedOFUL"
_OFUL = "OFUL (mixture)"


def _e08(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**6 if full else 10**5,
        "agents": {_OURS: {"agent": "NestedOFUL"}, _OFUL: {"agent": "OFUL", "radius": "mixture"}},
        "instances": {
            "contexts": {
                "instance": "sphere",
                "n_actions": 10,
                "sweep": {"dim": [2, 5, 10, 20] if full else [2, 5, 10]},
            },
            "fixed gap": {
                "instance": "fixed_arms",
                "arms": [[1.0, 0.0], [0.0, 1.0]],
                "theta": [0.5, 0.0],
                "noise": 1.0,
                "rounds": 10**7 if full else 10**6,
            },
        },
    }


def _e08_predictions(results: Results) -> list[Finding]:
    slopes = []
    for instance in labels(only(results.curves, family="contexts"), "instance"):
        rounds, regret = mean_curve(results, _OURS, instance)
        late = [(k, r) for k, r in zip(rounds, regret, strict=True) if k >= rounds[-1] / 100]
        slopes.append(exponent(*zip(*late, strict=True)))
    findings = [
        Finding(
            "Regret grows no faster than √K, log factors aside: on contexts like these, with few actions, the"
            " exponent over the last two decades is well below 1/2.",
            all(value <= 0.5 for value in slopes),
            f"exponents {numbers(slopes)} for growing d.",
        )
    ]
    gained = {}
    for agent in (_OFUL, _OURS):
        frame = only(results.mistakes, agent=agent, instance="fixed gap").filter(pl.col("eps") == 0.25)
        means = frame.group_by("round").agg(pl.col("mistakes").mean()).sort("round")
        early = means.filter(pl.col("round") <= largest(means, "round") / 100)
        gained[agent] = means["mistakes"][-1] - early["mistakes"][-1]
    findings.append(
        Finding(
            "With two arms and a fixed gap OFUL returns to the bad arm about 4 log K times, for ever;"
            " NestedOFUL stops.",
            within(gained[_OFUL], 9.0, 37.0) and gained[_OURS] < gained[_OFUL] / 4,
            f"pulls of the bad arm in the last two decades of rounds: OFUL {gained[_OFUL]:.1f}, NestedOFUL "
            f"{gained[_OURS]:.1f}.",
        )
    )
    return findings


E08 = Experiment(
    "e08-regret-growth",
    "E8. How regret grows",
    "Random contexts with noise 1 in growing dimension, and two orthogonal arms with gap 1/2.",
    _e08,
    _e08_predictions,
)


def _e09(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**5 if full else 2 * 10**4,
        "agents": {_OURS: {"agent": "NestedOFUL"}, _OFUL: {"agent": "OFUL", "radius": "mixture"}},
        "instances": {
            "contexts": {
                "instance": "sphere",
                "n_actions": 20,
                "noise": 0.5,
                "sweep": {"dim": [2, 4, 8, 16, 32]},
            }
        },
    }


def _e09_predictions(results: Results) -> list[Finding]:
    dims = [2, 4, 8, 16, 32]
    regrets = [mean_regret(results, _OURS, f"contexts dim={dim}") for dim in dims]
    last = ends(only(results.mistakes, agent=_OURS).filter(pl.col("eps") == 0.125))
    counts = [mean(only(last, instance=f"contexts dim={dim}"), "mistakes") for dim in dims]
    in_regret, in_mistakes = exponent(dims, regrets), exponent(dims, counts)
    return [
        Finding(
            "Regret grows no faster than d, log factors aside.",
            in_regret <= 1.1,
            f"exponent {in_regret:.2f} for d = 2, ..., 32.",
        ),
        Finding(
            "N_ε grows no faster than d², log factors aside (at ε = 1/8).",
            in_mistakes <= 2.1,
            f"exponent {in_mistakes:.2f} for d = 2, ..., 32.",
        ),
    ]


E09 = Experiment(
    "e09-dimension",
    "E9. How regret and mistakes grow with the dimension",
    "Random contexts with 20 actions and noise 0.5.",
    _e09,
    _e09_predictions,
)


def _e10(full: bool) -> Mapping[str, Any]:
    contexts = {"instance": "sphere", "dim": 5, "n_actions": 20}
    return {
        "seeds": 20,
        "rounds": 10**5 if full else 2 * 10**4,
        "agents": {
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture"},
            "OFUL (determinant)": {"agent": "OFUL"},
            "plain (theorem)": {"agent": "UPACOFUL"},
            "plain (determinant)": {"agent": "UPACOFUL", "radius": "determinant"},
            "plain (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
            "nested (determinant)": {"agent": "NestedOFUL", "radius": "determinant", "all_data": False},
            "nested (mixture)": {"agent": "NestedOFUL", "all_data": False},
            "nested + all data (mixture)": {"agent": "NestedOFUL"},
        },
        "instances": {
            "noise 1": {**contexts, "noise": 1.0},
            "noise 0.1": {**contexts, "noise": 0.1},
        },
    }


def _e10_predictions(results: Results) -> list[Finding]:
    instances = ("noise 1", "noise 0.1")

    def ratios(agent: str, against: str) -> list[float]:
        return [
            mean_regret(results, agent, instance) / mean_regret(results, against, instance)
            for instance in instances
        ]

    printed = ratios("plain (theorem)", "OFUL (determinant)")
    ours = ratios("nested + all data (mixture)", "OFUL (mixture)")
    plain = ratios("plain (mixture)", "nested (mixture)")
    return [
        Finding(
            "Expected from pilot runs: the constants of the paper cost 10 to 40 times the regret of OFUL.",
            all(within(ratio, 10, 40) for ratio in printed),
            f"{numbers(printed)} times, with noise 1 and 0.1; the printed radius cannot make use of small"
            " noise.",
        ),
        Finding(
            "Expected from pilot runs: NestedOFUL has the regret of OFUL with the same radius, within 15 %.",
            all(within(ratio, 0.85, 1.15) for ratio in ours),
            f"{numbers(ours)} times, with noise 1 and 0.1.",
        ),
        Finding(
            "Expected from pilot runs: with the same radius, plain levels have more regret than nested ones.",
            all(ratio > 1 for ratio in plain),
            f"{numbers(plain)} times.",
        ),
    ]


E10 = Experiment(
    "e10-ablation",
    "E10. What each ingredient is worth",
    "Plain or nested levels, with or without the set of all data, and three radii, on random contexts in"
    " dimension 5 with 20 actions; E2 shows which of them stay flat on the killer.",
    _e10,
    _e10_predictions,
)

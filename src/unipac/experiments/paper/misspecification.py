"""E16: rewards that are linear only up to an error ζ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import exponent, largest, late_gaps, mean_regret, numbers, only, within
from unipac.experiments.results import Results

_ZETAS = [0.0, 0.05, 0.1, 0.2, 0.4]
_DIM = 5
_OPTIMISTS = ("OFUL (mixture)", "NestedOFUL")
_ON_CONTEXTS = (*_OPTIMISTS, "Guarded(LinUCB)", "AnytimeSupLinUCB")
_ON_ARMS = (*_OPTIMISTS, "Guarded(LinUCB)", "PhasedElimination")


def _e16(full: bool) -> Mapping[str, Any]:
    common = {"instance": "misspecified", "dim": _DIM, "n_actions": 20, "sweep": {"zeta": _ZETAS}}
    return {
        "seeds": 20 if full else 3,
        "rounds": 5000 if full else 1000,
        "agents": {
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture"},
            "NestedOFUL": {"agent": "NestedOFUL"},
            "Guarded(LinUCB)": {"agent": "Guarded"},
            "AnytimeSupLinUCB": {"agent": "AnytimeSupLinUCB"},
            "PhasedElimination": {"agent": "PhasedElimination"},
        },
        "instances": {
            "contexts": {**common, "noise": 0.5, "agents": [*_ON_CONTEXTS]},
            "arms": {**common, "noise": 0.1, "fixed": True, "rounds": 20_000, "agents": [*_ON_ARMS]},
        },
    }


def _late(results: Results, agent: str, family: str) -> list[float]:
    """The mean gap in the second half of the rounds, for each ζ."""
    means = []
    for zeta in _ZETAS:
        gaps = late_gaps(results, agent, f"{family} zeta={zeta:g}")
        means.append(math.fsum(gaps) / len(gaps))
    return means


def _e16_predictions(results: Results) -> list[Finding]:
    late = {agent: _late(results, agent, "contexts") for agent in _ON_CONTEXTS}
    lost = {agent: [gap - gaps[0] for gap in gaps[1:]] for agent, gaps in late.items()}
    overall = [
        mean_regret(results, "NestedOFUL", f"contexts zeta={zeta:g}") / _rounds(results) for zeta in _ZETAS
    ]
    falls = [_ratio(gap, whole) for gap, whole in zip(late["NestedOFUL"], overall, strict=True)]
    powers = {agent: exponent(_ZETAS[1:], values) for agent, values in lost.items()}
    harder = [_ratio(a, b) for a, b in zip(lost["NestedOFUL"], lost["AnytimeSupLinUCB"], strict=True)]
    worst = {
        agent: [max(late_gaps(results, agent, f"arms zeta={zeta:g}")) for zeta in _ZETAS[1:]]
        for agent in _ON_ARMS
    }
    allowed = [2 * (1 + math.sqrt(_DIM)) * zeta for zeta in _ZETAS[1:]]
    return [
        Finding(
            "A linear model cannot converge where rewards are not linear: with ζ ≥ 0.2 the mean gap of NestedOFUL over"
            " the second half of the rounds is at least 0.8 of that over all; with ζ = 0 it is below 0.5.",
            falls[0] < 0.5 and min(falls[3:]) >= 0.8,
            f"{numbers(falls)} for ζ = {numbers(_ZETAS)}.",
        ),
        Finding(
            "What is lost grows with ζ between linearly and quadratically: two actions are confused only if they are"
            " within 2ζ, and that costs at most 2ζ.",
            all(within(power, 0.9, 2.1) for power in powers.values()),
            "exponents " + ", ".join(f"{power:.2f} ({agent})" for agent, power in powers.items()) + ".",
        ),
        Finding(
            "On contexts no agent loses more than 2ζ a round beyond what it loses with ζ = 0, as the best linear rule"
            " may; the theory allows √d times that.",
            all(
                value <= 2 * zeta
                for values in lost.values()
                for value, zeta in zip(values, _ZETAS[1:], strict=True)
            ),
            "; ".join(f"{agent} {numbers(values)}" for agent, values in lost.items())
            + f" for ζ = {numbers(_ZETAS[1:])}.",
        ),
        Finding(
            "Expected of the least of many bounds: it loses optimism first, so ζ costs NestedOFUL at least 1.2 times"
            " what it costs elimination (AnytimeSupLinUCB) at the largest ζ.",
            harder[-1] >= 1.2,
            f"{numbers(harder)} times for ζ = {numbers(_ZETAS[1:])}.",
        ),
        Finding(
            "On fixed arms no run of any agent ends with a mean gap above 2(1 + √d) ζ, elimination included, which may"
            " drop the best arm.",
            all(gap <= most for gaps in worst.values() for gap, most in zip(gaps, allowed, strict=True)),
            "largest mean gap over the second half: "
            + "; ".join(f"{agent} {numbers(gaps)}" for agent, gaps in worst.items())
            + f"; allowed {numbers(allowed)}.",
        ),
    ]


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else math.nan


def _rounds(results: Results) -> float:
    """The number of rounds of the instances with contexts."""
    return largest(only(results.curves, family="contexts"), "round")


E16 = Experiment(
    "e16-misspecification",
    "E16. Rewards that are not quite linear",
    "Mean rewards ⟨x, θ⟩ + ζ cos(20 ⟨x, v⟩) in dimension 5 with 20 actions: contexts with noise 0.5, and fixed arms"
    " with noise 0.1. No promise of the agents holds where ζ > 0, and nothing is called certified there.",
    _e16,
    _e16_predictions,
)

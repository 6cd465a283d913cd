"""E11 and E17: finitely many arms, searches for the best of them, and what uniform-PAC costs there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import (
    exponent,
    largest,
    last_mistake,
    mean,
    mean_regret,
    numbers,
    only,
    within,
)
from unipac.experiments.results import Results, ends

DELTA = 0.05
_SEQUENTIAL = ("LinGapE", "LazyTrackAndStop")
_STATIC = ("GAllocation", "XYStatic")
_PHASED = ("RAGE", "XYAdaptive", "ExploreVerify", "ALBA")
_BY_WIDTH = ("SupLinUCB", "SupLinRel", "VCLSupLinUCB")


def _unit_vectors(count: int, dim: int, seed: int) -> tuple[list[list[float]], list[float]]:
    """Random arms on the unit sphere, and a random parameter of norm 1."""
    drawn = np.random.default_rng(seed).standard_normal((count + 1, dim))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn[:-1].tolist(), drawn[-1].tolist()


def _e11(full: bool) -> Mapping[str, Any]:
    sup = {name: {"agent": name} for name in _BY_WIDTH}
    contexts = {
        "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture"},
        "NestedOFUL": {"agent": "NestedOFUL"},
        "Guarded(LinUCB)": {"agent": "Guarded"},
        "LinTS": {"agent": "LinTS"},
        "ConfidenceBall (mixture)": {"agent": "ConfidenceBall", "radius": "mixture"},
        "ConfidenceBall (paper)": {"agent": "ConfidenceBall", "radius": "paper"},
        "AnytimeSupLinUCB": {"agent": "AnytimeSupLinUCB"},
        "AnytimeSupLinUCB (gate 1)": {"agent": "AnytimeSupLinUCB", "gate": 1.0},
        **sup,
    }
    searches = {name: {"agent": name, "delta": DELTA} for name in (*_SEQUENTIAL, *_PHASED, *_STATIC)}
    few = [*_SEQUENTIAL, *_PHASED]
    searched, direction = _unit_vectors(20, 4, seed=3)
    soare = {"instance": "soare", "dim": 5, "rounds": 10**8, "agents": [*searches]}
    sweep = {"Soare angle=0.1": {**soare, "angle": 0.1, "agents": few}} if full else {}
    return {
        "seeds": 20 if full else 3,
        "rounds": 5000 if full else 1000,
        "agents": {**contexts, "PhasedElimination": {"agent": "PhasedElimination"}, **searches},
        "instances": {
            "contexts": {
                "instance": "sphere",
                "dim": 5,
                "n_actions": 10,
                "noise": 0.5,
                "agents": [*contexts],
            },
            "fixed arms": {
                "instance": "misspecified",  # with ζ = 0: linear, with new random arms for every seed
                "zeta": 0.0,
                "fixed": True,
                "dim": 3,
                "n_actions": 10,
                "noise": 0.5,
                "rounds": 10**4,
                "agents": ["OFUL (mixture)", "NestedOFUL", "Guarded(LinUCB)", "PhasedElimination"],
            },
            "Soare angle=0.5": {**soare, "angle": 0.5},
            "Soare angle=0.3": {**soare, "angle": 0.3},
            **sweep,
            "20 random arms": {
                "instance": "fixed_arms",
                "arms": searched,
                "theta": direction,
                "noise": 1.0,
                "rounds": 10**8,
                "agents": [*searches],
            },
        },
    }


def _mean_pulls(results: Results, search: str, instance: str) -> float:
    return mean(ends(only(results.curves, agent=search, instance=instance)), "round")


def _e11_predictions(results: Results) -> list[Finding]:
    def regret_ratios(agents: tuple[str, ...]) -> list[float]:
        least = mean_regret(results, "OFUL (mixture)", "contexts")
        return [mean_regret(results, agent, "contexts") / least for agent in agents]

    by_width = regret_ratios(_BY_WIDTH)
    balls = regret_ratios(("ConfidenceBall (mixture)", "ConfidenceBall (paper)"))
    anytime = regret_ratios(("AnytimeSupLinUCB", "AnytimeSupLinUCB (gate 1)"))
    findings = [
        Finding(
            "Expected from pilot runs: agents that explore by width and must know the horizon have at least 10"
            " times the regret of OFUL at this length.",
            all(ratio >= 10 for ratio in by_width),
            f"{numbers(by_width)} times for {', '.join(_BY_WIDTH)}.",
        ),
        Finding(
            "ConfidenceBall with the mixture radius is OFUL, to the last choice; its published radius costs at"
            " least 10 times the regret.",
            abs(balls[0] - 1) < 1e-9 and balls[1] >= 10,
            f"{balls[0]:.6f} and {balls[1]:.3g} times the regret of OFUL.",
        ),
        Finding(
            "Without a horizon elimination by levels gains from a large gate: AnytimeSupLinUCB with gate 64 has"
            " less regret than with gate 1, and still more than OFUL.",
            1 < anytime[0] < anytime[1],
            f"{numbers(anytime)} times the regret of OFUL with gate 64 and 1.",
        ),
    ]
    late = {
        agent: last_mistake(results, agent, "fixed arms")
        for agent in ("PhasedElimination", "NestedOFUL", "OFUL (mixture)")
    }
    rounds = largest(only(results.curves, instance="fixed arms"), "round")
    findings.append(
        Finding(
            "On fixed arms PhasedElimination is done after its last phase: its last mistake comes, in the"
            " median, in the first fifth of the rounds, those of OFUL and NestedOFUL in the last tenth.",
            late["PhasedElimination"] <= rounds / 5
            and min(late["NestedOFUL"], late["OFUL (mixture)"]) >= 0.9 * rounds,
            f"median round of the last mistake {numbers(list(late.values()))} of {rounds:,.0f} for"
            f" {', '.join(late)}.",
        )
    )
    return findings + _predictions_of_searches(results)


def _predictions_of_searches(results: Results) -> list[Finding]:
    bounded = ends(results.curves).filter(pl.col("least_pulls").is_not_null())
    ratios = bounded.group_by(pl.col("agent").cast(pl.String), "instance").agg(
        ratio=pl.col("round").mean() / pl.col("least_pulls").max()
    )
    sequential = ratios.filter(pl.col("agent").is_in(list(_SEQUENTIAL)))
    pulls = {
        search: _mean_pulls(results, search, "Soare angle=0.3") for search in (*_SEQUENTIAL, *_STATIC, "ALBA")
    }
    adaptive, static = max(pulls[s] for s in _SEQUENTIAL), min(pulls[s] for s in _STATIC)
    return [
        Finding(
            "Expected from pilot runs: LinGapE and LazyTrackAndStop, which choose every pull by what they know,"
            " need at most 12 times the lower bound on every instance (the factor is in the radius: it falls with"
            " δ).",
            largest(sequential, "ratio") <= 12,
            f"at most {largest(sequential, 'ratio'):.3g} times.",
        ),
        Finding(
            "On Soare's instance (ω = 0.3) a path that sees no rewards needs at least twice the pulls of either;"
            " ALBA, whose phases make everything that is left known, needs the most of all.",
            static >= 2 * adaptive and pulls["ALBA"] >= max(pulls.values()),
            f"{numbers(list(pulls.values()))} pulls for {', '.join(pulls)}.",
        ),
    ]


E11 = Experiment(
    "e11-finite-arms",
    "E11. Finitely many arms",
    "Agents for finitely many actions beside optimism, on random contexts in dimension 5 with 10 actions and noise"
    " 0.5 and on 10 fixed arms in dimension 3, drawn for every run; and searches for the best arm,"
    " on Soare's instance in dimension 5 and on 20 random arms in dimension 4, with noise 1, held"
    " against the least number of pulls that any method needs.",
    _e11,
    _e11_predictions,
)

_UNIFORM = ("PhasedElimination", "NestedOFUL")
_FINDERS = ("LinGapE", "RAGE")


def _angles(results: Results) -> list[float]:
    names = results.curves["instance"].unique().cast(pl.String).str.extract(r"angle=(.*)$")
    return sorted((float(name) for name in names), reverse=True)


def _label(angle: float) -> str:
    return f"Soare angle={angle:g}"


def _identified(angle: float) -> float:
    """A certificate below this proves an arm best: it is a little less than the gap of the last arm."""
    return 0.999 * (1 - math.cos(angle))


def _e17(full: bool) -> Mapping[str, Any]:
    soare = {"instance": "soare", "dim": 2, "noise": 1.0}
    rounds = {0.5: 3 * 10**4, 0.3: 3 * 10**5, 0.2: 10**6}
    instances: dict[str, Any] = {
        _label(angle): {**soare, "angle": angle, "rounds": most} for angle, most in rounds.items()
    }
    if full:  # without NestedOFUL, which would take minutes here
        few = ["PhasedElimination", *_FINDERS]
        instances[_label(0.1)] = {**soare, "angle": 0.1, "rounds": 13 * 10**6, "agents": few}
    angles = [*rounds, 0.1]
    return {
        "seeds": 20 if full else 4,
        "eps": [0.5, *(_identified(angle) for angle in angles)],
        "agents": {name: {"agent": name, "delta": DELTA} for name in (*_UNIFORM, *_FINDERS)},
        "instances": instances,
    }


def _at(results: Results, agent: str, angle: float, eps: float, column: str) -> float:
    frame = ends(only(results.mistakes, agent=agent, instance=_label(angle)))
    return mean(frame.filter((pl.col("eps") - eps).abs() < 1e-12), column)


def _least_rounds(angle: float, bad_pulls: float) -> float:
    """Proposition 3: the pulls of the last arm that are needed to prove the first arm best, after pulls of e_2.

    For t > tan(ω/2), θ + t e_2 makes the last arm best. Pulls of e_2 (each worth t²/2) and of the last arm (each worth
    t² sin²(ω)/2) distinguish it from θ; together they must reach log(1/(2.4 δ)).
    """
    t = math.tan(angle / 2)
    return (2 * math.log(1 / (2.4 * DELTA)) / t**2 - bad_pulls) / math.sin(angle) ** 2


def _e17_predictions(results: Results) -> list[Finding]:
    angles = _angles(results)
    played = {
        agent: [a for a in angles if len(only(results.curves, agent=agent, instance=_label(a)))]
        for agent in _UNIFORM
    }
    bad = {agent: [_at(results, agent, a, 0.5, "mistakes") for a in played[agent]] for agent in _UNIFORM}
    needed = {
        agent: [_at(results, agent, a, _identified(a), "certificates_above") for a in played[agent]]
        for agent in _UNIFORM
    }
    least = {
        agent: [_least_rounds(a, b) for a, b in zip(played[agent], bad[agent], strict=True)]
        for agent in _UNIFORM
    }
    inverse = [1 / angle for angle in angles]
    pulls = {finder: [_mean_pulls(results, finder, _label(angle)) for angle in angles] for finder in _FINDERS}
    growth = {finder: exponent(inverse, pulls[finder]) for finder in _FINDERS}
    ours = exponent(inverse, needed["PhasedElimination"])
    smallest = angles[-1]
    price = least["PhasedElimination"][-1]
    return [
        Finding(
            "Uniform-PAC: pulls of e_2, whose gap is 1, do not grow as ω falls: at the smallest ω at most 10 more than"
            " twice those at the largest.",
            all(counts[-1] <= 2 * counts[0] + 10 for counts in bad.values()),
            "; ".join(f"{agent} {numbers(counts)}" for agent, counts in bad.items())
            + f" for ω = {numbers(angles)}.",
        ),
        Finding(
            "Proposition 3: with B pulls of e_2, no agent knows the best arm before (2 log(1/(2.4 δ))/tan²(ω/2) − B)"
            " / sin²(ω) rounds on average.",
            all(
                k >= least_k
                for agent in _UNIFORM
                for k, least_k in zip(needed[agent], least[agent], strict=True)
            ),
            "; ".join(
                f"{agent} {numbers(needed[agent])} rounds without a certificate below the gap of the second, against"
                f" {numbers(least[agent])}"
                for agent in _UNIFORM
            )
            + ".",
        ),
        Finding(
            "The price: a search needs about 1/ω² pulls, an agent that is uniform-PAC about 1/ω⁴ rounds.",
            all(within(value, 1.5, 2.8) for value in growth.values()) and within(ours, 3.2, 4.8),
            f"exponents {', '.join(f'{value:.2f} ({finder})' for finder, value in growth.items())} and {ours:.2f}"
            " (PhasedElimination).",
        ),
        Finding(
            "At the smallest ω LinGapE stops before any agent that pulls e_2 as rarely as PhasedElimination could: no"
            " algorithm has both.",
            pulls["LinGapE"][-1] < price,
            f"{pulls['LinGapE'][-1]:,.0f} pulls at ω = {smallest:g}; Proposition 3 asks for {price:,.0f}, and"
            f" PhasedElimination took {needed['PhasedElimination'][-1]:,.0f}.",
        ),
    ]


E17 = Experiment(
    "e17-price",
    "E17. The price of uniform-PAC",
    "Soare's instance in dimension 2: e_1 is best, (cos ω, sin ω) nearly as good, and e_2, which is bad, tells the two"
    " apart. Few bad decisions and the best arm soon cannot be had together. An agent has found the best arm when its"
    " certificate falls below the gap of the second.",
    _e17,
    _e17_predictions,
)

"""E1, E2 and E13: instances that mislead optimism by many rounds that teach nothing about the later ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac import theory
from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import growth, mean, mistakes_by_forced, numbers, only
from unipac.experiments.results import Results, ends, labels


def _powers(exponents: range) -> list[int]:
    return [10**k for k in exponents]


DELTA = 0.05
"""δ of the agents here, which all assume noise 1."""


def _e01(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 100 if full else 20,
        "rounds": 200,
        "agents": {
            "BallOFUL": {"agent": "BallOFUL", "noise": 1.0, "delta": DELTA},
            "OFUL": {"agent": "OFUL", "noise": 1.0, "delta": DELTA},
            "NestedOFUL": {"agent": "NestedOFUL", "noise": 1.0, "delta": DELTA},
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture", "noise": 1.0, "delta": DELTA},
        },
        "instances": {
            "appendix A": {
                "instance": "appendix_a",
                "sweep": {"forced": _powers(range(1, 13) if full else range(1, 13, 2))},
            }
        },
    }


def _ties(forced: int) -> int:
    """The number of rounds in which both arms are tied for BallOFUL, as θ = (0, −1) is still possible.

    After j informative rounds it is while (1 + 2j)²/(1 + j) ≤ β², with the determinant radius β.
    """
    count = 0
    for j in range(1000):
        beta = theory.determinant(math.log(1 + forced) + math.log(1 + j), DELTA)
        count += (1 + 2 * j) ** 2 / (1 + j) <= beta**2
    return count


def _e01_predictions(results: Results) -> list[Finding]:
    def mistakes(agent: str) -> dict[int, float]:
        return mistakes_by_forced(results, agent, 1.0, "appendix A")

    ball = mistakes("BallOFUL")
    runs = ends(results.curves)["seed"].n_unique()
    halves = {forced: _ties(forced) / 2 for forced in ball}
    # Standard errors of the mean over the runs; the mistakes of a run are binomial: its ties, with probability 1/2.
    errors = {forced: math.sqrt(half / 2 / runs) for forced, half in halves.items()}
    findings = [
        Finding(
            "After K rounds that teach nothing, OFUL restricted to the unit ball ties while (1 + 2j)²/(1 + j)"
            " ≤ β², about log(K)/4 rounds, and errs (gap 2) in half of them.",
            all(abs(ball[forced] - halves[forced]) <= 4 * errors[forced] for forced in ball),
            f"{numbers(list(ball.values()))} mistakes at K = 10, ..., {max(ball):.0e}; half the ties: "
            f"{numbers(list(halves.values()))}; {growth(ball, 10):.3f} per unit of log K.",
        )
    ]
    others = {agent: max(mistakes(agent).values()) for agent in labels(results.curves, "agent")[1:]}
    findings.append(
        Finding(
            "Without the ball all agents err at most once on this instance, with or without levels.",
            all(count <= 1 for count in others.values()),
            f"at most {', '.join(f'{count:g} ({agent})' for agent, count in others.items())}.",
        )
    )
    return findings


E01 = Experiment(
    "e01-appendix-a",
    "E1. The instance of Appendix A",
    "K rounds offer ±e1, which tell nothing about e2; then the choice is between ±e2. No noise, but the"
    " agents allow for noise 1. The instance misleads OFUL restricted to the unit ball, which breaks ties at"
    " random; E2 is the one that separates OFUL from levels.",
    _e01,
    _e01_predictions,
)


def _e02(full: bool) -> Mapping[str, Any]:
    common = {"noise": 1.0, "delta": DELTA}
    return {
        "seeds": 1,
        "rounds": _FREE,
        "agents": {
            "OFUL (determinant)": {"agent": "OFUL", **common},
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture", **common},
            "NestedOFUL": {"agent": "NestedOFUL", **common},
            "nested (mixture)": {"agent": "NestedOFUL", "all_data": False, **common},
            "nested (determinant)": {
                "agent": "NestedOFUL",
                "radius": "determinant",
                "all_data": False,
                **common,
            },
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture", **common},
            "UPACOFUL (determinant)": {"agent": "UPACOFUL", "radius": "determinant", **common},
            "UPACOFUL (as printed)": {"agent": "UPACOFUL", **common},
        },
        "instances": {
            "killer": {
                "instance": "killer",
                "sweep": {"forced": _powers(range(1, 19) if full else range(1, 19, 2))},
            },
            "killer in phases": {
                "instance": "killer_phases",
                "forced": _powers(range(3, 19, 3)),
                "choices": 2000,
                "agents": ["OFUL (mixture)", "NestedOFUL"],
                "rounds": 12_000,
            },
        },
    }


_FREE = 20_000


def _pulls(forced: int) -> int:
    """Pulls of e2 by OFUL (determinant) in the free rounds, by comparing the upper bounds of both arms."""
    n = 0
    while True:
        good = forced + _FREE - n
        beta = theory.determinant(math.log(1 + good) + math.log(1 + n), DELTA)
        if beta / math.sqrt(1 + n) <= 0.5 * good / (1 + good) + beta / math.sqrt(1 + good):
            return n
        n += 1


def _crossing(pulls: float) -> float:
    """log10 of the K at which OFUL (determinant) makes n = ``pulls`` pulls: β/√(1 + n) = 1/2."""
    root = math.sqrt(1 + pulls) / 2 - 1
    return (root**2 - math.log(1 + pulls) - 2 * math.log(1 / DELTA)) / math.log(10)


def _e02_predictions(results: Results) -> list[Finding]:
    def pulls(agent: str) -> dict[int, float]:
        return mistakes_by_forced(results, agent, 0.25, "killer")

    oful = pulls("OFUL (determinant)")
    solved = {forced: _pulls(forced) for forced in oful}
    slopes = {agent: growth(pulls(agent), 1e8) for agent in ("OFUL (determinant)", "OFUL (mixture)")}
    findings = [
        Finding(
            "OFUL pulls the bad arm (gap 1/2) n times, where β/√(1 + n) falls to 1/2: about 4 log K, without"
            " end.",
            all(abs(oful[forced] - solved[forced]) <= 1 for forced in oful),
            f"{numbers(list(oful.values()))} pulls with the determinant radius; the inequality gives "
            f"{numbers(list(solved.values()))}; per unit of log K beyond 10^8: "
            f"{', '.join(f'{value:.2f} ({agent})' for agent, value in slopes.items())}.",
        )
    ]
    for agent in (
        "NestedOFUL",
        "nested (mixture)",
        "nested (determinant)",
        "UPACOFUL (mixture)",
        "UPACOFUL (determinant)",
    ):
        counts = pulls(agent)
        late = {count for forced, count in counts.items() if forced >= 10**9}
        findings.append(
            Finding(
                f"The pulls of {agent} are bounded: they do not grow beyond K = 10^9.",
                len(late) == 1,
                f"{numbers(list(counts.values()))}.",
            )
        )
    plateau = max(pulls("UPACOFUL (as printed)").values())
    decades = _crossing(plateau)
    findings.append(
        Finding(
            "With the constants of the paper the plateau is so high that OFUL passes it only beyond K ="
            " 10^1600.",
            decades > 1600,
            f"UPAC-OFUL as printed ends at {plateau:,.0f} pulls; OFUL makes as many at K ="
            f" 10^{decades:,.0f}.",
        )
    )
    last = ends(only(results.mistakes, family="killer in phases")).filter(pl.col("eps") == 0.25)
    steps = {agent: mean(only(last, agent=agent), "mistakes") for agent in ("OFUL (mixture)", "NestedOFUL")}
    longest = max(pulls("NestedOFUL").values())
    findings.append(
        Finding(
            "In phases of 10^3, 10^6, ..., 10^18 forced rounds OFUL goes on erring; NestedOFUL errs no more"
            " often in all than after one long run.",
            steps["NestedOFUL"] <= longest and steps["OFUL (mixture)"] > 2 * longest,
            f"{steps['OFUL (mixture)']:g} mistakes of OFUL in all, {steps['NestedOFUL']:g} of NestedOFUL,"
            f" after one long run {longest:g}.",
        )
    )
    return findings


E02 = Experiment(
    "e02-killer",
    "E2. Two arms that kill OFUL",
    "K rounds offer only the good arm e1, then both e1 and e2 are offered for 20,000 rounds; theta = (1/2,"
    " 0). Nothing is random, so one seed is all. Forced rounds are taken in one exact step.",
    _e02,
    _e02_predictions,
)


def _e13(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 1,
        "rounds": 1000,
        "agents": {
            "LSVIUCB (mixture)": {"agent": "LSVIUCB", "radius": "mixture"},
            "LSVIUCB (as printed)": {"agent": "LSVIUCB"},
            "NestedFLUTE (mixture)": {"agent": "NestedFLUTE", "radius": "mixture"},
            "FLUTE (mixture)": {"agent": "FLUTE", "radius": "mixture"},
        },
        "instances": {
            "LSVI killer": {
                "instance": "lsvi_killer",
                "sweep": {"forced": _powers(range(2, 8) if full else range(2, 7))},
            }
        },
    }


def _e13_predictions(results: Results) -> list[Finding]:
    def mistakes(agent: str) -> list[float]:
        return list(mistakes_by_forced(results, agent, 0.25, "LSVI killer").values())

    findings = []
    for agent in ("LSVIUCB (mixture)", "LSVIUCB (as printed)"):
        counts = mistakes(agent)
        findings.append(
            Finding(
                f"The mistakes of {agent} grow with log K, the number of forced episodes, without end.",
                counts == sorted(set(counts)),
                f"{numbers(counts)}.",
            )
        )
    nested, plain, lsvi = (
        mistakes(agent) for agent in ("NestedFLUTE (mixture)", "FLUTE (mixture)", "LSVIUCB (mixture)")
    )
    findings.append(
        Finding(
            "Those of NestedFLUTE have stopped growing: the last two decades add none.",
            nested[-1] == nested[-3],
            f"{numbers(nested)}.",
        )
    )
    findings.append(
        Finding(
            "Those of FLUTE are bounded too, with a plateau that disjoint levels reach later (E2: near 10^9):"
            " in the last decade they grow by less than those of LSVIUCB.",
            plain[-1] - plain[-2] < lsvi[-1] - lsvi[-2],
            f"{numbers(plain)}.",
        )
    )
    return findings


E13 = Experiment(
    "e13-lsvi-killer",
    "E13. The MDP that kills LSVI-UCB",
    "The MDP version of E2, horizon 1: K episodes start in a state where every action has the feature e1, the"
    " next 1,000 where the choice is between e1 and e2. Nothing is random. The mixture radius is not"
    " certified for MDPs.",
    _e13,
    _e13_predictions,
)

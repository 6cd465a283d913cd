"""E1, E2 and E13: instances on which optimism with all data errs without end, and levels do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import growth, mistakes_by_length, numbers, within
from unipac.experiments.results import Results


def _powers(exponents: range) -> list[int]:
    return [10**k for k in exponents]


def _e01(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 100 if full else 20,
        "rounds": 200,
        "agents": {
            "BallOFUL": {"agent": "BallOFUL", "noise": 1.0},
            "NestedOFUL": {"agent": "NestedOFUL", "noise": 1.0},
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture", "noise": 1.0},
        },
        "instances": {
            "appendix A": {
                "instance": "appendix_a",
                "sweep": {"forced": _powers(range(1, 13) if full else range(1, 13, 2))},
            }
        },
    }


def _e01_predictions(results: Results) -> list[Finding]:
    def pulls(agent: str) -> dict[int, float]:
        return mistakes_by_length(results, agent, 1.0, "appendix A")

    ball = growth(pulls("BallOFUL"), 10)
    found = [
        Finding(
            "After K rounds that teach nothing, OFUL restricted to the unit ball ties for about log(K)/4"
            " rounds and errs in half of them: about 1/8 mistakes (gap 2) per unit of log K.",
            within(ball, 0.06, 0.25),
            f"{ball:.3f} per unit of log K; {numbers(list(pulls('BallOFUL').values()))} at K = 10, ...,"
            " 10^11.",
        )
    ]
    for agent in ("NestedOFUL", "UPACOFUL (mixture)"):
        counts = pulls(agent)
        late = growth(counts, 1e5)
        found.append(
            Finding(
                f"The mistakes of {agent} have a bound that does not depend on K.",
                late <= 0.01,
                f"from K = 10^5 on they grow by {late:.3f} per unit of log K; at most"
                f" {max(counts.values()):g}.",
            )
        )
    return found


E01 = Experiment(
    "e01-appendix-a",
    "E1. The instance of Appendix A",
    "K rounds offer ±e1, which tell nothing about e2; then the choice is between ±e2. No noise, but the"
    " agents allow for noise 1. OFUL restricted to the unit ball breaks ties at random.",
    _e01,
    _e01_predictions,
)


def _e02(full: bool) -> Mapping[str, Any]:
    common = {"noise": 1.0}
    return {
        "seeds": 1,
        "rounds": 20_000,
        "agents": {
            "OFUL (determinant)": {"agent": "OFUL", **common},
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture", **common},
            "NestedOFUL": {"agent": "NestedOFUL", **common},
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture", **common},
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


def _e02_predictions(results: Results) -> list[Finding]:
    def pulls(agent: str) -> dict[int, float]:
        return mistakes_by_length(results, agent, 0.25, "killer")

    slopes = {agent: growth(pulls(agent), 1e8) for agent in ("OFUL (determinant)", "OFUL (mixture)")}
    found = [
        Finding(
            "OFUL pulls the bad arm (gap 1/2) about 4 log K times after K forced rounds, without end.",
            all(within(value, 2.0, 12.0) for value in slopes.values()),
            "; ".join(
                f"{agent}: {value:.2f} per unit of log K beyond 10^8" for agent, value in slopes.items()
            )
            + ".",
        )
    ]
    for agent, since in (("NestedOFUL", 1e8), ("UPACOFUL (mixture)", 1e13)):
        counts = pulls(agent)
        late = growth(counts, since)
        found.append(
            Finding(
                f"The pulls of {agent} stop growing.",
                late == 0.0,
                f"{numbers(list(counts.values()))}; {late:.3f} per unit of log K beyond {since:.0e}.",
            )
        )
    printed = pulls("UPACOFUL (as printed)")
    oful = pulls("OFUL (determinant)")
    plateau = max(printed.values())
    pace = slopes["OFUL (determinant)"] * math.log(10)
    ahead = plateau - max(oful.values())
    decades = math.log10(max(oful)) + ahead / pace if pace > 0 else math.inf
    found.append(
        Finding(
            "With the constants of the paper the plateau is so high that OFUL would pass it only near K ="
            " 10^1600.",
            within(decades, 1000, 2500),
            f"UPAC-OFUL as printed ends at {plateau:,.0f} pulls; at its pace OFUL gets there at K ="
            f" 10^{decades:,.0f}.",
        )
    )
    steps = {
        agent: mistakes_by_length(results, agent, 0.25, "killer in phases").popitem()[1]
        for agent in ("OFUL (mixture)", "NestedOFUL")
    }
    found.append(
        Finding(
            "In phases of 10^3, 10^6, ..., 10^18 forced rounds OFUL errs again in every phase, NestedOFUL"
            " does not.",
            steps["OFUL (mixture)"] > 1.5 * steps["NestedOFUL"],
            f"{steps['OFUL (mixture)']:g} mistakes of OFUL in all, {steps['NestedOFUL']:g} of NestedOFUL.",
        )
    )
    return found


E02 = Experiment(
    "e02-killer",
    "E2. Two arms that kill OFUL",
    "K rounds offer only the good arm e1, then both e1 and e2 are offered; theta = (1/2, 0). Nothing is"
    " random, so one seed is all. Forced rounds are taken in one exact step.",
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
        return list(mistakes_by_length(results, agent, 0.25, "LSVI killer").values())

    found = []
    for agent in ("LSVIUCB (mixture)", "LSVIUCB (as printed)"):
        counts = mistakes(agent)
        found.append(
            Finding(
                f"The mistakes of {agent} grow with log K, the number of forced episodes, without end.",
                counts == sorted(set(counts)),
                f"{numbers(counts)}.",
            )
        )
    for agent in ("NestedFLUTE (mixture)", "FLUTE (mixture)"):
        counts = mistakes(agent)
        found.append(
            Finding(f"Those of {agent} stop growing.", counts[-1] == counts[-2], f"{numbers(counts)}.")
        )
    return found


E13 = Experiment(
    "e13-lsvi-killer",
    "E13. The MDP that kills LSVI-UCB",
    "The MDP version of E2, horizon 1: K episodes start in a state where every action has the feature e1, the"
    " next 1,000 where the choice is between e1 and e2. Nothing is random. The mixture radius is not"
    " certified for MDPs.",
    _e13,
    _e13_predictions,
)

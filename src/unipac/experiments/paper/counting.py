"""E3, E4 and E5 compare mistakes, numbers of levels and sizes of levels with their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.envs.bandits.contexts import filling_steps
from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import exponent, largest, numbers, only, smallest, within
from unipac.experiments.results import Results, ends, labels

_ARMS = 7
_LEVELLED = {
    "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
    "NestedOFUL": {"agent": "NestedOFUL"},
}


def _e03(full: bool) -> Mapping[str, Any]:
    means = [(1 - 2.0**-k) / _ARMS**0.5 for k in range(1, _ARMS)]
    return {
        "seeds": 20,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            "NestedOFUL": {"agent": "NestedOFUL"},
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture"},
        },
        "instances": {
            "contexts": {
                "instance": "sphere",
                "n_actions": 10,
                "noise": 0.5,
                "sweep": {"dim": [3, 5]},
            },
            "gaps at every scale": {
                "instance": "fixed_arms",
                "arms": [[float(i == j) for j in range(_ARMS)] for i in range(_ARMS)],
                "theta": [*means, _ARMS**-0.5],
                "noise": 0.1,
            },
        },
    }


def _e03_predictions(results: Results) -> list[Finding]:
    last = ends(only(results.mistakes, agent="NestedOFUL"))
    findings = []
    for family, low, high, prediction in (
        (
            "contexts",
            -2.0,
            0.0,
            "On random contexts N_ε of NestedOFUL grows no faster than 1/ε², log factors aside.",
        ),
        (
            "gaps at every scale",
            -2.3,
            -1.7,
            (
                "Where there are gaps at every scale it does grow like 1/ε²: an arm of gap Δ is pulled about "
                "log(1/δ)/Δ² times."
            ),
        ),
    ):
        slopes, spans = [], []
        for instance in labels(only(last, family=family), "instance"):
            counts = only(last, instance=instance).filter(pl.col("eps").is_between(2.0**-7, 2.0**-1))
            means = counts.group_by("eps").agg(pl.col("mistakes").mean()).filter(pl.col("mistakes") > 0)
            slopes.append(exponent(means["eps"].to_list(), means["mistakes"].to_list()))
            spans.append(f"ε = {smallest(means, 'eps'):g} to {largest(means, 'eps'):g}")
        findings.append(
            Finding(
                prediction,
                all(within(value, low, high) for value in slopes),
                f"slope {numbers(slopes)} on log-log scales ({', '.join(dict.fromkeys(spans))}).",
            )
        )
    return findings


E03 = Experiment(
    "e03-mistakes",
    "E3. Mistakes for every ε at once",
    "Random contexts (10 actions on the unit sphere, noise 0.5), and seven orthogonal arms whose gaps halve"
    " from one to the next (noise 0.1), where every scale has something to learn. Whether N_ε is under its"
    " bound for all ε at once is told beside the figure.",
    _e03,
    _e03_predictions,
)


def _e04(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            **_LEVELLED,
            "FLUTE": {"agent": "FLUTE", "radius": "mixture", "bonus_scale": 0.3},
            "NestedFLUTE": {"agent": "NestedFLUTE", "radius": "mixture", "bonus_scale": 0.3},
        },
        "instances": {
            "norms from": {
                "instance": "sphere",
                "dim": 3,
                "n_actions": 10,
                "sweep": {"shortest": [1.0, 0.1, 0.01]},
            },
            "zero vectors": {
                "instance": "fixed_arms",
                "arms": [[0.0, 0.0], [0.0, 0.0]],
                "theta": [0.5, 0.0],
                "rounds": 10**4,
            },
            "RiverSwim": {
                "instance": "river_swim",
                "n_states": 4,
                "horizon": 6,
                "rounds": 10**5 if full else 10**4,
            },
            "simplex features": {
                "instance": "random_simplex",
                "dim": 4,
                "rounds": 10**5 if full else 10**4,
            },
        },
    }


def _e04_predictions(results: Results) -> list[Finding]:
    findings = []
    for shortest in (1.0, 0.1, 0.01):
        frame = only(results.curves, instance=f"norms from shortest={shortest:g}")
        norms = "With unit norms" if shortest == 1.0 else f"With norms from {shortest:g} to 1"
        findings.append(
            _levels_at_most(
                frame,
                pl.lit(1 / shortest**2),
                f"{norms} the number of levels is at most 1 + log4((K + 1)/{shortest**2:g})",
            )
        )
    zero = ends(only(results.curves, instance="zero vectors"))
    findings.append(
        Finding(
            "Zero vectors open no level (repair C5; the pseudo-code as printed would open one a round).",
            largest(zero, "levels") <= 1,
            f"{largest(zero, 'levels'):.0f} levels after {largest(zero, 'round'):,.0f} rounds.",
        )
    )
    for instance, factor, words in (
        ("RiverSwim", 1.0, "1 + log4(K + 1), since one-hot features have norm 1"),
        ("simplex features", 4.0, "1 + log4(d(K + 1)), d = 4, since features have norm 1/√d or more"),
    ):
        findings.append(
            _levels_at_most(
                only(results.curves, instance=instance),
                pl.lit(factor),
                f"On {instance} the number of levels is at most {words}",
            )
        )
    return findings


def _levels_at_most(frame: pl.DataFrame, factor: pl.Expr, prediction: str) -> Finding:
    """Whether S_k ≤ 1 + log4(factor (k + 1)) at every checkpoint."""
    bound = 1 + (factor * (pl.col("round") + 1)).log(4)
    excess = frame.select((pl.col("levels") - bound).max()).item()
    last = ends(frame)
    return Finding(
        f"{prediction}, surely.",
        excess <= 0,
        f"the largest S - bound is {excess:.2f}; S = {largest(last, 'levels'):.0f} at K ="
        f" {largest(last, 'round'):,.0f}.",
    )


E04 = Experiment(
    "e04-levels",
    "E4. How many levels",
    "The number S of levels in use, on contexts whose norms are log-uniform from 1, 0.1 or 0.01 to 1, on zero"
    " vectors and on MDPs.",
    _e04,
    _e04_predictions,
)


_FILLED = 5
_STEPS = {level: filling_steps(level) for level in range(1, _FILLED + 1)}


def _e05(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**6 if full else 10**5,
        "agents": _LEVELLED,
        "instances": {
            "random": {"instance": "sphere", "n_actions": 10, "sweep": {"dim": [2, 5]}},
            "adversarial": {"instance": "filling", "levels": 6, "sweep": {"dim": [2, 5]}},
        },
    }


def _e05_predictions(results: Results) -> list[Finding]:
    levels = results.levels.with_columns((pl.col("size") / pl.col("bound")).alias("ratio"))
    dim = pl.col("instance").cast(pl.String).str.extract(r"dim=(\d+)").cast(pl.Int64)
    papers = levels.select(
        (pl.col("size") / (17 * dim * pl.col("level") * 4.0 ** pl.col("level"))).max().alias("ratio")
    ).item()
    fullest = largest(levels, "ratio")
    findings = [
        Finding(
            "No level holds more rounds than its bound, surely; nor than 17 d l 4^l, the bound of the paper.",
            fullest <= 1 and papers <= 1,
            f"the fullest level holds {fullest:.3f} of its bound, {papers:.3f} of the paper's.",
        )
    ]
    # The last level is still filling, so it is left out.
    full = levels.filter(pl.col("level") < pl.col("level").max().over("agent", "instance", "seed"))
    plain = only(full, agent="UPACOFUL (mixture)")
    random = only(full, family="random").select("ratio")
    median = float(random.select(pl.col("ratio").median()).item())
    findings.append(
        Finding(
            "Expected from pilot runs: on random contexts levels fill to 0.1-0.3 of their bound (median).",
            within(median, 0.1, 0.3),
            f"median {median:.2f}, from {smallest(random, 'ratio'):.2f} to {largest(random, 'ratio'):.2f}.",
        )
    )
    adversarial = only(plain, family="adversarial").filter(pl.col("level") <= _FILLED)
    fullest = largest(adversarial, "ratio")
    findings.append(
        Finding(
            "Expected from pilot runs: an adversary fills plain levels to about half of their bound"
            " (0.4-0.6).",
            within(fullest, 0.4, 0.6),
            f"the fullest holds {fullest:.2f} of it.",
        )
    )
    steps = pl.col("level").replace_strict(_STEPS)
    filled = adversarial.select((pl.col("size") / (dim * steps)).alias("share"))
    low, high = smallest(filled, "share"), largest(filled, "share")
    findings.append(
        Finding(
            "Actions just long enough to be stored fill plain level l with d(1 + ⌊log(1/q)/log(1 + q)⌋) "
            "rounds, q = 1.01·4^-l, a share of the bound that tends to 1 as l grows.",
            low >= 0.95 and high <= 1.05,
            f"{low:.3f} to {high:.3f} of that number, at levels 1 to {_FILLED}.",
        )
    )
    return findings


E05 = Experiment(
    "e05-level-sizes",
    "E5. How full a level gets",
    "Sizes of the levels against their bound (largest m with (m - 1) log(1 + 4^-l) ≤ d log(1 + m/(dλ))), on"
    " random contexts and on a sequence of actions just long enough to be stored, level after level.",
    _e05,
    _e05_predictions,
)

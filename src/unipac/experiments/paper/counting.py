"""E3, E4 and E5: mistakes, levels and their sizes against their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import ends, exponent, labels, largest, numbers, only, within
from unipac.experiments.results import Results
from unipac.metrics import binomial_upper_tail

FALSE_ALARM = 1e-3
"""What holds with probability 1 − δ counts as not seen if so many failures had less than this chance."""

_ARMS = 7


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
    last = ends(results.mistakes)
    found = []
    for family, low, high, shape in (
        ("contexts", -2.0, -1.0, "with a slope between -2 and -1 on random contexts"),
        ("gaps at every scale", -2.3, -1.5, "with a slope near -2 where there are gaps at every scale"),
    ):
        part = only(last, family=family, agent="NestedOFUL")
        slopes = []
        for instance in labels(part, "instance"):
            means = (
                only(part, instance=instance)
                .filter(pl.col("eps").is_between(2.0**-7, 2.0**-1))
                .group_by("eps")
                .agg(pl.col("mistakes").mean())
            )
            slopes.append(exponent(means["eps"].to_list(), means["mistakes"].to_list()))
        found.append(
            Finding(
                f"N_ε of NestedOFUL grows as a power of ε, {shape}.",
                all(within(value, low, high) for value in slopes),
                f"slope {numbers(slopes)} for ε from 2^-7 to 2^-1.",
            )
        )
    return [*found, under_the_bound(results)]


def under_the_bound(results: Results) -> Finding:
    """Whether N_ε is below its bound for all ε at once, as often as promised."""
    bounded = ends(results.mistakes).filter(pl.col("bound").is_finite())
    runs = bounded.group_by("agent", "instance", "seed", "delta").agg(
        (pl.col("mistakes") > pl.col("bound")).any().alias("failed"),
        (pl.col("mistakes") / pl.col("bound")).max().alias("ratio"),
    )
    failures, total = int(runs["failed"].sum()), len(runs)
    delta = largest(runs, "delta")
    return Finding(
        "With probability 1 - δ, N_ε is below its bound for all ε at once.",
        total > 0 and binomial_upper_tail(failures, total, delta) > FALSE_ALARM,
        f"{failures} of {total} runs went above it somewhere (δ = {delta:g}); the closest came to "
        f"{largest(runs, 'ratio'):.2g} of it.",
    )


E03 = Experiment(
    "e03-mistakes",
    "E3. Mistakes for every ε at once",
    "Random contexts (10 actions on the unit sphere, noise 0.5), and seven orthogonal arms whose gaps halve"
    " from one to the next (noise 0.1), where every scale has something to learn.",
    _e03,
    _e03_predictions,
)


def _e04(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
            "NestedOFUL": {"agent": "NestedOFUL"},
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
    found = []
    for shortest in (1.0, 0.1, 0.01):
        frame = only(results.curves, instance=f"norms from shortest={shortest:g}")
        found.append(
            _levels_at_most(
                frame,
                pl.lit(1 / shortest**2),
                f"With norms from {shortest:g} to 1 the number of levels is at most 1 + log4((K +"
                f" 1)/{shortest:g}²)",
            )
        )
    zero = ends(only(results.curves, instance="zero vectors"))
    found.append(
        Finding(
            "Zero vectors open no level (repair C5; the pseudo-code as printed would open one a round).",
            largest(zero, "levels") <= 1,
            f"{largest(zero, 'levels'):.0f} levels after {largest(zero, 'round'):,.0f} rounds.",
        )
    )
    dims = {"RiverSwim": 8, "simplex features": 4}
    for instance, dim in dims.items():
        found.append(
            _levels_at_most(
                only(results.curves, instance=instance),
                pl.lit(float(dim)),
                f"On {instance} (d = {dim}) the number of levels is at most 1 + log4(d(K + 1))",
            )
        )
    return found


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


def _e05(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
            "NestedOFUL": {"agent": "NestedOFUL"},
        },
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
    found = [
        Finding(
            "No level holds more rounds than its bound, surely; nor than 17 d l 4^l, the bound of the paper.",
            fullest <= 1 and papers <= 1,
            f"the fullest level holds {fullest:.3f} of its bound, {papers:.3f} of the paper's.",
        )
    ]
    # The last level is still filling, so it tells nothing.
    full = levels.filter(pl.col("level") < pl.col("level").max().over("agent", "instance", "seed"))
    for family, words, low, high in (
        ("random", "On random contexts levels fill to a tenth up to a third of their bound.", 0.1, 0.4),
        ("adversarial", "An adversary fills plain levels to about half of their bound.", 0.4, 1.0),
    ):
        ratios = {
            agent: largest(only(full, agent=agent, family=family), "ratio") for agent in labels(full, "agent")
        }
        found.append(
            Finding(
                words,
                within(ratios["UPACOFUL (mixture)"], low, high),
                f"the fullest: {', '.join(f'{agent} {ratio:.2f}' for agent, ratio in ratios.items())}.",
            )
        )
    return found


E05 = Experiment(
    "e05-level-sizes",
    "E5. How full a level gets",
    "Sizes of the levels against their bound (largest m with (m - 1) log(1 + 4^-l) ≤ d log(1 + m/(dλ))), on"
    " random contexts and on a sequence of actions just long enough to be stored, level after level.",
    _e05,
    _e05_predictions,
)

"""E15: how much time an episode costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import exponent, largest, numbers, only, within
from unipac.experiments.results import Results

_DIM = 8


def _e15(full: bool) -> Mapping[str, Any]:
    scale = {"radius": "mixture", "bonus_scale": 0.3}
    return {
        "seeds": 5 if full else 2,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            "NestedFLUTE (lazy)": {"agent": "NestedFLUTE", **scale},
            "NestedFLUTE (always)": {"agent": "NestedFLUTE", "replan": "always", **scale},
            "LSVIUCB (always)": {"agent": "LSVIUCB", **scale},
            "stored, lazy": {"agent": "NestedFLUTE", "stored": True, **scale},
            "stored, always": {"agent": "NestedFLUTE", "stored": True, "replan": "always", **scale},
        },
        "instances": {
            "RiverSwim": {
                "instance": "river_swim",
                "n_states": 4,
                "horizon": 6,
                "agents": ["NestedFLUTE (lazy)", "NestedFLUTE (always)", "LSVIUCB (always)"],
            },
            "RiverSwim, stored": {
                "instance": "river_swim",
                "n_states": 4,
                "horizon": 6,
                "agents": ["stored, lazy", "stored, always"],
                "rounds": 10**4 if full else 3000,
            },
        },
    }


def _e15_predictions(results: Results) -> list[Finding]:
    if results.times.is_empty():
        return [Finding("Time grows linearly with K.", None, "no wall times were kept.")]

    def growth(agent: str) -> float:
        frame = only(results.times, agent=agent)
        means = frame.group_by("round").agg(pl.col("seconds").median()).sort("round")
        late = means.filter(pl.col("round") >= pl.col("round").max() / 10)
        return exponent(late["round"].to_list(), late["seconds"].to_list())

    counted = [growth(agent) for agent in ("NestedFLUTE (lazy)", "NestedFLUTE (always)", "LSVIUCB (always)")]
    lazy, always = growth("stored, lazy"), growth("stored, always")
    plans, allowed = _plans(results, "NestedFLUTE (lazy)")
    return [
        Finding(
            "With finitely many states time grows like K, lazy or not, since transitions are counted.",
            all(within(value, 0.85, 1.15) for value in counted),
            f"exponent over the last decade {numbers(counted)} for lazy, always, LSVIUCB.",
        ),
        Finding(
            "Where transitions are stored, replanning before every episode costs time like K² in the end.",
            within(always, 1.6, 2.3) if always > 1.6 else None,
            f"exponent over the last decade {always:.2f}"
            f"{'' if always > 1.6 else ': what does not depend on K still dominates'}.",
        ),
        Finding(
            "Lazy replanning brings that down to about K.",
            lazy <= 1.3,
            f"exponent over the last decade {lazy:.2f}.",
        ),
        Finding(
            "Lazy replanning plans at most 1 + S + Σ_{h,l} d log(1 + n/d)/log(1.25) times, surely; n is the"
            " size of a nested level.",
            plans <= allowed,
            f"at most {plans:,.0f} plans; the sum is {allowed:,.0f}.",
        ),
    ]


def _plans(results: Results, agent: str) -> tuple[float, float]:
    """The largest number of plans of a run, and the smallest bound on it that the level sizes of a run imply."""
    levels = only(results.levels, agent=agent).sort("seed", "stage", "level")
    inside = pl.col("size").cum_sum().over("seed", "stage", order_by="level")
    rises = _DIM * (1 + inside / _DIM).log() / math.log(1.25)
    sums = (
        levels.with_columns(rises.alias("rises"))
        .group_by("seed")
        .agg(pl.col("rises").sum() + pl.col("level").max() + 1)
    )
    plans = largest(only(results.curves, agent=agent), "plans")
    return plans, float(sums["rises"].min())  # type: ignore[arg-type]


E15 = Experiment(
    "e15-compute",
    "E15. What an episode costs",
    "Wall time against the number of episodes on RiverSwim with 4 states and H = 6: transitions counted, and"
    " stored as for a feature map; plans renewed lazily or always.",
    _e15,
    _e15_predictions,
)

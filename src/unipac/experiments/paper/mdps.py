"""E12 and E15: agents for MDPs side by side, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import exponent, largest, mean, mean_regret, numbers, only, within
from unipac.experiments.results import Results, ends

_SCALED = {"radius": "mixture", "bonus_scale": 0.3}
_SCALED_RUNS = ("simplex dim=4", "simplex dim=6", "RiverSwim", "hypercube")
_TABLE_RUNS = ("RiverSwim 3 x 3", "RiverSwim 6 x 20")


_BOUNDED = {"terminates": False}
_ALL_DATA = {"radius": "monotone", "replan": "lazy", "replan_factor": 1.05, **_BOUNDED}


def _e12(full: bool) -> Mapping[str, Any]:
    certified = {
        "FLUTE (certified)": {"agent": "FLUTE", "radius": "finite"},
        "NestedFLUTE (certified)": {"agent": "NestedFLUTE"},
        "LSVIUCB (certified)": {"agent": "LSVIUCB", "radius": "finite"},
    }
    bounded = {
        "UPACLSVI": {"agent": "UPACLSVI", **_BOUNDED},
        "LSVIUCB (monotone)": {"agent": "LSVIUCB", **_ALL_DATA},
    }
    linear = {
        "FLUTE (scaled)": {"agent": "FLUTE", **_SCALED},
        "NestedFLUTE (scaled)": {"agent": "NestedFLUTE", **_SCALED},
        "LSVIUCB (scaled)": {"agent": "LSVIUCB", **_SCALED},
        **certified,
        **bounded,
    }
    tables = {
        "CertVI": {"agent": "CertVI"},
        "CertVI (pooled)": {"agent": "CertVI", "homogeneous": True},
        "UBEV": {"agent": "UBEV"},
        "PSRL": {"agent": "PSRL"},
        "QLearning": {"agent": "QLearning"},
    }
    swim = {"instance": "river_swim"}
    of_tables = ["NestedFLUTE (certified)", "LSVIUCB (certified)", *bounded, *tables]
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**5 if full else 10**4,
        "agents": {**linear, **tables},
        "instances": {
            "simplex": {"instance": "random_simplex", "agents": [*linear], "sweep": {"dim": [4, 6]}},
            "RiverSwim": {**swim, "n_states": 4, "horizon": 6, "agents": [*linear]},
            "hypercube": {"instance": "hypercube", "dim": 4, "horizon": 4, "agents": [*linear]},
            "small RiverSwim": {
                **swim,
                "n_states": 3,
                "horizon": 3,
                "agents": [*certified],
                "rounds": 2 * 10**6 if full else 10**5,
            },
            _TABLE_RUNS[0]: {**swim, "n_states": 3, "horizon": 3, "agents": of_tables},
            _TABLE_RUNS[1]: {**swim, "n_states": 6, "horizon": 20, "agents": of_tables},
        },
    }


def _e12_predictions(results: Results) -> list[Finding]:
    def ratios(agent: str, against: str) -> list[float]:
        return [
            mean_regret(results, agent, instance) / mean_regret(results, against, instance)
            for instance in _SCALED_RUNS
        ]

    nested = ratios("NestedFLUTE (scaled)", "LSVIUCB (scaled)")
    plain = ratios("FLUTE (scaled)", "NestedFLUTE (scaled)")
    found = [
        Finding(
            "Expected from pilot runs: with the same scaled bonus NestedFLUTE has at most 1.5 times the"
            " regret of LSVI-UCB.",
            all(ratio <= 1.5 for ratio in nested),
            f"{numbers(nested)} times, on {', '.join(_SCALED_RUNS)}.",
        ),
        Finding(
            "Expected from pilot runs: FLUTE has more regret than NestedFLUTE with the same scaled bonus.",
            all(ratio > 1 for ratio in plain),
            f"{numbers(plain)} times.",
        ),
    ]
    last = ends(only(results.curves, agent="NestedFLUTE (certified)")).filter(
        pl.col("instance").cast(pl.String).is_in(list(_SCALED_RUNS))
    )
    late = [_late_share(results, "NestedFLUTE (certified)", instance) for instance in _SCALED_RUNS]
    found.append(
        Finding(
            "Expected from pilot runs: certified, with the radius for finite states, NestedFLUTE has begun to converge"
            " at this length.",
            all(share < 0.9 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}, on"
            f" {', '.join(_SCALED_RUNS)}, K = {largest(last, 'round'):,.0f}.",
        )
    )
    small = [
        _late_share(results, agent, "small RiverSwim")
        for agent in ("LSVIUCB (certified)", "NestedFLUTE (certified)", "FLUTE (certified)")
    ]
    found.append(
        Finding(
            "Expected from pilot runs: on a small MDP it has converged for the most part.",
            small[1] < 0.5,
            f"the same ratio on RiverSwim with 3 states and H = 3: {numbers(small)} for LSVIUCB, NestedFLUTE,"
            f" FLUTE, K = {largest(only(results.curves, instance='small RiverSwim'), 'round'):,.0f}.",
        )
    )
    return found + _predictions_of_radii(results) + _predictions_of_tables(results)


def _predictions_of_radii(results: Results) -> list[Finding]:
    where = (*_SCALED_RUNS, *_TABLE_RUNS)
    old, same = (
        [mean_regret(results, "UPACLSVI", i) / mean_regret(results, against, i) for i in where]
        for against in ("LSVIUCB (certified)", "LSVIUCB (monotone)")
    )
    late = [_late_share(results, "UPACLSVI", instance) for instance in where]
    typical = math.exp(sum(map(math.log, same)) / len(same))
    everywhere = ", ".join(where)
    return [
        Finding(
            "Expected from pilot runs: certified, UPACLSVI has at most 0.4 times the regret of LSVI-UCB with the"
            " radius for finite states.",
            all(ratio <= 0.4 for ratio in old),
            f"{numbers(old)} times, on {everywhere}.",
        ),
        Finding(
            "Expected from pilot runs: the radius makes the difference, not the levels. UPACLSVI and LSVI-UCB with the"
            " same radius have the same regret up to a tenth, in the geometric mean.",
            within(typical, 1 / 1.1, 1.1),
            f"{numbers(same)} times, {typical:.3f} in the mean.",
        ),
        Finding(
            "Expected from pilot runs: UPACLSVI, certified, has converged for the most part at this length.",
            all(share <= 0.5 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}.",
        ),
    ]


def _predictions_of_tables(results: Results) -> list[Finding]:
    def compared(claim: str, agent: str, against: str, most: float) -> Finding:
        ratios = [mean_regret(results, agent, i) / mean_regret(results, against, i) for i in _TABLE_RUNS]
        return Finding(
            f"Expected from pilot runs: {claim}.",
            all(ratio <= most for ratio in ratios),
            f"{numbers(ratios)} times, on {' and '.join(_TABLE_RUNS)}.",
        )

    late = [_late_share(results, "CertVI", instance) for instance in _TABLE_RUNS]
    return [
        compared(
            "UPACLSVI, which takes rewards to be without noise, has less regret than CertVI on tables",
            "UPACLSVI",
            "CertVI",
            1.0,
        ),
        compared("certified, CertVI has at most 0.3 times the regret of UBEV", "CertVI", "UBEV", 0.3),
        compared(
            "where all stages are alike, pooling them leaves CertVI at most a tenth of its regret",
            "CertVI (pooled)",
            "CertVI",
            0.1,
        ),
        compared(
            "certificates cost CertVI at most 5 times the regret of PSRL, which has none",
            "CertVI",
            "PSRL",
            5.0,
        ),
        compared(
            "CertVI has at most half the regret of Q-learning with its usual schedule",
            "CertVI",
            "QLearning",
            0.5,
        ),
        Finding(
            "Expected from pilot runs: CertVI, certified, has converged for the most part at this length.",
            all(share <= 0.25 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}, on"
            f" {' and '.join(_TABLE_RUNS)}.",
        ),
    ]


def _late_share(results: Results, agent: str, instance: str) -> float:
    """Mean gap in the second half of a run, relative to that in the first."""
    frame = only(results.curves, agent=agent, instance=instance)
    length = largest(frame, "round")
    half = ends(frame.filter(pl.col("round") <= length / 2))
    first = mean(half, "regret")
    middle = largest(half, "round")
    early = first / middle
    late = (mean_regret(results, agent, instance) - first) / (length - middle)
    return late / early if early > 0 else 0.0


E12 = Experiment(
    "e12-mdps",
    "E12. FLUTE, NestedFLUTE, LSVI-UCB, UPACLSVI and CertVI",
    "Random MDPs with features in a simplex, RiverSwim, and the hard instance of Zhou, Gu and Szepesvári."
    " Scaled runs use 0.3 times the mixture radius for all agents and are not certified; certified runs use"
    " the proven radius for finite states; UPACLSVI and LSVI-UCB (monotone) have the smaller ones that need to hold for"
    " V* only. On tables (RiverSwim with S x H = 3 x 3 and 6 x 20) CertVI and UBEV are"
    " certified, PSRL and Q-learning prove nothing; rewards are learned. Gaps are exact.",
    _e12,
    _e12_predictions,
)


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
    """The most plans of a run of NestedFLUTE, and the least bound that the level sizes of a run imply."""
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

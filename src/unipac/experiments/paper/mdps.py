"""E12: agents for linear MDPs and for tables side by side."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import (
    compared_regret,
    largest,
    late_share,
    mean_regret,
    numbers,
    only,
    within,
)
from unipac.experiments.results import Results, ends

_SCALED = {"radius": "mixture", "bonus_scale": 0.3}
_SCALED_RUNS = ("simplex dim=4", "simplex dim=6", "RiverSwim", "hypercube")
_TABLE_RUNS = ("RiverSwim 3 x 3", "RiverSwim 6 x 20")


_BOUNDED = {"terminates": False}
_ALL_DATA = {"agent": "MonotoneLSVI", "replan": "lazy", "replan_factor": 1.05, **_BOUNDED}


def _e12(full: bool) -> Mapping[str, Any]:
    certified = {
        "FLUTE (certified)": {"agent": "FLUTE", "radius": "finite"},
        "NestedFLUTE (certified)": {"agent": "NestedFLUTE"},
        "LSVIUCB (certified)": {"agent": "LSVIUCB", "radius": "finite"},
    }
    bounded = {
        "UPACLSVI": {"agent": "UPACLSVI", **_BOUNDED},
        "LSVIUCB (monotone)": _ALL_DATA,
        "LSVIUCB (vertex)": {**_ALL_DATA, "radius": "vertex"},
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
        "UBEV (stitched)": {"agent": "UBEV", "radius": "stitched"},
        "UCBVI (hoeffding)": {"agent": "UCBVI"},
        "UCBVI (bernstein)": {"agent": "UCBVI", "bonus": "bernstein"},
        "UCBAdvantage": {"agent": "UCBAdvantage"},
        "PSRL": {"agent": "PSRL"},
        "QLearning": {"agent": "QLearning"},
    }
    mixtures = {
        "NestedVTR": {"agent": "NestedVTR"},
        "UCRLVTR": {"agent": "UCRLVTR", "radius": "mixture", "scaling": "span"},
    }
    swim = {"instance": "river_swim"}
    of_tables = ["NestedFLUTE (certified)", "LSVIUCB (certified)", *bounded, *tables]
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**5 if full else 10**4,
        "agents": {**linear, **tables, **mixtures},
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
            _TABLE_RUNS[0]: {**swim, "n_states": 3, "horizon": 3, "agents": [*of_tables, *mixtures]},
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
    findings = [
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
    late = [late_share(results, "NestedFLUTE (certified)", instance) for instance in _SCALED_RUNS]
    findings.append(
        Finding(
            "Expected from pilot runs: certified, with the radius for finite states, NestedFLUTE has begun to converge"
            " at this length.",
            all(share < 0.9 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}, on"
            f" {', '.join(_SCALED_RUNS)}, K = {largest(last, 'round'):,.0f}.",
        )
    )
    small = [
        late_share(results, agent, "small RiverSwim")
        for agent in ("LSVIUCB (certified)", "NestedFLUTE (certified)", "FLUTE (certified)")
    ]
    findings.append(
        Finding(
            "Expected from pilot runs: on a small MDP it has converged for the most part.",
            small[1] < 0.5,
            f"the same ratio on RiverSwim with 3 states and H = 3: {numbers(small)} for LSVIUCB, NestedFLUTE,"
            f" FLUTE, K = {largest(only(results.curves, instance='small RiverSwim'), 'round'):,.0f}.",
        )
    )
    return findings + _predictions_of_radii(results) + _predictions_of_tables(results)


def _predictions_of_radii(results: Results) -> list[Finding]:
    where = (*_SCALED_RUNS, *_TABLE_RUNS)
    old, same = (
        [mean_regret(results, "UPACLSVI", i) / mean_regret(results, against, i) for i in where]
        for against in ("LSVIUCB (certified)", "LSVIUCB (monotone)")
    )
    simple = [
        mean_regret(results, "LSVIUCB (vertex)", i) / mean_regret(results, "LSVIUCB (monotone)", i)
        for i in where
    ]
    late = [late_share(results, "UPACLSVI", instance) for instance in where]
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
            "Expected from pilot runs: the simpler radius for all V at once, vertex, costs LSVI-UCB at most 3 times the"
            " regret that it has with the one for V*, monotone.",
            all(ratio <= 3.0 for ratio in simple),
            f"{numbers(simple)} times.",
        ),
        Finding(
            "Expected from pilot runs: UPACLSVI, certified, has converged for the most part at this length.",
            all(share <= 0.5 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}.",
        ),
    ]


def _predictions_of_tables(results: Results) -> list[Finding]:
    compared = functools.partial(compared_regret, results, _TABLE_RUNS)
    late = [late_share(results, "CertVI", instance) for instance in _TABLE_RUNS]
    small = _TABLE_RUNS[0]
    named = [mean_regret(results, agent, small) for agent in ("CertVI", "NestedVTR", "UCRLVTR")]
    return [
        compared(
            "UPACLSVI, which takes rewards to be without noise, has less regret than CertVI on tables",
            "UPACLSVI",
            "CertVI",
            1.0,
        ),
        compared("certified, CertVI has at most 0.3 times the regret of UBEV", "CertVI", "UBEV", 0.3),
        compared(
            "with the smaller radius of the same theorem, stitched, UBEV has at most 0.9 times its regret",
            "UBEV (stitched)",
            "UBEV",
            0.9,
        ),
        *(
            compared(
                f"the constants of {agent} are too large for this length: CertVI has at most a fifth of its regret",
                "CertVI",
                agent,
                0.2,
            )
            for agent in ("UCBVI (hoeffding)", "UCBVI (bernstein)", "UCBAdvantage")
        ),
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
            "Expected from pilot runs: a table is no mixture. On features that only name the triples (s, a, s')"
            " NestedVTR and UCRL-VTR, which know the rewards, have more than twice the regret of CertVI.",
            min(named[1:]) > 2 * named[0],
            f"regret {numbers(named[1:])} against {named[0]:.3g}, on {small}.",
        ),
        Finding(
            "Expected from pilot runs: CertVI, certified, has converged for the most part at this length.",
            all(share <= 0.25 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}, on"
            f" {' and '.join(_TABLE_RUNS)}.",
        ),
    ]


E12 = Experiment(
    "e12-mdps",
    "E12. Agents for linear MDPs and for tables",
    "Random MDPs with features in a simplex, RiverSwim, and the hard instance of Zhou, Gu and Szepesvári."
    " Scaled runs use 0.3 times the mixture radius for all agents and are not certified; certified runs use"
    " the proven radius for finite states; UPACLSVI and LSVI-UCB (monotone) have the smaller ones that need to hold for"
    " V* only, LSVI-UCB (vertex) a simpler one for all V. On tables (RiverSwim with S x H = 3 x 3 and 6 x 20) rewards"
    " are learned; CertVI, UBEV and UCB-Advantage are certified, UCBVI is not where rewards are learned, PSRL and"
    " Q-learning prove nothing. NestedVTR and UCRL-VTR, certified, know the rewards and take the table for a mixture,"
    " one feature for each triple (s, a, s'). Gaps are exact.",
    _e12,
    _e12_predictions,
)

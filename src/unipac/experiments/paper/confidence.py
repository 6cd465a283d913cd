"""E6 and E7: do confidence sets and certificates keep their promise?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.counting import FALSE_ALARM
from unipac.experiments.paper.measures import ends, largest, only
from unipac.experiments.results import Results
from unipac.metrics import binomial_upper_tail

_HALF = "half the radius"


def _e06(full: bool) -> Mapping[str, Any]:
    delta = {"delta": [0.5, 0.1, 0.05]}
    contexts = {"instance": "sphere", "dim": 3, "n_actions": 5, "noise": 1.0}
    return {
        "seeds": 1000 if full else 60,
        "rounds": 1000,
        "coverage": True,
        "eps": [0.25],
        "agents": {
            "UPACOFUL": {
                "agent": "UPACOFUL",
                "sweep": {"radius": ["theorem", "determinant", "mixture"], **delta},
            },
            "NestedOFUL": {"agent": "NestedOFUL", "sweep": delta},
            _HALF: {"agent": "NestedOFUL", "bonus_scale": 0.5, "sweep": {"delta": [0.1]}},
        },
        "instances": {
            "Gaussian": {**contexts, "noise_kind": "gaussian"},
            "Rademacher": {**contexts, "noise_kind": "rademacher"},
        },
    }


def _e06_predictions(results: Results) -> list[Finding]:
    last = ends(results.curves).with_columns((pl.col("uncovered") > 0).alias("failed"))
    groups = last.group_by("agent", "instance", "delta", maintain_order=True).agg(
        pl.col("failed").sum(), pl.len().alias("runs")
    )
    half = pl.col("agent").cast(pl.String).str.starts_with(_HALF)
    unlikely, worst = [], ("", 0.0)
    for agent, instance, delta, failed, runs in groups.filter(~half).iter_rows():
        if binomial_upper_tail(failed, runs, delta) <= FALSE_ALARM:
            unlikely.append(f"{agent} on {instance}: {failed} of {runs}")
        if failed / runs / delta >= worst[1]:
            worst = f"{agent}, {instance} noise: {failed} of {runs}", failed / runs / delta
    control = groups.filter(half)
    rates = (control["failed"] / control["runs"]).to_list()
    return [
        Finding(
            "The truth leaves a confidence set in at most a share δ of the runs, for every radius, δ and"
            " noise.",
            not unlikely,
            ("; ".join(unlikely) if unlikely else f"closest to δ came {worst[0]}") + ".",
        ),
        Finding(
            "Half the radius breaks the promise (negative control).",
            all(
                binomial_upper_tail(failed, runs, delta) < FALSE_ALARM
                for _, _, delta, failed, runs in control.iter_rows()
            ),
            f"the truth left in {', '.join(f'{rate:.0%}' for rate in rates)} of the runs at δ = 0.1.",
        ),
    ]


E06 = Experiment(
    "e06-coverage",
    "E6. How often the truth leaves a confidence set",
    "1,000 rounds with 5 random actions in dimension 3; a run fails if in any round the truth is outside any"
    " set of any level.",
    _e06,
    _e06_predictions,
)


def _e07(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20,
        "rounds": 10**6 if full else 10**5,
        "agents": {
            "NestedOFUL": {"agent": "NestedOFUL"},
            "UPACOFUL (mixture)": {"agent": "UPACOFUL", "radius": "mixture"},
            "OFUL (mixture)": {"agent": "OFUL", "radius": "mixture"},
            "NestedFLUTE (finite)": {"agent": "NestedFLUTE"},
            "FLUTE (finite)": {"agent": "FLUTE", "radius": "finite"},
        },
        "instances": {
            "contexts": {"instance": "sphere", "dim": 3, "n_actions": 10, "noise": 0.5},
            "RiverSwim": {"instance": "river_swim", "n_states": 3, "horizon": 3},
        },
    }


def _e07_predictions(results: Results) -> list[Finding]:
    last = ends(results.curves)
    failed = last.filter(pl.col("violations") > 0)
    delta = largest(last, "delta")
    above = results.mistakes.filter(
        pl.col("bound").is_finite() & (pl.col("certificates_above") > pl.col("bound"))
    )
    found = [
        Finding(
            "With probability 1 - δ no certificate is below the gap of its round (for MDPs, no bound on the"
            " regret below the regret, with probability 1 - 2δ).",
            binomial_upper_tail(len(failed), len(last), delta) > FALSE_ALARM,
            f"{len(failed)} of {len(last)} runs had one that was (δ = {delta:g}).",
        ),
        Finding(
            "The number of rounds with a certificate above ε is below the bound on N_ε, surely, for every ε.",
            above.is_empty(),
            f"{len(above)} of {results.mistakes['certificates_above'].count():,} counts were above.",
        ),
    ]
    tightness = (
        last.with_columns((pl.col("certified_regret") / pl.col("regret")).alias("ratio"))
        .group_by("agent", maintain_order=True)
        .agg(pl.col("ratio").median())
    )
    words = [f"{agent} {ratio:,.0f}" for agent, ratio in tightness.iter_rows() if ratio is not None]
    falling = _certificate_falls(results)
    found.append(
        Finding(
            "Certificates converge: their average over the rounds so far keeps falling.",
            falling,
            f"the certified regret is a multiple of the true one: {', '.join(words)}.",
        )
    )
    return found


def _certificate_falls(results: Results) -> bool:
    """Whether every agent's average certificate is lower at the end than after a tenth of the rounds."""
    frame = only(results.curves, instance="contexts").filter(pl.col("certified_regret").is_not_null())
    frame = frame.with_columns((pl.col("certified_regret") / pl.col("round")).alias("average"))
    tenth = frame.filter(pl.col("round") <= largest(frame, "round") / 10)
    before = ends(tenth).group_by("agent").agg(pl.col("average").mean().alias("before"))
    after = ends(frame).group_by("agent").agg(pl.col("average").mean().alias("after"))
    both = before.join(after, on="agent")
    return bool((both["after"] < both["before"]).all())


E07 = Experiment(
    "e07-certificates",
    "E7. Certificates against true gaps",
    "Every bandit decision carries a certificate; for MDPs a bound on the whole regret follows from the"
    " agent's upper bounds and the rewards received. The truth is known here, so both can be held"
    " against it.",
    _e07,
    _e07_predictions,
)

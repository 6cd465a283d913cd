"""E6 and E7: do confidence sets and certificates keep their promise?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from unipac.experiments.chance import certificate_delta, least_likely
from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import largest, only
from unipac.experiments.results import Results, ends, labels

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
            "NestedOFUL": {"agent": "NestedOFUL", "sweep": {"radius": ["determinant", "mixture"], **delta}},
            _HALF: {"agent": "NestedOFUL", "bonus_scale": 0.5, "sweep": {"delta": [0.1]}},
        },
        "instances": {
            "Gaussian": {**contexts, "noise_kind": "gaussian"},
            "Rademacher": {**contexts, "noise_kind": "rademacher"},
        },
    }


def _e06_predictions(results: Results) -> list[Finding]:
    last = ends(results.curves).with_columns((pl.col("uncovered") > 0).alias("failed"))
    half = pl.col("agent").cast(pl.String).str.starts_with(_HALF)
    whole, control = last.filter(~half), last.filter(half)
    chance = least_likely(whole)
    shares = control.group_by("instance", maintain_order=True).agg(pl.col("failed").mean())
    return [
        Finding(
            "The truth leaves a confidence set in at most a share δ of the runs, for every radius, δ and"
            " noise.",
            chance.kept,
            f"it did in {chance.failures:,} of {chance.runs:,} runs{chance.comment}.",
        ),
        Finding(
            "Half the radius breaks the promise (negative control).",
            all(not least_likely(only(control, instance=name)).kept for name in labels(control, "instance")),
            f"the truth left in {', '.join(f'{share:.0%}' for share in shares['failed'])} of the runs at δ ="
            " 0.1.",
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
    chance = least_likely(
        last.with_columns(
            (pl.col("violations") > 0).alias("failed"),
            certificate_delta(),
        )
    )
    counts = ends(results.mistakes).filter(
        (pl.col("bound") < pl.col("round")) & pl.col("certificates_above").is_not_null()
    )
    ratio = (pl.col("certificates_above") / pl.col("bound")).max()
    closest = counts.select(ratio).item() or 0.0
    fell = _average_certificates(results)
    return [
        Finding(
            "With probability 1 - δ no certificate is below the gap of its round; for MDPs, with probability"
            " 1 - 2δ, no bound on the regret is below the regret.",
            chance.kept,
            f"{chance.failures} of {chance.runs} runs had one that was{chance.comment}.",
        ),
        Finding(
            "The number of rounds with a certificate above ε is below the bound on N_ε, surely, for every ε.",
            closest <= 1,
            f"the largest of {len(counts)} counts with a bound below the number of rounds came to"
            f" {closest:.3f} of it.",
        ),
        Finding(
            "Certificates fall: their average over the rounds so far is lower at the end than after a tenth"
            " of them.",
            bool((fell["after"] < fell["before"]).all()),
            "; ".join(f"{agent} {before:.3g} to {after:.3g}" for agent, before, after in fell.iter_rows())
            + ".",
        ),
    ]


def _average_certificates(results: Results) -> pl.DataFrame:
    """For each agent, the average certificate after a tenth of the rounds and at the end."""
    frame = results.curves.filter(pl.col("certified_regret").is_not_null())
    frame = frame.with_columns((pl.col("certified_regret") / pl.col("round")).alias("average"))
    tenth = frame.filter(pl.col("round") <= largest(frame, "round") / 10)
    by_agent = {"before": tenth, "after": frame}
    before, after = (
        ends(part).group_by("agent", maintain_order=True).agg(pl.col("average").mean().alias(name))
        for name, part in by_agent.items()
    )
    return before.join(after, on="agent", maintain_order="left")


E07 = Experiment(
    "e07-certificates",
    "E7. Certificates against true gaps",
    "Every bandit decision carries a certificate; for MDPs a bound on the whole regret follows from the"
    " agent's upper bounds and the rewards received. The truth is known here, so both can be held"
    " against it.",
    _e07,
    _e07_predictions,
)

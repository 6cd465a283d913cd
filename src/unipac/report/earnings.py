"""Figures over the rounds: rewards, certificates of late rounds, and how often a guard explored."""

from __future__ import annotations

import polars as pl

from unipac.experiments.options import Options
from unipac.experiments.results import labels
from unipac.report.frames import CELL, free_rounds, require
from unipac.report.lines import Axis
from unipac.report.panels import REGRET, USUAL, Drawn, over_rounds
from unipac.report.style import Looks, looks
from unipac.report.summaries import above, band, left_out, sentences, summarised, wanted

FIRST = 10
"""An average over fewer rounds is mostly chance, and is not drawn."""


def reward(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """The average reward of the rounds so far."""
    require(curves, (*REGRET, "reward"), "curves")
    curves = wanted(curves, options)
    rewarded = curves.filter(pl.col("reward").is_not_null() & (pl.col("round") >= FIRST))
    return over_rounds(
        "Reward",
        rewarded,
        chosen or looks(labels(curves, "agent")),
        lambda part: summarised(part.with_columns(y=pl.col("reward") / pl.col("round")), options),
        y=Axis("average reward so far", "near"),
        options=options,
        caption=sentences(band(options), left_out(curves, rewarded, "no reward")),
    )


def promises(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """The average certificates and gaps of the rounds since the checkpoint before."""
    require(curves, (*REGRET, "claimed"), "curves")
    curves = wanted(curves, options)
    lines = {"gap": "regret", "certificate": "claimed"}
    claims = curves.filter(pl.col("claimed").is_not_null() & (free_rounds(curves) >= FIRST))
    log = options.y != "linear"

    def aggregated(part: pl.DataFrame) -> pl.DataFrame:
        late = [summarised(_since_checkpoint(part, column), options, line) for line, column in lines.items()]
        return above(pl.concat(late), log)

    unproven = (
        labels(claims.filter(~pl.col("certified")), "instance") if "certified" in claims.columns else []
    )
    return over_rounds(
        "Certificates of late",
        claims,
        chosen or looks(labels(curves, "agent")),
        aggregated,
        y=Axis("average since the last point", "log"),
        options=options,
        caption=sentences(
            band(options),
            "Each point is the average over the choices since the point before, the latest fifth of all so far.",
            "Dashed: the certificate, what a choice can lose at most. Solid: what it did lose.",
            f"On {', '.join(unproven)} an assumption of the agents does not hold or cannot be checked: there a"
            " certificate is what they say, not what is proven."
            if unproven
            else "",
            left_out(curves, claims, "no certificates"),
        ),
        lines=tuple(lines),
    )


def explored(curves: pl.DataFrame, chosen: Looks | None = None, options: Options = USUAL) -> Drawn:
    """The number of rounds so far in which a guard explored."""
    require(curves, (*REGRET, "explored"), "curves")
    curves = wanted(curves, options)
    guarded = curves.filter(pl.col("explored").is_not_null())
    return over_rounds(
        "Explored rounds",
        guarded,
        chosen or looks(labels(curves, "agent")),
        lambda part: summarised(part.with_columns(y=pl.col("explored")), options),
        y=Axis("rounds in which the guard explored", "linear"),
        options=options,
        caption=sentences(band(options), left_out(curves, guarded, "no guard")),
    )


def _since_checkpoint(part: pl.DataFrame, column: str) -> pl.DataFrame:
    """The average of a column over the choices since the previous checkpoint, as `y`.

    The last checkpoint is the end of the run; checkpoints shortly before it are left out.
    """
    ordered = part.with_columns(free_rounds(part).alias("_choices")).sort("round")
    last = pl.col("_choices").max().over(*CELL)
    ordered = ordered.filter((pl.col("_choices") == last) | (pl.col("_choices") <= 0.9 * last))
    grown = [pl.col(name) - pl.col(name).shift(1, fill_value=0).over(*CELL) for name in (column, "_choices")]
    return ordered.with_columns(y=pl.when(grown[1] > 0).then(grown[0] / grown[1])).filter(
        pl.col("y").is_not_null()
    )

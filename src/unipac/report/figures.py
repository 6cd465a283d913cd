"""Figures: each function takes a data frame and returns an Altair chart; the frame may come from anywhere.

The frames have one row per run and checkpoint; a run is identified by agent, family, instance and seed. An
experiment's `Results` has all these frames. Several instances make several charts side by side. All functions take
`options`: ``report.Options(lines="mean", y="linear", width=400)``.

Example:
    >>> import polars as pl
    >>> rounds = [1, 10, 100]
    >>> curves = pl.DataFrame({"round": rounds, "regret": [1.0, 3.0, 5.0]}).with_columns(
    ...     pl.lit("arms").alias("family"), pl.lit("arms").alias("instance"), pl.lit("bandit").alias("kind"),
    ...     agent=pl.lit("mine"), seed=0,
    ... )
    >>> regret(curves).to_dict()["title"]["text"]
    'Regret'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from unipac.experiments.options import Options
from unipac.report import earnings, panels
from unipac.report.lines import configured, draw
from unipac.report.panels import USUAL

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.LayerChart | alt.ConcatChart


def regret(curves: pl.DataFrame, options: Options = USUAL) -> Chart:
    """Cumulative regret over the rounds, log-log: median over the seeds with a band of 80 %.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret.
        options: how it looks.
    """
    return _joined(panels.regret(curves, options=options))


def mistakes(mistakes: pl.DataFrame, options: Options = USUAL) -> Chart:
    """N_ε at the end of the runs against ε; the proven bound is dashed.

    Args:
        mistakes: columns agent, family, instance, seed, kind, round, eps, mistakes, bound (inf: none).
        options: how it looks.
    """
    return _joined(panels.mistakes(mistakes, options=options))


def mistakes_over_time(mistakes: pl.DataFrame, eps: float | None = None, options: Options = USUAL) -> Chart:
    """N_ε against the logarithm of the rounds, for one ε.

    A family whose instances end at different rounds makes one chart with a point for each instance.

    Args:
        mistakes: a frame as for the function `mistakes`.
        eps: an ε of the grid; by default the largest at which half of the agents made ten mistakes or more.
        options: how it looks.
    """
    return _joined(panels.mistakes_over_time(mistakes, options=options, eps=eps))


def levels(levels: pl.DataFrame, options: Options = USUAL) -> Chart:
    """The largest size of each level over seeds and stages; the proven bound is dashed.

    Args:
        levels: columns agent, family, instance, seed, stage, level, size, bound (inf: none).
        options: how it looks.
    """
    return _joined(panels.levels(levels, options=options))


def certificates(curves: pl.DataFrame, options: Options = USUAL) -> Chart:
    """The average gap of the rounds so far (solid) and the average certificate (dashed), log-log.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, certified_regret (null: none).
        options: how it looks.
    """
    return _joined(panels.certificates(curves, options=options))


def times(times: pl.DataFrame, options: Options = USUAL) -> Chart:
    """Seconds against rounds, log-log; for MDPs also the number of plans against episodes.

    Args:
        times: columns agent, family, instance, seed, kind, round, seconds, plans (null for bandits).
        options: how it looks.
    """
    return _joined(panels.times(times, options=options))


def reward(curves: pl.DataFrame, options: Options = USUAL) -> Chart:
    """The average reward of the rounds so far.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, reward.
        options: how it looks.
    """
    return _joined(earnings.reward(curves, options=options))


def promises(curves: pl.DataFrame, options: Options = USUAL) -> Chart:
    """The average certificates (dashed) and gaps (solid) of the rounds since the previous point.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, claimed (the sum of all certificates).
        options: how it looks.
    """
    return _joined(earnings.promises(curves, options=options))


def explored(curves: pl.DataFrame, options: Options = USUAL) -> Chart:
    """The number of rounds so far in which a guard explored.

    Args:
        curves: columns agent, family, instance, seed, kind, round, regret, explored (null: no guard).
        options: how it looks.
    """
    return _joined(earnings.explored(curves, options=options))


def _joined(drawn: panels.Drawn) -> Chart:
    """All panels of a figure as one chart."""
    import altair as alt

    if not drawn.panels:
        raise ValueError(f"there is nothing to draw. {drawn.caption}")
    charts = [draw(panel) for panel in drawn.panels]
    return configured(charts[0] if len(charts) == 1 else alt.concat(*charts, columns=2))

"""Results of known numbers, and what their charts hold."""

import csv
import io
import math

import polars as pl

from unipac.experiments.results import Results

ROUNDS = (1, 10, 30, 100, 300, 1000, 3000, 8000, 10_000)
EPS = (1.0, 0.5, 0.25, 0.125)
AGENTS = ("nested", "free", "heuristic")
"""With a bound on N_ε; certified without one; not certified."""


def made(agents=AGENTS, instances=("arms",), family="arms", seeds=4, kind="bandit", rounds=None):
    """Results with regret √t, N_ε = √t/(100ε) but at most t, and bounds ten times as large at the end.

    `rounds` maps an instance to its checkpoints.
    """
    cells = (
        pl.DataFrame({"agent": agents}, schema={"agent": pl.String})
        .join(pl.DataFrame({"instance": instances}, schema={"instance": pl.String}), how="cross")
        .join(pl.DataFrame({"seed": range(seeds)}, schema={"seed": pl.Int64}), how="cross")
        .with_columns(family=pl.lit(family), kind=pl.lit(kind), delta=pl.lit(0.05))
        .with_columns(certified=pl.col("agent") != "heuristic")
    )
    checkpoints = pl.DataFrame(
        [(name, t) for name in instances for t in (rounds or {}).get(name, ROUNDS)],
        schema={"instance": pl.String, "round": pl.Int64},
        orient="row",
    )
    curves = cells.join(checkpoints, on="instance", maintain_order="left_right")
    root = pl.col("round").cast(pl.Float64).sqrt()
    proven = pl.when(pl.col("certified"))
    plans = (
        (5 * pl.col("round").log1p()).cast(pl.Int64) + 1 if kind == "mdp" else pl.lit(None, dtype=pl.Int64)
    )
    counts = pl.min_horizontal(pl.col("round"), (root / 100 / pl.col("eps")).floor().cast(pl.Int64))
    bound = pl.when(pl.col("agent") == "nested").then(10 / pl.col("eps")).otherwise(math.inf)
    times = curves.select(
        "agent", "family", "instance", "seed", "kind", "round", seconds=pl.col("round") * 1e-5, plans=plans
    )
    levels = cells.join(pl.DataFrame({"stage": [1, 1], "level": [1, 2], "size": [3, 12]}), how="cross")
    mistakes = curves.join(pl.DataFrame({"eps": EPS}), how="cross").with_columns(mistakes=counts, bound=bound)
    return Results(
        curves=curves.with_columns(
            regret=root * (1 + pl.col("seed") / 10),
            reward=pl.col("round") * 0.5,
            certified_regret=proven.then(5 * root),
            violations=proven.then(pl.lit(0)),
            uncovered=proven.then(pl.lit(0)),
            levels=pl.lit(2),
            plans=plans,
        ),
        mistakes=mistakes.with_columns(certificates_above=proven.then(pl.lit(3))),
        levels=levels.with_columns(
            bound=pl.when(pl.col("agent") == "nested").then(4.0 ** pl.col("level") * 2).otherwise(math.inf)
        ),
        times=times,
    )


def sweep(counts, bound=30.0):
    """A family of runs of length 10² to 10¹⁸; `counts` maps an agent to its mistakes at the k-th power."""
    powers = range(2, 19, 2)
    names = [f"killer forced=10^{k}" for k in powers]
    results = made(
        tuple(counts), names, "killer", rounds={f"killer forced=10^{k}": (10**k - 1, 10**k) for k in powers}
    )
    power = pl.col("round").cast(pl.Float64).log10().round()
    count = pl.coalesce(
        pl.when((pl.col("agent") == agent) & (power == k)).then(pl.lit(of(k)))
        for agent, of in counts.items()
        for k in powers
    )
    bounded = pl.when(pl.col("agent").str.starts_with("nested")).then(bound).otherwise(math.inf)
    return results._replace(mistakes=results.mistakes.with_columns(mistakes=count, bound=bounded))


def rows(chart, mark):
    """The data of the layers of one mark, over all panels."""
    spec = chart.to_dict()
    charts = spec.get("concat", [spec])
    layers = [layer for part in charts for layer in part["layer"] if layer["mark"]["type"] == mark]
    found = []
    for layer in layers:
        data, labels = layer["data"], ("agent", "line")
        text = data["values"] if "values" in data else spec["datasets"][data["name"]]
        for row in csv.DictReader(io.StringIO(text)):
            found.append({key: value if key in labels else float(value) for key, value in row.items()})
    return found


def searched():
    """Two searches that stopped by themselves on two instances; any method needs 100 and 200 pulls."""
    names = ("easy", "hard")
    results = made(("fast", "slow"), names, seeds=3, kind="search", rounds={"easy": (400,), "hard": (900,)})
    least = pl.when(pl.col("instance") == "easy").then(100.0).otherwise(200.0)
    ended = results.curves.with_columns(certified_regret=pl.lit(0.0), least_pulls=least)
    empty = [frame.clear() for frame in (results.mistakes, results.levels, results.times)]
    return Results(ended, *empty)

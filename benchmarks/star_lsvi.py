"""StarLSVI: regret and certificates on simplex MDPs, RiverSwim and continuous MDPs; writes ``star_lsvi.json``.

python benchmarks/star_lsvi.py [tables | continuous | limits] [--again]

Rows that are there already are kept, unless ``--again`` is given.
"""

from __future__ import annotations

import json
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from unipac import envs

WRITTEN = Path(__file__).with_suffix(".json")
FIRST, OTHERS = tuple(range(5)), tuple(range(101, 106))
TABLES: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "simplex d = 4": (lambda seed: envs.random_simplex(dim=4, seed=seed), (*FIRST, *OTHERS), 100_000),
    "simplex d = 6": (lambda seed: envs.random_simplex(dim=6, seed=seed), (*FIRST, *OTHERS), 100_000),
    "RiverSwim 3 x 3": (lambda seed: envs.river_swim(3, 3), FIRST, 100_000),
}
CONTINUOUS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "continuous swim d = 5, H = 4": (lambda seed: envs.continuous_swim(), FIRST, 30_000),
    "random continuous d = 5, A = 4, H = 4": (lambda seed: envs.random_continuous(seed=seed), (0, 1), 30_000),
}
LIMITS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "RiverSwim 6 x 20": (lambda seed: envs.river_swim(6, 20), (0, 1), 30_000),
    "simplex d = 20": (lambda seed: envs.random_simplex(dim=20, seed=seed), (0, 1), 100_000),
}
"""Where it is not useful."""
SETTINGS: dict[str, dict[str, Any]] = {
    "mixture": {},
    "mixture, bonus_scale=.3": {"bonus_scale": 0.3},
    "mixture, bonus_scale=.1, explore=16": {"bonus_scale": 0.1, "explore": 16},
    "mixture, wait=False": {"wait": False},
    "mixture, terminates": {"terminates": True},
    "general": {"mixture": False},
}


SLOW = ("mixture", "mixture, bonus_scale=.3", "mixture, bonus_scale=.1, explore=16")
"""The settings for continuous MDPs, where a run takes 20 s; only the first with learned rewards, too."""


def made(mdp: Any, told: dict[str, Any], known: bool) -> Any:
    """An agent for an MDP."""
    given = {"mixture": True, "terminates": False, "horizon": mdp.horizon, **told}
    if isinstance(mdp, envs.ContinuousMDP):
        return unipac.StarLSVI(
            feature_map=mdp.feature_map, **given, **({"rewards": mdp.weights} if known else {})
        )
    return unipac.StarLSVI.made_for(mdp, **given, **({"rewards": mdp.rewards} if known else {}))


def measure(where: str, setting: str, known: bool) -> dict[str, Any]:
    """Regret of each run, its certificates after 10^4 episodes and at the end, and what went wrong."""
    make, seeds, episodes = {**TABLES, **CONTINUOUS, **LIMITS}[where]
    row: dict[str, Any] = {"where": where, "setting": setting, "known": known, "episodes": episodes}
    names = ("regret", "early", "end", "tail", "mean", "gap", "below", "plans", "seconds")
    row |= {name: [] for name in names}
    for seed in seeds:
        mdp = make(seed)
        agent = made(mdp, SETTINGS[setting], known)
        began = time.process_time()
        trace = agent.play(mdp, episodes=episodes, seed=seed)
        gap, told = trace.gap, trace.certificate
        plain = ~(np.isnan(told) | trace.explored)
        early, late = plain[:10_000], plain[episodes // 2 :]
        values = (
            gap.sum(), told[:10_000][early][-900:].mean(), told[plain][-900:].mean(),
            told[episodes // 2 :][late].mean(), told[plain].mean(),
            gap[plain][-1], int((told < gap - 1e-6).sum()), int(agent.state.counters[1]), time.process_time() - began,
        )  # fmt: skip
        for name, value in zip(names, values, strict=True):
            row[name].append(round(float(value), 5))
    print(where, setting, known, {name: np.mean(row[name]).round(4) for name in names}, flush=True)
    return row


def table(results: dict[str, Any]) -> str:
    """What the page shows."""
    words = (
        "Means of the runs; certificates are means of 900 episodes around the first states that came, and of the "
        "second half of the run (not kept in all rows). No ends "
        "(`terminates=False`) but in the rows that say so. The seeds are "
        f"{FIRST[0]} to {FIRST[-1]} and {OTHERS[0]} to {OTHERS[-1]} for simplex MDPs, of MDP and play; "
        "certificates below the gap: "
        f"{int(sum(sum(row['below']) for row in results['rows']))} of all."
    )
    lines = [textwrap.fill(words, 120), ""]
    lines += [
        "| where | setting | rewards | runs | regret ± s.e. | certificate at 10⁴ | second half | end | plans | s |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for row in results["rows"]:
        n = len(row["regret"])
        error = np.std(row["regret"], ddof=1) / n**0.5
        tail = f"{np.mean(row['tail']):.3f}" if "tail" in row else "–"
        lines.append(
            f"| {row['where']}, {row['episodes']:,} | {row['setting']} | {('learned', 'known')[row['known']]} | {n} "
            f"| {np.mean(row['regret']):.0f} ± {error:.0f} | {np.mean(row['early']):.3f} | {tail} "
            f"| {np.mean(row['end']):.3f} | {np.mean(row['plans']):.0f} | {np.mean(row['seconds']):.1f} |"
        )
    return "\n".join(lines)


def wanted(where: str, setting: str, known: bool) -> bool:
    """Whether a row is measured."""
    if where in LIMITS:
        return setting == "mixture" and known
    few = SLOW if "swim" in where else SLOW[:2]
    return where in TABLES or setting == "mixture" or (setting in few and known)


if __name__ == "__main__":
    places = {"tables": TABLES, "continuous": CONTINUOUS, "limits": LIMITS}
    parts = [part for part in sys.argv[1:] if part != "--again"] or list(places)
    many = {where for part in parts for where in places[part]}
    found = json.loads(WRITTEN.read_text()) if WRITTEN.is_file() else {}
    rows = {(row["where"], row["setting"], row["known"]): row for row in found.get("rows", [])}
    every = [(w, x, k) for w in (*TABLES, *CONTINUOUS, *LIMITS) for x in SETTINGS for k in (True, False)]
    for key in every:
        if key[0] in many and wanted(*key) and (key not in rows or "--again" in sys.argv):
            rows[key] = measure(*key)
            found["rows"] = [rows[other] for other in every if other in rows]
            WRITTEN.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))

"""RLSVI with more and with less noise, beside other tabular agents: regret on RiverSwim; writes ``rlsvi.json``.

python benchmarks/rlsvi.py
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

import unipac

WRITTEN = Path(__file__).with_suffix(".json")
SEEDS, EPISODES, N_STATES, HORIZON = range(10, 15), 4000, 3, 3
SCALES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.0)
OTHERS: dict[str, dict[str, Any]] = {"UBEV": {}, "PSRL": {}, "QLearning": {"homogeneous": False}}


def measure(name: str, told: dict[str, Any]) -> dict[str, Any]:
    """Regret of each run, and the mean gap of the last tenth of the episodes."""
    mdp = unipac.envs.river_swim(n_states=N_STATES, horizon=HORIZON)
    regret, late = [], []
    for seed in SEEDS:
        agent = unipac.AGENTS[name].made_for(mdp, rounds=EPISODES, seed=seed, **told)
        gap = agent.play(mdp, episodes=EPISODES, seed=seed).gap
        regret.append(float(gap.sum()))
        late.append(float(gap[-EPISODES // 10 :].mean()))
    return {"agent": name, "parameters": told, "regret": regret, "late": late}


def table(results: dict[str, Any]) -> str:
    """What the page shows."""
    words = (
        f"`river_swim({results['n_states']}, {results['horizon']})`, {results['episodes']:,} episodes, "
        f"{results['runs']} runs, rewards learned; the gap is the mean of the last tenth. Always swimming left has "
        f"regret {results['left']:.0f}."
    )
    lines = [textwrap.fill(words, 120), "", "| agent | regret ± standard error | gap |", "|---|---|---|"]
    for row in results["rows"]:
        told = ", ".join(f"{name}={value}" for name, value in row["parameters"].items())
        error = np.std(row["regret"], ddof=1) / len(row["regret"]) ** 0.5
        what = f"`{row['agent']}({told})`" if told else f"`{row['agent']}`"
        lines.append(f"| {what} | {np.mean(row['regret']):.1f} ± {error:.1f} | {np.mean(row['late']):.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    mdp = unipac.envs.river_swim(n_states=N_STATES, horizon=HORIZON)
    left = unipac.envs.policy_value(mdp, np.zeros((HORIZON, N_STATES), dtype=np.int64))
    rows = [measure("RLSVI", {"noise_scale": scale}) for scale in SCALES]
    rows += [measure(name, told) for name, told in OTHERS.items()]
    start = int(mdp.initial.argmax())
    found = {
        "n_states": N_STATES,
        "horizon": HORIZON,
        "episodes": EPISODES,
        "runs": len(SEEDS),
        "left": EPISODES * float(mdp.optimal_value()[start] - left[0, start]),
        "rows": rows,
    }
    WRITTEN.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))

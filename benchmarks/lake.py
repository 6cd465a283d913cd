"""FrozenLake 8x8 on slippery ice: which settings of CertVI learn it, with which time limit; writes ``lake.json``.

python benchmarks/lake.py
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import unipac

WRITTEN = Path(__file__).with_suffix(".json")
SEEDS, EPISODES, LATE, HORIZON = range(3), 2000, 200, 200
SETTINGS: list[tuple[int, dict[str, Any]]] = [
    (200, {"homogeneous": True, "return_range": (0, 1)}),
    (200, {"homogeneous": True, "return_range": (0, 1), "bonus_scale": 0.1}),
    (200, {"homogeneous": True}),
    (200, {"return_range": (0, 1), "ties": "spread"}),
    (100, {"homogeneous": True, "return_range": (0, 1)}),
    (100, {"return_range": (0, 1), "ties": "spread"}),
]


def measure(limit: int, told: dict[str, Any]) -> dict[str, Any]:
    """The mean return of the last episodes of each run."""
    late, truncated = [], []
    for seed in SEEDS:
        env = gymnasium.make("FrozenLake-v1", map_name="8x8", max_episode_steps=limit)
        agent = unipac.CertVI(64, 4, horizon=HORIZON, **told)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the limit
            trace = agent.learn(env, episodes=EPISODES, seed=seed)
        late.append(float(trace.returns[-LATE:].mean()))
        truncated.append(int(trace.truncated.sum()))
    return {"limit": limit, "parameters": told, "late": late, "truncated": truncated}


def table(results: dict[str, Any]) -> str:
    """What the page shows."""
    words = (
        f"Slippery ice, `CertVI(64, 4, horizon={results['horizon']}, ...)`, {results['episodes']:,} episodes, "
        f"{results['runs']} runs: the mean return of the last {results['last']} episodes of each. The best policy "
        f"reaches the goal with probability {results['best']:.2f}."
    )
    lines = [words, "", "| `max_episode_steps` | parameters | late returns |", "|---|---|---|"]
    for row in results["rows"]:
        told = ", ".join(
            f"{name}={tuple(value) if isinstance(value, list) else value!r}"
            for name, value in row["parameters"].items()
        )
        late = ", ".join(f"{value:.2f}" for value in row["late"])
        lines.append(f"| {row['limit']} | `{told}` | {late} |")
    return "\n".join(lines)


if __name__ == "__main__":
    lake = unipac.envs.from_gymnasium(gymnasium.make("FrozenLake-v1", map_name="8x8"), horizon=HORIZON)
    found = {
        "horizon": HORIZON,
        "episodes": EPISODES,
        "last": LATE,
        "runs": len(SEEDS),
        "best": float(np.dot(lake.initial, lake.optimal_value())),
        "rows": [measure(limit, told) for limit, told in SETTINGS],
    }
    WRITTEN.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))

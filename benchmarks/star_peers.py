"""StarLSVI beside LSVIUCB with scaled bonuses and a DQN: episodes until the greedy policy is good, and stays good.

python benchmarks/star_peers.py [--dqn PYTHON] [--seeds 3]

Good: the exact value of the greedy policy is within 5 % of V* − V(random actions). The DQN (stable-baselines3, default
settings) runs in an environment of its own, by the interpreter ``PYTHON``; it writes into ``star_lsvi.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

from continuous import MDPS, checkpoints, gap_of, range_of, settled  # noqa: E402

import unipac  # noqa: E402
from unipac.envs.gymnasium.continuous import ContinuousMDPEnv  # noqa: E402
from unipac.mdp.linear.star.planning.evaluate import NEWEST, fill_planned  # noqa: E402

WRITTEN = HERE / "star_lsvi.json"
SHARE = 0.05
STAR = {
    "StarLSVI": {},
    "StarLSVI, bonus_scale=.3": {"bonus_scale": 0.3},
    "StarLSVI, bonus_scale=.1": {"bonus_scale": 0.1},
}
SCALES = (1.0, 0.3, 0.1, 0.03, 0.01)
SMALL_RIDGE, FEW_SCALES = 0.01, (0.1, 0.03, 0.01)
EPISODES = {"StarLSVI": 5_000, "LSVIUCB": 3_000, "LSVIUCB, λ = .01": 1_500, "DQN": 10_000}


def star(mdp: Any, seed: int, told: dict[str, Any]) -> list[tuple[int, float]]:
    """Gaps of the greedy policy of the newest plan; rewards are learned."""
    agent = unipac.StarLSVI(
        feature_map=mdp.feature_map, horizon=mdp.horizon, mixture=True, terminates=False, **told
    )

    def choose(stage: int, states: Any, phi: Any) -> Any:
        action, lost = np.zeros(len(phi), dtype=np.int64), np.zeros(len(phi))
        fill_planned(agent.state.chains, agent._rules, NEWEST, 0.0, stage - 1, np.array(phi), action, lost)
        return action

    found = []
    for k in checkpoints(EPISODES["StarLSVI"]):
        agent.play(mdp, episodes=k - agent.episodes, seed=seed)
        found.append((k, gap_of(mdp, choose)))
    return found


def _by(policy: Any) -> Any:
    """A policy of single states, for many."""
    return lambda stage, states, phi: np.array([policy(state, stage) for state in states])


def lsvi(mdp: Any, seed: int, scale: float, ridge: float = 1.0) -> list[tuple[int, float]]:
    """Gaps of the policy of LSVIUCB with the radius "mixture"; its bonus is part of it."""
    episodes = EPISODES["LSVIUCB" if ridge == 1.0 else "LSVIUCB, λ = .01"]
    agent = unipac.LSVIUCB(
        feature_map=mdp.feature_map,
        horizon=mdp.horizon,
        radius="mixture",
        bonus_scale=scale,
        replan="lazy",
        total_episodes=episodes,
        regularization=ridge,
    )
    env, found = ContinuousMDPEnv(mdp), []
    env.reset(seed=seed)
    for k in checkpoints(episodes):
        agent.learn(env, episodes=k - agent.episodes)
        found.append((k, gap_of(mdp, _by(agent.policy()))))
    return found


def dqn(python: str, name: str, seed: int) -> list[tuple[int, float]]:
    """Gaps of the greedy policy of the DQN."""
    command = [python, str(HERE / "peers" / "peer_sb3.py"), name, str(seed), str(EPISODES["DQN"])]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [tuple(pair) for pair in json.loads(answer.stdout.splitlines()[-1])["found"]]


def table(results: dict[str, Any]) -> str:
    """What the page shows."""
    names = list(dict.fromkeys(row["agent"] for row in results.get("peers", [])))
    lines = ["| agent | " + " | ".join(MDPS) + " |", "|---|" + "---|" * len(MDPS)]
    for name in names:
        cells = []
        for where in MDPS:
            found = [
                row["episodes"]
                for row in results.get("peers", [])
                if (row["agent"], row["where"]) == (name, where)
            ]
            most = EPISODES[name.split(", bonus")[0].split(" x ")[0].removesuffix(",")]
            shown = [f"{k:,}" if k else f"> {most:,}" for run in found for k in run]
            cells.append("; ".join(shown) or "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dqn", default=None)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    agents: dict[str, Any] = {
        name: lambda m, w, s, told=told: star(m, s, told) for name, told in STAR.items()
    }
    agents |= {
        f"LSVIUCB, λ = .01, x {scale:g}": lambda m, w, s, scale=scale: lsvi(m, s, scale, SMALL_RIDGE)
        for scale in FEW_SCALES
    }
    agents |= {f"LSVIUCB x {scale:g}": lambda m, w, s, scale=scale: lsvi(m, s, scale) for scale in SCALES}
    if given.dqn:
        agents["DQN"] = lambda m, w, s: dqn(given.dqn, w, s)
    found = json.loads(WRITTEN.read_text())
    done = {(row["agent"], row["where"]) for row in found.setdefault("peers", [])}
    for where, make in MDPS.items():
        mdp = make()
        largest = SHARE * range_of(mdp)
        for name, run in agents.items():
            if (name, where) not in done:
                began = time.process_time()
                episodes = [settled(run(mdp, where, seed), largest) for seed in range(given.seeds)]
                seconds = round(time.process_time() - began, 1)
                print(where, name, episodes, seconds, flush=True)
                found = json.loads(WRITTEN.read_text())
                found.setdefault("peers", []).append({"agent": name, "where": where, "episodes": episodes})
                WRITTEN.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))

"""Files of every version that is read, kept in ``tests/data/files``, and what their agents decide next.

``python tests/helpers/kept.py 3`` writes the files of version 3. It uses public names alone, so that an
older version of the library can run it too. A version that is out is never written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from unipac.registry import FEATURE_MAPS

FOLDER = Path(__file__).parents[1] / "data" / "files"
ROUNDS, EPISODES, BATCHES = 5, 3, 3


def bandit(agent: Any, n: int = 3) -> Any:
    """Twenty rounds learned, two that wait."""
    rng = np.random.default_rng(3)
    for k in range(22):
        decision = agent.choose(_actions(rng, n, agent.dim))
        if k % 10:
            agent.update(decision, _reward(decision, rng))
    return agent


def episodic(agent: Any) -> Any:
    """Twelve episodes, and one step of another."""
    rng = np.random.default_rng(4)
    for _ in range(12 * agent.horizon + 1):
        _step(agent, rng)
    return agent


def search(agent: Any) -> Any:
    """Four batches."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        _tell(agent, agent.ask(), rng)
    return agent


def deployed(agent: Any) -> Any:
    """Twelve decisions, the reward of every third still to come; and a watched set."""
    deployment = unipac.Deployment(agent, window=4.0, default=0.0, holdout=0.2, seed=0, clock=lambda: 0.0)
    rng, arms = np.random.default_rng(6), [[1.0, 0.0], [0.0, 1.0]]
    for k in range(12):
        deployment.close(now=float(k))
        deployment.decide(None, _actions(rng, 3, agent.dim), id=k)
        if k % 3:
            deployment.reward(k, float(rng.random()))
    deployment.watch("arms", arms, eps=0.01)
    return deployment


def _step(agent: Any, rng: Any) -> tuple[int, int]:
    state = int(rng.integers(3))
    action = agent.act(state)
    agent.observe((state + action) / 4, int(rng.integers(3)))
    return state, action


def _actions(rng: Any, n: int, dim: int) -> Any:
    X = rng.standard_normal((n, dim))
    return X / (1.25 * np.linalg.norm(X, axis=1, keepdims=True))


def _reward(decision: Any, rng: Any) -> float:
    return float(0.5 * decision.action[0] + 0.1 * rng.standard_normal())


def _tell(agent: Any, batch: Any, rng: Any) -> None:
    if agent.samples == "rewards":
        agent.tell(batch.counts * rng.random(len(batch.counts)))
    else:
        agent.run(pairs(), seed=1, max_pulls=agent.pulls + int(batch.counts.sum()))


def pairs() -> Any:
    """For searches of a policy."""
    return unipac.envs.DiscountedMDP(np.full((3, 2, 3), 1 / 3), [[0.1, 0.9], [0.5, 0.2], [0.0, 1.0]], 0.4)


FEATURES = np.eye(6).reshape(3, 2, 6)  # of three states and two actions
ARMS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
MAKERS = {
    "nested_oful": lambda: bandit(unipac.NestedOFUL(2, noise=0.1)),
    "linucb": lambda: bandit(unipac.LinUCB(2, alpha=0.5)),
    "disjoint_linucb": lambda: bandit(unipac.DisjointLinUCB(2, n_actions=3, alpha=0.5)),
    "guarded": lambda: bandit(unipac.Guarded(unipac.LinUCB(2), noise=0.1, gate=0.5)),
    "oful_within": lambda: bandit(unipac.OFUL(2, noise=0.5, rewards_within=(-0.9, 5.0))),
    "lints": lambda: bandit(unipac.LinTS(2, noise=0.1)),
    "nested_flute": lambda: episodic(
        unipac.NestedFLUTE(FEATURES, horizon=2, replan="lazy", bonus_scale=0.01)
    ),
    "stored": lambda: episodic(
        unipac.FLUTE(feature_map=FEATURE_MAPS["OneHot"](3, 2), horizon=2, bonus_scale=0.01)
    ),
    "lsvi_ucb": lambda: episodic(unipac.LSVIUCB(FEATURES, horizon=2, total_episodes=50, bonus_scale=0.01)),
    "upac_lsvi": lambda: episodic(unipac.UPACLSVI(FEATURES, horizon=2)),
    "monotone_lsvi": lambda: episodic(unipac.MonotoneLSVI(FEATURES, horizon=2)),
    "cert_vi": lambda: episodic(unipac.CertVI(3, 2, horizon=2)),
    "q_learning": lambda: episodic(unipac.QLearning(3, 2, horizon=2)),
    "lingape": lambda: search(unipac.LinGapE(ARMS, eps=0.1, noise=0.5)),
    "ppq": lambda: search(unipac.PPQ.made_for(pairs(), eps=0.1)),
    "deployment": lambda: deployed(unipac.Guarded(unipac.LinUCB(2), noise=0.1, gate=0.5)),
}
"""By the name of the file."""


def decided(agent: Any) -> list[list[float]]:
    """What it does next: one row for each call."""
    rng, rows = np.random.default_rng(9), []
    kind = getattr(agent, "kind", "deployment")
    for k in range({"mdp": EPISODES * getattr(agent, "horizon", 0)}.get(kind, ROUNDS)):
        if kind == "bandit":
            decision = agent.choose(_actions(rng, 3, agent.dim))
            agent.update(decision, _reward(decision, rng))
            rows.append([len(agent.pending), decision.index, decision.level, decision.ucb, decision.lcb])
        elif kind == "deployment":
            agent.close(now=12.0 + k)
            decision = agent.decide(None, _actions(rng, 3, 2), id=f"new {k}")
            agent.reward(f"new {k}", _reward(decision, rng))
            rows.append([agent.pending, decision.index, decision.seq, decision.ucb, float(decision.holdout)])
        elif kind == "mdp":
            state, action = _step(agent, rng)
            certificate = agent.certificate(state) if (k + 1) % agent.horizon == 1 else np.nan
            rows.append([agent.episodes, action, -1.0 if np.isnan(certificate) else certificate])
        elif not agent.done:
            batch = agent.ask()
            _tell(agent, batch, rng)
            rows.append([*batch.arms.tolist(), *batch.counts.tolist(), agent.answer.certificate])
    return rows


def load(path: Path) -> Any:
    """An agent or a deployment."""
    loader = unipac.Deployment.load if "deployment" in path.name else unipac.load
    return loader(path, **({"clock": lambda: 0.0} if "deployment" in path.name else {}))


def write(version: str, folder: Path, makers: Any) -> None:
    """The files, and what is decided by their agents, loaded by the version that wrote them."""
    for name, make in makers.items():
        made, path = make(), folder / f"v{version}-{name}.npz"
        made.save(path, replace=True)
        told = {"decided": decided(load(path))}
        if name == "deployment":
            told["events"] = made.events()
        path.with_suffix(".json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER, MAKERS)

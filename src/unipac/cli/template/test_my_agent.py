"""Whether the agent learns, and whether the experiment can be read; ``python -m pytest`` runs this."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from my_agent import MyAgent
from my_instance import my_instance

from unipac import experiments

ROUNDS = 500


def mean_loss(epsilon: float, seed: int) -> float:
    """What the agent loses against the best arm, per round, in the second half of a run."""
    instance = my_instance()
    agent = MyAgent(instance.dim, epsilon=epsilon, seed=seed)
    drawn = instance.rounds(0, ROUNDS, seed=seed)
    losses = []
    for rewards in drawn.rewards:
        index = agent.choose(instance.actions)
        agent.update(index, rewards[index])
        losses.append(drawn.means.max() - drawn.means[index])
    return float(np.mean(losses[ROUNDS // 2 :]))


def test_the_agent_learns() -> None:
    """In the second half of a run it mostly takes the best arm."""
    assert np.mean([mean_loss(epsilon=0.1, seed=seed) for seed in range(5)]) < 0.3


def test_chance_does_not() -> None:
    """The control: an agent that never uses what it learned loses about 1 in each round."""
    assert np.mean([mean_loss(epsilon=1.0, seed=seed) for seed in range(5)]) > 0.7


def test_the_experiment_can_be_read() -> None:
    """config.toml names agents and instances that are there."""
    spec = experiments.read(Path(__file__).with_name("config.toml"))
    assert "mine" in {cell.agent.label for cell in spec.cells()}

"""Guarded against an adversary who sees its state, the truth and all rewards, in eleven settings of 250 runs.

In every round he offers the direction in which some regression of the agent is wrong, its opposite, a random one and a
copy; noise is ± its scale. In one setting five decisions wait, and their rewards are learned in the order of the
decisions, while he already knows them. Null hypothesis: a run ever leaves a set, or has a certificate below a gap, with
probability at most δ. It is rejected when so many runs do that the exact binomial probability is below 1e-6, the
false-alarm rate. Negative control of each setting: told an eighth of the noise, the same test rejects.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

import unipac
from unipac import metrics
from unipac.bandits.regressions.agent import evaluated
from unipac.linalg import ridge

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning"),
]

FALSE_ALARM, RUNS, ROUNDS, DELTA = 1e-6, 250, 40, 0.1


class Setting(NamedTuple):
    dim: int = 2
    regularization: float = 0.05
    gate: float = 0.5
    noise: float = 1.0
    length: float = 1.0
    """L, of the longest actions."""
    heuristic: tuple[str, dict[str, Any]] = ("LinUCB", {"alpha": 0.1})
    waiting: int = 0


SETTINGS = {
    "plain": Setting(),
    "greedy": Setting(heuristic=("LinUCB", {"alpha": 0.0})),
    "one dimension": Setting(dim=1),
    "three dimensions": Setting(dim=3),
    "larger ridge": Setting(regularization=0.7),
    "levels close at once": Setting(gate=0.1),
    "levels close late": Setting(gate=4.0),
    "little noise": Setting(noise=0.2),
    "long actions": Setting(length=4.0, regularization=0.7),
    "OFUL": Setting(heuristic=("OFUL", {"radius": "mixture"})),
    "five decisions wait": Setting(waiting=5),
}


def made(setting, told):
    """A guard that is told some noise."""
    common = {"regularization": setting.regularization, "action_norm": setting.length}
    name, more = setting.heuristic
    heuristic = unipac.AGENTS[name](setting.dim, **common, **more)
    return unipac.Guarded(heuristic, delta=DELTA, noise=told * setting.noise, gate=setting.gate, **common)


def leaves(agent, theta):
    """Whether the truth is outside some set."""
    held = agent.state.levels
    return any(ridge.distance(held.rows[i], theta) > held.beta[i] for i in range(len(agent.levels()) + 1))


def offered(agent, theta, setting, rng):
    """A direction in which some regression is wrong, its opposite, a random one, and a copy."""
    some = int(rng.integers(len(agent.levels()) + 1))
    wrong = evaluated(agent.state.levels, some, np.eye(setting.dim), setting.regularization)[0] - theta
    wrong /= np.linalg.norm(wrong) + 1e-12
    random = rng.standard_normal(setting.dim)
    random /= np.linalg.norm(random)
    return 0.999 * setting.length * np.array([wrong, -wrong, random, wrong])


def fails(setting, told, seed):
    """Whether a run leaves a set, or has a certificate below a gap."""
    rng, agent = np.random.default_rng(seed), made(setting, told)
    theta = np.ones(setting.dim) / np.sqrt(setting.dim)
    waiting = []
    for _ in range(ROUNDS):
        if leaves(agent, theta):
            return True
        X = offered(agent, theta, setting, rng)
        decision = agent.choose(X)
        gap = (X @ theta).max() - X[decision.index] @ theta
        if decision.certificate < gap - 1e-9 or not agent.consistent:
            return True
        reward = decision.action @ theta + setting.noise * rng.choice([-1.0, 1.0])
        waiting.append((decision, reward))
        if len(waiting) > setting.waiting:
            agent.update(*waiting.pop(0))
    return False


def tail(name, told):
    """The probability of so many failing runs, or more, under the null hypothesis."""
    failures = sum(fails(SETTINGS[name], told, seed) for seed in range(RUNS))
    print(f"{name}: {failures} of {RUNS} at delta {DELTA}, told {told:g} of the noise")
    return metrics.binomial_upper_tail(failures, RUNS, DELTA)


@pytest.mark.parametrize("name", SETTINGS)
def test_sets_and_certificates_hold(name):
    assert tail(name, 1.0) > FALSE_ALARM


@pytest.mark.parametrize("name", SETTINGS)
def test_an_eighth_of_the_noise_does_not_hold(name):
    assert tail(name, 0.125) < FALSE_ALARM

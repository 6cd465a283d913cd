"""PhasedElimination pulls, drops and certifies as the slow transcription in ``helpers.judges.bandits``."""

import numpy as np
import pytest

import unipac
from helpers.judges import bandits as judges
from unipac.linalg.design import design


def solver(X):
    found = design(X)
    return found.weights, found.value


KINDS = {
    "orthogonal": lambda rng: np.eye(3),
    "random": lambda rng: rng.standard_normal((10, 3)) / 4,
    "copies": lambda rng: np.repeat(rng.standard_normal((3, 2)) / 3, 2, axis=0),
    "flat": lambda rng: rng.standard_normal((6, 2)) @ rng.standard_normal((2, 5)) / 9,
    "collinear": lambda rng: np.outer(np.linspace(-1, 1, 5), [0.6, 0.8]),
    "close": lambda rng: np.array([[1.0, 0.0], [1.0, 1e-3], [0.0, 1.0]]) * 0.99,
    "short": lambda rng: rng.standard_normal((5, 2)) * 1e-6,
    "one": lambda rng: np.array([[0.5]]),
    "zero": lambda rng: np.zeros((2, 2)),
}


def pair(kind, noise=0.3, delta=0.1, norm=1.3):
    X = KINDS[kind](np.random.default_rng(5))
    common = {"noise": noise, "delta": delta, "norm": norm}
    return X, unipac.PhasedElimination(X, **common), judges.PhasedElimination(X, solver, **common)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_phased_elimination_is_the_pseudo_code(kind, noise):
    X, agent, judge = pair(kind, noise)
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(X.shape[1])
    theta *= 1.2 / np.linalg.norm(theta)
    for _ in range(2000):
        decision = agent.choose()
        k, phase, certificate = judge.choose()
        assert (decision.index, decision.level) == (k, phase)
        assert decision.certificate == pytest.approx(certificate, abs=1e-9)
        assert decision.certificate >= (X @ theta).max() - X[k] @ theta - 1e-9
        reward = float(X[k] @ theta + noise * rng.standard_normal())
        agent.update(decision, reward)
        judge.learn(k, reward)


@pytest.mark.parametrize("kind", ["random", "copies", "one"])
def test_play_is_the_loop_bit_for_bit(kind, tmp_path):
    X, agent, _ = pair(kind)
    _, loop, _ = pair(kind)
    rewards = np.random.default_rng(0).standard_normal((3000, len(X)))
    rewards += X @ np.full(X.shape[1], 0.7)
    first, second = agent.play(X, rewards[:700]), agent.play(X, rewards[700:])
    for t in range(3000):
        if t == 1500:
            loop.save(tmp_path / "phases.npz")
            loop = unipac.load(tmp_path / "phases.npz")
        decision = loop.choose(X)
        trace, i = (first, t) if t < 700 else (second, t - 700)
        assert (decision.index, decision.level, decision.certificate) == (
            trace.index[i], trace.level[i], trace.certificate[i])  # fmt: skip
        loop.update(decision, rewards[t, decision.index])
    for a, b in zip(agent.state, loop.state, strict=True):
        assert (a == b).all()


def test_late_and_forgotten_rewards():
    _, agent, judge = pair("orthogonal")
    rng = np.random.default_rng(2)
    for _ in range(
        300
    ):  # the same phases, whatever the order: all of a phase is asked for before rewards come
        plan, phase = judge.plan.copy(), judge.phase
        if not plan.any():
            break
        waiting = [agent.choose() for _ in range(plan.sum() + 5)]  # 5 more, through the same plan
        assert np.bincount([d.index for d in waiting[: plan.sum()]], minlength=3).tolist() == plan.tolist()
        assert {d.level for d in waiting} == {phase}
        agent.forget(waiting[0])
        again = agent.choose()
        assert again.level == phase
        rewards = {}
        for decision in [*waiting[1:], again]:
            k = decision.index
            rewards.setdefault(k, []).append(float(0.3 * rng.standard_normal() + [0.5, 0.6, 0.1][k]))
            agent.update(decision, rewards[k][-1])
        for k in range(3):
            for reward in rewards.get(k, [])[: plan[k]]:
                judge.learn(k, reward)
        assert agent.choose().level == judge.phase
        agent.forget(max(agent.pending))
        assert agent.state.active.tolist() == [k in judge.active for k in range(3)]


def test_what_it_refuses():
    agent = unipac.PhasedElimination(np.eye(2))
    with pytest.raises(ValueError, match="actions must be the arms"):
        agent.choose([[1.0, 0.0], [0.0, 0.5]])
    with pytest.raises(ValueError, match="absorb"):
        agent.absorb([[1.0, 0.0]], [1.0])
    with pytest.raises(ValueError, match="arms must be of shape"):
        unipac.PhasedElimination([1.0, 2.0])


def test_no_mistake_after_its_last_phase():
    """d = 3, n = 10, noise 0.5, 10,000 rounds: the last mistake comes early; optimism makes some until the end.

    Arms and θ are drawn anew for each seed. Other draws are harder: see the page of the agent.
    """
    last = {"PhasedElimination": [], "NestedOFUL": []}
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, theta = rng.standard_normal((10, 3)), rng.standard_normal(3)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        instance = unipac.envs.fixed_arms(X, theta / np.linalg.norm(theta), noise=0.5)
        for name, rounds in last.items():
            trace = unipac.AGENTS[name].made_for(instance).play(instance, rounds=10_000, seed=seed)
            assert (trace.certificate >= trace.gap - 1e-9).all()
            wrong = np.flatnonzero(trace.gap > 1e-12)
            rounds.append(wrong[-1] if len(wrong) else 0)
    assert np.median(last["PhasedElimination"]) < 1500 < 5000 < np.median(last["NestedOFUL"])


def test_the_judge_can_say_no():
    X, agent, _ = pair("random")
    judge = judges.PhasedElimination(X, solver, noise=0.3, delta=0.11, norm=1.3)
    differ = 0
    for t in range(2000):
        decision = agent.choose()
        differ += decision.index != judge.choose()[0]
        agent.update(decision, 0.1 * t % 1)
        judge.learn(decision.index, 0.1 * t % 1)
        if differ:
            break
    assert differ

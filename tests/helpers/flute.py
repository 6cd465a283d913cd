"""FLUTE, NestedFLUTE and LSVIUCB, held against their slow judge."""

import numpy as np
import pytest

import unipac
from helpers.judges.flute import NaiveFLUTE, mixture, policy_value
from unipac.envs import random_simplex
from unipac.envs.play.simulation import episode_uniforms

DELTA = 0.1

AGENTS = {"FLUTE": unipac.FLUTE, "NestedFLUTE": unipac.NestedFLUTE, "LSVIUCB": unipac.LSVIUCB}


def pair(name, mdp, *, scale, regularization, replan):
    """An agent with the mixture radius, and its judge."""
    H = mdp.horizon
    extra = {"total_episodes": 10**6} if name == "LSVIUCB" else {}
    agent = AGENTS[name](
        mdp.features,
        horizon=H,
        radius="mixture",
        delta=DELTA,
        bonus_scale=scale,
        regularization=regularization,
        replan=replan,
        **extra,
    )

    def beta(level, Sigma):
        delta = DELTA if name == "LSVIUCB" else DELTA / (level * (level + 1))
        return scale * H * mixture(Sigma, regularization, 1, 1, delta)

    judge = NaiveFLUTE(
        mdp.features,
        H,
        beta,
        regularization=regularization,
        nested=name == "NestedFLUTE",
        cap="H-h+1" if name == "NestedFLUTE" else "H",
        single=name == "LSVIUCB",
    )
    return agent, judge


def proven_q(mdp, agent, judge):
    """Q of the same data with the radius itself, whatever the scale of the choice."""
    scaled = judge.beta, judge.Q
    judge.beta = lambda level, Sigma: scaled[0](level, Sigma) / agent.bonus_scale
    Q = judge.plan()
    judge.beta, judge.Q = scaled
    return Q


def replay(mdp, judge, start, uniforms, trace, k):
    """Let the judge play the same episode; it checks the levels and returns the sum of rewards."""
    s, previous, total = start, judge.S + 1, 0.0
    for h in range(1, judge.H + 1):
        a = int(judge.least_q(h, previous)[s].argmax())
        level, ratios = judge.level(h, s, a, previous)
        assert all(abs(ratio - 1) > 1e-9 for ratio in ratios)
        assert trace.level[k, h - 1] == level
        cumulative = np.cumsum(mdp.transitions[h - 1, s, a])
        following = min(int(np.searchsorted(cumulative, uniforms[h], side="right")), mdp.n_states - 1)
        judge.add(h, level, s, a, mdp.rewards[h - 1, s, a], following)
        total += mdp.rewards[h - 1, s, a]
        s, previous = following, level
    judge.end_episode()
    return total


def check_acts(name, replan, case, episodes):
    """Levels, Q values and exact gaps, over H in 1..6, d in 2..12, three regularizations."""
    rng = np.random.default_rng(case)
    H, d = case + 1, [2, 3, 5, 7, 9, 12][case]
    mdp = random_simplex(n_states=4, n_actions=3, dim=d, horizon=H, seed=case)
    regularization = [0.1, 1.0, 4.0][case % 3]
    agent, judge = pair(name, mdp, scale=[0.3, 0.05][case % 2], regularization=regularization, replan=replan)
    optimum = mdp.optimal_value()
    starts = rng.integers(0, 4, episodes)
    uniforms = episode_uniforms(case, 0, H)
    for k in range(episodes):
        trace = agent.play(mdp, episodes=1, seed=case, initial_states=starts[k : k + 1])
        if trace.replanned[0]:
            judge.plan()
            for h in range(H):
                for level in range(judge.S):
                    np.testing.assert_allclose(agent.state.plan.Q[h, level], judge.Q[h][level], atol=1e-8)
            if k % 10 == 0 or replan == "lazy":
                proven = proven_q(mdp, agent, judge)
                for h in range(H):
                    for level in range(judge.S):
                        np.testing.assert_allclose(agent.state.proof.Q[h, level], proven[h][level], atol=1e-8)
                bound = np.min(proven[0], axis=0).max(axis=1)
                assert trace.bound[0] == pytest.approx(bound[starts[k]], abs=1e-8)
        else:
            assert replan == "lazy"
        if k % 10 == 0:
            gap = optimum[starts[k]] - policy_value(mdp, judge)[starts[k]]
            assert trace.gap[0] == pytest.approx(gap, abs=1e-10)
        assert trace.reward[0] == pytest.approx(replay(mdp, judge, starts[k], uniforms[k], trace, 0))
    for level in agent.levels():
        if name != "LSVIUCB":
            assert level.size == len(judge.C[level.stage - 1].get(level.level, []))


def check_judge_says_no(name):
    """Negative control: the judge of another regularization, told the same plans and levels, disagrees."""
    mdp = random_simplex(n_states=4, n_actions=3, dim=3, horizon=2, seed=1)
    agent, _ = pair(name, mdp, scale=0.1, regularization=1.0, replan="always")
    _, judge = pair(name, mdp, scale=0.1, regularization=1.01, replan="always")
    uniforms = episode_uniforms(0, 0, 2)

    def play():
        for k in range(50):
            trace = agent.play(mdp, episodes=1, seed=0, initial_states=[k % 4])
            judge.plan()
            for h in range(2):
                for level in range(judge.S):
                    np.testing.assert_allclose(agent.state.plan.Q[h, level], judge.Q[h][level], atol=1e-8)
            replay(mdp, judge, k % 4, uniforms[k], trace, 0)

    with pytest.raises(AssertionError):
        play()

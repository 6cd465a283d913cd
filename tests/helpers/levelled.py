"""The bandit agents with levels of ridge regressions: which they are, and how they are held against their judge."""

import math

import numpy as np
import pytest

from helpers.actions import action_sets
from helpers.judges.levelled import FastNaiveAgent, NaiveAgent, determinant, mixture
from helpers.judges.sets import Sets
from unipac.bandits.levelled.agent import LevelledAgent
from unipac.registry import AGENTS

NAMES = [name for name, agent in AGENTS.items() if issubclass(agent, LevelledAgent)]


def without_sets(agent):
    """The arguments by which an agent has no sets behind certificates: its bounds are those of its levels alone."""
    return {"tight": False} if "tight" in agent.__dataclass_fields__ else {}


def levels_of(agent):
    """Its levels, beside which there may be sets."""
    return getattr(agent.state, "levels", agent.state)


KINDS = ["norms", "repeats", "collinear", "unit", "arms"]


def pair(variant, dim, *, slow=False, **common):
    """The agent and its judge."""
    agent, arguments, rule, radius, extra = variant
    judge = NaiveAgent if slow else FastNaiveAgent
    return agent(dim, **arguments, **common), judge(dim, rule, radius, **extra, **common)


def check_run(agent, judge, X, rewards, *, precision=1e-7):
    """Play; the judge follows the agent's decision, and says whether it would have made it too.

    The bonus of the choice is scaled; what is said of it is not.
    """
    norm_scale = judge.S_norm + judge.R
    scale = getattr(agent, "bonus_scale", 1.0)
    for t in range(len(X)):
        decision = agent.choose(X[t] if agent.fixed_actions is None else None)
        means, widths, bonuses = judge.evaluate(X[t])
        ucb = (means + bonuses).min(axis=0)
        by = (means + scale * bonuses).min(axis=0)
        k = decision.index
        x = X[t, k]
        size = np.linalg.norm(X[t], axis=1).max() * norm_scale
        assert by[k] >= by.max() - 1e-9 * size
        if np.ptp(np.sort(by)[-2:]) > 1e-9 * size:
            assert k == by.argmax()
        attained = (means + bonuses)[:, k].argmin()
        near = np.isclose((means + bonuses)[:, k], ucb[k], rtol=0, atol=1e-9 * size)
        own = np.linalg.norm(x) * norm_scale * precision
        assert decision.ucb == pytest.approx(ucb[k], abs=own)
        assert decision.lcb == pytest.approx((means - bonuses)[:, k].max(), abs=own)
        if near.sum() == 1:
            assert decision.mean == pytest.approx(means[attained, k], abs=own)
            assert decision.width == pytest.approx(widths[attained, k], rel=precision)
        if agent.certified:
            certificate = ucb.max() - (means - bonuses)[:, k].max()
            capped = min(certificate, 2 * judge.S_norm * judge.L)
            assert decision.certificate == pytest.approx(capped, abs=size * precision)
        else:
            assert np.isnan(decision.certificate)
        level, ratios = judge.level(x)
        if all(abs(ratio - 1) > 1e-10 for ratio in ratios):
            assert decision.level == level
        reward = rewards[t, k]
        agent.update(decision, reward)
        judge.add(x, reward, decision.level)
    return agent, judge


def check_tight_run(variant, kind, number, rounds, **more):
    """With the sets behind certificates: the choice by A and the levels, what is said by A, B, C and the levels.

    Returns in how many rounds A lowered an index.
    """
    agent_class, arguments, rule, radius, _ = variant
    case = 5 * number + KINDS.index(kind)
    rng = np.random.default_rng(case)
    dim, lam, noise = [1, 2, 3, 5, 8][case % 5], [0.1, 1.0, 4.0][case % 3], [0.1, 1.0][case % 2]
    noise = 0.5 if "rewards_within" in more else noise
    common = {"noise": noise, "regularization": lam, "delta": 0.1, "norm": 1.2}
    agent = agent_class(dim, **arguments, **common, **more)
    single, scale = rule == "single", agent.bonus_scale
    paper = single and radius == "determinant"
    share = 0.1 if paper else 0.025
    judge = FastNaiveAgent(dim, rule, radius, **{**common, "delta": share if single else 0.05})
    low, high = agent.reward_range or (-math.inf, math.inf)
    sets = Sets(
        dim, 3 * 0.1 / (8 if single else 16), noise=noise, norm=1.2, regularization=lam, low=low, high=high,
        within=agent.rewards_within,
    )  # fmt: skip
    X = action_sets(rng, dim, rounds, 6, kind)
    theta = rng.standard_normal(dim)
    rewards = X @ theta / np.linalg.norm(theta) + noise * rng.standard_normal((rounds, 1))
    if agent.rewards_within is not None:  # 0 or 1, mostly 0
        rewards = (rng.random(rewards.shape) < 0.1 * np.abs(rewards)) * 1.0
    by_a = 0
    for t in range(rounds):
        decision = agent.choose(X[t])
        k, block = decision.index, sets.blocks[0]
        means, _, bonuses = judge.evaluate(X[t])
        Sigma, b = judge.regression(range(1, judge.S + 1))
        solved = np.linalg.solve(Sigma, b)
        outer = mixture if radius == "mixture" or single else determinant
        beta = outer(Sigma, lam, noise, 1.2, 0.025 if single else 0.0125)
        if not single:
            beta = min(beta, judge.beta(judge.S, Sigma))

        def c(v, Sigma=Sigma, solved=solved, beta=beta):
            return float(solved @ v) + beta * math.sqrt(max(float(v @ np.linalg.solve(Sigma, v)), 0.0))

        def center(x, solved=solved):
            return float(solved @ x)

        index = (means + scale * bonuses).min(axis=0)
        if not paper:
            tight = [sum(np.array(block.by_a(x)) * (1, scale)) for x in X[t]]
            index = np.minimum(index, [center(x) + scale * (c(x) - center(x)) for x in X[t]])
            by_a += bool((np.array(tight) < index).any())
            index = np.minimum(index, tight)
        assert index[k] >= index.max() - 1e-9
        ucb, lcb = sets.ucb(X[t, k], c), sets.lcb(X[t, k], c)
        if not single:
            ucb = min(ucb, (means + bonuses)[:, k].min())
            lcb = max(lcb, (means - bonuses)[:, k].max())
        assert decision.ucb == pytest.approx(min(max(ucb, low), high), abs=1e-7)
        assert decision.lcb == pytest.approx(min(max(lcb, low), high), abs=1e-7)
        certificate = min(sets.certificate(X[t], k, c, lcb), 2 * 1.2)
        if scale == 1.0 and not paper:
            certificate = min(certificate, max(min(index[k], high) - max(lcb, low), 0.0))
        assert decision.certificate == pytest.approx(certificate, abs=1e-7)
        agent.update(decision, rewards[t, k])
        judge.add(X[t, k], rewards[t, k], decision.level)
        sets.learn(X[t, k], rewards[t, k], c=c)
    assert agent.consistent
    return by_a


def check_decisions(variant, kind, number, rounds):
    """As the pseudo-code; another dimension, regularization and noise for each number and kind."""
    case = 5 * number + KINDS.index(kind)
    rng = np.random.default_rng(case)
    dim = [1, 2, 3, 5, 8, 13, 20][case % 7]
    regularization = [0.1, 1.0, 4.0][case % 3]
    noise = [0.1, 1.0][case % 2]
    agent, judge = pair(variant, dim, noise=noise, regularization=regularization, delta=0.1)
    X = action_sets(rng, dim, rounds, 6, kind)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    rewards = X @ theta + noise * rng.standard_normal((rounds, 1))
    check_run(agent, judge, X, rewards)
    if judge.rule != "single":
        assert [level.size for level in agent.levels()] == judge.sizes()


def check_many_rounds(variant, rounds):
    rng = np.random.default_rng(5)
    agent, judge = pair(variant, 4, noise=0.5, regularization=0.1)
    X = action_sets(rng, 4, rounds, 5, "norms")
    rewards = X @ np.array([0.5, -0.5, 0.5, 0.5]) + 0.5 * rng.standard_normal((rounds, 1))
    check_run(agent, judge, X, rewards)


def check_by_lists(variant):
    """The literal transcription, which keeps C^l as a list of rounds, on a short run; also interpreted."""
    rng = np.random.default_rng(11)
    agent, judge = pair(variant, 3, slow=True, noise=0.3, regularization=4.0, norm=2.0)
    X = action_sets(rng, 3, 60, 4, "repeats")
    check_run(agent, judge, X, X @ np.array([1.0, 0.5, -1.0]) + 0.3 * rng.standard_normal((60, 1)))


def check_judge_says_no(agent, *wrong):
    """Negative control: each of the wrong judges, in dimension 3, is noticed."""
    rng = np.random.default_rng(2)
    X = action_sets(rng, 3, 300, 5, "unit")
    rewards = X @ np.full(3, 0.5) + rng.standard_normal((300, 1))
    for judge in wrong:
        with pytest.raises(AssertionError):
            check_run(agent(3), judge, X, rewards)

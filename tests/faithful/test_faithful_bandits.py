"""Every agent makes the decisions of the slow transcription in ``naive``."""

import numpy as np
import pytest
from naive import FastNaiveAgent, NaiveAgent

import unipac

VARIANTS = {
    "UPACOFUL": (unipac.UPACOFUL, {}, "disjoint", "theorem", {}),
    "UPACOFUL-determinant": (
        unipac.UPACOFUL, {"radius": "determinant"}, "disjoint", "determinant", {}),
    "UPACOFUL-mixture": (unipac.UPACOFUL, {"radius": "mixture"}, "disjoint", "mixture", {}),
    "NestedOFUL": (unipac.NestedOFUL, {}, "nested", "mixture", {"all_data": True}),
    "NestedOFUL-levels": (unipac.NestedOFUL, {"all_data": False}, "nested", "mixture", {}),
    "NestedOFUL-determinant": (
        unipac.NestedOFUL, {"radius": "determinant"}, "nested", "determinant", {"all_data": True}),
    "NestedOFUL-theorem": (
        unipac.NestedOFUL, {"radius": "theorem"}, "nested", "theorem", {"all_data": True}),
    "NestedOFUL-scaled": (
        unipac.NestedOFUL, {"bonus_scale": 0.3}, "nested", "mixture",
        {"all_data": True, "bonus_scale": 0.3}),
    "OFUL": (unipac.OFUL, {}, "single", "determinant", {}),
    "OFUL-mixture": (unipac.OFUL, {"radius": "mixture"}, "single", "mixture", {}),
}  # fmt: skip


def pair(variant, dim, *, slow=False, **common):
    """The agent and its judge."""
    agent, arguments, rule, radius, extra = VARIANTS[variant]
    judge = NaiveAgent if slow else FastNaiveAgent
    return agent(dim, **arguments, **common), judge(dim, rule, radius, **extra, **common)


def action_sets(rng, dim, rounds, n, kind):
    """Actions of norm 1e-6 to 1: random, with repeats, collinear, of unit length, or few fixed arms."""
    X = rng.standard_normal((rounds, n, dim))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    if kind == "norms":
        X *= 10.0 ** rng.uniform(-6, 0, (rounds, n, 1))
    elif kind == "repeats":
        X[:, n // 2 :] = X[:, : n - n // 2]
        X *= rng.uniform(0.2, 1, (rounds, n, 1))
    elif kind == "collinear":
        directions = X[0, :2]
        X = directions[rng.integers(0, 2, (rounds, n))] * rng.uniform(-1, 1, (rounds, n, 1))
    elif kind == "arms":
        X = np.repeat(X[:1] * rng.uniform(0.5, 1, (1, n, 1)), rounds, axis=0)
    return X


def check_run(agent, judge, X, rewards, *, precision=1e-7):
    """Play; the judge follows the agent's decision, and says whether it would have made it too."""
    norm_scale = judge.S_norm + judge.R
    for t in range(len(X)):
        decision = agent.choose(X[t])
        means, widths, bonuses = judge.evaluate(X[t])
        ucb = (means + bonuses).min(axis=0)
        k = decision.index
        x = X[t, k]
        size = np.linalg.norm(X[t], axis=1).max() * norm_scale
        assert ucb[k] >= ucb.max() - 1e-9 * size
        if np.ptp(np.sort(ucb)[-2:]) > 1e-9 * size:
            assert k == ucb.argmax()
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


@pytest.mark.parametrize("kind", ["norms", "repeats", "collinear", "unit", "arms"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_agents_decide_as_the_pseudo_code(variant, kind):
    # A different dimension, regularization and noise for each of the 50 cases.
    case = [*VARIANTS].index(variant) * 5 + ["norms", "repeats", "collinear", "unit", "arms"].index(kind)
    rng = np.random.default_rng(case)
    dim = [1, 2, 3, 5, 8, 13, 20][case % 7]
    regularization = [0.1, 1.0, 4.0][case % 3]
    noise = [0.1, 1.0][case % 2]
    agent, judge = pair(variant, dim, noise=noise, regularization=regularization, delta=0.1)
    X = action_sets(rng, dim, 1000, 6, kind)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    rewards = X @ theta + noise * rng.standard_normal((1000, 1))
    check_run(agent, judge, X, rewards)
    if judge.rule != "single":
        assert [level.size for level in agent.levels()] == judge.sizes()


@pytest.mark.parametrize("variant", ["UPACOFUL", "NestedOFUL", "OFUL"])
def test_thousands_of_rounds(variant):
    rng = np.random.default_rng(5)
    agent, judge = pair(variant, 4, noise=0.5, regularization=0.1)
    X = action_sets(rng, 4, 5000, 5, "norms")
    rewards = X @ np.array([0.5, -0.5, 0.5, 0.5]) + 0.5 * rng.standard_normal((5000, 1))
    check_run(agent, judge, X, rewards)


@pytest.mark.nojit
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_judge_with_lists_agrees_too(variant):
    """The literal transcription, which keeps C^l as a list of rounds, on a short run; also interpreted."""
    rng = np.random.default_rng(11)
    agent, judge = pair(variant, 3, slow=True, noise=0.3, regularization=4.0, norm=2.0)
    X = action_sets(rng, 3, 60, 4, "repeats")
    check_run(agent, judge, X, X @ np.array([1.0, 0.5, -1.0]) + 0.3 * rng.standard_normal((60, 1)))


def test_linucb_decides_as_its_formula():
    rng = np.random.default_rng(3)
    agent = unipac.LinUCB(4, alpha=0.7, regularization=0.1)
    judge = FastNaiveAgent(4, "single", None, regularization=0.1, alpha=0.7)
    X = action_sets(rng, 4, 1000, 6, "norms")
    check_run(agent, judge, X, X @ np.full(4, 0.5) + rng.standard_normal((1000, 1)))


@pytest.mark.parametrize("action_norm", [0.01, 30.0])
def test_other_norm_bounds(action_norm):
    rng = np.random.default_rng(8)
    agent, judge = pair("NestedOFUL", 3, action_norm=action_norm, norm=0.5, regularization=4.0)
    X = action_norm * action_sets(rng, 3, 500, 5, "repeats")
    check_run(agent, judge, X, X @ np.full(3, 0.2) + rng.standard_normal((500, 1)))


def test_the_judge_can_say_no():
    """Negative control: a wrong regularization or a wrong level rule is noticed."""
    rng = np.random.default_rng(2)
    X = action_sets(rng, 3, 300, 5, "unit")
    rewards = X @ np.full(3, 0.5) + rng.standard_normal((300, 1))
    wrong = FastNaiveAgent(3, "nested", "mixture", regularization=1.01, all_data=True)
    with pytest.raises(AssertionError):
        check_run(unipac.NestedOFUL(3), wrong, X, rewards)
    wrong = FastNaiveAgent(3, "disjoint", "mixture", all_data=True)
    with pytest.raises(AssertionError):
        check_run(unipac.NestedOFUL(3), wrong, X, rewards)

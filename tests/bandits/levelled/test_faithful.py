"""Every agent makes the decisions of the slow transcription in ``helpers.judges.levelled``."""

import numpy as np
import pytest

import unipac
from helpers.actions import action_sets
from helpers.judges.levelled import FastNaiveAgent, NaiveAgent, ball_support, determinant

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
        {"all_data": True}),
    "OFUL": (unipac.OFUL, {}, "single", "determinant", {}),
    "OFUL-mixture": (unipac.OFUL, {"radius": "mixture"}, "single", "mixture", {}),
}  # fmt: skip


def pair(variant, dim, *, slow=False, **common):
    """The agent and its judge."""
    agent, arguments, rule, radius, extra = VARIANTS[variant]
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


OPTIMISTIC = {
    "UPACOFUL": ("disjoint", "theorem", {}, {}),
    "UPACOFUL-mixture": ("disjoint", "mixture", {"radius": "mixture"}, {}),
    "NestedOFUL": ("nested", "mixture", {}, {"all_data": True}),
    "NestedOFUL-levels": ("nested", "mixture", {"all_data": False}, {}),
    "OFUL": ("single", "determinant", {}, {}),
    "OFUL-mixture": ("single", "mixture", {"radius": "mixture"}, {}),
}
SCALES = [0.0, 0.1, 0.3, 2.0]


@pytest.mark.parametrize("fixed", [False, True], ids=["offered", "fixed"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("variant", OPTIMISTIC)
def test_a_scaled_bonus_changes_the_choice_alone(variant, scale, fixed):
    """The choice is that of the scaled radius; bounds and certificates are those of the proven one."""
    rule, radius, arguments, extra = OPTIMISTIC[variant]
    rng = np.random.default_rng([*OPTIMISTIC].index(variant))
    common = {"noise": 0.3, "regularization": 1.0 if radius == "theorem" else 0.3, "delta": 0.1}
    X = action_sets(rng, 3, 250, 6, "arms" if fixed else "repeats")
    rewards = X @ np.array([0.6, -0.6, 0.5]) + 0.3 * rng.standard_normal((250, 1))
    arms = {"fixed_actions": X[0]} if fixed else {}
    looped, played = (
        unipac.AGENTS[variant.split("-")[0]](3, bonus_scale=scale, **arguments, **common, **arms)
        for _ in range(2)
    )
    assert looped.certified
    assert looped.guarantee == "none"
    assert looped.mistake_bound(0.1) == np.inf
    judge = FastNaiveAgent(3, rule, radius, **extra, **common)
    chosen = []
    choose = looped.choose
    looped.choose = lambda *offered: chosen.append(choose(*offered)) or chosen[-1]
    check_run(looped, judge, X, rewards)
    trace = played.play(X[0] if fixed else X, rewards)
    for field in ("index", "level", "certificate"):
        np.testing.assert_array_equal(getattr(trace, field), [getattr(d, field) for d in chosen])
    np.testing.assert_array_equal(played.bounds(X[0]), looped.bounds(X[0]))
    other = played.choose(X[7]), looped.choose(X[7])  # other actions than the fixed ones
    assert other[0][1:2] + other[0][3:] == other[1][1:2] + other[1][3:]


@pytest.mark.parametrize("scale", SCALES)
def test_a_scaled_bonus_changes_the_choice_of_the_ball_alone(scale):
    """Bounds are those of an agent with the bonus as it is; the choice is judged by brute force."""
    rng = np.random.default_rng(4)
    scaled, judge = (unipac.BallOFUL(2, noise=0.3, regularization=0.3, bonus_scale=s) for s in (scale, 1.0))
    assert (scaled.certified, scaled.guarantee, judge.guarantee) == (True, "none", "regret")
    Sigma, b = 0.3 * np.eye(2), np.zeros(2)
    differ = 0
    for _ in range(80):
        X = action_sets(rng, 2, 1, 5, "repeats")[0]
        decision, bounds = scaled.choose(X), judge.bounds(X)
        k = decision.index
        np.testing.assert_array_equal(scaled.bounds(X), bounds)
        assert (decision.mean, decision.ucb, decision.lcb) == (bounds.mean[k], bounds.ucb[k], bounds.lcb[k])
        assert decision.certificate == min(max(bounds.ucb.max() - bounds.lcb[k], 0.0), 2.0)
        beta = determinant(Sigma, 0.3, 0.3, 1.0, 0.05)
        w = np.linalg.solve(Sigma, b)
        by = [ball_support(Sigma, w, scale * beta, 1.0, x) for x in X]
        by = [X[i] @ w if value == -np.inf else value for i, value in enumerate(by)]  # they do not meet
        assert by[k] >= max(by) - 1e-3
        differ += k != bounds.ucb.argmax()
        x, reward = X[k], X[k] @ [0.5, -0.6] + 0.3 * rng.standard_normal()
        scaled.update(decision, reward)
        judge.absorb([x], [reward])
        Sigma, b = Sigma + np.outer(x, x), b + reward * x
    assert differ > 5


# -- the range of the rewards ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 1.0])
@pytest.mark.parametrize("fixed", [False, True], ids=["offered", "fixed"])
@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL", "OFUL", "BallOFUL", "LinUCB"])
def test_a_range_of_rewards_is_for_what_is_said(name, fixed, scale):
    """Bounds are clipped when reported, certificates follow; the choice is as without a range."""
    rng = np.random.default_rng(6)
    low, high = -0.2, 0.45
    X = action_sets(rng, 3, 200, 5, "arms" if fixed else "unit")
    X *= 0.7
    rewards = X @ np.array([0.3, 0.2, -0.4]) + 0.1 * rng.standard_normal((200, 1))
    arms = {"fixed_actions": X[0]} if fixed else {}
    more = {} if name == "LinUCB" else {"noise": 0.1, "bonus_scale": scale}
    if name == "UPACOFUL":
        more["radius"] = "mixture"
    free, ranged, played = (
        unipac.AGENTS[name](3, **more, **arms, reward_range=given)
        for given in (None, (low, high), (low, high))
    )
    certificates, clipped = [], 0
    for offered, row in zip(X, rewards, strict=True):
        given = [] if fixed else [offered]
        a, b = free.choose(*given), ranged.choose(*given)
        of_all, of_ranged = free.bounds(offered), ranged.bounds(offered)
        np.testing.assert_array_equal(of_ranged.ucb, np.clip(of_all.ucb, low, high))
        np.testing.assert_array_equal(of_ranged.lcb, np.clip(of_all.lcb, low, high))
        assert (a.index, a.level, a.mean, a.width) == (b.index, b.level, b.mean, b.width)
        assert (b.ucb, b.lcb) == (of_ranged.ucb[b.index], of_ranged.lcb[b.index])
        clipped += (b.ucb, b.lcb) != (a.ucb, a.lcb)
        if name == "LinUCB":
            assert np.isnan(b.certificate)
        else:
            assert b.certificate == pytest.approx(max(of_ranged.ucb.max() - b.lcb, 0.0), abs=1e-12)
            assert b.certificate <= min(a.certificate, high - low) + 1e-12
        certificates.append(b.certificate)
        for agent, decision in ((free, a), (ranged, b)):
            agent.update(decision, row[decision.index])
    assert clipped > 20
    assert ranged.consistent
    trace = played.play(X[0] if fixed else X, rewards)
    np.testing.assert_array_equal(trace.certificate, certificates)


@pytest.mark.parametrize("way", ["choose", "play"])
@pytest.mark.parametrize("reward_range", [(0.5, 0.9), (-0.9, 0.1)], ids=["too high", "too low"])
@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL", "OFUL", "BallOFUL"])
def test_a_range_that_the_rewards_contradict_is_refuted(name, reward_range, way):
    """Rewards of 0.3 are known better and better; the range does not hold them."""
    more = {"radius": "mixture"} if name == "UPACOFUL" else {}
    agent, control = (
        unipac.AGENTS[name](1, noise=0.1, reward_range=given, **more) for given in (reward_range, (-0.9, 0.9))
    )

    def certificates_of(agent):
        if way == "play":
            return agent.play([[1.0]], np.full((400, 1), 0.3)).certificate
        certificates = []
        for _ in range(400):
            decision = agent.choose([[1.0]])
            certificates.append(decision.certificate)
            agent.update(decision, 0.3)
        return certificates

    with pytest.warns(RuntimeWarning, match="assumption") as caught:
        refuted = np.isnan(certificates_of(agent))
    assert len(caught) == 1
    assert not agent.consistent
    assert 0 < refuted.argmax() == (~refuted).sum()
    assert np.isfinite(certificates_of(control)).all()


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

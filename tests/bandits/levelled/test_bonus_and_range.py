"""A scaled bonus changes the choice alone; a range of rewards what is said of it."""

import numpy as np
import pytest

import unipac
from helpers.actions import action_sets
from helpers.judges.levelled import FastNaiveAgent
from helpers.levelled import check_run, without_sets

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
    cls = unipac.AGENTS[variant.split("-")[0]]
    looped, played = (
        cls(3, bonus_scale=scale, **arguments, **common, **arms, **without_sets(cls)) for _ in range(2)
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


@pytest.mark.parametrize("scale", [0.3, 1.0])
@pytest.mark.parametrize("fixed", [False, True], ids=["offered", "fixed"])
@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL", "OFUL", "BallOFUL", "LinUCB"])
def test_a_range_of_rewards_is_for_what_is_said(name, fixed, scale):
    """Bounds are clipped when reported, certificates follow; the choice is as without a range."""
    rng = np.random.default_rng(6)
    low, high = -0.4, 0.4
    X = action_sets(rng, 3, 200, 5, "arms" if fixed else "unit")
    X *= 0.7
    rewards = X @ np.array([0.3, 0.2, -0.4]) + 0.1 * rng.standard_normal((200, 1))
    arms = {"fixed_actions": X[0]} if fixed else {}
    more = {} if name == "LinUCB" else {"noise": 0.1, "bonus_scale": scale}
    if name == "UPACOFUL":
        more["radius"] = "mixture"
    free, ranged, played = (
        unipac.AGENTS[name](3, **more, **arms, **without_sets(unipac.AGENTS[name]), reward_range=given)
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

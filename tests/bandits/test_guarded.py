"""Guarded decides as the slow transcription in ``helpers.judges.bandits``, and holds what it promises.

Sets, certificates, convergence, and a bad heuristic saved.
"""

import copy

import numpy as np
import pytest

import unipac
from helpers.actions import action_sets
from helpers.judges import bandits as judges
from helpers.regressions import world
from unipac.envs import fixed_arms, killer, sphere

HEURISTICS = {
    "greedy": (lambda d, lam: unipac.LinUCB(d, alpha=0.0, regularization=lam), "constant", {"alpha": 0.0}),
    "LinUCB": (lambda d, lam: unipac.LinUCB(d, alpha=0.7, regularization=lam), "constant", {"alpha": 0.7}),
    "OFUL": (
        lambda d, lam: unipac.OFUL(d, bonus_scale=0.3, regularization=lam), "determinant", {"bonus_scale": 0.3}),
}  # fmt: skip


def pair(name, dim, *, gate, regularization, noise, inner=0.5, tight=False):
    make, radius, extra = HEURISTICS[name]
    common = {"noise": noise, "regularization": regularization, "delta": 0.1, "norm": 1.2, "gate": gate}
    common["tight"] = tight
    judge = judges.Guarded(dim, judges.Index(dim, radius=radius, regularization=inner, **extra), **common)
    return unipac.Guarded(make(dim, inner), **common), judge


def near_tie(judge, X):
    """Whether rounding may decide: a test of a closed level, or the choice of the heuristic, is that close."""
    alive = np.arange(len(X))
    for level, data in enumerate(judge.closed, start=1):
        mean = data.mean(X[alive])
        if len(alive) > 1 and np.diff(np.sort(mean)[-2:])[0] < 1e-9:
            return True
        beta = data.mixture(judge.delta / 2 / (level * (level + 1)), judge.R, judge.S)
        away = X[alive[mean.argmax()]] - X[alive]
        if (np.abs(data.mean(away) - beta * data.width(away))[np.abs(away).max(axis=1) > 0] < 1e-9).any():
            return True
        alive = judge.survivors(level, X, alive)
        width = data.width(X[alive])
        if (np.abs(width**2 * 4.0**level - 1) < 1e-8).any():
            return True
        if len(width) > 1 and width.max() > 2.0**-level:
            return bool(np.diff(np.sort(width)[-2:])[0] < 1e-10)
    h = judge.heuristic
    upper = h.all.mean(X[alive]) + h.scale * h.beta() * h.all.width(X[alive])
    return len(alive) > 1 and bool(np.diff(np.sort(upper)[-2:])[0] < 1e-9)


def follow(agent, judge, X, rewards):
    """Play; the judge follows the agent's choice where rounding may decide, else must make it too."""
    ties = 0
    for t in range(len(X)):
        k, level, certificate = judge.choose(X[t])
        decision = agent.choose(X[t])
        if near_tie(judge, X[t]):
            ties += 1
        else:
            assert (decision.index, decision.level) == (k, level)
            assert decision.certificate == pytest.approx(certificate, abs=1e-7)
        agent.update(decision, rewards[t, decision.index])
        judge.learn(X[t, decision.index], rewards[t, decision.index], decision.level)
    return ties


@pytest.mark.parametrize("kind", ["norms", "repeats", "collinear", "unit", "arms"])
@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_guarded_decides_as_the_pseudo_code(heuristic, kind):
    case = [*HEURISTICS].index(heuristic) * 5 + ["norms", "repeats", "collinear", "unit", "arms"].index(kind)
    rng = np.random.default_rng(case)
    dim = [1, 2, 3, 5, 8][case % 5]
    noise = [0.1, 0.5][case % 2]
    agent, judge = pair(heuristic, dim, gate=0.5, regularization=[0.2, 4.0, 1.0][case % 3], noise=noise)
    X = action_sets(rng, dim, 800, 6, kind)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    rewards = X @ theta + noise * rng.standard_normal((800, 1))
    ties = follow(agent, judge, X, rewards)
    assert ties < 800 or kind == "repeats" or dim == 1
    assert len(agent.levels()) == len(judge.closed) >= 3
    assert sum(level.size for level in agent.levels()) > 0 or kind in ("norms", "collinear")
    for i, data in enumerate(judge.closed, start=1):
        assert agent.levels()[i - 1].radius == pytest.approx(
            data.mixture(0.05 / (i * (i + 1)), noise, 1.2), rel=1e-9
        )


@pytest.mark.parametrize("kind", ["norms", "repeats", "collinear", "unit", "arms"])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_with_sets_it_certifies_as_the_pseudo_code(dim, kind):
    """The choices, and all of the levels, are those without sets, bit for bit."""
    rng = np.random.default_rng(dim)
    noise = [0.1, 0.5][dim % 2]
    agent, judge = pair("LinUCB", dim, gate=0.5, regularization=2.0, noise=noise, tight=True)
    X = action_sets(rng, dim, 160, 6, kind)
    theta = rng.standard_normal(dim)
    rewards = X @ theta / np.linalg.norm(theta) + noise * rng.standard_normal((160, 1))
    follow(agent, judge, X, rewards)
    plain, _ = pair("LinUCB", dim, gate=0.5, regularization=2.0, noise=noise)
    trace, again = plain.play(X, rewards), copy.copy(agent.heuristic)
    assert again.rounds == 0
    played = pair("LinUCB", dim, gate=0.5, regularization=2.0, noise=noise, tight=True)[0].play(X, rewards)
    np.testing.assert_array_equal(played.index, trace.index)
    np.testing.assert_array_equal(played.level, trace.level)
    assert plain.levels() == agent.levels()
    assert plain.mistake_bound(0.1) == agent.mistake_bound(0.1)


@pytest.mark.parametrize(
    "more",
    [
        {"misspecification": 0.05},
        {"reward_range": (0.0, 1.0)},
        {"rewards_within": (0.0, 1.0)},
        {"rewards_within": (-0.2, 1.0), "reward_range": (0.0, 0.9), "blocks": 2},
        {"misspecification": 0.3, "reward_range": (0.0, 1.0)},
        {"blocks": 3},
        {"blocks": 3, "misspecification": 0.05, "reward_range": (0.0, 1.0)},
        {"blocks": 6},
    ],
    ids=str,
)
def test_blocks_and_misspecification_as_in_the_pseudo_code(more):
    """Rewards 0 or 1, of actions in one of m blocks; certificate, ucb and lcb to 1e-8, bounds of all actions too."""
    rng = np.random.default_rng(7)
    m, zeta, dim = more.get("blocks", 1), more.get("misspecification", 0.0), 6
    common = {"noise": 0.5, "regularization": 2.0, "delta": 0.1, "norm": 1.2, "gate": 0.5, **more}
    agent = unipac.Guarded(unipac.LinUCB(dim), **common)
    judge = judges.Guarded(dim, judges.Index(dim, radius="constant", alpha=1.0), **common)
    low, high = agent.reward_range or (-np.inf, np.inf)
    theta = rng.uniform(0, 1, dim) / 2.5
    for _ in range(90):
        X = np.zeros((5, m, dim // m))
        X[np.arange(5), rng.integers(m, size=5)] = rng.uniform(0, 1, (5, dim // m))
        X = X.reshape(5, dim) / max(1.0, np.linalg.norm(X.reshape(5, dim), axis=1).max())
        decision, bounds = agent.choose(X), agent.bounds(X)
        k, level, certificate = judge.choose(X)
        if near_tie(judge, X):
            k = decision.index
        assert (decision.index, decision.level) == (k, level)
        assert decision.certificate == pytest.approx(certificate, abs=1e-8)
        ucb = [min(max(judge.sets.ucb(x, judge.by_c), low), high) for x in X]
        np.testing.assert_allclose(bounds.ucb, ucb, atol=1e-8)
        lcb = [min(max(judge.sets.lcb(x, judge.by_c), low), high) for x in X]
        np.testing.assert_allclose(bounds.lcb, lcb, atol=1e-8)
        assert (decision.ucb, decision.lcb) == pytest.approx((ucb[k], lcb[k]), abs=1e-8)
        reward = float(rng.random() < theta @ decision.action)
        agent.update(decision, reward)
        judge.learn(X[k], reward, level)
    assert agent.consistent
    assert agent.mistake_bound(0.1) < np.inf or zeta > 0
    assert agent.guarantee == ("uniform-PAC" if zeta == 0 else "none")


def test_actions_in_two_blocks_are_refused():
    X = np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]])
    for agent in (
        unipac.Guarded(unipac.LinUCB(4), blocks=2),
        unipac.OFUL(4, blocks=2),
        unipac.NestedOFUL(4, blocks=2),
    ):
        before = agent.digest()
        for call in (
            lambda agent=agent: agent.choose(X),
            lambda agent=agent: agent.bounds(X),
            lambda agent=agent: agent.play(X, np.zeros((3, 2))),
            lambda agent=agent: agent.absorb(X, np.zeros(2)),
        ):
            with pytest.raises(ValueError, match="zero outside of one of 2 blocks"):
                call()
        assert agent.digest() == before
        agent.update(agent.choose(X[:1]), 0.5)
    for wrong, words in (
        ({"blocks": 3}, "a divisor of dim = 4"),
        ({"misspecification": 0.1, "tight": False}, "be 0 without"),
    ):
        with pytest.raises(ValueError, match=words):
            unipac.OFUL(4, **wrong)
        with pytest.raises(ValueError, match=words):
            unipac.Guarded(unipac.LinUCB(4), **wrong)


def test_three_thousand_rounds_with_a_greedy_heuristic_that_is_wrong():
    agent, judge = pair("greedy", 2, gate=4.0, regularization=2.0, noise=0.3)
    X = np.repeat(np.array([[[1.0, 0.0], [0.0, 1.0]]]), 3000, axis=0)
    rewards = X @ np.array([0.5, 0.6]) + 0.3 * np.random.default_rng(1).standard_normal((3000, 1))
    follow(agent, judge, X, rewards)
    explored = [level.size for level in agent.levels()]
    assert sum(explored) > 100
    assert all(level.size <= level.bound for level in agent.levels())


@pytest.mark.boundscheck
@pytest.mark.parametrize("heuristic", [*HEURISTICS, "other"])
def test_play_is_the_loop_bit_for_bit(heuristic, tmp_path):
    rng = np.random.default_rng(4)
    X = action_sets(rng, 3, 600, 5, "repeats")
    rewards = X @ np.full(3, 0.5) + rng.standard_normal((600, 1))
    if heuristic == "other":
        played = unipac.Guarded(unipac.NestedOFUL(3), gate=0.5, noise=1.0)
    else:
        played, _ = pair(heuristic, 3, gate=0.5, regularization=2.0, noise=1.0)
    loop = copy.copy(played)
    first, second = (
        played.play(X[:200], rewards[:200]),
        played.play(X[200:], rewards[200:], truth=np.full(3, 0.5)),
    )
    for t in range(600):
        if t == 300:
            loop.save(tmp_path / "guarded.npz")
            loop = unipac.load(tmp_path / "guarded.npz")
        decision = loop.choose(X[t])
        trace, i = (first, t) if t < 200 else (second, t - 200)
        assert (decision.index, decision.level, decision.certificate) == (
            trace.index[i], trace.level[i], trace.certificate[i])  # fmt: skip
        loop.update(decision, rewards[t, decision.index])
    assert second.covered.all()
    for a, b in zip(loop._saved()[:3], played._saved()[:3], strict=True):
        assert (a == b).all()


def test_many_equal_rounds_are_one_by_one():
    """Split exactly where levels close; explored as long as they are wide."""
    X = np.array([[1.0, 0.0], [0.3, 0.4]])
    many, single = (unipac.Guarded(unipac.LinUCB(2), gate=0.3, regularization=2.0) for _ in range(2))
    for times in (1, 7, 100, 1000):
        decision = many.choose(X[:1])
        many.update(decision, 0.25, times=times)
        for _ in range(times):
            single.update(single.choose(X[:1]), 0.25)
    assert many.rounds == single.rounds == 1108
    for a, b in zip(many._saved()[:2], single._saved()[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_heuristic_must_be_fresh_and_is_copied():
    heuristic = unipac.LinUCB(2)
    agent = unipac.Guarded(heuristic)
    agent.update(agent.choose([[1.0, 0.0]]), 1.0)
    assert heuristic.rounds == 0
    heuristic.update(heuristic.choose([[1.0, 0.0]]), 1.0)
    with pytest.raises(ValueError, match="heuristic must be a fresh bandit agent"):
        unipac.Guarded(heuristic)
    with pytest.raises(ValueError, match="heuristic must be a fresh bandit agent"):
        unipac.Guarded("LinUCB")
    with pytest.raises(ValueError, match="actions"):
        agent.choose([[2.0, 0.0]])


def test_the_judge_can_say_no():
    """Negative control: another gate or regularization is noticed."""
    rng = np.random.default_rng(2)
    X = action_sets(rng, 3, 400, 5, "unit")
    rewards = X @ np.full(3, 0.5) + 0.5 * rng.standard_normal((400, 1))
    for wrong in ({"gate": 0.6}, {"regularization": 1.1}):
        agent, _ = pair("LinUCB", 3, gate=0.5, regularization=1.0, noise=0.5)
        _, judge = pair("LinUCB", 3, **{"gate": 0.5, "regularization": 1.0, "noise": 0.5, **wrong})
        with pytest.raises(AssertionError):
            follow(agent, judge, X, rewards)


def test_guarded_thompson_sampling():
    """A random heuristic under the guard goes on from a file as if nothing had happened."""
    agent = unipac.Guarded(unipac.LinTS(3, noise=0.2, seed=3), noise=0.2, gate=1.0)
    X, rewards = world(6, 3, "unit")
    agent.play(X[:200], rewards[:200])
    twin = copy.copy(agent)
    np.testing.assert_array_equal(
        agent.play(X[200:300], rewards[200:300]).index, twin.play(X[200:300], rewards[200:300]).index
    )
    assert len(agent.levels()) > 1


def runs_with_a_violation(delta, told, runs=500, rounds=400):
    """Runs in which the truth leaves a set, or a certificate is below the gap, at any time; true noise 1.

    A run that refutes the assumptions, which are true, counts as both: from then on it has no certificates.
    """
    left = wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rounds, 4, 2))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        theta = np.array([0.6, 0.8])
        y = X @ theta + rng.choice([-1.0, 1.0], size=(rounds, 1))
        agent = unipac.Guarded(
            unipac.LinUCB(2, alpha=0.1), delta=delta, noise=told, gate=0.5, regularization=0.5
        )
        trace = agent.play(X, y, truth=theta)
        left += not trace.covered.all() or not agent.consistent
        wrong += bool((trace.certificate < trace.gap - 1e-9).any()) or not agent.consistent
    return left, wrong


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_sets_and_certificates_hold(delta):
    """Null: violated in a fraction δ of the runs. 500 runs; a binomial exceeds these limits with probability 1e-3."""
    left, wrong = runs_with_a_violation(delta, told=1.0)
    limit = {0.5: 284, 0.1: 72}[delta]
    assert left <= limit
    assert wrong <= limit


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_the_test_can_fail():
    """Negative control: an agent that is told a third of the noise."""
    left, _ = runs_with_a_violation(0.1, told=1 / 3)
    assert left > 72


def bad_pulls(forced):
    agent = unipac.Guarded(unipac.LinUCB(2))
    agent.update(agent.choose([[1.0, 0.0]]), 0.5, times=forced)
    trace = agent.play(killer(forced), rounds=2000)
    return int((trace.gap > 0.49).sum())


@pytest.mark.boundscheck
def test_bad_pulls_do_not_grow_with_the_number_of_forced_rounds():
    pulls = [bad_pulls(10**k) for k in (5, 12, 15, 18)]
    assert len(set(pulls)) == 1
    assert pulls[0] <= 130


def test_a_greedy_heuristic_is_saved():
    """Arms .5 and .6, noise 1: greedy alone stays with the wrong arm in half of the runs."""
    instance = fixed_arms(np.eye(2), [0.5, 0.6], noise=1.0)
    greedy, guarded = [], []
    for seed in range(100):
        greedy.append(unipac.LinUCB(2, alpha=0.0).play(instance, rounds=20_000, seed=seed).gap.sum())
        agent = unipac.Guarded(unipac.LinUCB(2, alpha=0.0), gate=4.0)
        guarded.append(agent.play(instance, rounds=20_000, seed=seed).gap.sum())
    assert np.mean(guarded) <= 0.2 * np.mean(greedy)
    assert sum(np.array(guarded) > 400) <= 5


def test_a_good_heuristic_is_left_alone():
    """Contexts in 5 dimensions: the regret of Guarded(OFUL with 0.3 of its bonus) is at most that of OFUL."""
    instance = sphere(dim=5, n_actions=20, noise=1.0)
    ours, theirs = [], []
    for seed in range(10):
        agent = unipac.Guarded(unipac.OFUL(5, bonus_scale=0.3))
        trace = agent.play(instance, rounds=20_000, seed=seed)
        assert (trace.certificate >= trace.gap - 1e-12).all()
        ours.append(trace.gap.sum())
        theirs.append(unipac.OFUL(5).play(instance, rounds=20_000, seed=seed).gap.sum())
    assert np.mean(ours) <= np.mean(theirs)

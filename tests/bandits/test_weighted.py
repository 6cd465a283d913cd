"""Weighted B beside a judge that stores all data; what it needs, rewards within a range, is enforced everywhere."""

import copy
import math

import numpy as np
import pytest

import unipac
from helpers.judges.sets import Sets, variance
from helpers.sets import C, action, workspace
from unipac import Deployment, envs, metrics
from unipac.bandits.sets import certify, kernels, learning, memory as packed, state, weighted
from unipac.deployment import fold
from unipac.theory import radii

NOISE, NORM, SHARE = 0.5, 1.3, 3 * 0.05 / 16
NEAR = {"rel": 1e-10, "abs": 1e-12}
MADE = {
    "Guarded": lambda d, **kw: unipac.Guarded(unipac.LinUCB(d), gate=0.5, **kw),
    "another": lambda d, **kw: unipac.Guarded(unipac.LinUCB(d, regularization=0.4), gate=0.5, **kw),
    "a loop": lambda d, **kw: unipac.Guarded(unipac.LinTS(d, seed=1), gate=0.5, **kw),
    "NestedOFUL": lambda d, **kw: unipac.NestedOFUL(d, **kw),
    "OFUL": lambda d, **kw: unipac.OFUL(d, **kw),
    "mixture": lambda d, **kw: unipac.OFUL(d, radius="mixture", **kw),
}


def made(m, d, within=(0.0, 1.0), noise=NOISE, norm=NORM, reward_range=None):
    """Constants and sets, whose memory is an array."""
    rules = state.make_rules(
        m * d, m, SHARE, noise=noise, norm=norm, regularization=0.7, action_norm=1.0,
        reward_range=reward_range or within, rewards_within=within,
    )  # fmt: skip
    memory = state.empty(m * d, m, rules)
    return rules, packed.unpacked(memory)[0], memory


def learn(sets, rules, c, x, y, times=1, late=False):
    """As an agent does: with weights, then A and B, then C."""
    X, work = np.array(x)[None], workspace(1, sets)
    weighted.learn(sets, rules, c.rows, 0, c.radius, X, 0, y, times, late, -1, work)
    learning.learn(sets, rules, X, 0, y, times, late, -1, work)


def with_mean(rng, m, d, mean):
    """A unit vector in one of m blocks with this mean, if the parameter of each block has all entries 3/√d."""
    u = np.ones(d) / math.sqrt(d)
    z = rng.standard_normal(d)
    z -= (z @ u) * u
    x = np.zeros((m, d))
    x[int(rng.integers(m))] = mean / 3 * u
    x[np.any(x, axis=1)] += math.sqrt(1 - (mean / 3) ** 2) * z / np.linalg.norm(z) if d > 1 else 0.0
    return x.reshape(-1)


def coins(rng, d, rounds, low, high, n=6):
    """Unit vectors whose means are uniform in (low, high), and rewards 0 or 1."""
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    p = rng.uniform(low, high, (rounds, n))
    z = rng.standard_normal((rounds, n, d))
    z -= (z @ theta)[..., None] * theta
    z /= np.maximum(np.linalg.norm(z, axis=2, keepdims=True), 1e-300)
    X = p[..., None] * theta + (np.sqrt(1 - p**2)[..., None] * z if d > 1 else 0.0)
    return theta, X, (rng.random((rounds, n)) < p) * 1.0


# -- the lemma ---------------------------------------------------------------------------------


def test_the_variance_of_a_pair():
    """Lemma 4: log E exp{[(y − p)² − (y − q)²]/(2v)} ≤ 0 for 0/1 rewards, 200,000 cases, and mirrored; not 0.9 v."""
    rng = np.random.default_rng(0)
    n = 200_000
    h = rng.random(n) ** 2
    p, q = (h * rng.random(n) ** rng.choice([0.2, 1, 3], n) for _ in range(2))
    v = np.array([variance(0.0, *pair) for pair in zip(h, q, strict=True)])
    for part, fails in ((1.0, False), (0.9, True)):
        z = (q - p) / (part * v)
        log = np.logaddexp(np.log1p(-p), np.log(np.maximum(p, 1e-300)) + z) - z * p - (q - p) * z / 2
        assert (log > 1e-12).any() == fails
    for i in range(300):
        assert radii.pair_variance(0.0, h[i], q[i]) == pytest.approx(v[i], rel=1e-12)
        assert radii.pair_variance(1 - h[i], 1.0, 1 - q[i]) == pytest.approx(v[i], rel=1e-10)
    assert radii.pair_variance(0.3, 0.7, 0.6) == 0.25
    assert radii.pair_variance(0.0, 0.0, 0.0) == 0.0
    for wrong in ((-0.1, 0.5, 0.2), (0.6, 0.5, 0.5), (0.1, 1.1, 0.5), (0.1, 0.4, 0.5)):
        with pytest.raises(ValueError, match=r"lower|upper|forecast"):
            radii.pair_variance(*wrong)


# -- beside the judge --------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize(("m", "d"), [(1, 3), (2, 2), (1, 1), (1, 9)])
@pytest.mark.parametrize(("p", "within"), [(0.05, (0.0, 1.0)), (0.5, (0.0, 1.0)), (0.95, (-2.0, 0.5))])
def test_bounds_and_certificates_are_those_of_stored_data(m, d, p, within):
    """Rewards at the ends of the range, near its lower end, in the middle, and near its upper one: the mirror."""
    low, high = within
    span = high - low
    rng = np.random.default_rng(m + d)
    noise, norm = 0.5 * span, 4.0
    rules, sets, memory = made(m, d, within, noise, norm)
    judge = Sets(
        m * d, SHARE, noise=noise, norm=norm, regularization=0.7, low=low, high=high, blocks=m, within=within
    )
    c, work = C(m * d, 0.0), workspace(5, sets)
    assert rules.weighted_regularization == pytest.approx(judge.weighted[0].lam, rel=1e-15)
    below = 0
    for t in range(120):
        chance, times = p + rng.uniform(-0.04, 0.04), 40 if t == 70 else int(rng.choice([1, 1, 1, 2]))
        x = with_mean(rng, m, d, low + span * chance)
        y = low + span * float(rng.binomial(times, chance)) / times
        c.radius = 1.2 * span
        learn(sets, rules, c, x, y, times)
        judge.learn(x, y, times, c=c)
        c.learn(x, y, times)
        if t not in (0, 20, 69, 119):
            continue
        for c.radius in (0.3 * span, 100.0 * span):
            X = np.array([with_mean(rng, m, d, low + span * p) for _ in range(5)])
            X[2:4] = action(rng, m, d), 1e-7 * action(rng, m, d)
            X[4] = X[0] if t % 2 else 0.0
            out = np.empty((4, 5))
            spare = np.zeros(packed.room(5, m, d, True))
            certify.bound_all(memory, spare, c.rows, 0, c.radius, 0, X, out)
            np.testing.assert_allclose(out[2], [judge.ucb(x, c) for x in X], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(out[3], [judge.lcb(x, c) for x in X], rtol=1e-10, atol=1e-12)
            kernels.look(sets, X, work)
            work.outer[0] = [float(c.b @ np.linalg.solve(c.gram, x)) for x in X]
            work.outer[1] = [float(x @ np.linalg.solve(c.gram, x)) for x in X]
            for k in range(5):
                bound = max(judge.lcb(X[k], c), rules.low)
                right = judge.certificate(X, k, c)
                found = certify.certificate(sets, rules, c.rows, 0, c.radius, X, k, bound, 50.0, work)
                assert found == pytest.approx(min(right, 50.0), **NEAR)
                b, own = judge.part(X[k])
                below += judge.weighted[b].upper(own) < judge.blocks[b].upper(own)
    for b, own in enumerate(judge.weighted):
        assert sets.weighted_sums[b, packed.WEIGHTED_EXCESS] == pytest.approx(own.E, rel=1e-10)
        assert sets.weighted_sums[b, packed.WEIGHTED_RADIUS] ** 2 == pytest.approx(own.squared(), rel=1e-10)
        assert pytest.approx(own.identity(), rel=1e-9, abs=1e-9) == own.E
        assert min(own.v) < 0.9 * noise**2 or p == 0.5
    assert below > 0 or p == 0.5


def test_the_excess_is_what_the_best_parameter_leaves():
    """E = Σ(y − q)²/v − min_θ [Σ(y − ⟨θ, x⟩)²/v + λ‖θ‖²], forecasts clipped; not with a width of after the round."""
    rng = np.random.default_rng(4)
    rules, sets, _ = made(1, 3)
    judge = Sets(3, SHARE, noise=NOISE, norm=NORM, regularization=0.7, low=0.0, high=1.0, within=(0.0, 1.0))
    c, clipped, mutant = C(3, 1.0), 0, 0.0
    (own,) = judge.weighted
    for _ in range(80):
        x = action(rng, 1, 3)
        y = float(rng.random() < 0.1)
        mean, before = float(np.linalg.solve(own.gram, own.b) @ x), own.gram
        learn(sets, rules, c, x, y)
        judge.learn(x, y, c=c)
        c.learn(x, y, 1)
        clipped += own.q[-1] != mean
        after = x @ np.linalg.solve(before + own.weight[-1] * np.outer(x, x), x)
        mutant += own.weight[-1] * ((y - own.q[-1]) ** 2 - (y - mean) ** 2 / (1 + own.weight[-1] * after))
    assert clipped > 5
    assert sets.weighted_sums[0, packed.WEIGHTED_EXCESS] == pytest.approx(own.identity(), rel=1e-10)
    assert mutant != pytest.approx(own.identity(), rel=1e-3)  # the control


@pytest.mark.parametrize("sign", [1, -1])
def test_forecasts_are_within_bounds_and_variances_within_theirs(sign):
    """Whatever was learned, also what no assumption fits: q ≤ h, and v from the least to R²."""
    rng = np.random.default_rng(2)
    for seed in range(20):
        rules, sets, _ = made(1, 2, (0.0, 1.0), rng.choice([0.0, 0.1, 0.5]), rng.choice([0.0, 0.3, 1.5, 1e6]))
        c, work = C(2, float(rng.choice([0.01, 1.0]))), workspace(1, sets)
        for _ in range(40):
            x = sign * np.abs(action(rng, 1, 2))
            kernels.look(sets, x[None], work)
            q, v = weighted.forecast(sets, rules, c.rows, 0, c.radius, x[None], 0, 0, work)
            upper, lower, _, _, _ = certify.interval(sets, rules, x[None], 0, 0, work)
            h = min(upper, c(x), 1.0)
            assert 0.0 <= q <= 1.0
            assert q <= max(h, 0.0) + 1e-12 or max(lower, -c(-x)) > h
            assert weighted.LEAST_VARIANCE <= v <= max(rules.noise**2, weighted.LEAST_VARIANCE), seed
            y = float(rng.random() < 0.05)
            learn(sets, rules, c, x, y)
            c.learn(x, y, 1)
            assert np.isfinite(sets.weighted).all()
            assert np.isfinite(sets.weighted_sums).all()


@pytest.mark.parametrize("times", [1, 1000])
def test_the_largest_weights(times):
    """All rewards at an end: v falls to its least; widths of two directions 1e-3 apart are exact to 1e-7."""
    rules, sets, _ = made(1, 2)
    c, work, gram = C(2, 1e6), workspace(1, sets), np.array([0, 0, 0], dtype=np.longdouble)
    axes = np.array([[1.0, 0.0], [math.cos(1e-3), math.sin(1e-3)]])
    for t in range(3000):
        x = axes[t % 2]
        kernels.look(sets, x[None], work)
        _, v = weighted.forecast(sets, rules, c.rows, 0, c.radius, x[None], 0, 0, work)
        learn(sets, rules, c, x, 0.0, times)
        weight = np.longdouble(times) / np.longdouble(v)
        gram += weight * np.array([x[0] * x[0], x[0] * x[1], x[1] * x[1]], dtype=np.longdouble)
    assert (v == weighted.LEAST_VARIANCE) == (times == 1000)
    assert v < 0.01
    p, q, s = gram + rules.weighted_regularization * np.array([1, 0, 1], dtype=np.longdouble)
    kernels.look(sets, axes[:1], work)
    assert work.weighted_values[1, 0] == pytest.approx(float(s / (p * s - q * q)), rel=1e-7)
    kernels.look(sets, np.array([[0.0, 1.0]]), work)
    assert work.weighted_values[1, 0] == pytest.approx(float(p / (p * s - q * q)), rel=1e-7)
    assert sets.weighted_sums[0, packed.WEIGHTED_EXCESS] == 0.0  # no forecast was wrong


# -- agents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("name", MADE)
def test_play_is_the_loop_and_files_go_on(name, blocks, tmp_path):
    """Bit for bit, with a file in the middle and a copy; what is absorbed at its levels, too."""
    rng = np.random.default_rng(1)
    d, rounds = 4, 120
    theta, X, y = coins(rng, d // blocks, rounds, 0.02, 0.2)
    if blocks == 2:
        wide = np.zeros((*X.shape[:2], 2, d // 2))
        at = rng.integers(2, size=X.shape[:2])
        wide[np.arange(rounds)[:, None], np.arange(X.shape[1]), at] = X
        X, theta = wide.reshape(rounds, -1, d), np.concatenate((theta, theta))
    told = {"noise": 0.5, "norm": 1.5, "blocks": blocks, "rewards_within": (0.0, 1.0)}
    played, looped, absorbed = (MADE[name](d, **told) for _ in range(3))
    trace = played.play(X, y, truth=theta)
    assert trace.covered.all()
    levels, actions, rewards = [], [], []
    for t in range(rounds):
        if t == 60:
            looped.save(tmp_path / "agent.npz")
            looped = copy.copy(unipac.load(tmp_path / "agent.npz"))
        decision = looped.choose(X[t])
        assert (decision.index, decision.level) == (trace.index[t], trace.level[t])
        assert decision.certificate == trace.certificate[t]
        looped.update(decision, y[t, decision.index])
        levels.append(decision.level), actions.append(decision.action), rewards.append(trace.reward[t])
    absorbed.absorb(actions, rewards, levels=levels)
    for agent in (looped, absorbed):
        for a, b in zip(state.saved(agent.state.sets), state.saved(played.state.sets), strict=True):
            np.testing.assert_array_equal(a, b)
    sets, _ = packed.unpacked(played.state.sets)
    assert sets.weighted.shape == (blocks, d // blocks, d // blocks + 2)
    assert (sets.weighted_sums[:, packed.WEIGHTED_EXCESS] != 0.0).all()


@pytest.mark.parametrize("name", ["Guarded", "OFUL"])
def test_certificates_gain_near_the_ends_and_choices_stay(name):
    """0/1 rewards with means .01 to .03 and, mirrored, .97 to .99; the sets without the range of rewards beside it."""
    rng = np.random.default_rng(3)
    told = {"noise": 0.5, "norm": 1.5, "reward_range": (0.0, 1.0)}
    for low, high in ((0.01, 0.03), (0.97, 0.99)):
        _, X, y = coins(rng, 3, 3000, low, high, n=4)
        plain, own = (
            MADE[name](3, **told, **more).play(X, y) for more in ({}, {"rewards_within": (0.0, 1.0)})
        )
        assert (plain.index == own.index).all()
        ends = [float(np.median(trace.certificate[-300:])) for trace in (plain, own)]
        assert ends[1] < 0.85 * ends[0]
    _, X, y = coins(rng, 3, 1000, 0.3, 0.7, n=4)
    plain, own = (MADE[name](3, **told, **more).play(X, y) for more in ({}, {"rewards_within": (0.0, 1.0)}))
    ends = [float(np.median(trace.certificate[-300:])) for trace in (plain, own)]
    assert ends[1] < 1.06 * ends[0]


@pytest.mark.parametrize("name", ["Guarded", "NestedOFUL", "OFUL"])
def test_a_late_reward_ends_it_for_good(name, tmp_path):
    agent = MADE[name](2, rewards_within=(0.0, 1.0))
    X = [[1.0, 0.0], [0.0, 1.0]]
    first, second = agent.choose(X), agent.choose(X)
    agent.update(second, 1.0)
    agent.update(first, 0.0)
    for _ in range(3):
        agent.update(agent.choose(X), 0.0)
    agent.save(tmp_path / "agent.npz")
    for held in (agent, unipac.load(tmp_path / "agent.npz")):
        sets, _ = packed.unpacked(held.state.sets)
        assert sets.weighted_sums[0, packed.WEIGHTED_RADIUS] == kernels.NOWHERE
        assert sets.sums[0, packed.RADIUS_B] == kernels.NOWHERE


def test_files_of_other_data_are_refused():
    rng = np.random.default_rng(2)
    rules, sets, memory = made(2, 3)
    c = C(6, 1.0)
    for _ in range(50):
        learn(sets, rules, c, action(rng, 2, 3), float(rng.random() < 0.1))
    told = state.saved(memory)
    assert told.rows.shape == (4, 3, 5)
    again = state.restored(told, state.empty(6, 2, rules), 50)
    for a, b in zip(state.saved(again), told, strict=True):
        np.testing.assert_array_equal(a, b)
    more, large = told.rows.copy(), told.rows.copy()
    more[2] *= 1e4
    large[3, :, -1] = 1e6
    for name, value in (
        ("rows", more),
        ("rows", large),
        ("sums", told.sums + np.nan),
        ("rows", told.rows[:3]),
    ):
        with pytest.raises(ValueError, match=r"sets|regression"):
            state.restored(told._replace(**{name: value}), state.empty(6, 2, rules), 50)


@pytest.mark.parametrize("name", ["Guarded", "NestedOFUL", "OFUL"])
def test_rewards_outside_are_refused_before_anything_is_learned(name):
    agent = MADE[name](2, noise=0.5, rewards_within=(0.0, 1.0))
    assert agent.reward_range == (0.0, 1.0)
    X = np.array([[0.6, 0.8], [1.0, 0.0]])
    decision = agent.choose(X)
    before = agent.digest()
    rewards = np.full((3, 2), 0.5)
    rewards[2, 1] = 1.5
    for wrong in (
        lambda: agent.update(decision, 1.0000001),
        lambda: agent.update(decision, -1, times=5),
        lambda: agent.absorb(X, [0.5, 2.0]),
        lambda: agent.absorb(X, [0.5, -1e-9], levels=[0, 0]),
        lambda: agent.play(X, rewards),
        lambda: agent.play(envs.sphere(2, 3, noise=0.5), rounds=50),
    ):
        with pytest.raises(ValueError, match=r"reward.* must be from 0 to 1 \(rewards_within\), got"):
            wrong()
        assert agent.digest() == before
    agent.update(decision, np.float64(1.0))
    agent.update(agent.choose(X), 0.25, times=5)
    agent.absorb(X, [0.0, 1.0])


def test_a_deployment_refuses_rewards_outside_and_replays():
    agent = MADE["Guarded"](2, noise=0.5, rewards_within=(0.5, 1.0))
    with pytest.raises(ValueError, match=r"default must be from 0.5 to 1 \(rewards_within\)"):
        Deployment(agent, window=3.0)
    deployment = Deployment(agent, window=3.0, default=0.5, clock=lambda: 0.0)
    X = np.array([[0.6, 0.8], [1.0, 0.0]])
    for k in range(6):
        deployment.close(now=float(k))
        deployment.decide(None, X, id=k)
        before = deployment.digest()
        with pytest.raises(ValueError, match=r"value must be from 0.5 to 1 \(rewards_within\)"):
            deployment.reward(k, 0.4)
        assert deployment.digest() == before
        if k % 2:
            deployment.reward(k, 0.75)
    with pytest.raises(ValueError, match="rewards_within"):
        deployment.absorb(X, [0.6, 0.2])
    deployment.absorb(X, [0.6, 0.9])
    assert fold(deployment.events()).digest() == deployment.agent.digest()


def test_what_does_not_go_together_is_refused():
    within = {"rewards_within": (0.0, 1.0)}
    for name in ("Guarded", "NestedOFUL", "OFUL"):
        make = MADE[name]
        for more, words in (
            ({"misspecification": 0.1}, "rewards_within must be None with misspecification above 0"),
            ({"misspecification": (0.0, 0.1)}, "rewards_within must be None with misspecification above 0"),
            ({"tight": False}, "rewards_within must be None without the sets"),
            ({"reward_range": (-0.1, 1.0)}, "reward_range must be within rewards_within"),
            ({"rewards_within": (1.0, 1.0)}, "rewards_within must be"),
            ({"rewards_within": (0.0, 1e-60)}, "rewards_within must be wider"),
            ({"rewards_within": 1.0}, "rewards_within must be"),
        ):
            with pytest.raises(ValueError, match=words):
                make(2, **{**within, **more})
        agent = make(2, reward_range=(0.0, 0.1), **within)
        assert agent.reward_range == (0.0, 0.1)
        assert "rewards_within=(0.0, 1.0)" in repr(agent)
        with pytest.raises(ValueError, match="tight=False"):
            unipac.play_many(agent, envs.sphere(2, 3), rounds=10, seeds=2)
    with pytest.raises(ValueError, match="rewards_within must be None without the sets"):
        unipac.NestedOFUL(2, all_data=False, **within)
    inside = unipac.Guarded(unipac.OFUL(2, **within), **within)  # the heuristic keeps no sets
    assert inside.choose([[1.0, 0.0], [0.0, 1.0]]).certified


# -- validity ----------------------------------------------------------------------------------

KINDS = {
    "0/1 p<.1": (0.005, 0.1, 0.0, "coins"),
    "0/1 p~.5": (0.3, 0.7, 0.0, "coins"),
    "0/1 p>.9": (0.9, 0.995, 0.0, "coins"),
    "-1/0 p>.9": (-0.1, -0.005, -1.0, "coins"),
    "beta p<.2": (0.02, 0.2, 0.0, "beta"),
    "gauss p<.1": (0.005, 0.1, 0.0, "gauss"),
}
"""Between which numbers means lie, the least reward, which is 1 below the largest, and the law of the rewards."""


def left(kind, d, seed, rounds, delta=0.5):
    """How far θ* was from the centre of weighted B at most, over its radius, while A and B held; δ for it and for B.

    The adversary offers directions in which the estimate is wrong, or the widest; all means are where ``kind`` says.
    """
    low, high, least, law = KINDS[kind]
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    rules = state.make_rules(
        d, 1, 1.0, noise=0.5, norm=1.0, regularization=0.5, action_norm=1.5, reward_range=(least, least + 1.0),
        rewards_within=(least, least + 1.0),
    )  # fmt: skip
    rules = rules._replace(log_share=20.0, forecast_share=-math.log(delta))  # A does not fail
    sets, _ = packed.unpacked(state.empty(d, 1, rules))
    c, worst = C(d, 1e6), 0.0
    for _ in range(rounds):
        rows = sets.weighted[0]
        R, z = np.triu(rows[:, 1 : d + 1]), rows[:, d + 1]
        v = (theta - np.linalg.solve(R, z), np.linalg.svd(R)[2][-1], rng.standard_normal(d))[
            int(rng.integers(3))
        ]
        v = v - (v @ theta) * theta
        p = rng.uniform(low, high)
        x = p * theta + (v / np.linalg.norm(v) if np.linalg.norm(v) > 1e-9 else 0.0)
        q = p - least
        y = least + (rng.beta(0.3 * q, 0.3 * (1 - q)) if law == "beta" else float(rng.random() < q))
        learn(sets, rules, c, x, p + 0.5 * rng.standard_normal() if law == "gauss" else y)
        own = sets.rows[0]
        if np.linalg.norm(own[:, d + 1] - np.triu(own[:, 1 : d + 1]) @ theta) > sets.sums[0, packed.RADIUS_B]:
            break  # by B, which has its own share
        R, z = np.triu(rows[:, 1 : d + 1]), rows[:, d + 1]
        worst = max(worst, np.linalg.norm(z - R @ theta) / sets.weighted_sums[0, packed.WEIGHTED_RADIUS])
    return worst


@pytest.mark.parametrize(("runs", "rounds"), [(40, 60), pytest.param(300, 200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "d"), [(kind, d) for kind in [*KINDS][:5] for d in (1, 3)])
def test_weighted_b_holds_by_itself(kind, d, runs, rounds):
    """Null hypothesis: it leaves θ* out, while A and B hold, with probability at most 1/2; limit at 1e-6.

    Control: with half of its radius the same test rejects, unless S‖x‖ is so near that nothing can be pushed (p > .9).
    """
    worst = np.array([left(kind, d, seed, rounds) for seed in range(runs)])
    print(f"{kind} d={d}: {(worst > 1).sum()} of {runs}; with half of the radius {(worst > 0.5).sum()}")
    assert metrics.binomial_upper_tail(int((worst > 1).sum()), runs, 0.5) > 1e-6
    if runs == 300 and kind != "0/1 p>.9":
        assert metrics.binomial_upper_tail(int((worst > 0.5).sum()), runs, 0.5) < 1e-6


@pytest.mark.slow
def test_unbounded_rewards_would_break_it():
    """Why rewards outside are refused: Gaussian ones of scale .5, let in by force, leave it too often."""
    worst = np.array([left("gauss p<.1", 1, seed, 200, delta=0.1) for seed in range(200)])
    print(f"gauss: {(worst > 1).sum()} of 200")
    assert metrics.binomial_upper_tail(int((worst > 1).sum()), 200, 0.1) < 1e-6

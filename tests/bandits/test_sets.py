"""The sets behind certificates, beside a judge that stores all data."""

import math

import numpy as np
import pytest

import unipac
from helpers.judges.sets import Block, Sets
from helpers.sets import C, action, workspace
from unipac.bandits.sets import certify, kernels, learning, memory as packed, state
from unipac.linalg import triangle

NOISE, NORM, SHARE = 0.5, 1.3, 3 * 0.05 / 16
NEAR = {"rel": 1e-10, "abs": 1e-12}


def made(m, d, zetas, reward_range, noise=NOISE, norm=NORM):
    rules = state.make_rules(
        m * d, m, SHARE, noise=noise, norm=norm, regularization=0.7, action_norm=1.0,
        reward_range=reward_range, misspecification=zetas,
    )  # fmt: skip
    memory = state.empty(m * d, m, rules)
    return rules, packed.unpacked(memory)[0], memory


def learn(sets, rules, x, y, times=1, late=False):
    learning.learn(sets, rules, np.array(x)[None], 0, y, times, late, -1, workspace(0, sets))


def judge_of(m, d, rules, zetas):
    judge = Sets(
        m * d, SHARE, noise=rules.noise, norm=rules.norm, regularization=0.7, low=rules.low, high=rules.high,
        blocks=m, zeta=zetas[0], point=zetas[-1] > 0,
    )  # fmt: skip
    assert judge.blocks[0].lam == pytest.approx(rules.regularization, rel=1e-15)
    assert judge.blocks[0].log_share == pytest.approx(rules.log_share, rel=1e-15)
    return judge


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize(("m", "d"), [(1, 3), (2, 2), (1, 1), (3, 1), (1, 9), (2, 5)])
@pytest.mark.parametrize("reward_range", [None, (0.0, 1.0)])
@pytest.mark.parametrize("zetas", [(0.0,), (0.05,)])
def test_bounds_and_certificates_are_those_of_stored_data(m, d, reward_range, zetas):
    """By every set: whichever of A, B and C is the least somewhere."""
    rng = np.random.default_rng(m + d)
    rules, sets, memory = made(m, d, zetas, reward_range)
    judge, work = judge_of(m, d, rules, zetas), workspace(5, sets)
    c = C(m * d, 1.0)
    truth = rng.standard_normal(m * d)
    for t in range(40):
        x = action(rng, m, d)
        y = 0.3 * float(truth @ x) / np.linalg.norm(truth) + NOISE * rng.choice([-1, 1]) / 2
        times = int(rng.choice([1, 1, 1, 5]))
        learn(sets, rules, x, y, times, False)
        judge.learn(x, y, times)
        c.learn(x, y, times)
        if t not in (0, 3, 20, 39):
            continue
        for c.radius in (0.3, 1.0, 3.0, 100.0):
            X = np.array([action(rng, m, d) for _ in range(5)])
            X[3] *= 1e-7
            X[4] = X[0] if t % 2 else 0.0
            out = np.empty((4, 5))
            certify.bound_all(memory, np.zeros(packed.room(5, m, d)), c.rows, 0, c.radius, 0, X, out)
            np.testing.assert_allclose(out[2], [judge.ucb(x, c) for x in X], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(out[3], [judge.lcb(x, c) for x in X], rtol=1e-10, atol=1e-12)
            kernels.look(sets, X, work)
            work.outer[0] = [float(c.b @ np.linalg.solve(c.gram, x)) for x in X]
            work.outer[1] = [float(x @ np.linalg.solve(c.gram, x)) for x in X]
            for k in range(5):
                low = max(judge.lcb(X[k], c), rules.low)
                right = judge.certificate(X, k, c)
                for most in (0.1, 50.0):
                    found = certify.certificate(sets, rules, c.rows, 0, c.radius, X, k, low, most, work)
                    assert found == pytest.approx(min(right, most), **NEAR)
    for b, block in enumerate(judge.blocks):
        assert sets.counts[b, packed.STEP] > 0  # the scale has moved
        assert sets.sums[b, packed.EXCESS] == pytest.approx(block.E, rel=1e-10)
        assert sets.sums[b, packed.RADIUS_B] ** 2 == pytest.approx(max(block.squared_b(), 0.0), rel=1e-10)
        assert sets.sums[b, packed.RADIUS_A] == pytest.approx(block.radius_a(), rel=1e-10)


def test_the_excess_is_what_the_best_parameter_leaves():
    """E = Σ(y − q)² − min_θ [Σ(y − ⟨θ, x⟩)² + λ‖θ‖²], with clipped forecasts; a width of after the round is not it."""
    rng = np.random.default_rng(4)
    rules, sets, _ = made(1, 3, (0.02,), (0.0, 1.0))
    (judge,) = judge_of(1, 3, rules, (0.02,)).blocks
    clipped, mutant = 0, 0.0
    for _ in range(60):
        x = action(rng, 1, 3)
        y = float(rng.random() < 0.3)
        after = x @ np.linalg.solve(judge.sigma() + np.outer(x, x), x)
        mean = judge.theta() @ x
        q = min(max(mean, 0.0), 1.0)
        clipped += q != mean
        mutant += (y - q) ** 2 - (y - mean) ** 2 / (1 + after)
        learn(sets, rules, x, y, 1, False)
        judge.learn(x, y)
    assert clipped > 5
    assert sets.sums[0, packed.EXCESS] == pytest.approx(judge.identity(), rel=1e-10)
    assert mutant != pytest.approx(judge.identity(), rel=1e-3)  # the control


def test_many_rounds_at_once_are_so_many_rounds():
    """R² log(1 + m w²) is the same in one step and in parts, and so are both regressions."""
    rng = np.random.default_rng(1)
    whole, parts = made(1, 3, (0.0,), None), made(1, 3, (0.0,), None)
    for _ in range(6):
        x, y = action(rng, 1, 3), float(rng.standard_normal())
        for (rules, sets, _), split in ((whole, (1000,)), (parts, (2, 498, 500))):
            for times in split:
                learn(sets, rules, x, y, times, False)
    for field in ("rows", "factor", "sums"):
        np.testing.assert_allclose(getattr(whole[1], field), getattr(parts[1], field), rtol=1e-9, atol=1e-9)
    assert whole[1].counts[0, packed.STEP] == parts[1].counts[0, packed.STEP] > 3


def test_so_many_rounds_that_widths_are_lost_are_left_out():
    rules, sets, memory = made(1, 2, (0.0,), None, noise=1e-3, norm=30.0)
    before = memory.copy()
    learn(sets, rules, np.array([0.6, 0.8]), 0.3, 10**17, False)
    np.testing.assert_array_equal(memory, before)
    learn(sets, rules, np.array([0.6, 0.8]), 0.3, 10**9, False)
    assert sets.sums[0, packed.COUNT] == 1e9


def test_a_late_reward_ends_b_for_its_block_alone():
    rules, sets, memory = made(2, 2, (0.0,), None)
    for late, x in ((False, [1.0, 0, 0, 0]), (False, [0, 0, 1.0, 0]), (True, [0.6, 0.8, 0, 0])):
        learn(sets, rules, np.array(x), 0.3, 1, late)
    for _ in range(200):
        learn(sets, rules, np.array([1.0, 0, 0, 0]), 0.3, 1, False)
    assert sets.counts[:, packed.LATE].tolist() == [1, 0]
    assert sets.sums[0, packed.RADIUS_B] == kernels.NOWHERE
    assert sets.sums[1, packed.RADIUS_B] < 10
    out = np.empty((4, 2))
    certify.bound_all(
        memory, np.zeros(99), C(4, 0.0).rows, 0, 1e9, 0, np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]), out
    )
    assert 0.3 < out[2, 0] < 0.8  # by A
    assert out[2, 1] == out[3, 1] == 0.0


@pytest.mark.parametrize(
    ("noise", "norm"), [(0.0, 1.0), (0.5, 0.0), (0.0, 0.0), (0.5, 1e6), (1e-30, 1.0), (1.0, 1e-30)]
)
def test_no_noise_no_norm(noise, norm):
    rules, sets, memory = made(1, 2, (0.0,), None, noise, norm)
    for _ in range(50):
        learn(sets, rules, np.array([0.6, 0.8]), 0.0, 1, False)
    out = np.empty((4, 1))
    certify.bound_all(memory, np.zeros(99), C(2, 1.0).rows, 0, 1e9, 0, np.array([[0.6, 0.8]]), out)
    assert out[3, 0] <= 1e-12
    assert out[2, 0] >= -1e-12
    assert math.isfinite(out[2, 0])
    assert sets.status.tolist() == [0, 0, 0]


def test_data_refute_a_zeta_and_the_next_one_serves():
    """Rewards 0 or 1 by the sign of a feature, a range that shows it: ζ = 0 falls, ζ = 0.6 stands."""
    rng = np.random.default_rng(0)
    rules, sets, _ = made(1, 2, (0.0, 0.6), (0.0, 1.0))
    alone, one, _ = made(1, 2, (0.0,), (0.0, 1.0))
    for _ in range(3000):
        z = rng.uniform(-1, 1)
        x = np.array([1.0, z]) / math.sqrt(2)
        learn(sets, rules, x, float(z > 0), 1, False)
        learn(one, alone, x, float(z > 0), 1, False)
    assert sets.status.tolist() == [1, 0, 0]
    assert one.status.tolist() == [0, 1, 0]


def test_one_direction_a_million_times():
    """Squared widths and ‖Σ⁻¹v‖² in a direction seen 10^6 times, and across it, to 1e-9; log det to 1e-10."""
    rules, sets, _ = made(1, 2, (0.0,), None, 0.1, 10.0)
    work = workspace(2, sets)
    x = np.array([0.6, 0.8])
    for _ in range(1000):
        learn(sets, rules, x, 0.3, 1000, False)
    lam, n = rules.regularization, 1e6
    X = np.array([[0.6, 0.8], [0.8, -0.6]])
    kernels.look(sets, X, work)
    for k, eigenvalue in enumerate((lam + n, lam)):
        assert work.values[k, packed.WIDTH2] == pytest.approx(1 / eigenvalue, rel=1e-9)
        g2 = kernels._solved2(sets.rows, 0, work.images, k)
        assert g2 == pytest.approx(1 / eigenvalue**2, rel=1e-9)
    scale = sets.sums[0, packed.SCALE]
    assert sets.sums[0, packed.LOGDET] == pytest.approx(math.log1p(n / scale), rel=1e-10)
    assert sets.sums[0, packed.EXCESS] == pytest.approx(0.01 * math.log1p(n / lam), rel=1e-9)


def test_restored_sets():
    """What is restored goes on bit for bit; a factor, a scale or a count of other data is refused."""
    rng = np.random.default_rng(2)
    rules, sets, memory = made(2, 3, (0.0,), (0.0, 1.0))
    for _ in range(300):
        learn(sets, rules, action(rng, 2, 3), float(rng.random()), 1, False)
    told = state.saved(memory)
    again = state.restored(told, state.empty(6, 2, rules), 300)
    for _ in range(300):
        x, y = action(rng, 2, 3), float(rng.random())
        for held in (memory, again):
            learn(packed.unpacked(held)[0], rules, x, y)
    for a, b in zip(state.saved(again), state.saved(memory), strict=True):
        np.testing.assert_array_equal(a, b)
    for name, value in (
        ("factor", 2 * told.factor),
        ("rows", told.rows[:, :, ::-1].copy()),
        ("counts", told.counts + 1),
        ("sums", told.sums + 1e3),
        ("status", told.status + 5),
    ):
        with pytest.raises(ValueError, match=r"sets|regression"):
            state.restored(told._replace(**{name: value}), state.empty(6, 2, rules), 300)


def test_a_factor_is_that_of_its_rows():
    """V + ℓI by rotations, d = 1 to 6, beside Cholesky's; and the norm of its inverse."""
    rng = np.random.default_rng(3)
    for d in range(1, 7):
        factor, gram = np.zeros((d, triangle.columns(d))), 0.3 * np.eye(d)
        triangle.reset(factor, 0.3)
        for times in (1, 1, 7, 10**6):
            x = rng.standard_normal(d)
            triangle.push(factor, float(times), np.concatenate((x, np.zeros(triangle.columns(d) - d))))
            gram += times * np.outer(x, x)
        triangle.add_identity(factor, 2.0, np.empty(triangle.columns(d)))
        gram += 2.0 * np.eye(d)
        np.testing.assert_allclose(np.triu(factor[:, :d]), np.linalg.cholesky(gram).T, rtol=1e-9, atol=1e-9)
        v = rng.standard_normal(d)
        assert triangle.inverse_norm(factor, v.copy()) ** 2 == pytest.approx(
            v @ np.linalg.solve(gram, v), rel=1e-8
        )
        assert triangle.log_determinant(factor, 2.3) == pytest.approx(
            np.linalg.slogdet(gram / 2.3)[1], rel=1e-10
        )


def test_the_judge_refuses_another_radius():
    """The control: half of b, or a prior scale of the first round for ever, is seen by the comparison."""
    rng = np.random.default_rng(5)
    rules, sets, _ = made(1, 3, (0.0,), None)
    judge = Block(3, NOISE, NORM, rules.regularization, rules.log_share)
    for _ in range(50):
        x = action(rng, 1, 3)
        learn(sets, rules, x, 0.2, 1, False)
        judge.learn(x, 0.2)
    assert sets.sums[0, packed.RADIUS_B] / 2 != pytest.approx(math.sqrt(judge.squared_b()), rel=1e-2)
    first = NOISE * math.sqrt(np.linalg.slogdet(judge.sigma() / judge.lam)[1] + 2 * rules.log_share)
    assert sets.sums[0, packed.RADIUS_A] != pytest.approx(first, rel=1e-2)


MADE = {
    "Guarded": lambda: unipac.Guarded(unipac.LinUCB(2), noise=0.1),
    "NestedOFUL": lambda: unipac.NestedOFUL(2, noise=0.1),
    "OFUL": lambda: unipac.OFUL(2, noise=0.1),
}


def has_ended(agent):
    return bool(packed.unpacked(agent.state.sets)[0].counts[0, packed.LATE])


@pytest.mark.parametrize("name", MADE)
def test_b_ends_when_a_reward_comes_after_that_of_a_younger_decision(name, tmp_path):
    """In any order but that of the decisions, also across files and ``play``; not if the older one is forgotten."""
    X = [[1.0, 0.0], [0.0, 1.0]]
    in_order, late, forgotten, played, saved = (MADE[name]() for _ in range(5))
    for agent in (in_order, late, forgotten, played, saved):
        first, second, third = (agent.choose(X) for _ in range(3))
        if agent is in_order:
            for decision in (first, second, third):
                agent.update(decision, 0.5)
            continue
        if agent is played:
            agent.play(X, np.full((3, 2), 0.5))
        else:
            agent.update(second, 0.5)
        assert not has_ended(agent)
        if agent is forgotten:
            agent.forget(first)
            agent.update(third, 0.5)
        elif agent is saved:
            agent.save(tmp_path / "agent.npz")
            loaded = unipac.load(tmp_path / "agent.npz")
            loaded.update(third.id, 0.5)
            assert not has_ended(loaded)
            loaded.update(first.id, 0.5)
            assert has_ended(loaded)
            loaded.save(tmp_path / "agent.npz")
            assert has_ended(unipac.load(tmp_path / "agent.npz"))
        else:
            agent.update(first, 0.5)
    assert [has_ended(agent) for agent in (in_order, late, forgotten, played)] == [False, True, False, True]
    told = MADE[name]()
    told.absorb(X, [0.5, 0.5], levels=[0, 0], late=[False, True])
    assert has_ended(told)


BLOCKS = {
    "Guarded": lambda d, **kw: unipac.Guarded(unipac.LinUCB(d), gate=1.0, **kw),
    "another": lambda d, **kw: unipac.Guarded(unipac.LinUCB(d, regularization=0.4), gate=1.0, **kw),
    "NestedOFUL": lambda d, **kw: unipac.NestedOFUL(d, **kw),
    "OFUL": lambda d, **kw: unipac.OFUL(d, radius="mixture", **kw),
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("tight", [True, False])
def test_factors_of_blocks_make_the_same_choices(name, tight, tmp_path):
    """Levels of m factors beside one of all columns: choices and, without sets, certificates; loop, play and files.

    With sets, A and B know of blocks too: certificates, and the choices that rest on A, are then others.
    """
    m, w, rounds = 4, 3, 400
    rng = np.random.default_rng(7)
    X = np.zeros((rounds, 5, m, w))
    at = rng.integers(m, size=(rounds, 5))
    X[np.arange(rounds)[:, None], np.arange(5), at] = rng.standard_normal((rounds, 5, w))
    X = X.reshape(rounds, 5, m * w) / np.linalg.norm(X, axis=(2, 3))[..., None]
    theta = rng.standard_normal(m * w) / 4
    y = X @ theta + 0.1 * rng.standard_normal((rounds, 1))
    told = {"noise": 0.1, "norm": 2.0, "tight": tight}
    whole, parts, looped = (BLOCKS[name](m * w, blocks=b, **told) for b in (1, m, m))
    one, other = (agent.play(X, y, truth=theta) for agent in (whole, parts))
    if not tight or name in ("Guarded", "another"):
        assert one.index.tolist() == other.index.tolist()
        assert one.level.tolist() == other.level.tolist()
    if not tight:
        np.testing.assert_allclose(other.certificate, one.certificate, rtol=1e-8, atol=1e-10)
    assert other.covered.all()
    kept = parts.state.levels.rows.shape[-1]
    assert kept == (w + 2 if tight or "OFUL" not in name else m * w + 2)
    for t in range(rounds):
        if t == rounds // 2:
            looped.save(tmp_path / "agent.npz")
            looped = unipac.load(tmp_path / "agent.npz")
        decision = looped.choose(X[t])
        assert (decision.index, decision.level) == (other.index[t], other.level[t])
        assert decision.certificate == other.certificate[t]
        looped.update(decision, y[t, decision.index])
    np.testing.assert_array_equal(
        looped.state.levels.rows, parts.state.levels.rows[: len(looped.state.levels.rows)]
    )
    with pytest.raises(ValueError, match="blocks"):
        looped.choose(np.ones((2, m * w)) / 4)


@pytest.mark.parametrize("within", [None, (0.0, 1.0)])
@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("name", ["Guarded", "NestedOFUL", "OFUL"])
def test_shares_add_up_to_delta(name, blocks, within):
    """A, B, perhaps weighted B (over all blocks), C and, where there are levels, those: δ_l/(l(l + 1)) over all l."""
    agent = BLOCKS[name](4, blocks=blocks, delta=0.08, rewards_within=within)
    rules = packed.unpacked(agent.state.sets)[1]
    of_forecasts = (1 if within is None else 2) * blocks * math.exp(-rules.forecast_share)
    assert of_forecasts == pytest.approx(blocks * math.exp(-rules.log_share), rel=1e-12)
    of_sets = blocks * math.exp(-rules.log_share) + of_forecasts
    if name == "Guarded":
        others = agent._rules.delta + agent._rules.outer
    else:
        others = agent._confidence.outer_delta + (agent._confidence.delta if name == "NestedOFUL" else 0.0)
    assert of_sets + others == pytest.approx(0.08, rel=1e-12)
    if name == "OFUL":
        assert agent._confidence.delta == agent._confidence.outer_delta  # choices by C itself


@pytest.mark.parametrize("zeta", [0.0, 0.05])
@pytest.mark.parametrize("name", BLOCKS)
def test_of_copies_none_is_better_by_more_than_twice_zeta(name, zeta):
    """Before the first round and later; the zero vector, too. An action of a block without data has bounds ± S‖x‖."""
    agent = BLOCKS[name](4, blocks=2, noise=0.1, norm=1.5, misspecification=zeta)
    for x in ([0.6, 0.8, 0, 0], [0, 0, 0, 0]):
        assert agent.choose([x] * 3).certificate == pytest.approx(2 * zeta, abs=1e-12)
    for _ in range(60):
        agent.update(agent.choose([[0.6, 0.8, 0, 0], [0.6, 0.8, 0, 0], [1.0, 0, 0, 0]]), 0.3)
    certificate = agent.choose([[0.6, 0.8, 0, 0]] * 3).certificate
    assert 0.0 <= certificate <= 2 * zeta + 1e-12
    bounds = agent.bounds([[0, 0, 0.6, 0.0], [0, 0, 0, 0]])
    assert bounds.ucb[0] == pytest.approx(0.9 + zeta, rel=1e-12)
    assert bounds.lcb[0] == pytest.approx(-0.9 - zeta, rel=1e-12)
    assert (bounds.ucb[1], bounds.lcb[1]) == pytest.approx((zeta, -zeta), abs=1e-12)

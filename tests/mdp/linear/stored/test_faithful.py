"""Stored transitions give the actions, levels and Q values of ``helpers.judges.flute`` and of the agents that count."""

import math
import time

import numpy as np
import pytest

import unipac
from helpers.judges.flute import NaiveFLUTE, mixture
from unipac.envs import random_simplex
from unipac.linalg.levels import DISJOINT, NESTED, SINGLE
from unipac.mdp.linear.radius import Settings
from unipac.mdp.linear.stored import transitions
from unipac.mdp.linear.stored.memory import StoredMemory, Walk

DELTA = 0.1
RULES = {"LSVIUCB": SINGLE, "FLUTE": DISJOINT, "NestedFLUTE": NESTED}


def engine_of(name, horizon, n_actions, dim, *, scale, regularization, replan, levels=8, radius="mixture"):
    cap = [horizon - h if name == "NestedFLUTE" else horizon for h in range(horizon)]
    settings = Settings(
        horizon=horizon,
        n_states=0,
        n_actions=n_actions,
        dim=dim,
        rule=RULES[name],
        caps=np.array(cap, dtype=float),
        radius=radius,
        delta=DELTA,
        regularization=regularization,
        bonus_scale=scale,
        replan_factor=None if replan == "always" else 1.25,
        total_episodes=10**6 if name == "LSVIUCB" else None,
    )
    engine = StoredMemory(settings, lambda phi: phi)
    engine.state = engine.empty(levels)
    return engine


def learn(engine, steps, terminated=False):
    """An episode of (level, taken, reward, following), stage by stage."""
    columns = [np.array(column, dtype=float) for column in zip(*steps, strict=True)]
    level, taken, reward, following = columns
    kernel, arguments = engine.learn(Walk(taken, level.astype(np.int64), reward, following, terminated))
    kernel(*arguments)


def judge_of(name, mdp, *, scale, regularization):
    """The slow transcription with one more state, the terminal one, whose features are zero."""

    def beta(level, Sigma):
        delta = DELTA if name == "LSVIUCB" else DELTA / (level * (level + 1))
        return scale * mdp.horizon * mixture(Sigma, regularization, 1, 1, delta)

    return NaiveFLUTE(
        np.concatenate([mdp.features, np.zeros_like(mdp.features[:1])]),
        mdp.horizon,
        beta,
        regularization=regularization,
        nested=name == "NestedFLUTE",
        cap="H-h+1" if name == "NestedFLUTE" else "H",
        single=name == "LSVIUCB",
    )


def episode(mdp, engine, rng, *, terminate=0.0, truncate=0.0):
    """Play one episode; yields (stage, s, action, level, reward, next state, terminal) before learning it."""
    s, previous, steps = int(rng.integers(mdp.n_states)), None, []
    for h in range(mdp.horizon):
        a, previous = engine.action(h, previous, mdp.features[s])
        following = int(rng.choice(mdp.n_states, p=mdp.transitions[h, s, a]))
        terminal, truncated = bool(rng.random() < terminate), bool(rng.random() < truncate)
        level, reward = previous + 1, float(mdp.rewards[h, s, a])
        yield h, s, a, level, reward, following, terminal, truncated
        steps.append((level, mdp.features[s, a], reward, mdp.features[following]))
        s = following
        if terminal or truncated:
            break
    learn(engine, steps, terminal)


def assert_plans_agree(engine, judge, n_states):
    assert engine.state.levels[1] == judge.S
    for h in range(judge.H):
        for s in range(n_states):
            expected = np.array([q[s] for q in judge.Q[h]])
            np.testing.assert_allclose(engine.q_values(h, judge.phi[s]), expected, atol=1e-8)


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("horizon", "dim", "regularization", "scale", "ends"),
    [
        (1, 3, 0.1, 0.3, 0),
        pytest.param(2, 4, 1.0, 0.05, 0, marks=pytest.mark.slow),
        pytest.param(3, 6, 4.0, 0.1, 0, marks=pytest.mark.slow),
        (4, 5, 0.1, 0.05, 0),
        (4, 3, 1.0, 0.1, 0.1),
    ],
)
def test_acts_as_the_pseudo_code(name, replan, horizon, dim, regularization, scale, ends):
    """Actions, levels and Q values; with ``ends``, episodes terminate or are truncated before H."""
    mdp = random_simplex(n_states=4, n_actions=3, dim=dim, horizon=horizon, seed=dim)
    options = {"scale": scale, "regularization": regularization}
    engine = engine_of(name, horizon, 3, dim, replan=replan, **options)
    judge = judge_of(name, mdp, **options)
    rng = np.random.default_rng(dim)
    planned = None
    for _ in range(150 if replan == "lazy" else 90):
        due = replan == "always"
        if not due:
            stages, levels = range(1, horizon + 1), range(1, judge.S + 1)
            logdet = {(h, i): judge.logdet(h, i) for h in stages for i in levels}
            due = planned is None or set(logdet) != set(planned)
            due = due or any(logdet[key] - planned[key] > math.log(1.25) + 1e-9 for key in logdet)
        assert engine.prepare() == due
        if due:
            planned = logdet if replan == "lazy" else None
            judge.plan()
            assert_plans_agree(engine, judge, mdp.n_states)
        previous = judge.S + 1
        for h, s, a, level, reward, following, terminal, _ in episode(
            mdp, engine, rng, terminate=ends, truncate=ends
        ):
            assert a == judge.least_q(h + 1, previous if name != "LSVIUCB" else 1)[s].argmax()
            expected, _ = judge.level(h + 1, s, a, previous)
            assert level == expected
            assert engine.levels == judge.S
            judge.add(h + 1, level, s, a, reward, mdp.n_states if terminal else following)
            previous = level
        judge.end_episode()
        assert engine.levels == judge.S
    assert name == "LSVIUCB" or engine.levels >= 3


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("name", RULES)
def test_equals_the_agents_that_count(name, replan):
    """Over more levels and refreshed factors; with terminal transitions and truncated episodes."""
    mdp = random_simplex(n_states=5, n_actions=3, dim=4, horizon=3, seed=7)
    options = {"scale": 0.1, "regularization": 1.0, "replan": replan}
    engine = engine_of(name, 3, 3, 4, **options)
    agent = getattr(unipac, name)(
        mdp.features,
        horizon=3,
        radius="mixture",
        delta=DELTA,
        bonus_scale=0.1,
        regularization=1.0,
        replan=replan,
        **({"total_episodes": 10**6} if name == "LSVIUCB" else {}),
    )
    rng = np.random.default_rng(0)
    for k in range(1000):
        engine.prepare()
        for h, s, a, level, reward, following, terminal, truncated in episode(
            mdp, engine, rng, terminate=0.05, truncate=0.05
        ):
            assert agent.act(s) == a
            assert agent._ledger.waiting.level + 1 == level
            if h == 0 and k % 10 == 0:
                for stage in range(3):
                    for state in range(5):
                        q = engine.q_values(stage, mdp.features[state])
                        np.testing.assert_allclose(q, agent.state.plan.Q[stage, : len(q), state], atol=1e-8)
            agent.observe(reward, following, terminal, truncated)
    assert name == "LSVIUCB" or engine.levels >= 5
    np.testing.assert_array_equal(engine.data.size, agent.state.data.size[:, : engine.data.size.shape[1]])
    np.testing.assert_allclose(
        engine.data.beta, agent.state.data.beta[:, : engine.data.size.shape[1]], atol=1e-10
    )


def test_a_terminal_transition_has_no_value_after_it_and_a_truncated_episode_has():
    for terminal, value in ((True, 0.0), (False, 1.0)):
        engine = engine_of("LSVIUCB", 2, 1, 2, scale=0.0, regularization=1.0, replan="always")
        first, second = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
        engine.prepare()
        for _ in range(99):
            learn(engine, [(1, first[0], 0.0, first), (1, second[0], 1.0, second)])
        learn(engine, [(1, second[0], 0.5, second)], terminal)
        engine.prepare()
        assert engine.q_values(0, second)[0, 0] == pytest.approx((0.5 + value * 0.99) / 2)


@pytest.mark.parametrize("name", RULES)
def test_what_is_kept_is_what_would_be_computed_anew(name, monkeypatch):
    """Every plan, in chunks of 16 transitions, against one in which nothing is kept."""
    monkeypatch.setattr(transitions, "CHUNK", 200)
    mdp = random_simplex(n_states=6, n_actions=3, dim=4, horizon=3, seed=1)
    engine = engine_of(name, 3, 3, 4, scale=0.1, regularization=1.0, replan="lazy")
    rng = np.random.default_rng(1)
    plans = 0
    for _ in range(800):
        if engine.prepare():
            plans += 1
            kept = [array.copy() for array in engine.state.estimates]
            forget(engine)
            engine.replan()
            for old, new in zip(kept, engine.state.estimates, strict=True):
                np.testing.assert_allclose(old, new, atol=1e-11)
        for _ in episode(mdp, engine, rng):
            pass
    assert plans > 20


def forget(engine):
    engine.state.dirty[:] = 1
    engine.state.fresh[:] = 0
    for array in engine.state.estimates:
        array[:] = 0.0
    for stage in engine.state.rounds:
        for rounds in stage:
            for width in rounds.widths:
                width[:] = np.nan


def test_only_what_changed_is_computed_again():
    """A change of level 3 at stage 2 touches its widths at stage 1 alone, and keeps levels 1 and 2."""
    engine = filled("NestedFLUTE", 500, n_actions=2, dim=3, levels=4, horizon=3)
    engine.replan()
    np.testing.assert_array_equal(engine.state.fresh[:, 0, :5], [[500] * 4 + [0]] * 2)
    for stage in engine.state.rounds:
        for width in stage[0].widths:
            width += 1.0  # marks them
    before = engine.state.estimates.w.copy()
    nothing = (1, np.zeros(3), 0.0, np.zeros((2, 3)))  # too short to learn from
    learn(engine, [nothing, (3, np.full(3, 0.5), 1.0, np.full((2, 3), 0.5))])
    engine.replan()
    parts = [
        (stage[0], count) for stage, count in zip(engine.state.rounds, engine.state.counts[:, 0], strict=True)
    ]
    computed = [[int(np.sum(width[:count] < 1.0)) for width in part.widths] for part, count in parts]
    assert computed == [[0, 0, 1000, 1000], [2, 2, 2, 2]]  # at stage 2, for the new transition
    same = (engine.state.estimates.w[:, :4] == before[:, :4]).all(axis=2)
    np.testing.assert_array_equal(same, [[True, True, False, False], [True, True, False, False], [True] * 4])


@pytest.mark.parametrize("replan", ["lazy", "always"])
@pytest.mark.parametrize("name", RULES)
def test_the_state_as_arrays_continues_bit_for_bit(name, replan):
    """Taken between episodes, before and after a plan; the plan that is kept is older than the data."""
    mdp = random_simplex(n_states=40, n_actions=5, dim=17, horizon=3, seed=2)
    options = {"scale": 0.1, "regularization": 1.0, "replan": replan}
    engine = engine_of(name, 3, 5, 17, **options)
    rng = np.random.default_rng(0)
    for _ in range(500):
        engine.prepare()
        for _ in episode(mdp, engine, rng):
            pass
    kept = 0
    for k in range(500, 530):
        if k % 2:
            engine.prepare()
        copy = engine_of(name, 3, 5, 17, **options)
        copy.state = copy.restored(type(engine.saved())(*(array.copy() for array in engine.saved())), k)
        assert_same_estimates(engine, copy)
        kept += not copy.prepare()
        for each in (engine, copy):
            each.prepare()
            rng = np.random.default_rng(k)
            for _ in episode(mdp, each, rng):
                pass
    assert kept > 20 or replan == "always"  # episodes before which there was no new plan
    for each in (engine, copy):
        rng = np.random.default_rng(1)
        for _ in range(300):
            each.prepare()
            for _ in episode(mdp, each, rng):
                pass
    assert_same_estimates(engine, copy)
    for array, other in zip(engine.saved(), copy.saved(), strict=True):
        np.testing.assert_array_equal(array, other)


def assert_same_estimates(engine, other):
    planned = engine.state.levels[1]
    assert planned == other.state.levels[1]
    for array, same in zip(engine.state.estimates, other.state.estimates, strict=True):
        np.testing.assert_array_equal(array[:, :planned], same[:, :planned])


def test_room_for_more_levels():
    mdp = random_simplex(n_states=4, n_actions=2, dim=3, horizon=2, seed=0)
    options = {"scale": 0.1, "regularization": 1.0, "replan": "lazy"}
    for name in ("FLUTE", "NestedFLUTE"):
        small = engine_of(name, 2, 2, 3, levels=2, **options)
        large = engine_of(name, 2, 2, 3, levels=16, **options)
        rngs = [np.random.default_rng(0), np.random.default_rng(0)]
        for _ in range(300):
            for engine, rng in zip((small, large), rngs, strict=True):
                engine.prepare()
                for _ in episode(mdp, engine, rng):
                    pass
        assert small.levels == large.levels >= 4
        for h in range(2):
            phi = mdp.features[0]
            np.testing.assert_array_equal(small.q_values(h, phi), large.q_values(h, phi))


@pytest.mark.parametrize("name", ["FLUTE", "NestedFLUTE"])
def test_with_the_explicit_radius_storing_is_counting(name):
    """The same actions and values; targets are centred in both. Some episodes end early."""
    mdp = random_simplex(n_states=4, n_actions=3, dim=3, horizon=3, seed=2)
    told = {"horizon": 3, "radius": "explicit", "bonus_scale": 0.01, "replan": "always"}
    counting = unipac.AGENTS[name](mdp.features, **told)
    storing = unipac.AGENTS[name](feature_map=lambda s: mdp.features[s], n_actions=3, dim=3, **told)
    rng = np.random.default_rng(0)
    for _ in range(200):
        s = int(rng.integers(4))
        for h in range(3):
            a = counting.act(s)
            assert storing.act(s) == a
            t = int(rng.choice(4, p=mdp.transitions[h, s, a]))
            over = bool(rng.random() < 0.1)
            for agent in (counting, storing):
                agent.observe(mdp.rewards[h, s, a], t, terminated=over)
            if over:
                break
            s = t
    counting._plan()
    storing._memory.replan()
    for h in range(3):
        for s in range(4):
            slow = storing._memory.q_values(h, mdp.features[s])
            np.testing.assert_allclose(slow, counting.state.plan.Q[h, : len(slow), s], atol=1e-9)


def test_fixed_radius_and_negligible_features():
    options = {"scale": 0.01, "regularization": 1.0, "replan": "always"}
    engine = engine_of("NestedFLUTE", 2, 2, 3, radius="explicit", **options)
    np.testing.assert_allclose(engine.data.beta[:, 0], engine.rules.constants[0, 0, 0])
    engine.prepare()
    np.testing.assert_allclose(engine.state.estimates.beta[:, 0], 0.01 * engine.rules.constants[0, 0, 0])
    zero = np.zeros((2, 3))
    for _ in range(5):
        engine.prepare()
        _, level = engine.action(0, None, zero)
        learn(engine, [(level + 1, zero[0], 1.0, zero)])
    assert engine.levels == 1
    assert engine.data.size.sum() == 0


def filled(name, count, *, n_actions, dim, levels, horizon=2):
    """An engine with ``count`` random transitions at every stage, spread over all levels."""
    rng = np.random.default_rng(0)
    options = {"scale": 0.02, "regularization": 1.0, "replan": "always"}
    engine = engine_of(name, horizon, n_actions, dim, **options)
    features = rng.dirichlet(np.ones(dim), size=(count, 1 + n_actions))
    rewards = rng.random(count)
    of_rounds = np.sort(rng.integers(1, levels + 1, count))
    for level, x, reward in zip(of_rounds, features, rewards, strict=True):
        learn(engine, [(level if name != "LSVIUCB" else 1, x[0], reward, x[1:])] * horizon)
    return engine


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_rate_of_a_pass(name):
    """Prints the rate of a pass over 10^5 transitions relative to that of BLAS; judges no time."""
    count, n_actions, d = 100_000, 4, 32
    engine = filled(name, count, n_actions=n_actions, dim=d, levels=1 if name == "LSVIUCB" else 6)
    engine.replan()
    state, parts = engine.state, engine.state.rounds[0]
    pairs = sum(
        len(part.widths) * int(n) * n_actions for part, n in zip(parts, state.counts[0], strict=False)
    )
    means = 2 * d * pairs
    stacked = np.random.default_rng(0).normal(size=(count * n_actions, d))
    square = np.random.default_rng(0).normal(size=(1024, 1024))
    blas = 2 * 1024**3 / least_time(lambda: square @ square)
    thin = 2 * stacked.shape[0] * d * d / least_time(lambda: stacked @ square[:d, :d].T)

    def anew():
        state.dirty[:] = 1
        state.fresh[:] = 0
        engine.replan()

    def again():
        state.dirty[:] = 1
        engine.replan()

    def unchanged():
        engine.replan()

    full, cached, idle = (least_time(pass_) for pass_ in (anew, again, unchanged))
    rate = (means * d + means) / full
    features = sum(part.taken.nbytes + part.following.nbytes + part.level.nbytes for part in parts)
    widths = sum(width.nbytes for part in parts for width in part.widths)
    print(
        f"\n{name}: {full * 1e3:.0f} ms, {rate / 1e9:.1f} GFlop/s"
        f" = {rate / blas:.0%} of BLAS (1024 x 1024), {rate / thin:.0%} of BLAS (4e5 x 32 by 32 x 32);"
        f" widths kept: {cached * 1e3:.0f} ms; nothing changed: {idle * 1e3:.2f} ms;"
        f" reserved {features / 2**20:.0f} MiB features, {widths / 2**20:.0f} MiB widths"
    )


def least_time(function, repeats=5):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)

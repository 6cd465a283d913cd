"""What the documentation promises of agents with levels of ridge regressions, tested from outside."""

import inspect
import math
import pickle
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import unipac
from helpers.judges.levelled import ball_support, determinant, level_counts
from helpers.levelled import NAMES, without_sets
from helpers.traces import assert_same, columns

LEVELLED = [unipac.UPACOFUL, unipac.NestedOFUL]

REFUTATION = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")


def make(name, dim, **arguments):
    """An agent, with those of the arguments that it takes."""
    taken = inspect.signature(unipac.AGENTS[name]).parameters
    return unipac.AGENTS[name](dim, **{key: value for key, value in arguments.items() if key in taken})


def unit(rng, *shape):
    x = rng.standard_normal(shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def sizes(agent):
    return [level.size for level in agent.levels()]


def loop(agent, actions, rewards, *, fixed=False):
    """Choose and update, round by round: index, level, certificate and reward of each."""
    rows = []
    for t, row in enumerate(rewards):
        offered = actions if np.ndim(actions) == 2 else actions[t]
        decision = agent.choose() if fixed else agent.choose(offered)
        agent.update(decision, row[decision.index])
        rows.append((decision.index, decision.level, decision.certificate, row[decision.index]))
    return [np.array(column) for column in zip(*rows, strict=True)]


@REFUTATION
@pytest.mark.parametrize("shape", [(6, 3), (1, 1), (300, 20)], ids=str)
@pytest.mark.parametrize("kind", ["sequence", "same", "fixed_actions"])
@pytest.mark.parametrize("name", NAMES)
def test_play_is_the_loop(name, kind, shape):
    n, dim = shape
    rounds = 60 if name == "BallOFUL" and n == 300 else 400
    rng = np.random.default_rng(n + dim)
    scale = rng.uniform(0.1, 1, (rounds, n, 1))
    X = unit(rng, rounds, n, dim) * scale
    if kind != "sequence":
        X = X[0]
    rewards = X @ unit(rng, dim) + 0.3 * rng.standard_normal((rounds, 1))
    rewards[::50] *= 100  # outliers: some of the agents find their assumptions refuted
    fixed = X if kind == "fixed_actions" else None
    whole, parts, looped = (make(name, dim, noise=0.3, fixed_actions=fixed) for _ in range(3))
    expected = loop(looped, X, rewards, fixed=fixed is not None)
    assert_same(columns(whole.play(X, rewards)), expected)
    cut = rounds // 3
    traces = [
        parts.play(X[part] if X.ndim == 3 else X, rewards[part])
        for part in (slice(cut), slice(cut, cut), slice(cut, cut + 1), slice(cut + 1, None))
    ]
    assert_same(columns(*traces), expected)
    probe = unit(rng, 50, dim)
    assert_same(whole.bounds(probe), looped.bounds(probe))
    assert_same(parts.bounds(probe), looped.bounds(probe))
    assert sizes(whole) == sizes(parts) == sizes(looped)
    assert whole.rounds == parts.rounds == looped.rounds == rounds
    assert whole.consistent == parts.consistent == looped.consistent


INSTANCES = {
    "sphere": lambda: unipac.envs.sphere(dim=4, n_actions=7, noise=0.3),
    "soare": lambda: unipac.envs.soare(dim=4, noise=0.3),
    "killer": lambda: unipac.envs.killer(forced=300),
}


@pytest.mark.parametrize("instance_name", INSTANCES)
@pytest.mark.parametrize("name", NAMES)
def test_an_instance_is_played_in_any_pieces(name, instance_name):
    instance = INSTANCES[instance_name]()
    rounds = 500 if name == "BallOFUL" else instance.block + 500
    actions, means, rewards = instance.rounds(0, rounds, seed=3)
    whole, parts, streamed, looped, table = (
        make(name, instance.dim, noise=0.3, fixed_actions=fixed) for fixed in [None] * 4 + [instance.actions]
    )
    expected = loop(looped, actions, rewards)
    trace = whole.play(instance, rounds=rounds, seed=3)
    assert_same(columns(trace), expected)
    assert_same(columns(table.play(instance, rounds=rounds, seed=3)), expected)
    pieces = [parts.play(instance, rounds=count, seed=3) for count in (123, 0, rounds - 123)]
    assert_same(columns(*pieces), expected)
    assert_same(columns(*streamed.stream(instance, rounds=rounds, seed=3)), expected)
    for agent in (whole, parts, streamed, table):
        assert_same(
            agent.bounds(actions.reshape(-1, instance.dim)[:9]),
            looped.bounds(actions.reshape(-1, instance.dim)[:9]),
        )
    means = np.broadcast_to(means, rewards.shape)
    chosen = means[np.arange(rounds), trace.index]
    np.testing.assert_array_equal(trace.gap, means.max(axis=1) - chosen)
    assert trace.covered is None


def test_start_says_where_an_instance_begins():
    instance = unipac.envs.sphere(dim=3, n_actions=4)
    agent, judge = unipac.OFUL(3), unipac.OFUL(3)
    actions, _, rewards = instance.rounds(10**9, 50, seed=1)
    assert_same(columns(agent.play(instance, rounds=50, seed=1, start=10**9)), loop(judge, actions, rewards))


@pytest.mark.parametrize("name", NAMES)
def test_truth_tells_gaps_and_coverage(name):
    rng = np.random.default_rng(4)
    mu = np.array([0.6, -0.5])
    X = unit(rng, 300, 5, 2)
    rewards = X @ mu + 0.1 * rng.standard_normal((300, 1))
    trace = make(name, 2, noise=0.1).play(X, rewards, truth=mu)
    means = X @ mu
    np.testing.assert_allclose(trace.gap, means.max(axis=1) - means[np.arange(300), trace.index], atol=1e-15)
    assert trace.covered.dtype == bool
    assert trace.covered.all() or name == "LinUCB"
    if name != "LinUCB":
        assert (trace.gap <= trace.certificate + 1e-12).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            wrong = make(name, 2, noise=0.1).play(X, rewards, truth=-mu).covered
        assert wrong[0]
        assert wrong[-1] == (name == "UPACOFUL")  # whose radius is large


def test_a_long_play_needs_little_memory():
    instance = unipac.envs.sphere(dim=8, n_actions=16)  # 1 KB a round, 4 MB a block
    agent = unipac.OFUL(8)
    agent.play(instance, rounds=1)
    tracemalloc.start()
    agent.play(instance, rounds=40_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("arguments", [{}, {"norm": 3.0, "action_norm": 0.5, "regularization": 0.2}], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_decision_says_what_bounds_says(name, arguments):
    rng = np.random.default_rng(6)
    if name == "LinUCB":
        arguments = {key: value for key, value in arguments.items() if key != "norm"}
    agent = unipac.AGENTS[name](3, **arguments, **without_sets(unipac.AGENTS[name]))
    cap = 2 * arguments.get("norm", 1.0) * arguments.get("action_norm", 1.0)
    for _ in range(300):
        X = 0.5 * unit(rng, 5, 3)
        decision = agent.choose(X)
        mean, ucb, lcb = agent.bounds(X)
        k = decision.index
        assert (decision.mean, decision.ucb, decision.lcb) == (mean[k], ucb[k], lcb[k])
        np.testing.assert_array_equal(decision.action, X[k])
        if name == "BallOFUL":
            assert ucb[k] >= ucb.max() - 1e-8
        else:
            assert k == ucb.argmax()
        assert (lcb <= mean + 1e-12).all() or name != "OFUL"
        if decision.certified:
            assert decision.certificate == pytest.approx(min(ucb.max() - lcb[k], cap), abs=1e-12)
        else:
            assert np.isnan(decision.certificate)
        assert decision.certified == (name != "LinUCB" and agent.certified)
        agent.update(decision, X[k, 0] + rng.standard_normal())


@pytest.mark.parametrize("name", NAMES)
def test_the_width_is_that_of_the_set_which_attains_ucb(name):
    agent = make(name, 2)
    x = np.array([0.6, 0.8])
    width = 1.0
    for _ in range(3):
        decision = agent.choose([x])
        assert decision.width == pytest.approx(width, rel=1e-12)  # one level, all data are x
        agent.update(decision, 0.0)
        width = 1 / np.sqrt(1 / width**2 + 1)


@pytest.mark.parametrize("name", NAMES)
def test_choosing_teaches_nothing(name):
    rng = np.random.default_rng(1)
    X = unit(rng, 8, 3)
    agent = make(name, 3)
    agent.play(X, X @ [0.5, 0.5, 0.0] + rng.standard_normal((50, 1)))
    before, levels = agent.bounds(X), agent.levels()
    decisions = [agent.choose(X) for _ in range(30)]
    assert_same(agent.bounds(X), before)
    assert agent.levels() == levels
    assert agent.rounds == 50
    assert [*agent.pending] == [decision.id for decision in decisions]
    assert all(agent.pending[decision.id] is decision for decision in decisions)
    if name != "BallOFUL":
        assert len({decision.index for decision in decisions}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_ties(name):
    agent = make(name, 2)
    X = [[0.1, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]
    chosen = {agent.choose(X).index for _ in range(60)}
    assert chosen == ({1, 2, 3, 4} if name == "BallOFUL" else {1})


@pytest.mark.parametrize("name", NAMES)
def test_any_form_of_input_gives_the_same_decisions(name):
    rng = np.random.default_rng(9)
    X = (0.9 * unit(rng, 40, 6, 3)).astype(np.float32).astype(np.float64)
    rewards = rng.standard_normal((40, 6))
    read_only = X.copy()
    read_only.setflags(write=False)
    strided = np.repeat(X, 2, axis=2)[:, :, ::2]
    forms = [X.astype(np.float32), np.asfortranarray(X), read_only, X.tolist(), strided, X.astype(">f8")]
    expected = loop(make(name, 3), X, rewards)
    for form in forms:
        assert_same(loop(make(name, 3), list(form), rewards), expected)
        assert_same(columns(make(name, 3).play(form, rewards.tolist())), expected)
        agents = [make(name, 3) for _ in range(2)]
        agents[0].absorb(form[0], rewards[0].astype(np.float32))
        agents[1].absorb(X[0], rewards[0].astype(np.float32))
        assert_same(agents[0].bounds(form[1]), agents[1].bounds(X[1]))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_the_caller_stay_his_own(name):
    rng = np.random.default_rng(2)
    X, rewards = 0.5 * unit(rng, 5, 3), rng.standard_normal((20, 5))
    X_before, rewards_before = X.copy(), rewards.copy()
    agent, judge = (make(name, 3, fixed_actions=actions) for actions in (X, X.copy()))
    assert not agent.fixed_actions.flags.writeable
    decision, expected = agent.choose(X), judge.choose(X)
    agent.play(X, rewards)
    agent.absorb(X, rewards[0])
    agent.bounds(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(rewards, rewards_before)
    judge.play(X, rewards)
    judge.absorb(X, rewards[0])
    X[:], rewards[:] = 7.0, 7.0  # neither the decision nor the fixed actions notice
    assert not decision.action.flags.writeable
    np.testing.assert_array_equal(decision.action, expected.action)
    agent.update(decision, 0.3)
    judge.update(expected.id, 0.3)
    assert_same(agent.bounds(), judge.bounds(X_before))
    with pytest.raises(TypeError):
        agent.pending[0] = decision


def arms(kind, rng):
    if kind == "random":
        return unit(rng, 12, 4) * rng.uniform(0.2, 1, (12, 1))
    if kind == "collinear":
        return np.outer([1, 1, 0.5, -0.25, 0, 1 - 1e-15, 1e-6, 1], unit(rng, 4))
    return unit(rng, 1, 4) * (1 - 1e-14 * rng.integers(0, 20, (30, 1)))  # "alike"


@pytest.mark.boundscheck
@REFUTATION
@pytest.mark.parametrize("kind", ["random", "collinear", "alike"])
@pytest.mark.parametrize("regularization", [1e-3, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_fixed_actions_change_nothing(name, regularization, kind):
    rng = np.random.default_rng(13)
    X = arms(kind, rng)
    mu = unit(rng, 4)
    free, fixed = (
        make(name, 4, regularization=regularization, noise=0.1, fixed_actions=actions)
        for actions in (None, X)
    )
    for t in range(400 if name == "BallOFUL" else 2500):
        a, b = free.choose(X), fixed.choose()
        assert (a.index, a.level, a.mean, a.width, a.ucb, a.lcb) == (
            b.index, b.level, b.mean, b.width, b.ucb, b.lcb)  # fmt: skip
        assert a.certificate == b.certificate or not a.certified
        reward = a.action @ mu + 0.1 * rng.standard_normal()
        reward *= {7: 1e3, 11: -1e9}.get(t % 100, 1.0)
        times = {300: 10**9, 301: 50}.get(t % 1000, 1)
        for agent, decision in ((free, a), (fixed, b)):
            agent.update(decision, reward, times=times)
    assert_same(free.bounds(X), fixed.bounds())


def test_rewards_that_undo_an_outlier_do_not_mislead_fixed_actions():
    """The data shrink from 1e8 back to nothing within a few rounds, none of them an outlier by itself."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = 0.2 * (1 - 1e-15 * rng.integers(0, 1000, (200, 1)))
        free, fixed = (unipac.LinUCB(1, alpha=1e-3, fixed_actions=actions) for actions in (None, X))
        gram, total, reward = 1.0, 0.0, 1e8
        for _ in range(64):
            a, b = free.choose(X), fixed.choose()
            assert (a.index, a.ucb) == (b.index, b.ucb)
            free.update(a, reward)
            fixed.update(b, reward)
            x = float(a.action[0])
            gram, total = gram + x * x, total + x * reward
            reward = total / gram * x - 0.8 * total / np.sqrt(gram)


VECTORS = {
    "unit": [1.0, 0.0, 0.0],
    "slanted": [0.6, 0.0, -0.8],
    "short": [0.31, 0.17, -0.05],
    "tiny": [0.0, 1e-6, 0.0],
}


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("regularization", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("agent_class", LEVELLED)
def test_times_is_so_many_updates(agent_class, regularization, warm, vector):
    x = np.array([VECTORS[vector]])
    rng = np.random.default_rng(8)
    before = unit(rng, 80, 3) * rng.uniform(0, 1, (80, 1)), rng.uniform(-1, 1, 80)
    probe = np.concatenate([x, unit(rng, 5, 3)])
    for times in (1, 2, 3, 5, 64, 1023, 10**5):
        plain = {"regularization": regularization, **without_sets(agent_class)}  # a mean tells sets less
        at_once, single = (agent_class(3, **plain) for _ in range(2))
        if warm:
            for agent in (at_once, single):
                agent.absorb(*before)
        single.play(x, np.full((times, 1), 0.25))
        at_once.update(at_once.choose(x), 0.25, times=times)
        assert sizes(at_once) == sizes(single)
        assert at_once.rounds == single.rounds
        for a, b in zip(at_once.bounds(probe), single.bounds(probe), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.linalg.norm(x))
        assert at_once.choose(x).width == pytest.approx(single.choose(x).width, rel=1e-8)


@pytest.mark.parametrize("regularization", [0.1, 1.0, 4.0])
def test_times_counts_as_the_pseudo_code(regularization):
    agent = unipac.UPACOFUL(2, regularization=regularization)
    agent.update(agent.choose([[0.0, -1.0]]), 1.0, times=30_000)
    counts = level_counts(1 / regularization, 30_000, 12)
    assert sizes(agent) == counts[: len(agent.levels())]
    assert sum(sizes(agent)) == 30_000


@pytest.mark.parametrize("name", ["OFUL", "BallOFUL", "LinUCB"])
def test_times_in_a_single_set(name):
    rng = np.random.default_rng(5)
    agents = [make(name, 3, noise=0.1) for _ in range(2)]
    X = unit(rng, 1, 3)
    agents[0].play(X, np.full((1000, 1), 0.3))
    agents[1].update(agents[1].choose(X), 0.3, times=1000)
    probe = unit(rng, 9, 3)
    np.testing.assert_allclose(agents[0].bounds(probe), agents[1].bounds(probe), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("agent_class", LEVELLED)
def test_a_trillion_rounds(agent_class):
    agent = agent_class(2, noise=0.1)
    for k in (0, 1, 0):
        agent.update(agent.choose(np.eye(2)[[k]]), 0.5 - k, times=10**12)
    assert agent.rounds == sum(sizes(agent)) == 3 * 10**12
    assert all(level.size <= level.bound for level in agent.levels())
    decision = agent.choose(np.eye(2))
    assert decision.index == 0
    assert decision.certificate < 1e-3
    assert decision.mean == pytest.approx(0.5, rel=1e-10)


CRASHES = """
import numpy as np, unipac
for name in ("UPACOFUL", "NestedOFUL"):
    cases = (1.0, 1.0, 2**62), (1e-10, 1.0, 1000), (1e-11, 4.0, 10**4), (1e-6, 1e9, 1000)
    for length, regularization, times in cases:
        print(name, length, regularization, times, flush=True)
        agent, single = (getattr(unipac, name)(2, regularization=regularization) for _ in range(2))
        x = np.array([[length, 0.0]])
        agent.update(agent.choose(x), 0.5, times=times)
        assert agent.rounds == sum(level.size for level in agent.levels()) == times
        if times < 10**5:
            single.play(x, np.full((times, 1), 0.5))
            assert [level.size for level in single.levels()] == [level.size for level in agent.levels()]
"""


def test_times_beyond_level_31():
    """In a process of its own: this once wrote beyond the arrays."""
    done = subprocess.run([sys.executable, "-c", CRASHES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert len(done.stdout.splitlines()) == 8


@pytest.mark.parametrize("regularization", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("agent_class", LEVELLED)
def test_levels_keep_their_bound_with_rewards_outstanding(agent_class, regularization):
    rng = np.random.default_rng(3)
    agent = agent_class(2, regularization=regularization)
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    received = 0
    for _ in range(1500):
        agent.choose(X[rng.permutation(3)])
        if len(agent.pending) > 200:
            waiting = [*agent.pending.values()]
            decision = waiting[rng.integers(len(waiting))]
            if rng.random() < 0.1:
                agent.forget(decision)
            else:
                agent.update(decision if rng.random() < 0.5 else decision.id, rng.standard_normal())
                received += 1
    assert len(agent.pending) == 200
    assert agent.rounds == received == sum(sizes(agent))
    assert len(sizes(agent)) >= 3
    for level in agent.levels():
        bound = unipac.theory.level_size(2, level.level, regularization, 1.0)
        assert level.size <= level.bound == bound


@pytest.mark.parametrize("agent_class", LEVELLED)
def test_the_level_is_decided_when_the_reward_comes(agent_class):
    agent = agent_class(1)
    decisions = [agent.choose([[1.0]]) for _ in range(20)]
    assert {decision.level for decision in decisions} == {1}
    for decision in reversed(decisions):
        agent.update(decision, 0.0)
    assert sizes(agent) == (level_counts(1.0, 20, 3) if agent_class is unipac.UPACOFUL else [3, 12, 5])


@pytest.mark.parametrize("name", NAMES)
def test_order_and_losses_do_not_matter_to_a_single_regression(name):
    """What was learned is what was rewarded: compare with the same rounds, logged."""
    rng = np.random.default_rng(7)
    agent, logged = make(name, 3, noise=0.1), make(name, 3, noise=0.1)
    decisions = [agent.choose(unit(rng, 4, 3)) for _ in range(60)]
    kept = rng.permutation(60)[:45]
    rewards = rng.uniform(-0.5, 0.5, 45)
    for k, reward in zip(kept, rewards, strict=True):
        agent.update(decisions[k].id, reward)
    for k in set(range(60)) - set(kept.tolist()):
        agent.forget(decisions[k])
    assert not agent.pending
    logged.absorb([decisions[k].action for k in kept], rewards)
    assert logged.rounds == agent.rounds == 45
    assert sizes(agent) == sizes(logged)
    probe = unit(rng, 6, 3)
    np.testing.assert_allclose(agent.bounds(probe), logged.bounds(probe), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("agent_class", "dim", "arguments", "certified"),
    [
        (unipac.LinUCB, 2, {}, False),
        (unipac.OFUL, 1, {"delta": 0.9, "noise": 7, "norm": 9, "regularization": 3, "action_norm": 5}, True),
        (unipac.BallOFUL, 2, {"radius": "mixture", "noise": 3.0}, True),
        (unipac.BallOFUL, 2, {"bonus_scale": 0.5}, True),
        (unipac.OFUL, 2, {"bonus_scale": 2.0}, True),
        (unipac.UPACOFUL, 2, {"bonus_scale": 0.5, "noise": 1.1}, False),
        (unipac.UPACOFUL, 2, {"noise": 0.5, "norm": 0.5, "action_norm": 0.5, "delta": 0.99}, True),
        (unipac.UPACOFUL, 2, {"noise": 1.1}, False),
        (unipac.UPACOFUL, 2, {"norm": 1.1}, False),
        (unipac.UPACOFUL, 2, {"action_norm": 1.1}, False),
        (unipac.UPACOFUL, 2, {"regularization": 0.5}, False),
        (unipac.UPACOFUL, 2, {"regularization": 2.0}, False),
        (unipac.UPACOFUL, 2, {"regularization": 2.0, "noise": 9.0, "radius": "determinant"}, True),
        (unipac.UPACOFUL, 1, {"delta": 0.71}, True),
        (unipac.UPACOFUL, 1, {"delta": 0.72}, False),
        (unipac.NestedOFUL, 1, {"delta": 0.95, "radius": "theorem"}, True),
        (unipac.NestedOFUL, 1, {"delta": 0.95, "radius": "theorem", "all_data": False}, False),
        (unipac.NestedOFUL, 1, {"delta": 0.95, "regularization": 5.0, "all_data": False}, True),
        (unipac.NestedOFUL, 3, {"bonus_scale": 0.99}, True),
    ],
)  # fmt: skip
def test_certified(agent_class, dim, arguments, certified):
    agent = agent_class(dim, **arguments)
    decision = agent.choose(np.eye(dim) * 0.1)
    assert agent.certified is decision.certified is certified
    assert np.isnan(decision.certificate) != certified
    proven = certified and arguments.get("bonus_scale", 1.0) == 1.0
    assert agent.guarantee == (agent.theorem if proven else "none")
    assert np.isfinite(agent.mistake_bound(0.1)) == (agent.guarantee == "uniform-PAC")


@pytest.mark.parametrize("way", ["choose", "play"])
@pytest.mark.parametrize("name", ["UPACOFUL", "NestedOFUL", "BallOFUL"])
def test_a_refuted_assumption_is_told_once(name, way):
    """Rewards of 30 with |mu*| <= 1 and |x| <= 1, later of -30: no parameter explains them."""
    agent = make(name, 1, noise=0.01, **({"radius": "mixture"} if name == "UPACOFUL" else {}))
    rewards = np.where(np.arange(400) < 60, 30.0, -30.0)[:, None]
    certificates, certified = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if way == "play":
            certificates = agent.play([[1.0]], rewards).certificate
        else:
            for reward in rewards[:, 0]:
                decision = agent.choose([[1.0]])
                if decision.lcb > decision.ucb * (1 + 1e-9):
                    assert np.isnan(decision.certificate)
                certificates.append(decision.certificate)
                certified.append(decision.certified)
                agent.update(decision, reward)
    assert [warning.category for warning in caught] == [RuntimeWarning]
    assert not agent.consistent
    first = int(np.isnan(certificates).argmax())
    assert first > 0
    assert np.isfinite(certificates[:first]).all()
    assert np.isnan(certificates[first:]).all()  # and from then on
    assert certified in ([], [True] * first + [False] * (400 - first))
    assert "assumptions refuted" in repr(agent)
    for other in (agent, pickle.loads(pickle.dumps(agent))):
        assert not other.consistent
        assert np.isnan(other.choose([[1.0]]).certificate)
        assert np.isnan(other.play([[1.0]], [[0.0]]).certificate).all()


@pytest.mark.parametrize("way", ["choose", "play"])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["too high", "too low"])
@pytest.mark.parametrize(
    "name", ["OFUL", "NestedOFUL", "UPACOFUL", "BallOFUL", "WeightedOFUL", "AnytimeSupLinUCB", "Guarded"]
)
def test_rewards_on_another_scale_are_a_refutation(name, sign, way):
    """Percent instead of shares: 30 and 60 agree with each other, but not with ‖θ‖ <= 1 and ‖x‖ <= 1."""

    def agent_for(norm):
        if name == "Guarded":
            return unipac.Guarded(unipac.LinUCB(2), noise=0.1, norm=norm)
        more = {"radius": "mixture"} if name == "UPACOFUL" else {}
        return unipac.AGENTS[name](2, noise=0.1, norm=norm, **more)

    def learn(agent):
        rewards = sign * np.tile([30.0, 60.0], (20, 1))
        if way == "play":
            return agent.play(np.eye(2), rewards).certificate[-1]
        for row in rewards:
            decision = agent.choose(np.eye(2))
            agent.update(decision, row[decision.index])
        return decision.certificate

    agent, control = agent_for(1.0), agent_for(100.0)
    with pytest.warns(RuntimeWarning, match="assumption"):
        assert np.isnan(learn(agent))
    assert not agent.consistent
    assert np.isfinite(learn(control))
    assert control.consistent


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("LinUCB", {"alpha": 1e-3}),
        ("UPACOFUL", {"radius": "theorem", "noise": 1.1}),
        ("NestedOFUL", {"radius": "theorem", "noise": 1.1, "tight": False}),
        ("NestedOFUL", {"radius": "theorem", "noise": 1.1}),
    ],
)
def test_bounds_without_proof_refute_nothing_and_certify_nothing(name, arguments):
    agent = unipac.AGENTS[name](1, **arguments)
    trace = agent.play([[1.0]], np.where(np.arange(400) < 60, 30.0, -30.0)[:, None])
    bounds = agent.bounds([[1.0]])
    assert bounds.lcb[0] > bounds.ucb[0] or name == "LinUCB"
    assert agent.consistent
    assert np.isnan(trace.certificate).all()
    decision = agent.choose([[1.0]])
    assert (decision.certified, math.isnan(decision.certificate)) == (False, True)


def test_the_same_bounds_where_they_are_proven():
    """The control of the test above: with noise 1 the radius of the theorem is proven."""
    agent = unipac.NestedOFUL(1, radius="theorem", noise=1.0)
    assert agent.choose([[1.0], [-1.0]]).certificate == 2.0
    with pytest.warns(RuntimeWarning, match="assumption"):
        agent.play([[1.0]], np.where(np.arange(400) < 60, 30.0, -30.0)[:, None])
    assert not agent.consistent


@pytest.mark.boundscheck
@pytest.mark.parametrize(
    "X",
    [
        [[1.0]],
        [[-0.3], [0.0]],
        [[0.0, 0.0, 0.0]],
        [[1e-6, 0.0], [0.0, 1e-6], [0.0, 1e-7]],
        [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]],
        [[0.6, 0.8], [0.3, 0.4], [-0.6, -0.8], [0.0, 0.0]],
        [[1e-13, 0.0], [1e-200, 0.0]],
        [[1 + 9e-7, 0.0]],
    ],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_degenerate_action_sets(name, X):
    X = np.array(X)
    rng = np.random.default_rng(0)
    agent = make(name, X.shape[1], noise=0.1)
    trace = agent.play(X, X.sum(axis=1) / 2 + 0.1 * rng.standard_normal((500, 1)))
    mean, ucb, lcb = agent.bounds(X)
    assert np.isfinite([mean, ucb, lcb]).all()
    assert (lcb <= ucb).all()
    zero = ~X.any(axis=1)
    assert not ucb[zero].any()
    assert not lcb[zero].any()
    if name != "LinUCB":
        assert trace.certificate.min() >= 0
    if name in ("UPACOFUL", "NestedOFUL"):
        stored = np.linalg.norm(X[trace.index], axis=1) >= 1e-12
        assert sum(sizes(agent)) == stored.sum()
        assert all(level.size <= level.bound for level in agent.levels())


@pytest.mark.boundscheck
@pytest.mark.parametrize("agent_class", LEVELLED)
def test_short_actions_open_one_level_after_the_other(agent_class):
    agent = agent_class(2)
    for count in range(1, 11):
        decision = agent.choose([[0.0, 1e-6]])
        assert decision.level == count + 1
        agent.update(decision, 0.0)
        assert sizes(agent) == [0] + [1] * count


def ball_state(seed, dim):
    """An agent in a random state, and its ellipsoid."""
    rng = np.random.default_rng(seed)
    norm, noise = rng.uniform(0.5, 2), 10.0 ** rng.uniform(-2, 0)
    regularization = 10.0 ** rng.uniform(-2, 1)
    agent = unipac.BallOFUL(dim, norm=norm, noise=noise, regularization=regularization)
    m = rng.integers(0, 40)
    X = unit(rng, m, dim) * rng.uniform(0, 1, (m, 1))
    y = X @ unit(rng, dim) * norm * 0.97 + noise * rng.standard_normal(m)
    if m > 0:
        agent.absorb(X, y)
    if m % 3 == 0:  # one direction is known almost exactly
        x = unit(rng, dim)
        X, y = np.vstack([X, 1e3 * x]), np.append(y, 0.0)
        agent.update(agent.choose([x]), 0.0, times=10**6)
    Sigma = regularization * np.eye(dim) + X.T @ X
    beta = determinant(Sigma, regularization, noise, norm, 0.05)
    probe = unit(rng, 6, dim) * rng.uniform(0.1, 1, (6, 1))
    return agent, norm, Sigma, np.linalg.solve(Sigma, X.T @ y), beta, probe


@REFUTATION
@pytest.mark.parametrize("seed", range(25))
def test_ball_and_ellipse_by_brute_force(seed):
    agent, norm, Sigma, w, beta, probe = ball_state(seed, 2)
    bounds = agent.bounds(probe)
    for x, ucb, lcb in zip(probe, bounds.ucb, bounds.lcb, strict=True):
        for sign, value in ((1, ucb), (-1, -lcb)):
            scan = ball_support(Sigma, w, beta, norm, sign * x)
            if np.isfinite(scan):  # else they do not meet
                assert scan - 1e-6 * norm <= value <= scan + 1e-3 * norm


def solver_agrees(agent, norm, Sigma, w, beta, probe):
    """For how many actions a general solver found the maximum; there it must be ours."""
    constraints = [
        {"type": "ineq", "fun": lambda t: 1 - (t - w) @ Sigma @ (t - w) / beta**2},
        {"type": "ineq", "fun": lambda t: 1 - t @ t / norm**2},
    ]
    start = w * min(1, norm / np.linalg.norm(w)) if w.any() else w
    found = 0
    for x, ucb in zip(probe, agent.bounds(probe).ucb, strict=True):
        solved = minimize(lambda t, x=x: -x @ t, start, jac=lambda t, x=x: -x, constraints=constraints)
        if solved.success and min(constraint["fun"](solved.x) for constraint in constraints) > -1e-7:
            assert ucb == pytest.approx(-solved.fun, abs=2e-5 * norm)
            found += 1
        assert ucb <= norm * np.linalg.norm(x) * (1 + 1e-12)
        assert ucb <= x @ w + beta * np.sqrt(x @ np.linalg.solve(Sigma, x)) + 1e-9
    return found


@REFUTATION
def test_ball_and_ellipsoid_by_a_solver():
    assert sum(solver_agrees(*ball_state(100 + seed, 5)) for seed in range(20)) >= 60  # of 120


@pytest.mark.parametrize("scale", [1.0, 1e-10])
def test_the_ball_prefers_the_longer_action_in_any_unit(scale):
    agent = unipac.BallOFUL(2, action_norm=scale)
    chosen = {agent.choose(scale * np.array([[0.5, 0.0], [0.0, 1.0]])).index for _ in range(20)}
    assert chosen == {1}


GO_ON = """
import sys, numpy as np, unipac
from pathlib import Path
folder = Path(sys.argv[1])
data = np.load(folder / "data.npz")
for path in sorted(folder.glob("*.agent")):
    agent = unipac.load(path)
    for k, id_ in enumerate(list(agent.pending)[::2]):
        agent.update(id_, 0.1 * k)
    trace = agent.play(data["X"], data["rewards"])
    decision = agent.choose(None if agent.fixed_actions is not None else data["X"])
    np.savez(path.with_suffix(".out.npz"), index=trace.index, certificate=trace.certificate,
             bounds=agent.bounds(data["X"]), decision=[decision.index, decision.ucb], new=decision.id,
             rounds=agent.rounds, waiting=list(agent.pending))
"""


def test_a_loaded_agent_goes_on_bit_for_bit_in_another_process(tmp_path):
    rng = np.random.default_rng(17)
    X = np.concatenate([unit(rng, 5, 3), np.eye(3), np.eye(3)])  # with ties for BallOFUL
    rewards = X @ [0.3, 0.2, -0.4] + 0.2 * rng.standard_normal((150, 1))
    np.savez(tmp_path / "data.npz", X=X, rewards=rewards)
    agents = {}
    for name in NAMES:
        for rounds in (0, 1, 37, 150):
            agent = make(name, 3, noise=0.2, fixed_actions=X if rounds % 2 else None, regularization=0.3)
            agent.play(X, rewards[:rounds])
            for _ in range(rounds % 9):
                agent.choose(X)
            path = tmp_path / f"{name}{rounds}.agent"
            agent.save(path)
            agents[path] = agent
    arguments = [sys.executable, "-c", GO_ON, str(tmp_path)]
    subprocess.run(arguments, check=True, capture_output=True, text=True)
    for path, agent in agents.items():
        for k, id_ in enumerate(list(agent.pending)[::2]):
            agent.update(id_, 0.1 * k)
        trace = agent.play(X, rewards)
        decision = agent.choose(None if agent.fixed_actions is not None else X)
        other = np.load(path.with_suffix(".out.npz"))
        np.testing.assert_array_equal(trace.index, other["index"])
        np.testing.assert_array_equal(trace.certificate, other["certificate"])
        np.testing.assert_array_equal(agent.bounds(X), other["bounds"])
        assert [decision.index, decision.ucb] == other["decision"].tolist()
        assert agent.rounds == other["rounds"]
        assert [*agent.pending][:-1] == other["waiting"].tolist()[:-1]
        assert [*agent.pending][-1] == decision.id != other["new"] == other["waiting"][-1]


@pytest.mark.parametrize("name", NAMES)
def test_loading_restores_decisions_and_settings(name, tmp_path):
    agent = make(name, 2, noise=0.3, delta=0.2, norm=1.5)
    decision = agent.choose([[0.6, 0.8], [1.0, 0.0]])
    agent.save(tmp_path / "agent")
    loaded = unipac.load(str(tmp_path / "agent"))
    assert type(loaded) is type(agent)
    assert repr(loaded) == repr(agent)
    assert loaded.levels() == agent.levels()
    twin = loaded.pending[decision.id]
    np.testing.assert_array_equal(twin.action, decision.action)
    for field in ("id", "index", "level", "mean", "width", "ucb", "lcb", "certified"):
        assert getattr(twin, field) == getattr(decision, field)
    loaded.update(decision.id, 1.0)
    assert loaded.rounds == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("reward", [1e50, 1e100])
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_that_saw_a_huge_reward_can_be_saved(name, reward, tmp_path):
    agent = make(name, 2, fixed_actions=np.eye(2))
    agent.update(agent.choose(), reward)
    agent.save(tmp_path / "agent")
    assert_same(unipac.load(tmp_path / "agent").bounds(), agent.bounds())

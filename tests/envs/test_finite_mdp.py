"""Finite MDPs: shapes, one table for all stages, rewards on arrival, tables of Gymnasium, bad input."""

import gc
import itertools
import subprocess
import sys
import weakref

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from unipac import envs
from unipac.envs import FiniteMDP, LinearMDP, from_gymnasium, optimal, policy_value, river_swim
from unipac.envs.gymnasium.env import LinearMDPEnv
from unipac.envs.mdps import planning
from unipac.envs.mdps.planning import reach_of
from unipac.envs.play.simulation import world_of

NAN = float("nan")


def tables(rng, *lead, states=4, actions=3, sparse=True):
    """Random transitions (*lead, S, A, S), about half of them impossible."""
    raw = rng.random((*lead, states, actions, states))
    if sparse:
        raw *= rng.random(raw.shape) < 0.5
        raw[..., 0] += 0.01  # no row is empty
    return raw / raw.sum(axis=-1, keepdims=True)


def values_by_enumeration(transitions, rewards, policy):
    """V^π_1 as the sum over all paths; transitions and rewards (H, S, A, S)."""
    horizon, n_states = policy.shape
    value = np.zeros(n_states)
    for start in range(n_states):
        for path in itertools.product(range(n_states), repeat=horizon):
            chance, total, s = 1.0, 0.0, start
            for h, t in enumerate(path):
                chance *= transitions[h, s, policy[h, s], t]
                total += rewards[h, s, policy[h, s], t]
                s = t
            value[start] += chance * total
    return value


def bellman(transitions, rewards):
    """V* (H + 1, S) straight from the equation; rewards (H, S, A, S)."""
    values = [np.zeros(transitions.shape[1])]
    for P, r in zip(transitions[::-1], rewards[::-1], strict=True):
        values.insert(0, (P * (r + values[0])).sum(axis=2).max(axis=1))
    return np.array(values)


# --- what is kept, and how it looks


REWARDS = {"(S, A)": (4, 3), "(H, S, A)": (5, 4, 3), "(S, A, S)": (4, 3, 4), "(H, S, A, S)": (5, 4, 3, 4)}


@pytest.mark.nojit
@pytest.mark.parametrize("kind", REWARDS)
@pytest.mark.parametrize("one_table", [True, False])
def test_every_pair_of_shapes(one_table, kind):
    rng = np.random.default_rng(7)
    P = tables(rng) if one_table else tables(rng, 5)
    r = rng.normal(size=REWARDS[kind])
    mdp = FiniteMDP(P, r, horizon=5)
    assert (mdp.n_states, mdp.n_actions, mdp.horizon) == (4, 3, 5)
    assert mdp.tables.shape == (1 if one_table else 5, 4, 3, 4)
    assert mdp.transitions.shape == (5, 4, 3, 4)
    assert mdp.rewards.shape == (5, 4, 3)
    assert (mdp.arrival_rewards is None) == (kind in ("(S, A)", "(H, S, A)"))
    assert mdp.homogeneous == (one_table and kind in ("(S, A)", "(S, A, S)"))
    for array in (mdp.tables, mdp.reward_tables):
        assert array.flags.c_contiguous
    for array in (mdp.tables, mdp.reward_tables, mdp.transitions, mdp.rewards, mdp.initial):
        assert array.dtype == np.float64
        assert not array.flags.writeable
    # the same, written out
    whole_P = np.broadcast_to(P, (5, 4, 3, 4))
    whole_r = np.broadcast_to(r if kind.endswith("A, S)") else r[..., None], (5, 4, 3, 4))
    np.testing.assert_array_equal(mdp.transitions, whole_P)
    np.testing.assert_allclose(mdp.rewards, (whole_P * whole_r).sum(axis=3), atol=1e-14)
    np.testing.assert_allclose(mdp.optimal_values(), bellman(whole_P, whole_r), atol=1e-13)
    possible = whole_r[whole_P > 0]
    assert mdp.reward_range == (possible.min(), possible.max())


def test_written_out_is_the_same_bit_for_bit():
    rng = np.random.default_rng(1)
    P, r = tables(rng), rng.normal(size=(4, 3, 4))
    one = FiniteMDP(P, r, horizon=6)
    whole = FiniteMDP(np.repeat(P[None], 6, axis=0), np.repeat(r[None], 6, axis=0))
    assert one.tables.nbytes * 6 == whole.tables.nbytes
    np.testing.assert_array_equal(one.optimal_q(), whole.optimal_q())
    np.testing.assert_array_equal(one.rewards, whole.rewards)
    policy = rng.integers(0, 3, (6, 4))
    np.testing.assert_array_equal(policy_value(one, policy), policy_value(whole, policy))


def test_views_that_repeat_a_stage_are_kept_once():
    mdp = river_swim(4, 50)
    again = FiniteMDP(mdp.transitions, mdp.rewards, mdp.initial)
    assert (again.tables.shape, again.reward_tables.shape, again.horizon) == ((1, 4, 2, 4), (1, 4, 2), 50)
    np.testing.assert_array_equal(again.optimal_values(), mdp.optimal_values())


def test_linear_mdps_keep_one_table_too():
    mdp = river_swim(6, 1000)
    assert mdp.homogeneous
    assert mdp.tables.shape == (1, 6, 2, 6)
    assert mdp.measures.shape == (1000, 12, 6)
    assert sum(value.nbytes for value in vars(mdp).values() if isinstance(value, np.ndarray)) < 10_000
    whole = LinearMDP(mdp.features, np.array(mdp.transitions), np.array(mdp.rewards), mdp.initial)
    assert whole.tables.shape == (1000, 6, 2, 6)
    np.testing.assert_array_equal(whole.optimal_values(), mdp.optimal_values())
    np.testing.assert_array_equal(whole.measures, mdp.measures)
    np.testing.assert_array_equal(whole.weights, mdp.weights)


def test_linear_mdp_with_rewards_by_stage_alone():
    mdp = river_swim(3, 2)
    rewards = np.random.default_rng(0).random((2, 3, 2))
    linear = LinearMDP(mdp.features, mdp.tables[0], rewards, mdp.initial, horizon=2)
    assert not linear.homogeneous
    np.testing.assert_array_equal(linear.rewards, rewards)
    np.testing.assert_allclose(np.einsum("sad,hd->hsa", linear.features, linear.weights), rewards, atol=1e-14)


def test_arguments_are_copied():
    P, r = np.full((2, 1, 2), 0.5), np.ones((2, 1))
    mdp = FiniteMDP(P, r, horizon=2)
    P[:], r[:] = 0.0, 0.0
    np.testing.assert_array_equal(mdp.transitions, 0.5)
    np.testing.assert_array_equal(mdp.rewards, 1.0)


# --- values


@pytest.mark.nojit
def test_values_are_sums_over_paths():
    rng = np.random.default_rng(2)
    P, r = tables(rng, 3, states=3, actions=2), rng.normal(size=(3, 3, 2, 3))
    mdp = FiniteMDP(P, r)
    everything = [np.reshape(bits, (3, 3)) for bits in itertools.product(range(2), repeat=9)]
    for policy in everything[::97]:
        expected = values_by_enumeration(P, r, policy)
        np.testing.assert_allclose(policy_value(mdp, policy)[0], expected, atol=1e-13)
    best = np.max([policy_value(mdp, policy)[0] for policy in everything], axis=0)
    np.testing.assert_allclose(mdp.optimal_value(), best, atol=1e-13)


@pytest.mark.parametrize(("states", "actions", "horizon"), [(1, 1, 1), (1, 3, 2), (3, 1, 2), (2, 2, 1)])
def test_smallest_cases(states, actions, horizon):
    rng = np.random.default_rng(3)
    P = tables(rng, states=states, actions=actions)
    r = rng.normal(size=(states, actions))
    mdp = FiniteMDP(P, r, horizon=horizon)
    expected = bellman(
        np.broadcast_to(P, (horizon, *P.shape)), np.broadcast_to(r[..., None], (horizon, *P.shape))
    )
    np.testing.assert_allclose(mdp.optimal_values(), expected, atol=1e-14)
    np.testing.assert_allclose(policy_value(mdp, optimal(mdp).policy), expected, atol=1e-14)


def test_rewards_by_next_state_that_do_not_differ_are_rewards_of_pairs():
    P = np.array([[[0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0]], [[0.0, 0.3, 0.7]]])
    r = np.array([[[0.1, 0.1, -5.0]], [[9.0, 0.2, 9.0]], [[9.0, 0.7, 0.7]]])
    mdp = FiniteMDP(P, r, horizon=4)
    assert mdp.arrival_rewards is None
    np.testing.assert_array_equal(mdp.reward_tables, [[[0.1], [0.2], [0.7]]])  # not 0.3 * 0.7 + 0.7 * 0.7
    assert mdp.reward_range == (0.1, 0.7)


def test_reach_spans_the_possible_states():
    P = tables(np.random.default_rng(5), 2, states=9)
    for index in np.ndindex(2, 9, 3):
        possible = np.flatnonzero(P[index])
        assert reach_of(P)[index].tolist() == [possible[0], possible[-1] + 1]


def test_the_world_is_made_once_and_goes_with_the_mdp():
    mdp = river_swim(3, 4)
    world = world_of(mdp)
    assert world_of(mdp) is world
    for array in world:
        assert array.flags.carray
    np.testing.assert_array_equal(world.cumulative, np.cumsum(mdp.tables, axis=3))
    np.testing.assert_array_equal(world.optimal, mdp.optimal_value())
    assert world.arrivals.shape == (0, 0, 0, 0)
    gone = weakref.ref(world.tables)
    del mdp, world, array
    gc.collect()
    assert gone() is None


# --- Gymnasium


def value_of_the_table(env, horizon):
    """V*_1 of the published table by dynamic programming over its outcomes, (S,)."""
    table, n_states = env.unwrapped.P, env.observation_space.n
    value = [0.0] * n_states
    for _ in range(horizon):
        value = [
            max(
                sum(p * (reward + (0.0 if over else value[t])) for p, t, reward, over in outcomes)
                for outcomes in table[s].values()
            )
            for s in range(n_states)
        ]
    return np.array(value)


TOY_TEXT = {
    "FrozenLake-v1": {},
    "FrozenLake-v1, 8x8": {"map_name": "8x8"},
    "FrozenLake-v1, dry": {"is_slippery": False},
    "CliffWalking-v1": {},
    "CliffWalking-v1, slippery": {"is_slippery": True},
    "Taxi-v3 or later": {},
}


def toy_text(name):
    if name.startswith("Taxi"):
        name = max(known for known in gymnasium.registry if known.startswith("Taxi-v"))
    return gymnasium.make(name.split(",")[0], **TOY_TEXT.get(name, {}))


@pytest.mark.parametrize("name", TOY_TEXT)
@pytest.mark.parametrize("horizon", [1, 30])
def test_tables_of_toy_text(name, horizon):
    env = toy_text(name)
    mdp = from_gymnasium(env, horizon)
    n = env.observation_space.n
    ends = 2 if "8x8" in name else 1  # there an action may lead to a hole or to the goal
    assert (mdp.n_states, mdp.n_actions, mdp.horizon) == (n + ends, env.action_space.n, horizon)
    assert np.flatnonzero(mdp.terminal).tolist() == list(range(n, n + ends))
    np.testing.assert_allclose(mdp.optimal_value()[:n], value_of_the_table(env, horizon), rtol=0, atol=1e-12)
    assert mdp.optimal_value()[n] == 0
    np.testing.assert_array_equal(mdp.transitions[:, n, :, n], 1)
    np.testing.assert_array_equal(mdp.rewards[:, n], 0)
    np.testing.assert_array_equal(mdp.initial[:n], env.unwrapped.initial_state_distrib)
    assert mdp.name == env.spec.id
    assert mdp.homogeneous


def test_taxi_stays_small():
    mdp = from_gymnasium(toy_text("Taxi-v3 or later"), horizon=200)
    assert mdp.arrival_rewards is None  # transitions are sure, so that rewards are those of pairs
    kept = sum(value.nbytes for value in vars(mdp).values() if isinstance(value, np.ndarray))
    assert kept < 13e6  # 501² · 6 numbers of 8 bytes are 12.0 MB; 200 such tables would be 2.4 GB
    assert mdp.transitions.shape == (200, 501, 6, 501)
    assert mdp.reward_range == (-10.0, 20.0)
    assert world_of(mdp).rewards.shape == (1, 501, 6)


def test_frozen_lake_pays_on_arrival():
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=20)
    # 14, right: the goal (over, pays 1), 10 and 14, each with 1/3
    np.testing.assert_allclose(mdp.transitions[0, 14, 2, [16, 10, 14]], 1 / 3)
    np.testing.assert_array_equal(mdp.arrival_rewards[0, 14, 2, [16, 10, 14]], [1, 0, 0])
    assert mdp.reward_range == (0.0, 1.0)
    linear = envs.frozen_lake(horizon=20)
    np.testing.assert_allclose(mdp.optimal_value()[:16], linear.optimal_value(), atol=1e-14)


def test_ends_that_pay_differently_are_different_ends():
    # 8x8, cell 62, right: goal 63 (pays 1), hole 54 (pays 0), both over; and 62 itself.
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1", map_name="8x8"), horizon=3)
    np.testing.assert_allclose(mdp.transitions[0, 62, 2, [62, 64, 65]], 1 / 3)
    np.testing.assert_array_equal(mdp.arrival_rewards[0, 62, 2, [62, 64, 65]], [0, 0, 1])
    assert mdp.rewards[0, 62, 2] == pytest.approx(1 / 3)


def test_one_next_state_with_different_rewards_pays_their_mean():
    table = {0: {0: [(0.25, 0, 1.0, False), (0.75, 0, 3.0, False)]}, 1: {0: [(1.0, 0, 0.0, True)]}}
    mdp = from_gymnasium(Published(table), horizon=1)
    assert (mdp.n_states, mdp.rewards[0, 0, 0]) == (3, 2.5)


class Published(gymnasium.Env):
    """An environment with a table, and spaces, of one's own."""

    def __init__(self, table, states=2, actions=1):
        self.P = table
        self.observation_space = gymnasium.spaces.Discrete(states) if isinstance(states, int) else states
        self.action_space = gymnasium.spaces.Discrete(actions) if isinstance(actions, int) else actions
        self.initial_state_distrib = np.full(states, 1 / states) if isinstance(states, int) else None


SOUND = {0: {0: [(0.5, 1, 3.0, False), (0.5, 1, 3.0, True)]}, 1: {0: [(1.0, 0, -2.0, False)]}}


def test_a_table_of_ones_own():
    mdp = from_gymnasium(Published(SOUND), horizon=2)
    np.testing.assert_array_equal(mdp.transitions[0, :, 0], [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]])
    # from 0: 3, then with 1/2 on from 1: -2. From 1: -2, then 3.
    np.testing.assert_array_equal(mdp.optimal_value(), [2, 1, 0])
    assert mdp.name == "Published"
    np.testing.assert_array_equal(mdp.initial, [0.5, 0.5, 0])
    np.testing.assert_array_equal(from_gymnasium(Published(SOUND), 2, initial=[0, 1]).initial, [0, 1, 0])
    assert from_gymnasium(Published(SOUND), 2, name="mine").name == "mine"


def test_as_many_stages_as_states_and_actions():
    # (S + 1, A, S + 1) and (H, S + 1, A) are the same shape here
    table = {s: {a: [(1.0, 0, float(a), False)] for a in range(3)} for s in range(2)}
    mdp = from_gymnasium(Published(table, actions=3), horizon=3)
    np.testing.assert_array_equal(mdp.optimal_value(), [6, 6, 0])


def test_without_a_published_start():
    env = Published(SOUND)
    del env.initial_state_distrib
    with pytest.raises(ValueError, match=r"initial must be given, .* no initial_state_distrib"):
        from_gymnasium(env, 2)
    assert from_gymnasium(env, 2, initial=[1, 0]).initial[0] == 1


BOX = gymnasium.spaces.Box(0, 1)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (lambda: gymnasium.make("CartPole-v1"), "env must be an environment that publishes its table P"),
        (lambda: "FrozenLake-v1", "env must be a Gymnasium environment, got 'FrozenLake-v1'"),
        (lambda: Published(3), "env must be an environment that publishes its table P"),
        (lambda: Published(SOUND, states=BOX), "env.observation_space must be Discrete, from 0 on, got Box"),
        (lambda: Published(SOUND, actions=BOX), "env.action_space must be Discrete, from 0 on, got Box"),
        (
            lambda: Published(SOUND, states=gymnasium.spaces.Discrete(2, start=1)),
            "env.observation_space must be Discrete, from 0 on",
        ),
        (
            lambda: Published(SOUND, actions=2),
            r"env.P\[0\]\[1\] must be a list of \(probability, .* got None",
        ),
        (
            lambda: Published({0: {0: [(1.0, 0)]}}, 1),
            r"env.P\[0\]\[0\] must be a list of .* got \[\(1.0, 0\)\]",
        ),
        (
            lambda: Published({0: {0: [(1.0, 5, 0.0, False)]}}, 1),
            r"next state in env.P\[0\]\[0\] must be .* got 5",
        ),
        (
            lambda: Published({0: {0: [(1.0, 0.5, 0.0, True)]}}, 1),
            r"next state in env.P\[0\]\[0\] must be .* got 0.5",
        ),
        (
            lambda: Published({0: {0: [(0.5, 0, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}),
            "transitions at state 0, action 0 must be a distribution with sum 1, got the sum 0.5",
        ),
        (
            lambda: Published(SOUND, states=10**5),
            r"must need at most 33554432 table entries \(256 MiB\), got .* GiB",
        ),
    ],
)
def test_environments_that_do_not_fit(env, message):
    with pytest.raises(ValueError, match=message):
        from_gymnasium(env(), horizon=2)


def test_any_finite_mdp_is_an_environment():
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=True), horizon=100)
    env = LinearMDPEnv(mdp)
    check_env(env, skip_render_check=True)
    env.reset(seed=0, options={"state": 14})
    seen = set()
    for _ in range(50):
        env.reset(options={"state": 14})
        state, reward, *_ = env.step(2)
        seen.add((int(state), reward))
    assert seen == {(16, 1.0), (10, 0.0), (14, 0.0)}


# --- bad input

P2 = np.full((2, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: FiniteMDP(P2, [[0, 0]] * 2),
            r"transitions must be of shape \(H, S, A, S\), or \(S, A, S\) with horizon=",
        ),
        (
            lambda: FiniteMDP(np.ones((2, 2, 3)), [[0]], horizon=2),
            r"transitions must be of shape .* got \(2, 2, 3\)",
        ),
        (
            lambda: FiniteMDP(np.empty((0, 2, 0)), [[0]], horizon=2),
            r"transitions must be .* not empty, got \(0, 2, 0\)",
        ),
        (
            lambda: FiniteMDP([[[1], [1, 2]]], [[0]], horizon=2),
            "transitions must be an array of shape .* ragged",
        ),
        (lambda: FiniteMDP(P2, [[0, 0]] * 2, horizon=0), "horizon must be an integer >= 1, got 0"),
        (
            lambda: FiniteMDP(P2[None], [[0, 0]] * 2, horizon=3),
            "horizon must be 1 as that of the transitions, got 3",
        ),
        (
            lambda: FiniteMDP(P2 * 0.9, [[0, 0]] * 2, horizon=2),
            "transitions at state 0, action 0 must be .* sum 0.9",
        ),
        (
            lambda: FiniteMDP(np.array([P2, P2 * 0.9]), [[0, 0]] * 2),
            "transitions at stage 2, state 0, action 0 must be .* sum 0.9",
        ),
        (
            lambda: FiniteMDP(P2, [[0, NAN]] * 2, horizon=2),
            r"rewards must be finite, got nan at index \(0, 0, 1\)",
        ),
        (
            lambda: FiniteMDP(P2, [[0, 0], [0, 1e101]], horizon=2),
            r"rewards at state 1, action 1 must be within ±1e\+100, got 1e\+101",
        ),
        (
            lambda: FiniteMDP(P2, [[0, 0, 0]] * 2, horizon=3),
            r"rewards must be of shape \(3, 2, 2\) or \(2, 2\) or \(3, 2, 2, 2\) or \(2, 2, 2\), got",
        ),
        (
            lambda: FiniteMDP(P2, P2, horizon=2),
            r"rewards must be of shape \(2, 2, 2, 2\): .* \(H, S, A\) or \(S, A, S\)",
        ),
        (
            lambda: FiniteMDP(P2, [[0, 0]] * 2, [1, 1], 2),
            "initial must be a distribution with sum 1, got the sum 2",
        ),
        (lambda: FiniteMDP(P2, [[0, 0]] * 2, [1], 2), r"initial must be of shape \(2,\), got \(1,\)"),
        (
            lambda: LinearMDP(np.eye(4).reshape(2, 2, 4), P2, P2, [1, 0], horizon=3),
            r"rewards must be of shape \(3, 2, 2\) or \(2, 2\), got",
        ),
        (
            lambda: LinearMDP(np.eye(4).reshape(2, 2, 4), P2, [[0, 0], [2, 0]], [1, 0], horizon=3),
            r"rewards at state 1, action 0 must be in \[0, 1\], got 2",
        ),
        (
            lambda: LinearMDP(np.full((2, 2, 1), 0.5), P2, [[0, 0]] * 2, [1, 0], horizon=3),
            "^transitions must satisfy .* got 2 for some V",
        ),
        (lambda: optimal(3), "mdp must be a FiniteMDP, got 3"),
        (lambda: optimal(envs.sphere()), "mdp must be a FiniteMDP, got <sphere"),
        (lambda: policy_value("river", [[0]]), "mdp must be a FiniteMDP, got 'river'"),
        (lambda: world_of(None), "mdp must be a FiniteMDP, got None"),
        (lambda: planning.level_policy_value("P", 1, 2, 3), "transitions must be an array of real numbers"),
        (
            lambda: planning.level_policy_value([P2], [[[0, NAN]] * 2], 2, 3),
            "rewards must be finite, got nan",
        ),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_would_be_allocated_is_said():
    river_swim(200, 1000)  # 1000 written-out tables would have 8e7 entries
    with pytest.raises(
        ValueError, match=r"horizon = 20, 5000 states and 2 actions .* \(256 MiB\), got \d+ \(.* GiB\)"
    ):
        river_swim(5000)


# --- names


def test_every_name_is_there():
    for name in envs.__all__:
        assert getattr(envs, name) is not None
        assert name in dir(envs)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        envs.nothing  # noqa: B018


def test_importing_the_names_loads_nothing():
    program = (
        "import sys, types; m = types.ModuleType('unipac'); "
        f"m.__path__ = [{str(envs.__path__[0])!r} + '/..']; sys.modules['unipac'] = m; "
        "import unipac.envs; assert not {'numpy', 'numba', 'gymnasium'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""Episodes: their random numbers, sampling, and what a policy with levels meets."""

import math

import numpy as np
import pytest

from unipac.envs import FiniteMDP, random_simplex, river_swim
from unipac.envs.mdps.planning import level_policy_value
from unipac.envs.play.simulation import (
    EPISODE_BLOCK,
    episode_uniforms,
    first_states,
    reward_of,
    sample,
    simulate,
    world_of,
)


def random_policy(rng, horizon, levels, mdp):
    shape = (horizon, levels, mdp.n_states)
    return rng.integers(0, mdp.n_actions, shape), rng.integers(0, levels, shape)


def plain_episode(mdp, action, level, s, uniforms):
    """One episode step by step, from the definition."""
    steps, p = [], action.shape[1] - 1
    for h, u in enumerate(uniforms):
        a, q = action[h, p, s], level[h, p, s]
        sums = np.cumsum(mdp.transitions[h, s, a])
        t = next((t for t in range(mdp.n_states - 1) if u < sums[t]), mdp.n_states - 1)
        reward = mdp.rewards[h, s, a]
        if mdp.arrival_rewards is not None:
            reward = np.broadcast_to(mdp.arrival_rewards, mdp.transitions.shape)[h, s, a, t]
        steps.append((s, a, q, reward, t))
        s, p = t, q
    return [np.array(column) for column in zip(*steps, strict=True)]


def mdps():
    rng = np.random.default_rng(9)
    P = rng.dirichlet(np.full(40, 0.1), size=(40, 3))
    sharp = np.eye(3)[rng.integers(0, 3, (3, 2))]
    return {
        "river": river_swim(5, 12),
        "simplex": random_simplex(n_states=6, n_actions=3, dim=4, horizon=7),
        "forty states, paid on arrival": FiniteMDP(P, rng.normal(size=P.shape), horizon=9),
        "sure transitions": FiniteMDP(sharp, rng.normal(size=(3, 2)), horizon=4),
        "one of each": FiniteMDP([[[1]]], [[0.5]], horizon=1),
    }


EVERY_MDP = mdps()


def test_uniforms_are_those_of_the_seed_and_the_block():
    expected = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(3,))).random((1024, 8))
    np.testing.assert_array_equal(episode_uniforms(5, 3, 7), expected)
    child = np.random.SeedSequence([5, 6], spawn_key=(1,))
    again = np.random.SeedSequence([5, 6], spawn_key=(1, 3))
    np.testing.assert_array_equal(
        episode_uniforms(child, 3, 7), np.random.default_rng(again).random((EPISODE_BLOCK, 8))
    )


@pytest.mark.nojit
@pytest.mark.parametrize("n_states", [1, 2, 31, 32, 33, 34, 100, 501])
def test_sample_is_the_first_state_whose_sum_exceeds(n_states):
    rng = np.random.default_rng(n_states)
    weights = rng.random(n_states) * (rng.random(n_states) < 0.3)
    weights[rng.integers(n_states)] += 0.1
    sums = np.cumsum(weights / weights.sum())
    around = np.concatenate([np.nextafter(sums, 0), sums, np.nextafter(sums, 2)])  # ties and their neighbours
    for u in [0.0, *around[around < 1], *rng.random(200), np.nextafter(1, 0)]:
        expected = next((s for s in range(n_states - 1) if u < sums[s]), n_states - 1)
        assert sample(sums, float(u)) == expected


def test_impossible_states_are_never_drawn():
    sums = np.cumsum([0.0, 0.5, 0.0, 0.5, 0.0])
    drawn = {sample(sums, float(u)) for u in [0.0, 0.25, 0.5, 0.75, np.nextafter(1, 0)]}
    assert drawn == {1, 3}


@pytest.mark.nojit
@pytest.mark.parametrize("name", EVERY_MDP)
def test_simulate_plays_step_by_step(name):
    mdp = EVERY_MDP[name]
    rng = np.random.default_rng(1)
    action, level = random_policy(rng, mdp.horizon, 3, mdp)
    uniforms = episode_uniforms(2, 0, mdp.horizon)[:20]
    starts = first_states(mdp, uniforms[:, 0])
    assert starts.dtype == np.int64
    for s, row in zip(starts, uniforms, strict=True):
        played = simulate(world_of(mdp), action, level, s, row[1:].copy())
        for one, other in zip(played, plain_episode(mdp, action, level, s, row[1:]), strict=True):
            np.testing.assert_array_equal(one, other)
        assert [array.dtype.kind for array in played] == ["i", "i", "i", "f", "i"]


def test_one_table_and_many_play_the_same():
    one = EVERY_MDP["forty states, paid on arrival"]
    arrivals = np.repeat(one.arrival_rewards, one.horizon, axis=0)
    whole = FiniteMDP(np.array(one.transitions), arrivals, one.initial)
    assert (len(world_of(one).tables), len(world_of(whole).tables)) == (1, 9)
    action, level = random_policy(np.random.default_rng(2), 9, 2, one)
    uniforms = episode_uniforms(3, 0, 9)
    for row in uniforms[:30]:
        first = simulate(world_of(one), action, level, 0, row[1:].copy())
        second = simulate(world_of(whole), action, level, 0, row[1:].copy())
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rewards_of_every_kind():
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.ones(3), size=(3, 2))
    for shape in [(3, 2), (4, 3, 2), (3, 2, 3), (4, 3, 2, 3)]:
        r = rng.normal(size=shape)
        world = world_of(FiniteMDP(P, r, horizon=4))
        for h, s, a, t in np.ndindex(4, 3, 2, 3):
            index = {(3, 2): (s, a), (4, 3, 2): (h, s, a), (3, 2, 3): (s, a, t)}.get(shape, (h, s, a, t))
            assert reward_of(world, h, s, a, t) == r[index]


def test_first_states_follow_their_distribution():
    P = np.full((4, 1, 4), 0.25)
    initial = np.array([0.1, 0.0, 0.6, 0.3])
    mdp = FiniteMDP(P, np.zeros((4, 1)), initial, horizon=1)
    n = 20 * EPISODE_BLOCK
    uniforms = np.concatenate([episode_uniforms(6, block, 1)[:, 0] for block in range(20)])
    seen = np.bincount(first_states(mdp, uniforms), minlength=4) / n
    assert seen[1] == 0
    # Null: each frequency is off by 5 deviations √(p(1-p)/n) with probability 6e-7, 3 of them.
    margin = 5 * np.sqrt(initial * (1 - initial) / n)
    assert (np.abs(seen - initial) <= margin).all()
    assert not (np.abs(seen - np.roll(initial, 1)) <= margin).all()  # and it can tell them apart


@pytest.mark.parametrize("name", ["river", "forty states, paid on arrival"])
def test_means_of_episodes_are_the_value(name):
    mdp = EVERY_MDP[name]
    H = mdp.horizon
    action, level = random_policy(np.random.default_rng(5), H, 2, mdp)
    by_state = (np.ascontiguousarray(array.transpose(0, 2, 1)) for array in (action, level))
    value = level_policy_value(mdp.transitions, mdp.rewards, *by_state)[0, 0, 1]
    uniforms = np.concatenate([episode_uniforms(8, block, H) for block in range(10)])
    sums = np.array([simulate(world_of(mdp), action, level, 0, row[1:].copy())[3].sum() for row in uniforms])
    # Null: the mean of 10240 independent sums is the value; 5 deviations are passed with probability 6e-7.
    deviation = sums.std() / math.sqrt(len(sums))
    assert abs(sums.mean() - value) < 5 * deviation
    other = level_policy_value(
        mdp.transitions, mdp.rewards, *(np.zeros((H, mdp.n_states, 1), dtype=np.int64),) * 2
    )
    assert abs(sums.mean() - other[0, 0, 0]) > 5 * deviation  # a different policy is told apart


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: episode_uniforms(-1, 0, 3), "seed must be an integer >= 0, got -1"),
        (lambda: episode_uniforms(0, -1, 3), "block must be an integer >= 0, got -1"),
        (lambda: episode_uniforms(0, 0, 0), "horizon must be an integer >= 1, got 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""Observations numbered in the order in which they are seen; and tables that begin with actions."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import unipac
from unipac.envs import DiscountedMDP, FiniteMDP, Numbered, numbered


class Listed(gymnasium.Env):
    """Shows the observations of a list one after the other."""

    action_space = spaces.Discrete(2)

    def __init__(self, observations, space=None):
        self.observations, self.observation_space = observations, space or spaces.Text(5)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self.observations[0], {"first": True}

    def step(self, action):
        self.at += 1
        return self.observations[self.at], 1.0, self.at == len(self.observations) - 1, False, {}


def numbers(env):
    found, ended = [env.reset()[0]], False
    while not ended:
        observation, _, ended, _, _ = env.step(0)
        found.append(observation)
    assert all(isinstance(number, np.int64) for number in found)
    assert all(number in env.observation_space for number in found)
    return [int(number) for number in found]


GRIDS = [
    {"image": np.array([[1, 2], [3, 4]], dtype=np.uint8), "direction": np.int64(0), "mission": "go"},
    {"image": np.array([[1, 2], [3, 4]], dtype=np.uint8), "direction": np.int64(1), "mission": "go"},
    {"direction": 0, "mission": "go", "image": [[1, 2], [3, 4]]},
    {"image": np.array([[1, 2], [3, 5]], dtype=np.uint8), "direction": np.int64(0), "mission": "go"},
]


@pytest.mark.parametrize(
    ("observations", "right"),
    [
        ([(1, 2, False), (1, 2, True), (1, 2, 0), (2, 1, 0)], [0, 1, 0, 2]),
        (GRIDS, [0, 1, 0, 2]),
        ([np.float32(0.5), 0.25, -0.0, 0.0, 0.5], [0, 1, 2, 2, 0]),
        (["a", "b", "a", None, "None"], [0, 1, 0, 2, 3]),
        ([(1, (2, 3)), ((1, 2), 3), (1, 2, 3), (1, [2, 3])], [0, 1, 2, 0]),
    ],
)
def test_equal_observations_have_equal_numbers(observations, right):
    env = numbered(Listed(observations), most=10)
    assert numbers(env) == right
    assert env.seen == len(set(right)) == len(env.observations())
    assert numbers(env) == right  # in the next episode, too


def test_the_limit():
    env = numbered(Listed([(0,), (1,), (0,), (2,), (1,)]), most=2)
    env.reset()
    env.step(0)
    env.step(0)
    with pytest.raises(ValueError, match=r"most must be larger than 2, got a new observation .*: \(2,\)"):
        env.step(0)
    assert env.observations() == [[0], [1]]
    assert env.step(0)[0] == 1


def test_the_limit_by_the_space():
    given = [
        (spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]), 704),
        (spaces.Dict({"a": spaces.MultiDiscrete([3, 4]), "b": spaces.MultiBinary(3)}), 96),
        (spaces.Discrete(7), 7),
    ]
    for space, size in given:
        assert numbered(Listed([0], space)).most == size
    for space in (spaces.Box(0, 1), spaces.MultiBinary(2000), spaces.MultiDiscrete([1000] * 20)):
        with pytest.raises(ValueError, match="most must be given, since the space has no finite number"):
            numbered(Listed([0], space))
    assert numbered(Listed([0], spaces.Box(0, 1)), most=5).observation_space == spaces.Discrete(5)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (float("nan"), "observation must be of finite numbers, got nan"),
        ({1: 2}, "observation must be made of numbers, text"),
        ((1, object()), "observation must be made of numbers, text, .* got <object"),
        (b"x", "observation must be made of"),
        (1j, "observation must be made of"),
    ],
)
def test_observations_that_have_no_number(observation, message):
    env = numbered(Listed([observation]), most=5)
    with pytest.raises(ValueError, match=message):
        env.reset()
    assert env.seen == 0


def test_files(tmp_path):
    path = tmp_path / "numbers.json"
    env = numbered(Listed(GRIDS), most=10)
    numbers(env)
    env.save(path)
    env.save(path)
    again = numbered(Listed(GRIDS[::-1]), most=3)
    again.load(path)
    again.load(path)
    assert numbers(again) == [2, 0, 1, 0]
    assert again.observations() == env.observations() == json.loads(path.read_text())["observations"]
    other = numbered(Listed(GRIDS[::-1]), most=10)
    other.reset()
    before = other.observations()
    with pytest.raises(ValueError, match="load it before the first reset"):
        other.load(path)
    with pytest.raises(ValueError, match=r"most must be at least 3, as many as .* got 2"):
        numbered(Listed(GRIDS), most=2).load(path)
    with pytest.raises(FileNotFoundError):
        other.load(tmp_path / "none.json")
    good = json.loads(path.read_text())
    bad = [b"", b"\xff", b"[1]", b"[" * 100_000, b'"x"', json.dumps(good | {"version": 9}).encode()]
    bad += [
        json.dumps(good | {"observations": value}).encode()
        for value in (3, None, [1, 1.0, 1], [float("nan")])
    ]
    bad += [json.dumps({"format": good["format"], "version": 1}).encode()]
    for content in bad:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"path must name a file written by Numbered\.save"):
            other.load(path)
    assert other.observations() == before


def test_blackjack():
    """An agent for tables learns; the specification names the wrapper, so that the environment can be made again."""
    env = numbered(gymnasium.make("Blackjack-v1"))
    assert isinstance(env, Numbered)
    agent = unipac.UBEV(env.observation_space.n, env.action_space.n, horizon=8, reward_range=(-1, 1))
    returns = agent.learn(env, episodes=50, seed=0).returns
    assert set(returns) <= {-1.0, 0.0, 1.0}
    assert 20 < env.seen < 300
    twin = gymnasium.make(env.spec)
    assert twin.observation_space == env.observation_space


def test_arguments():
    with pytest.raises(ValueError, match="env must be a Gymnasium environment, got 3"):
        numbered(3)
    for most in (0, 1.5, 2**40):
        with pytest.raises(ValueError, match="most must be an integer"):
            numbered(Listed([0]), most=most)


def test_tables_that_begin_with_actions():
    """Shapes (A, S, S) and (H, A, S, S) are refused with the way to transpose them."""
    P = np.full((2, 5, 5), 0.2)
    for make in (FiniteMDP, DiscountedMDP):
        with pytest.raises(
            ValueError, match=r"got \(2, 5, 5\); if this is \(A, S, S\), pass numpy.transpose"
        ):
            make(P, np.zeros((5, 2)), 0.9) if make is DiscountedMDP else make(P, np.zeros((5, 2)), horizon=3)
    with pytest.raises(ValueError, match=r"if this is \(H, A, S, S\), pass .*\(0, 2, 1, 3\)"):
        FiniteMDP(np.full((3, 2, 5, 5), 0.2), np.zeros((5, 2)))
    assert FiniteMDP(np.transpose(P, (1, 0, 2)), np.zeros((5, 2)), horizon=3).n_actions == 2
    with pytest.raises(ValueError, match=r"got \(2, 5, 4\)$"):
        FiniteMDP(np.full((2, 5, 4), 0.25), np.zeros((5, 2)), horizon=3)

"""``learn(env)`` says what happened: a record of every episode, and warnings about what cannot be learned from."""

import warnings

import gymnasium
import numpy as np
import pytest

import unipac
from unipac.mdp.protocol.learning import TRIES

LIMIT = r"env stops episodes after 3 steps .* the horizon is 5.* horizon=3, .*max_episode_steps=5"


class Chain(gymnasium.Env):
    """States 0, 1, 2, ...; action 1 goes on, action 0 stays. The rest is what a test asks for."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, *, cut=None, over=None, sink=None, paid=0.0, as_array=False):
        self.cut, self.over, self.sink, self.paid, self.as_array = cut, over, sink, paid, as_array

    def seen(self):
        return np.array([self.at, 1.0]) if self.as_array else self.at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = 0, 0
        return self.seen(), {}

    def step(self, action):
        stays = self.at == self.sink
        self.at = self.at if stays else min(self.at + int(action), 5)
        self.steps += 1
        reward = self.paid if stays else 0.25
        return self.seen(), reward, self.steps == self.over, self.steps == self.cut, {}


def agent(horizon=5, cls=unipac.UBEV, n_states=6, **parameters):
    return cls(n_states, 2, horizon=horizon, **parameters)


def mapped(horizon=5):
    """With a small bonus, so that both actions are tried."""
    return unipac.NestedFLUTE(
        feature_map=lambda x: np.eye(2), n_actions=2, dim=2, horizon=horizon, bonus_scale=0.001
    )


def said(learner, env, episodes=4):
    """The warnings of a call, and its trace."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        trace = learner.learn(env, episodes=episodes, seed=0)
    assert {(w.category, w.filename) for w in found} <= {(UserWarning, __file__)}
    return [str(w.message) for w in found], trace


@pytest.mark.parametrize(
    "how", ["complete", "over", "over at the last stage", "cut", "cut at the last stage"]
)
def test_the_trace_says_how_episodes_ended(how):
    asked = {
        "complete": {},
        "over": {"over": 3},
        "over at the last stage": {"over": 5},
        "cut": {"cut": 3},
        "cut at the last stage": {"cut": 5},
    }[how]
    words, trace = said(agent(), Chain(**asked))
    assert len(trace) == 4
    np.testing.assert_array_equal(trace.lengths, 3 if how in ("over", "cut") else 5)
    np.testing.assert_array_equal(trace.returns, 0.25 * trace.lengths)
    np.testing.assert_array_equal(trace.terminated, how.startswith("over"))
    np.testing.assert_array_equal(trace.truncated, how == "cut")
    assert ["env truncated an episode after 3 of 5 stages" in word for word in words] == [True] * (
        how == "cut"
    )
    assert repr(trace[1:3]).startswith(
        f"<LearningTrace: 2 episodes, mean return {trace.returns[0]:g}, lengths"
    )


def test_terminated_counts_before_truncated():
    _, trace = said(agent(), Chain(cut=3, over=3))
    assert trace.terminated.all()
    assert not trace.truncated.any()


def test_a_trace_without_episodes():
    words, trace = said(agent(), Chain(), episodes=0)
    assert (words, len(trace)) == ([], 0)
    assert repr(trace) == "<LearningTrace: 0 episodes, 0 terminated, 0 truncated before stage 5>"
    with pytest.raises(ValueError, match=r"episodes must be a slice such as trace\[-100:\], got 0"):
        trace[0]


@pytest.mark.parametrize("make", [agent, mapped], ids=["tables", "feature map"])
def test_a_limit_below_the_horizon(make):
    """One warning, before anything is played; none if the limit is the horizon, or there is none."""
    gymnasium.register("unipac-test/Chain-v0", entry_point=Chain, max_episode_steps=3)
    try:
        env = gymnasium.make("unipac-test/Chain-v0")
        with pytest.warns(UserWarning, match=LIMIT) as found:
            trace = make().learn(env, episodes=4, seed=0)
        assert len(found) == 1
        assert trace.truncated.all()
        learner = make()
        with pytest.raises(UserWarning, match=LIMIT):  # warnings are errors here
            learner.learn(env, episodes=4, seed=0)
        assert learner.episodes == 0
        for limit in (5, 6):
            env = gymnasium.make("unipac-test/Chain-v0", max_episode_steps=limit)
            words, trace = said(make(), env)
            assert words == []
            assert not trace.truncated.any()
    finally:
        del gymnasium.registry["unipac-test/Chain-v0"]


@pytest.mark.parametrize("make", [agent, mapped], ids=["tables", "feature map"])
def test_truncated_without_a_limit(make):
    """One warning for a call, at the first episode."""
    words, trace = said(make(), Chain(cut=3))
    assert len(words) == 1
    assert words[0].startswith("env truncated an episode after 3 of 5 stages")
    assert trace.truncated.all()


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("sink", [0, 1])
def test_observations_that_repeat_without_end(sink, as_array):
    """One warning for a call, when each action has failed to leave often enough."""
    learner = mapped() if as_array else agent()
    words, _ = said(learner, Chain(sink=sink, as_array=as_array), episodes=20 * TRIES)
    assert len(words) == 1
    assert "repeats without end" in words[0]


@pytest.mark.parametrize(
    "asked",
    [{}, {"sink": 1, "paid": 0.5}, {"over": 2, "sink": 1}, {"sink": 5}],
    ids=["none", "it pays", "the task is over there", "never reached"],
)
def test_observations_that_are_left(asked):
    words, _ = said(agent(), Chain(**asked), episodes=40 * TRIES)
    assert words == []


def test_one_stage_repeats_nothing():
    words, _ = said(agent(horizon=1), Chain(sink=0), episodes=10 * TRIES)
    assert words == []


def test_a_lazy_state_is_left():
    """RiverSwim's first state: left leads to it surely, right in 2 of 5 steps; 0.4^25 of being wrong."""
    env = gymnasium.make("unipac/RiverSwim-v0", n_states=3, horizon=10)
    words, _ = said(unipac.UBEV(3, 2, horizon=10), env, episodes=300)
    assert words == []


class Breaks(Chain):
    """An environment that fails in its third episode."""

    resets = 0

    def reset(self, **arguments):
        self.resets += 1
        return super().reset(**arguments)

    def step(self, action):
        if self.resets == 3 and self.steps == 2:
            raise KeyboardInterrupt
        return super().step(action)


@pytest.mark.parametrize("make", [agent, mapped], ids=["tables", "feature map"])
def test_an_interrupt_keeps_whole_episodes(make):
    """The episode under way is dropped, the agent can go on, and the exception has what came before."""
    learner, twin = make(), make()
    with pytest.raises(KeyboardInterrupt) as caught:
        learner.learn(Breaks(), episodes=9, seed=0)
    trace = caught.value.trace
    assert (learner.episodes, len(trace), list(trace.lengths)) == (2, 2, [5, 5])
    twin.learn(Chain(), episodes=2, seed=0)
    np.testing.assert_array_equal(
        learner.learn(Chain(), episodes=3).returns, twin.learn(Chain(), episodes=3).returns
    )
    assert learner.digest() == twin.digest()

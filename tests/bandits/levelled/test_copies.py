"""Copies of agents: each has a memory of its own and goes on as the original would."""

import copy
import dataclasses
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unipac
from unipac.features.observations import TileCoding

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
}
BANDITS = {
    "NestedOFUL": lambda **more: unipac.NestedOFUL(3, noise=0.3, **more),
    "UPACOFUL": lambda **more: unipac.UPACOFUL(3, noise=0.3, **more),
    "OFUL": lambda **more: unipac.OFUL(3, noise=0.3, **more),
    "LinUCB": lambda **more: unipac.LinUCB(3, alpha=0.5, **more),
    "BallOFUL": lambda **more: unipac.BallOFUL(3, noise=0.3, **more),
}
EPISODIC = {
    "FLUTE": lambda mdp: unipac.FLUTE(mdp.features, horizon=mdp.horizon),
    "NestedFLUTE": lambda mdp: unipac.NestedFLUTE(mdp.features, horizon=mdp.horizon),
    "LSVIUCB": lambda mdp: unipac.LSVIUCB(mdp.features, horizon=mdp.horizon, episodes=100),
}


def assert_same(first, second):
    """Of two traces: all columns."""
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BANDITS)
def test_a_copied_bandit_goes_on_alone(name, way, fixed):
    """Small actions open so many levels that the memory grows, in the copy as in the original."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 3)) * [[0.5], [0.1], [1e-2], [1e-3], [1e-5]] / 4
    rewards = X @ [0.5, 0.5, -0.5] + 0.3 * rng.standard_normal((60, 1))
    more = {"fixed_actions": X} if fixed else {}
    agent, judge = BANDITS[name](**more), BANDITS[name](**more)
    for one in (agent, judge):
        one.play(X, rewards[:20])
        one.choose(X)
    other = WAYS[way](agent)
    assert type(other) is type(agent)
    (waiting,) = agent.pending
    assert list(other.pending) == [waiting]
    assert_same(other.play(X, rewards[20:]), judge.play(X, rewards[20:]))
    other.absorb(X, np.ones(5))
    other.forget(waiting)
    judge.absorb(X, np.ones(5))
    assert other.levels() == judge.levels()
    assert agent.rounds == 20  # nothing came from the copy
    assert list(agent.pending) == [waiting]
    twin = BANDITS[name](**more)
    twin.play(X, rewards[:20])
    assert agent.levels() == twin.levels()
    np.testing.assert_array_equal(agent.bounds(X), twin.bounds(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BANDITS)
def test_no_copy_takes_the_decisions_of_another(name, way):
    """It knows what was pending when it was made; later decisions are of one agent alone."""
    X = np.eye(3)
    agent = BANDITS[name]()
    before = agent.choose(X)
    copies = [WAYS[way](agent) for _ in range(2)]
    family = [agent, *copies]
    later = [one.choose(X) for one in family]
    assert len({decision.id for decision in [before, *later]}) == 4
    for one, own in zip(family, later, strict=True):
        for foreign in (decision for decision in later if decision is not own):
            for given in (foreign, foreign.id):
                with pytest.raises(ValueError, match="decision must be waiting for a reward"):
                    one.update(given, 1.0)
                with pytest.raises(ValueError, match="decision must be waiting for a reward"):
                    one.forget(given)
        assert one.rounds == 0
        one.update(before, 0.5)
        one.update(own, 0.25)
        assert (one.rounds, len(one.pending)) == (2, 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EPISODIC)
def test_a_copied_episodic_agent_goes_on_alone(name, way):
    mdp = unipac.envs.river_swim(4, horizon=5)
    agent, judge = EPISODIC[name](mdp), EPISODIC[name](mdp)
    for one in (agent, judge):
        one.play(mdp, episodes=40, seed=1)
    other = WAYS[way](agent)
    before = [array.copy() for array in agent.state.data]
    expected = judge.play(mdp, episodes=40, seed=2)
    assert_same(other.play(mdp, episodes=40, seed=2), expected)
    assert agent.episodes == 40
    for array, same in zip(agent.state.data, before, strict=True):
        np.testing.assert_array_equal(array, same)  # the copy learned alone
    assert_same(agent.play(mdp, episodes=40, seed=2), expected)


@pytest.mark.parametrize("replan", ["always", "lazy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EPISODIC)
def test_a_copied_agent_with_a_feature_map_goes_on_alone(name, way, replan):
    """Copied in the middle of an episode, whose rewards both then see."""
    tiles = TileCoding([0.0], [1.0], 2, bins=3, tilings=2)
    more = {"episodes": 300} if name == "LSVIUCB" else {}
    agent = unipac.AGENTS[name](feature_map=tiles, horizon=3, replan=replan, bonus_scale=0.01, **more)

    def play(agent, steps, seed):
        rng = np.random.default_rng(seed)
        actions, x = [], rng.random()
        for _ in range(steps):
            actions.append(agent.act([x]))
            x = rng.random()
            agent.observe(
                float(rng.random() < 0.5 + 0.3 * actions[-1]), [x], terminated=bool(rng.random() < 0.1)
            )
        return actions

    play(agent, 100, seed=0)
    for seed in range(10):
        play(agent, 0 if agent._steps else 1, seed)
    assert agent._steps
    other = WAYS[way](agent)
    assert repr(other) == repr(agent)
    assert "stage" in repr(agent)
    expected = play(other, 150, seed=1)
    assert len(set(expected)) == 2
    levels, episodes = other.levels(), other.episodes
    assert agent.episodes < episodes
    assert play(agent, 150, seed=1) == expected
    assert (agent.levels(), agent.episodes) == (levels, episodes)


def test_the_text_of_an_agent_says_how_far_it_is():
    agent = unipac.NestedOFUL(3, noise=0.3)
    assert repr(agent) == "<NestedOFUL(3, noise=0.3): 0 rounds>"
    agent.play(np.eye(3), np.zeros((300, 3)))
    agent.choose(np.eye(3))
    assert repr(agent) == "<NestedOFUL(3, noise=0.3): 300 rounds, 1 pending>"
    agent = unipac.LSVIUCB(np.eye(2)[None], horizon=2, episodes=10**4)
    assert (
        repr(agent)
        == "<LSVIUCB(<1x2x2 array>, horizon=2, n_actions=2, dim=2, total_episodes=10000): 0 episodes>"
    )
    agent.act(0)
    assert repr(agent).endswith(": 0 episodes, stage 1 of another>")
    agent.observe(0.0, 0)
    assert repr(agent).endswith(": 0 episodes, stage 2 of another>")


def test_kernels_follow_the_sources_of_all_that_they_contain(tmp_path):
    """A caller in an unchanged file is compiled again when a kernel of another file has changed."""
    package = Path(unipac.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(package, tmp_path / "unipac", ignore=ignored)
    program = (
        "import unipac.bandits.levelled.confidence as c; from unipac.linalg import levels;"
        "s = levels.empty(2, 1, 1.0);"
        "k = c.Confidence(True, 0, c.MIXTURE, 0.5, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, -9.0, 9.0);"
        "c.set_radii(s, k, 1, 1); print(s.beta[0], sum(c.set_radii.stats.cache_hits.values()))"
    )

    def run():
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path), "PATH": "", "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        beta, hits = done.stdout.split()
        return float(beta), int(hits)

    radius = (2 * np.log(2) + 1) ** 0.5
    assert run() == (pytest.approx(radius), 0)
    assert run() == (pytest.approx(radius), 1)
    source = tmp_path / "unipac" / "theory" / "radii.py"
    text = source.read_text()
    assert text.count("return math.sqrt(noise**2") == 1
    source.write_text(text.replace("return math.sqrt(noise**2", "return 2.0 * math.sqrt(noise**2"))
    assert run() == (pytest.approx(2 * radius), 0)


@pytest.mark.parametrize("name", ["NestedOFUL", "UPACOFUL", "OFUL", "LinUCB"])
def test_what_happens_between_choice_and_reward(name):
    """An action is not evaluated again for its reward if nothing came in between, and else it is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6, 3))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    y = rng.standard_normal(40)

    def nothing(agent, t):
        pass

    def another_choice(agent, t):
        agent.forget(agent.choose(X[t - 1]))

    def all_bounds(agent, t):
        agent.bounds(X[t - 1])

    def a_refused_choice(agent, t):
        with pytest.raises(ValueError, match="actions"):
            agent.choose(np.full((2, 3), np.nan))

    def learning(agent, t):
        agent.absorb(X[t, :1], y[t : t + 1])

    def a_run(agent, t):
        agent.play(X[t], y[None, :6])

    def run(between, fresh):
        agent = BANDITS[name]()
        for t in range(40):
            decision = agent.choose(X[t])
            between(agent, t)
            if fresh:
                agent = pickle.loads(pickle.dumps(agent))  # which remembers no values
            agent.update(decision.id, y[t])
        return agent.levels(), agent.bounds(X[0])

    for between in (nothing, another_choice, all_bounds, a_refused_choice, learning, a_run):
        (levels, bounds), (expected, judged) = run(between, False), run(between, True)
        assert levels == expected, between.__name__
        np.testing.assert_array_equal(bounds, judged)

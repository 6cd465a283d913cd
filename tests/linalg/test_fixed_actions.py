"""The table of fixed actions: inner levels are computed when a choice needs them, and only then."""

import numpy as np
import pytest

import unipac
from unipac.linalg import levels as stack
from unipac.linalg.fast import fixed_actions


def random_actions(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def unknown_levels(agent):
    return [
        level
        for level in range(1, stack.top(agent.state.levels) + 1)
        if fixed_actions.is_unknown(fixed_actions.unpacked(agent._fixed), level)
    ]


@pytest.mark.nojit
def test_inner_levels_wait_until_they_are_needed():
    rng = np.random.default_rng(0)
    X = random_actions(rng, 60, 4)
    agent = unipac.NestedOFUL(4, noise=0.5, fixed_actions=X, tight=False)
    agent.play(X, X @ X[0] + 0.5 * rng.standard_normal((300, 1)))
    top = stack.top(agent.state.levels)
    assert top >= 3
    waiting = unknown_levels(agent)
    assert waiting, "no level waits: the test shows nothing"
    assert top not in waiting
    # The outermost level now says nothing, so that a choice needs the others.
    agent.state.levels.beta[top - 1] *= 100.0
    fixed_actions.bound(fixed_actions.unpacked(agent._fixed), agent.state.levels, top)
    decision = agent.choose()
    assert len(unknown_levels(agent)) < len(waiting)
    ucb = agent.bounds().ucb
    assert decision.index == int(np.argmax(ucb))
    assert decision.ucb == ucb.max()


@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL, unipac.OFUL])
def test_long_runs_choose_as_without_a_table(agent):
    """More steps than may follow a fresh start, rounds elsewhere and equal rounds in between."""
    rng = np.random.default_rng(1)
    X = random_actions(rng, 40, 5)
    rewards = X @ X[3] + 0.5 * rng.standard_normal((700, 1))
    elsewhere = random_actions(rng, 10, 5)
    free, fixed = agent(5, noise=0.5), agent(5, noise=0.5, fixed_actions=X)
    for begin in range(0, 700, 350):
        traces = [one.play(X, rewards[begin : begin + 350]) for one in (free, fixed)]
        np.testing.assert_array_equal(traces[0].index, traces[1].index)
        np.testing.assert_array_equal(traces[0].certificate, traces[1].certificate)
        for one, choice in ((free, free.choose(X)), (fixed, fixed.choose())):
            one.update(choice, 0.2, times=50)
            one.absorb(elsewhere, elsewhere[:, 0])


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL, unipac.OFUL])
def test_equal_rounds_fill_several_levels(agent):
    """Rounds that count many times change more than one level, also if levels are disjoint."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        X = random_actions(rng, 6, d) * rng.uniform(0.1, 1, (6, 1))
        free, fixed = (agent(d, noise=0.1, radius="mixture", fixed_actions=arms) for arms in (None, X))
        for _ in range(8):
            choice, same = free.choose(X), fixed.choose()
            assert choice.index == same.index
            np.testing.assert_array_equal(choice[3:9], same[3:9])  # NaN after a refutation
            reward, times = float(rng.standard_normal()), int(10 ** rng.uniform(0, 6))
            free.update(choice, reward, times=times)
            fixed.update(same, reward, times=times)


def test_a_loaded_agent_goes_on(tmp_path):
    """The table is not saved: it is computed from the levels, and no choice depends on how."""
    rng = np.random.default_rng(2)
    X = random_actions(rng, 60, 4)
    agent = unipac.NestedOFUL(4, noise=0.5, fixed_actions=X, tight=False)
    agent.play(X, X @ X[0] + 0.5 * rng.standard_normal((300, 1)))
    agent.save(tmp_path / "agent")
    loaded = unipac.load(tmp_path / "agent")
    assert unknown_levels(loaded) == [] != unknown_levels(agent)
    rewards = X @ X[0] + 0.5 * rng.standard_normal((300, 1))
    traces = agent.play(X, rewards), loaded.play(X, rewards)
    np.testing.assert_array_equal(traces[0].index, traces[1].index)
    np.testing.assert_array_equal(traces[0].certificate, traces[1].certificate)

"""Episodes that end early: a terminal state of an MDP is to an agent what `terminated` of an environment is."""

import gymnasium
import numpy as np
import pytest
import scipy.stats

import unipac
from unipac.envs import FiniteMDP, LinearMDPEnv, from_gymnasium
from unipac.envs.play.simulation import episode_uniforms, simulate, world_of
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.records import empty_trace

TABULAR = ("CertVI", "UBEV", "UCBVI", "UCBAdvantage", "PSRL", "RLSVI", "QLearning")
LINEAR = ("FLUTE", "NestedFLUTE", "LSVIUCB")


def walk(terminal=True, horizon=5):
    """States 0, 1, 2 and the end 3; action 0 goes on with 0.7, from state 2 to the end, which pays 1 on arrival."""
    P, r = np.zeros((4, 2, 4)), np.zeros((4, 2, 4))
    for s in range(3):
        P[s, 1, max(s - 1, 0)], P[s, 0, s + 1], P[s, 0, s] = 1.0, 0.7, 0.3
    P[3, :, 3], r[2, 0, 3] = 1.0, 1.0
    marks = np.arange(4) == 3 if terminal else None
    return FiniteMDP(P, np.broadcast_to(r, (horizon, 4, 2, 4)), horizon=horizon, terminal=marks)


def test_an_episode_is_over_where_it_comes_to_a_terminal_state():
    mdp = walk()
    on = no_level = np.zeros((5, 1, 4), dtype=np.int64)
    uniforms = np.array([0.9, 0.1, 0.9, 0.9, 0.5])  # below 0.3: stay (the lower number comes first)
    state, action, level, reward, following = simulate(world_of(mdp), on, no_level, 0, uniforms)
    assert (state.tolist(), following.tolist()) == ([0, 1, 1, 2], [1, 1, 2, -1])
    assert (action.tolist(), level.tolist(), reward.tolist()) == ([0] * 4, [0] * 4, [0, 0, 0, 1])
    state, *_, following = simulate(world_of(walk(terminal=False)), on, no_level, 0, uniforms)
    assert (state.tolist(), following.tolist()) == ([0, 1, 1, 2, 3], [1, 1, 2, 3, 3])


def test_marks_change_no_value():
    np.testing.assert_array_equal(walk().optimal_q(), walk(terminal=False).optimal_q())
    assert not walk(terminal=False).terminal.any()
    with pytest.raises(ValueError, match="read-only"):
        walk().terminal[0] = True


@pytest.mark.parametrize("name", TABULAR + LINEAR)
def test_playing_is_acting_and_no_agent_sees_the_end(name):
    """Against the loop of act and observe, with the same transitions."""
    mdp, K = walk(), 200
    world, uniforms = world_of(mdp), np.ascontiguousarray(episode_uniforms(3, 0, 5)[:K, 1:])
    played, looped, acting = (unipac.AGENTS[name].made_for(mdp, rounds=K) for _ in range(3))
    assert played.n_states == 4
    full, slow = played.play(mdp, episodes=K, seed=3), empty_trace(K, 5)
    last = (full.level > 0).sum(axis=1)
    np.testing.assert_array_equal(full.level > 0, np.arange(5) < last[:, None])
    assert {3, 5} <= set(last.tolist())  # some as early as can be, some not at all

    EpisodicAgent._play(looped, world, np.zeros(K, dtype=np.int64), uniforms, slow)
    for field in ("level", "reward", "bound", "gap"):
        np.testing.assert_array_equal(getattr(full, field), getattr(slow, field), err_msg=field)

    for k in range(K):
        s, total = 0, 0.0
        for h in range(5):
            a = acting.act(s)
            t = int(np.searchsorted(world.cumulative[0, s, a], uniforms[k, h], side="right"))
            reward, over = float(world.arrivals[0, s, a, t]), t == 3
            acting.observe(reward, t, terminated=over)
            s, total = t, total + reward
            if over:
                break
        assert total == full.reward[k]
    assert acting.episodes == K
    np.testing.assert_array_equal(acting._plan().action, played._plan().action)
    np.testing.assert_array_equal(acting._plan().bound, played._plan().bound)


def test_the_environment_of_such_an_mdp_terminates():
    env = LinearMDPEnv(walk())
    env.reset(seed=0, options={"state": 2})
    terminated = False
    while not terminated:
        state, reward, terminated, truncated, info = env.step(0)
    assert (int(state), reward, truncated, info) == (3, 1.0, False, {"stage": 6})
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(1)
    with pytest.raises(ValueError, match="state must be one that is not terminal, got 3"):
        env.reset(options={"state": 3})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"terminal": [0, 1]}, r"terminal must be booleans of shape \(2,\), got int64 of shape \(2,\)"),
        ({"terminal": [True]}, r"terminal must be booleans of shape \(2,\), got bool of shape \(1,\)"),
        ({"terminal": [True, False]}, "terminal must mark .* got state 0, which is left"),
        (
            {"terminal": [False, True], "rewards": [[0.0], [1.0]]},
            "terminal must mark .* got state 1, which pays",
        ),
        (
            {"terminal": [False, True], "initial": [0.5, 0.5]},
            "terminal must mark .* got state 1, which may be the first",
        ),
    ],
)
def test_what_is_no_end(arguments, message):
    with pytest.raises(ValueError, match=message):
        FiniteMDP([[[0.5, 0.5]], [[0.0, 1.0]]], **{"rewards": [[0.5], [0.0]], "horizon": 3} | arguments)


def test_no_episode_begins_at_the_end():
    agent = unipac.CertVI.made_for(walk())
    with pytest.raises(ValueError, match=r"initial_states must be states that are not terminal, got \[3\]"):
        agent.play(walk(), episodes=2, initial_states=[0, 3])
    assert agent.episodes == 0


def outcomes_of_runs(make, runs, episodes, play):
    """Mean return of each run, and the upper bound at its end."""
    found = []
    for run in range(runs):
        agent = make(run)
        returns = play(agent, run, episodes)
        found.append((returns.mean(), float(agent._plan().bound[0])))
    return np.array(found).T


@pytest.mark.parametrize(
    ("name", "parameters", "count", "episodes"),
    [
        ("QLearning", {"initial_value": 1.0, "epsilon_decay": 100}, 30, 300),
        ("CertVI", {"return_range": (0.0, 1.0)}, 20, 200),
    ],
)
def test_learning_from_an_environment_and_playing_its_table_agree(name, parameters, count, episodes):
    """Slippery FrozenLake, 15 stages, so many runs each way.

    Null: mean return, and the upper bound of the last plan, have the same distribution in `learn(env)` and in
    `play(from_gymnasium(env))`. Two-sample Kolmogorov-Smirnov, exact, at level 1e-6 each: false alarms at most 4e-6
    over both agents. Negative control: without marks the end is one more state, of unknown value, and the test says so.
    """
    env = gymnasium.make("FrozenLake-v1")
    mdp = from_gymnasium(env, horizon=15)
    paid = np.broadcast_to(mdp.arrival_rewards, (15, 17, 4, 17))
    unmarked = FiniteMDP(mdp.tables[0], paid, mdp.initial, 15)

    def outcomes(first, play):
        def make(run):
            return getattr(unipac, name).made_for(mdp, seed=first + run, homogeneous=True, **parameters)

        return outcomes_of_runs(make, count, episodes, play)

    runs = [
        outcomes(0, lambda agent, run, K: agent.learn(env, episodes=K, seed=run).returns),
        outcomes(100, lambda agent, run, K: agent.play(mdp, episodes=K, seed=run).reward),
        outcomes(200, lambda agent, run, K: agent.play(unmarked, episodes=K, seed=50 + run).reward),
    ]
    p = [
        [scipy.stats.ks_2samp(runs[0][i], other[i], method="exact").pvalue for i in (0, 1)]
        for other in runs[1:]
    ]
    assert min(p[0]) > 1e-6
    assert min(p[1]) < 1e-6


def test_ends_with_different_rewards_are_told_apart():
    """Null: returns from cell 62 of FrozenLake 8x8, going right, are 1 with probability 1/3 at the first stage.

    4,000 episodes of one stage, |z| < 5: false alarm 6e-7. The mean of hole and goal would pay a half with 2/3.
    """
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1", map_name="8x8"), horizon=1)
    assert mdp.n_states == 66
    assert np.flatnonzero(mdp.terminal).tolist() == [64, 65]
    agent = unipac.QLearning(66, 4, horizon=1, epsilon_end=0.0, epsilon_start=0.0)
    agent.state.Q[0, 62, 2] = 1000.0
    trace = agent.play(mdp, episodes=4000, seed=0, initial_states=np.full(4000, 62))
    assert set(trace.reward.tolist()) == {0.0, 1.0}
    assert abs(trace.reward.sum() - 4000 / 3) < 5 * np.sqrt(4000 * 2 / 9)

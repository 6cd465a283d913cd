"""What FLUTE, NestedFLUTE and LSVI-UCB share on finitely many states: plans, runs, certificates, files, bad input."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import unipac
from helpers.flute import AGENTS, DELTA, pair, replay
from helpers.judges.flute import NaiveFLUTE, policy_value
from unipac.envs import random_simplex, river_swim
from unipac.envs.play.simulation import episode_uniforms
from unipac.features import TileCoding
from unipac.mdp.linear.radius import FIXED
from unipac.theory import mdp_radii


@pytest.mark.parametrize("name", AGENTS)
def test_lazy_replans_when_it_should(name):
    """Exactly when a level was opened at stage 1 or some log det rose by more than log 1.25 + 1e-9."""
    mdp = random_simplex(n_states=3, n_actions=2, dim=3, horizon=3, seed=1)
    agent, judge = pair(name, mdp, scale=0.1, regularization=1.0, replan="lazy")
    uniforms = episode_uniforms(0, 0, 3)
    planned = None
    for k in range(200):
        now = {(h, i): judge.logdet(h, i) for h in range(1, 4) for i in range(1, judge.S + 1)}
        due = planned is None or set(now) != set(planned)
        due = due or any(now[key] - planned[key] > np.log(1.25) + 1e-9 for key in now)
        trace = agent.play(mdp, episodes=1, seed=0, initial_states=[k % 3])
        assert trace.replanned[0] == due
        if due:
            judge.plan()
            planned = now
        replay(mdp, judge, k % 3, uniforms[k], trace, 0)


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", AGENTS)
def test_play_in_parts_and_by_hand_is_one_run(name):
    """play(a); play(b) = play(a + b) = the loop of act and observe, bit for bit."""
    mdp = river_swim(n_states=4, horizon=5)
    whole, parts, loop = (pair(name, mdp, scale=0.1, regularization=1.0, replan="lazy")[0] for _ in range(3))
    trace = whole.play(mdp, episodes=1500, seed=3)
    first, second = parts.play(mdp, episodes=700, seed=3), parts.play(mdp, episodes=800, seed=3)
    np.testing.assert_array_equal(trace.gap, np.concatenate([first.gap, second.gap]))
    np.testing.assert_array_equal(trace.level, np.concatenate([first.level, second.level]))
    cumulative = np.cumsum(mdp.transitions, axis=3)
    for k in range(1500):
        numbers = episode_uniforms(3, k // 1024, 5)[k % 1024]
        s = int(np.searchsorted(np.cumsum(mdp.initial), numbers[0], side="right"))
        for h in range(5):
            a = loop.act(s)
            following = int(np.searchsorted(cumulative[h, s, a][:-1], numbers[h + 1], side="right"))
            loop.observe(mdp.rewards[h, s, a], following)
            s = following
    assert loop.episodes == whole.episodes == 1500
    for agent in (parts, loop):
        for a, b in zip(whole.state.data, agent.state.data, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(whole.state.plan.Q, agent.state.plan.Q)
        np.testing.assert_array_equal(whole.policy(), agent.policy())


@pytest.mark.parametrize("name", AGENTS)
def test_certified_runs_are_optimistic_everywhere(name):
    """Radius "finite": Q ≥ Q* in every plan of 20 runs; a bonus of zero fails (negative control)."""
    mdp = river_swim(n_states=3, horizon=3)
    extra = {"total_episodes": 2000} if name == "LSVIUCB" else {}
    q_star = mdp.optimal_q()

    def always_above(seed, scale):
        agent = AGENTS[name](mdp.features, horizon=3, radius="finite", bonus_scale=scale, **extra)
        above = True
        for _ in range(20):
            agent.play(mdp, episodes=100, seed=seed)
            planned = agent.state.planned.levels[0]
            above &= bool((agent.state.plan.Q[:, :planned] >= q_star[:, None] - 1e-12).all())
            assert (agent.state.proof.Q[:, :planned] >= q_star[:, None] - 1e-12).all()  # however it acts
            assert agent.certified
            assert agent.guarantee == (agent.theorem if scale == 1.0 else "none")
        return above

    assert all(always_above(seed, 1.0) for seed in range(20))
    assert not any(always_above(seed, 0.0) for seed in range(3))


@pytest.mark.parametrize("seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", AGENTS)
def test_the_certificate_of_an_episode(name, seeds):
    """Never below the exact gap in certified runs of 10^5 episodes, changes nothing, and comes down."""
    mdp = river_swim(n_states=3, horizon=3)
    extra = {"total_episodes": 10**6} if name == "LSVIUCB" else {}
    for seed in range(seeds):
        asked, silent = (AGENTS[name](mdp.features, horizon=3, radius="finite", **extra) for _ in range(2))
        certificates = []
        for episodes in (1, 10, 100, 1000, 5000, 20_000, 100_000):
            certificates.append(asked.certificate(0))
            gap = asked.play(mdp, episodes=1, seed=seed).gap[0]
            assert gap <= certificates[-1]
            assert silent.play(mdp, episodes=1, seed=seed).gap[0] == gap
            for agent in (asked, silent):
                agent.play(mdp, episodes=episodes, seed=seed)
        np.testing.assert_array_equal(asked.state.plan.Q, silent.state.plan.Q)
        assert certificates[-1] < certificates[0] == 3.0
    other = AGENTS[name](mdp.features, horizon=3, radius="mixture", **extra)
    assert np.isnan(other.certificate(0))  # nothing is proven


def lower_values(judge, beta, cap):
    """V_low of the policy that the judge would execute now, (S + 2, states), by the level of the stage before.

    max over all sets i of ⟨w, φ⟩ − β_i ‖φ‖, with w for the target V_low of the next stage, clipped to [0, cap].
    """
    n_states, _, d = judge.phi.shape
    sets = range(1, judge.S + 1)
    low = np.zeros((judge.S + 2, n_states))
    for h in range(judge.H, 0, -1):
        grams = [judge.gram(h, i) for i in sets]
        now = np.zeros_like(low)
        for previous in range(1, judge.S + 2):
            for s in range(n_states):
                a = int(judge.least_q(h, previous)[s].argmax())
                level, _ = judge.level(h, s, a, previous)
                x = judge.phi[s, a]
                for i, Sigma in zip(sets, grams, strict=True):
                    b = np.zeros(d)
                    for seen, taken, reward, following in judge.data(h, i):
                        target = reward + low[level, following] - judge.centre[h - 1]
                        b += judge.phi[seen, taken] * target
                    solved = np.linalg.solve(Sigma, x)
                    value = judge.centre[h - 1] + b @ solved - beta(i, Sigma) * np.sqrt(x @ solved)
                    now[previous, s] = max(now[previous, s], min(value, cap[h - 1]))
        low = now
    return low


@pytest.mark.boundscheck
@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize("scale", [0.0, pytest.param(0.1, marks=pytest.mark.slow), 0.3, 1.0, 2.0])
@pytest.mark.parametrize("name", AGENTS)
def test_a_scaled_bonus_changes_the_policy_alone(name, scale, horizon):
    """Actions as with the scaled radius; bound and certificate are of that policy, with the proven radius.

    For two stages that radius says nothing after so few episodes: there, a smaller one takes its place.
    """
    regularization, episodes, replan = 0.1, 100, "lazy" if horizon == 2 else "always"
    mdp = random_simplex(n_states=2, n_actions=2, dim=2, horizon=horizon, seed=1)
    extra = {"total_episodes": episodes + 1} if name == "LSVIUCB" else {}
    agent = AGENTS[name](
        mdp.features, horizon=horizon, radius="finite", delta=DELTA, regularization=regularization,
        bonus_scale=scale, replan=replan, **extra,
    )  # fmt: skip
    assert agent.certified
    assert agent.guarantee == (agent.theorem if scale == 1.0 else "none")
    assert np.isfinite(agent.mistake_bound(0.5)) == (agent.guarantee == "uniform-PAC")

    if horizon == 2:
        rules = agent._memory.rules
        agent._memory.rules = rules._replace(kind=FIXED, constants=np.full_like(rules.constants, 0.5))
        agent.state.data.beta[:] = 0.5

    def beta(level, Sigma):
        if horizon == 2:
            return 0.5
        inside, outside = mdp_radii.finite_constants(
            2, horizon, level, DELTA, n_states=2, regularization=regularization,
            nested=name == "NestedFLUTE", episodes=extra.get("total_episodes"),
        )  # fmt: skip
        return 0.5 * (horizon - 1) * np.sqrt(np.linalg.slogdet(Sigma / regularization)[1] + inside) + outside

    judge = NaiveFLUTE(
        mdp.features,
        horizon,
        lambda level, Sigma: scale * beta(level, Sigma),
        regularization=regularization,
        nested=name == "NestedFLUTE",
        cap="H-h+1",
        single=name == "LSVIUCB",
        centred=True,
    )
    uniforms = episode_uniforms(5, 0, horizon)
    lowest = 0.0
    for k in range(episodes):
        if agent._plan().fresh:
            followed = judge.plan()
            judge.beta, scaled = beta, judge.beta
            proven = [np.min(q, axis=0) for q in judge.plan()]
            judge.beta, judge.Q = scaled, followed
        bound = proven[0].max(axis=1)
        if k % 10 == 9:
            certificate = np.array([agent.certificate(s) for s in (0, 1)])
            low = lower_values(judge, beta, judge.cap)[1 if judge.single else judge.S + 1]
            np.testing.assert_allclose(certificate, bound - low, atol=1e-8)
            if horizon == 1:
                assert (mdp.optimal_value() - policy_value(mdp, judge) <= certificate + 1e-12).all()
            lowest = max(lowest, low.max())
        trace = agent.play(mdp, episodes=1, seed=5, initial_states=[k % 2])
        assert trace.bound[0] == pytest.approx(bound[k % 2], abs=1e-8)
        replay(mdp, judge, k % 2, uniforms[k], trace, 0)
    assert lowest > 0.05
    assert horizon == 1 or bound.max() < 2.0


@pytest.mark.parametrize("name", AGENTS)
def test_the_radius_of_every_stage_is_that_of_the_theory(name):
    """With what is left after a stage; at the last one there is no noise, and the ridge is all."""
    mdp = random_simplex(n_states=3, n_actions=2, dim=3, horizon=4, seed=1)
    extra = {"total_episodes": 500} if name == "LSVIUCB" else {}
    agent = AGENTS[name](mdp.features, horizon=4, radius="finite", regularization=0.5, **extra)
    agent.play(mdp, episodes=300, seed=0)
    data = agent.state.data
    for level in agent.levels():
        h, i = level.stage - 1, level.level - 1
        inside, outside = mdp_radii.finite_constants(
            3,
            4,
            level.level,
            0.05,
            n_states=3,
            regularization=0.5,
            nested=name == "NestedFLUTE",
            stage=h + 1,
            episodes=extra.get("total_episodes"),
        )
        right = 0.5 * (3 - h) * np.sqrt(data.logdet[h, i] + inside) + outside
        assert level.radius == pytest.approx(right, rel=1e-12)
    assert agent.levels()[-1].radius == pytest.approx(np.sqrt(3 * 0.5))
    np.testing.assert_array_equal(agent._memory.settings.caps, [4, 3, 2, 1])
    np.testing.assert_array_equal(agent._memory.rules.centre, [1.5, 1.0, 0.5, 0.0])


def test_a_radius_too_small_gives_wrong_certificates():
    """Negative control: the same recursion with a five-hundredth of the first radius falls below the gap."""
    mdp = river_swim(n_states=3, horizon=3)
    wrong = 0
    for seed in range(20):
        agent = unipac.NestedFLUTE(mdp.features, horizon=3)
        rules = agent._memory.rules
        too_small = np.full_like(rules.constants, 0.002 * agent.levels()[0].radius)
        agent._memory.rules = rules._replace(kind=FIXED, constants=too_small)
        for _ in range(10):
            agent.play(mdp, episodes=100, seed=seed)
            claimed = agent.certificate(0)
            wrong += agent.play(mdp, episodes=1, seed=seed).gap[0] > claimed
    assert wrong > 0


def test_level_sizes_stay_below_their_bound():
    mdp = random_simplex(n_states=5, n_actions=3, dim=3, horizon=4, seed=0)
    for agent in (
        unipac.FLUTE(mdp.features, horizon=4, radius="mixture", bonus_scale=0.1, replan="lazy"),
        unipac.NestedFLUTE(mdp.features, horizon=4, radius="mixture", bonus_scale=0.1),
    ):
        agent.play(mdp, episodes=20_000, seed=0)
        assert all(level.size <= level.bound for level in agent.levels())
        assert max(level.level for level in agent.levels()) >= 6


@pytest.mark.parametrize("name", AGENTS)
def test_save_and_load_in_the_middle_of_an_episode(name, tmp_path):
    mdp = river_swim(n_states=4, horizon=5)
    agent, _ = pair(name, mdp, scale=0.1, regularization=4.0, replan="lazy")
    agent.play(mdp, episodes=500, seed=0)
    agent.act(0)
    agent.observe(0.05, 0)
    agent.act(0)  # waiting for an observation
    agent.save(tmp_path / "agent")
    loaded = unipac.load(tmp_path / "agent")
    assert repr(loaded) == repr(agent)
    for player in (agent, loaded):
        player.observe(0.0, 1, truncated=True)
    traces = [player.play(mdp, episodes=500, seed=1) for player in (agent, loaded)]
    np.testing.assert_array_equal(traces[0].gap, traces[1].gap)
    np.testing.assert_array_equal(agent.state.plan.Q, loaded.state.plan.Q)


@pytest.mark.parametrize("progress", [False, True])
def test_learning_from_a_gymnasium_environment(progress, capsys):
    """The returns are those of the environment; nearly optimal ones after some thousand episodes."""
    env = gymnasium.make("unipac/RiverSwim-v0", n_states=3, horizon=3)
    agent = unipac.NestedFLUTE(env.unwrapped.mdp.features, horizon=3, radius="mixture", bonus_scale=0.05)
    returns = agent.learn(env, episodes=4000, seed=0, progress=progress).returns
    assert agent.episodes == 4000
    assert ("4000/4000" in capsys.readouterr().out) == progress
    # The mean of the last 2000 returns, each in [0, 3], is within 5 standard errors of V* = 0.2515 (H = 3).
    late = returns[2000:]
    assert abs(late.mean() - 0.2515) < 5 * late.std() / np.sqrt(2000) + 0.01


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", AGENTS)
def test_counted_and_stored_agents_are_the_same(name, tmp_path):
    """Driven through the same transitions, saved and loaded on the way, in the middle of an episode."""
    mdp = random_simplex(n_states=5, n_actions=3, dim=4, horizon=3, seed=3)
    extra = {"total_episodes": 10**4} if name == "LSVIUCB" else {}
    common = {"horizon": 3, "radius": "mixture", "bonus_scale": 0.1, "replan": "lazy", **extra}
    counted = AGENTS[name](mdp.features, **common)

    def features(state):
        return mdp.features[state]

    stored = AGENTS[name](feature_map=features, n_actions=3, dim=4, **common)
    rng = np.random.default_rng(0)
    for k in range(400):
        s = int(rng.integers(5))
        for h in range(3):
            a = counted.act(s)
            assert stored.act(s) == a
            if k == 200 and h == 1:
                stored.save(tmp_path / "agent")
                with pytest.raises(ValueError, match="feature_map must be given"):
                    unipac.load(tmp_path / "agent")
                stored = unipac.load(tmp_path / "agent", feature_map=features)
            following = int(rng.choice(5, p=mdp.transitions[h, s, a]))
            terminated = bool(rng.random() < 0.05)
            for agent in (counted, stored):
                agent.observe(mdp.rewards[h, s, a], following, terminated)
            if terminated:
                break
            s = following
    assert [level[:3] for level in counted.levels()] == [level[:3] for level in stored.levels()]
    table, function = counted.policy(), stored.policy()
    assert all(table(s, h) == function(s, h) for s in range(5) for h in (1, 2, 3))


def test_a_feature_map_of_ours_is_saved_with_the_agent(tmp_path):
    tiles = TileCoding([0.0], [1.0], 2, bins=3, tilings=2)
    agent = unipac.NestedFLUTE(feature_map=tiles, horizon=2, bonus_scale=0.01)
    assert agent.dim == tiles.dim
    assert "explicit" in repr(agent)
    agent.act([0.2])
    agent.observe(0.5, [0.7])
    agent.save(tmp_path / "agent")
    loaded = unipac.load(tmp_path / "agent")
    assert agent.act([0.7]) == loaded.act([0.7])
    for player in (agent, loaded):
        player.observe(1.0, [0.1])
    assert [level[:3] for level in agent.levels()] == [level[:3] for level in loaded.levels()]


@pytest.mark.parametrize(
    ("arguments", "call", "message"),
    [
        (
            {"dim": 3},
            lambda agent: agent.act(0),
            r"feature_map\(observation\) must have shape \(2, 3\), got \(2, 2\)",
        ),
        ({}, lambda agent: agent.act(3), r"feature_map\(observation\) must have norms of at most 1"),
        ({}, lambda agent: agent.play(river_swim(2, 2), episodes=1), "feature_map must be absent for play"),
        ({"radius": "finite"}, None, "radius must be other than 'finite' with a feature_map"),
        ({"n_actions": None}, None, "n_actions must be an integer >= 1, got None"),
        ({"features": np.eye(2)[:, None]}, None, "features must be given, or else a feature_map"),
    ],
)
def test_bad_feature_maps(arguments, call, message):
    def make():
        given = {"feature_map": lambda s: (1 + s) * np.eye(2) * 0.5, "n_actions": 2, "dim": 2, "horizon": 2}
        return unipac.FLUTE(**{**given, **arguments})

    with pytest.raises(ValueError, match=message):
        make() if call is None else call(make())


def test_zero_features_are_refused():
    """Each would open a level of its own; Assumption 1 excludes them."""
    features = np.zeros((1, 2, 2))
    features[0, 1] = 0.6, 0.8
    with pytest.raises(ValueError, match=r"features must be of norm at least 1e-12, got 0\.0"):
        unipac.FLUTE(features, horizon=1)
    agent = unipac.FLUTE(feature_map=lambda s: features[s], n_actions=2, dim=2, horizon=1)
    with pytest.raises(ValueError, match="must be of norm at least"):
        agent.act(0)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", AGENTS)
def test_ending_early_is_worth_zero_on_any_scale(name, stored):
    """Rewards in [-1, 0], H = 4: ending at once costs 1, going on costs 0.9 each stage. Ending is optimal."""
    features = np.eye(2)[None]
    given = (
        {"feature_map": lambda s: features[s], "n_actions": 2, "dim": 2} if stored else {"features": features}
    )
    extra = {"total_episodes": 1000} if name == "LSVIUCB" else {}
    agent = AGENTS[name](
        **given,
        horizon=4,
        radius="mixture",
        bonus_scale=0.2,
        reward_range=(-1.0, 0.0),
        regularization=0.1,
        **extra,
    )
    total = 0.0
    for k in range(1600):
        for _ in range(4):
            ends = agent.act(0) == 1
            agent.observe(-1.0 if ends else -0.9, 0, ends)
            total -= 0.0 if k < 1500 else (1.0 if ends else 0.9)
            if ends:
                break
    assert total / 100 == pytest.approx(-1.0)


def test_terminated_and_truncated():
    """After `terminated` the next state counts nothing, after `truncated` it does; both end the episode."""
    features = np.eye(2)[:, None, :]  # two states, one action
    kept, ended = (
        unipac.LSVIUCB(features, horizon=2, total_episodes=100, radius="mixture", bonus_scale=0.0)
        for _ in range(2)
    )
    for agent, flags in ((kept, (False, True)), (ended, (True, False))):
        for _ in range(50):
            agent.act(0)
            agent.observe(0.5, 1, *flags)  # the episode is over after the first of two stages
            agent.act(1)
            agent.observe(0.0, 0)
            agent.act(0)
            agent.observe(1.0, 0)
    assert kept.episodes == ended.episodes == 100
    assert kept.state.data.arrivals[0, 0, 1, 0] == 50.0
    assert ended.state.data.arrivals[0, 0, 1, 0] == 0.0


def test_rewards_are_rescaled():
    features = np.eye(2)[:, None, :]
    agent = unipac.FLUTE(features, horizon=1, radius="finite", reward_range=(-2.0, 2.0))
    assert not agent.certified
    agent.act(0)
    agent.observe(-1.0, 1)
    assert agent.state.data.rewards[0, 0, 0] == 0.25
    agent.act(0)
    with pytest.raises(ValueError, match=r"reward must be in \[-2, 2\]"):
        agent.observe(2.5, 1)


def test_another_process_continues_bit_for_bit(tmp_path):
    mdp = river_swim(n_states=4, horizon=5)
    agent = unipac.NestedFLUTE(mdp.features, horizon=5, radius="mixture", bonus_scale=0.1)
    agent.play(mdp, episodes=777, seed=5)
    agent.save(tmp_path / "agent")
    program = (
        "import sys, numpy, unipac; a = unipac.load(sys.argv[1]);"
        "t = a.play(unipac.envs.river_swim(n_states=4, horizon=5), episodes=777, seed=5);"
        "numpy.save(sys.argv[2], t.gap)"
    )
    subprocess.run(
        [sys.executable, "-c", program, tmp_path / "agent", tmp_path / "gap.npy"],
        check=True,
        capture_output=True,
    )
    np.testing.assert_array_equal(agent.play(mdp, episodes=777, seed=5).gap, np.load(tmp_path / "gap.npy"))


def test_learning_ends_in_the_optimum():
    mdp = river_swim(n_states=3, horizon=3)
    agent = unipac.NestedFLUTE(mdp.features, horizon=3, radius="mixture", bonus_scale=0.1)
    trace = agent.play(mdp, episodes=20_000, seed=0)
    assert trace.gap[:100].max() > 0.1
    assert (trace.gap[-1000:] < 1e-12).mean() > 0.9
    # The greedy policy of the tightest bounds may still be trying an action whose bound is nearly the best.
    value = unipac.envs.policy_value(mdp, agent.policy())[0, 0]
    assert value >= mdp.optimal_value()[0] - 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda agent, mdp: agent.act(4), "observation must be an integer >= 0 and <= 3, got 4"),
        (lambda agent, mdp: agent.observe(0.0, 0), "observe must follow act"),
        (lambda agent, mdp: (agent.act(0), agent.act(0)), "act must be followed by observe"),
        (
            lambda agent, mdp: (agent.act(0), agent.observe(1.5, 0)),
            r"reward must be in \[0, 1\] \(reward_range\), got 1.5",
        ),
        (lambda agent, mdp: (agent.act(0), agent.observe(0.5, 9)), "next_observation must be an integer"),
        (
            lambda agent, mdp: agent.play(river_swim(5, 5), episodes=1),
            "mdp must be a FiniteMDP with horizon 5, 4 states and 2 actions, got",
        ),
        (lambda agent, mdp: agent.play(mdp, episodes=2, initial_states=[0, 7]), "initial_states must be 2"),
        (lambda agent, mdp: agent.play(mdp, episodes=-1), "episodes must be an integer >= 0"),
        (lambda agent, mdp: unipac.FLUTE([[1.0]], horizon=2), "features must have shape"),
        (
            lambda agent, mdp: unipac.FLUTE(2 * mdp.features, horizon=2),
            "features must have norms of at most 1",
        ),
        (lambda agent, mdp: unipac.FLUTE(mdp.features, horizon=0), "horizon must be an integer >= 1"),
        (lambda agent, mdp: unipac.FLUTE(mdp.features, horizon=2, radius="ucb"), "radius must be one of"),
        (lambda agent, mdp: unipac.FLUTE(mdp.features, horizon=2, replan="often"), "replan must be one of"),
        (lambda agent, mdp: unipac.LSVIUCB(mdp.features, horizon=2, total_episodes=0), "episodes must be"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, message):
    mdp = river_swim(n_states=4, horizon=5)
    agent = unipac.NestedFLUTE(mdp.features, horizon=5, radius="mixture")
    agent.play(mdp, episodes=50, seed=0)
    before = [array.copy() for array in agent.state.data]
    with pytest.raises(ValueError, match=message):
        call(agent, mdp)
    for a, b in zip(before, agent.state.data, strict=True):
        np.testing.assert_array_equal(a, b)
    assert agent.episodes == 50

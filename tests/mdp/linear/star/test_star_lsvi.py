"""StarLSVI against its slow judge: plans, bounds, certificates and the moments of planning; edges; its promises."""

import math
import warnings

import numpy as np
import pytest

import unipac
from helpers import star
from unipac import StarLSVI, envs
from unipac.mdp.linear.star import episodes as kernels
from unipac.mdp.protocol.plan import Episode


@pytest.mark.parametrize("case", star.CASES)
@pytest.mark.parametrize("episodes", [45, pytest.param(300, marks=pytest.mark.slow)])
def test_agent_is_what_its_pseudo_code_says(episodes, case):
    star.check_is_its_pseudo_code(case, episodes)


class Rows:
    """A feature map: rows of a table."""

    def __init__(self, features):
        self.features = features
        self.n_actions, self.dim = features.shape[1:]

    def __call__(self, state):
        return self.features[int(state)]


@pytest.mark.parametrize("rewards", ["deterministic", "noisy"])
def test_counted_transitions_are_stored_ones(rewards):
    """The same episodes, by numbers of states and by features: bounds and certificates differ by rounding alone."""
    mdp = envs.random_simplex(5, 3, 3, 3, seed=2)
    given = {"horizon": 3, "mixture": True, "rewards": rewards, "terminates": False, "regularization": 0.6}
    counted, stored = StarLSVI(mdp.features, **given), StarLSVI(feature_map=Rows(mdp.features), **given)
    rng = np.random.default_rng(0)
    for k in range(150):
        s = int(rng.integers(5))
        if k % 10 == 0:
            told = [(agent.certificate(s), agent.state.told[0]) for agent in (counted, stored)]
            np.testing.assert_allclose(*told, atol=1e-6)
        for h in range(3):
            a = counted.act(s)
            stored.act(s)
            stored._ledger.waiting = stored._ledger.waiting._replace(action=a)  # ties may be broken otherwise
            t = int(rng.choice(5, p=mdp.transitions[h, s, a]))
            for agent in (counted, stored):
                agent.observe(float(mdp.rewards[h, s, a]), t)
            s = t
    assert (counted.state.counters[: kernels.NUMBER] == stored.state.counters[: kernels.NUMBER]).all()
    assert counted.state.counters[kernels.PLANS] > 5
    assert counted.state.slots.used.max() < 76 < 150 == stored.state.slots.used.max()


def test_certificates_of_a_plan_do_not_depend_on_what_came_before_it():
    """Transitions before a plan replaced by garbage, the plan kept: its certificates are the same, bit for bit."""
    mdp, rng = envs.random_simplex(5, 3, 3, 3, seed=2), np.random.default_rng(0)
    agent = StarLSVI(feature_map=Rows(mdp.features), horizon=3, mixture=True, terminates=False)
    for _ in range(400):
        s = int(rng.integers(5))
        for h in range(3):
            a = agent.act(s)
            t = int(rng.choice(5, p=mdp.transitions[h, s, a]))
            agent.observe(float(mdp.rewards[h, s, a]), t)
            s = t
    state, rules = agent.state, agent._rules
    before, after = state.counters[kernels.MADE], state.counters[kernels.LOOKED]
    assert before > 50
    assert after > 20
    told = [agent.certificate(s) for s in range(5)]

    def again():
        for chain in (3, 4):
            state.chains.matrix[chain], state.chains.vector[chain], state.chains.number[chain] = 7.0, 7.0, 7.0
        state.slots.decided[:] = 0
        kernels.judge(state, rules, kernels.CURRENT)
        return [agent.certificate(s) for s in range(5)]

    slots = state.slots
    slots.taken[:, :before] = rng.standard_normal((2, before, 3))
    slots.following[:, :before] = rng.standard_normal((2, before, 3, 3))
    slots.times[0, :, :before] = rng.integers(10**6, size=(2, before))
    assert again() == told
    slots.taken[0, before + 2] = [0.0, 0.0, 1.0]  # the control: later transitions matter
    assert again() != told


# -- edges -----------------------------------------------------------------------------------------


def test_before_any_episode_the_certificate_is_the_whole_range():
    phi = np.eye(3).reshape(3, 1, 3)
    for mixture in (False, True):
        agent = StarLSVI(phi.reshape(1, 3, 3), horizon=4, mixture=mixture)
        assert agent.certificate(0) == pytest.approx(4.0, abs=1e-6)
        assert agent.regret_certificate(0.5) == pytest.approx(10.0 * math.log(2) * math.e / (math.e - 1))
    weights = np.array([[0.2, 0.5, 0.4]] * 4)
    agent = StarLSVI(phi, horizon=4, mixture=True, rewards=weights, terminates=False)
    assert agent.certificate(0) == pytest.approx(0.0, abs=1e-6)  # one action


def test_f_without_data_is_its_cap_and_the_gain_their_sum():
    """One-hot features, known rewards, no data: f is hi − lo at every stage but the last, where it is 0."""
    phi = np.eye(4).reshape(2, 2, 4)
    weights = np.array([[0.0, 1.0, 0.25, 0.5]] * 3)
    agent = StarLSVI(phi, horizon=3, mixture=True, rewards=weights, terminates=False)
    caps = agent.state.chains.number[0, :3, 11]
    np.testing.assert_allclose(caps, [3.0, 2.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(agent.state.chains.number[3, :4, 10], [5.0, 2.0, 0.0, 0.0], atol=1e-7)
    learned = StarLSVI(phi, horizon=3, mixture=True, terminates=False)
    np.testing.assert_allclose(learned.state.chains.number[0, :3, 11], [3.0, 2.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(learned.state.chains.number[3, :4, 10], [6.0, 3.0, 1.0, 0.0], atol=1e-7)


def test_known_rewards_of_one_stage_leave_nothing_to_learn():
    phi = np.array([[[0.3, 0.7], [0.6, 0.4]]])
    agent = StarLSVI(phi, horizon=1, mixture=True, rewards=[[0.2, 0.9]])
    assert agent.act(0) == 0
    assert agent.certificate is not None
    agent.observe(float(phi[0, 0] @ [0.2, 0.9]), 0)
    assert agent.certificate(0) <= 1e-6
    assert np.asarray(agent.policy()).tolist() == [[0]]


def test_rewards_of_the_last_stage_count_until_they_are_recovered():
    """H = 1, learned: d independent visits are enough."""
    phi = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    agent = StarLSVI(phi, horizon=1, mixture=True)
    told = []
    for _ in range(3):
        told.append(agent.certificate(0))
        agent.observe([0.25, 0.75][agent.act(0)], 0)
    assert told[0] == pytest.approx(1.0, abs=1e-6)
    assert told[1] == pytest.approx(
        0.25, abs=1e-6
    )  # the action that pays .25 is known, the other may pay nothing
    assert told[2] < 1e-6


@pytest.mark.parametrize("low", [0.0, -0.4])
def test_ends_are_worth_nothing_and_stay_inside_the_bounds(low):
    """d = 1, H = 2, reward .8, every other episode ends after the first stage: Q* is 1.2, between the bounds."""
    agent = StarLSVI(np.ones((1, 1, 1)), horizon=2, mixture=True, reward_range=(low, 1.0))
    for k in range(3_000):
        agent.act(0)
        agent.observe(0.8, 0, terminated=k % 2 == 0)
        if k % 2 == 1:
            agent.act(0)
            agent.observe(0.8, 0)
    plan = agent._plan()
    assert plan.lower[0] <= 1.2 <= plan.bound[0]
    assert plan.bound[0] < 1.3
    assert agent.consistent
    other = StarLSVI(np.ones((1, 1, 1)), horizon=2, terminates=False)
    other.act(0)
    with pytest.raises(ValueError, match="terminates must be True if episodes end before H, got False"):
        other.observe(0.5, 0, terminated=True)


def test_shares_of_the_failure_probability_sum_to_delta():
    """All events of plans, and of both evaluations of a million plans."""
    from unipac.mdp.linear.star.planning import plan as numbers

    j = np.arange(1, 10**6 + 1, dtype=float)
    shares = numbers.SHARE_A + numbers.SHARE_B + numbers.SHARE_C
    certificates = (1 - numbers.OF_PLANS) * 2 * (1 / (2 * j * (j + 1))).sum() * shares
    assert 0.999 <= numbers.OF_PLANS * shares + certificates <= 1.0 + 1e-12


# -- promises --------------------------------------------------------------------------------------


def noticed(eta, seed, episodes):
    """Whether the agent warns within some episodes; P(good) is .1 and .9 at the two actions of the first state.

    Below η = .4 some coordinate of φ is no law of next states, though φ is in the simplex.
    """
    phi = np.array([[[0.5 - eta, 0.5 + eta], [0.5 + eta, 0.5 - eta]], [[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    rng, agent = np.random.default_rng(seed), StarLSVI(phi, horizon=2, mixture=True, terminates=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(episodes):
            t = 1 + int(rng.random() < (0.1, 0.9)[agent.act(0)])
            agent.observe(0.5, t)
            agent.act(t)
            agent.observe(float(t == 2), t)
    assert len(said) == (not agent.consistent)
    assert agent.certified == agent.consistent
    assert agent.consistent or math.isnan(agent.certificate(0))
    return not agent.consistent


@pytest.mark.parametrize(("runs", "episodes"), [(6, 1_000), pytest.param(24, 3_000, marks=pytest.mark.slow)])
def test_a_broken_promise_is_noticed_in_most_runs(runs, episodes):
    """Signed measures: the agent warns once and certifies nothing more; kept promises are left alone."""
    for eta in (0.05, 0.1) if runs > 6 else (0.05,):
        assert sum(noticed(eta, seed, episodes) for seed in range(runs)) > runs / 2
    assert not any(noticed(0.45, seed, episodes) for seed in range(runs // 2))


def test_rewards_that_differ_are_noticed():
    agent = StarLSVI(np.ones((1, 1, 1)), horizon=1, mixture=True)
    agent.act(0)
    agent.observe(0.5, 0)
    agent.act(0)
    with pytest.warns(RuntimeWarning, match="nothing is certified"):
        agent.observe(0.6, 0)
    assert not agent.certified
    known = StarLSVI(np.ones((1, 1, 1)), horizon=1, rewards=[[0.4]])
    known.act(0)
    with pytest.warns(RuntimeWarning, match="nothing is certified"):
        known.observe(0.6, 0)


BAD = [
    ({"mixture": 1}, r"mixture must be True or False, got 1"),
    (
        {"mixture": True, "features": [[[0.5, 0.4]]]},
        r"features must be such that each sums to 1 if mixture=True, got .*0.1",
    ),
    ({"mixture": True, "features": [[[1.5, -0.5]]]}, r"features must"),
    ({"rewards": "random"}, r"rewards must be one of .*, got 'random'"),
    ({"rewards": [[1.0]]}, r"rewards must be of shape \(2, 2\) or \(2, 1, 1\), got \(1, 1\)"),
    ({"rewards": [[2.0, 2.0]] * 2}, r"rewards must be in reward_range, got"),
    ({"explore": -1}, r"explore must be"),
    ({"replan_factor": 1.0}, r"replan_factor must be above 1, got 1.0"),
    ({"feature_map": len}, r"features must be given, or else a feature_map, got both or none"),
    ({"wait": None}, r"wait must be True or False, got None"),
    ({"regularization": 0.0}, r"regularization must be"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_parameters_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        StarLSVI(**{"features": [[[0.5, 0.5]]], "horizon": 2, **given})


def test_a_feature_map_that_breaks_the_promise_is_refused():
    agent = StarLSVI(feature_map=lambda s: [[s, 0.5]], n_actions=1, dim=2, horizon=1, mixture=True)
    before = agent.digest()
    with pytest.raises(ValueError, match=r"feature_map\(observation\) must be such that each sums to 1"):
        agent.act(0.4)
    assert agent.digest() == before
    assert agent.act(0.5) == 0


def test_exploring_episodes_are_marked_and_certified_by_the_whole_range():
    mdp = envs.river_swim(3, 3)
    agent = StarLSVI.made_for(mdp, mixture=True, bonus_scale=0.1, explore=4, terminates=False)
    trace = agent.play(mdp, episodes=400, seed=0)
    assert np.flatnonzero(trace.explored).tolist() == list(range(3, 400, 4))
    assert (trace.certificate[trace.explored] >= trace.certificate[~trace.explored][-1]).all()
    assert not trace.replanned[trace.explored].any()


def test_what_is_said_of_it():
    agent = StarLSVI(np.ones((1, 1, 1)), horizon=1)
    assert (agent.guarantee, agent.certified, StarLSVI.theorem) == ("none", True, "none")
    policy = agent.recommended()
    assert repr(policy) == "<policy of plan 1: 1 stages>"
    assert policy.certificate(0) == agent.certificate(0)
    assert unipac.AGENTS["StarLSVI"] is StarLSVI
    episode = Episode(*(np.zeros(1, int) for _ in range(3)), np.zeros(1), np.zeros(1, int))
    agent._commit(agent._learn(episode), 1)
    assert policy.certificate(0) >= agent.certificate(0)


def test_the_regret_certificate_bounds_the_regret():
    """Null: over all prefixes of a run it is below the regret with probability .05; two runs with fixed seeds."""
    for seed in range(2):
        mdp = envs.random_simplex(5, 3, 3, 3, seed=seed)
        agent = StarLSVI.made_for(mdp, mixture=True, terminates=False)
        regret = 0.0
        for _ in range(6):
            regret += agent.play(mdp, episodes=100, seed=seed).gap.sum()
            assert regret <= agent.regret_certificate()
        assert agent.regret_certificate() < 600 * 3


@pytest.mark.boundscheck
def test_a_policy_answers_at_every_stage_as_its_table_says():
    mdp = envs.random_simplex(4, 2, 3, 3, seed=4)
    agent = StarLSVI.made_for(mdp, mixture=True)
    agent.play(mdp, episodes=40, seed=1)
    policy = agent.policy()
    table = np.asarray(policy)
    assert table.shape == (3, 4)
    assert [[policy(s, h + 1) for s in range(4)] for h in range(3)] == table.tolist()
    with pytest.raises(ValueError, match="stage must be"):
        policy(0, 4)

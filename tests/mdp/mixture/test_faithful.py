"""The agents for mixture MDPs against their slow judge, against NestedOFUL, and what they are told in one step."""

import math

import numpy as np
import pytest

import unipac
from helpers.judges import mixture as judge
from unipac.envs import hypercube_mixture, mixture_swim, random_mixture, vtr_killer
from unipac.envs.mdps.mixture_mdp import MixtureMDP
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode

RULES = {"NestedVTR": judge.NESTED, "UPACVTR": judge.DISJOINT, "UCRLVTR": judge.SINGLE}
DEFAULTS = {"UCRLVTR": {"radius": "determinant", "scaling": "horizon"}}
CLOSE = 1e-8
"""Actions whose values differ by less may be taken for each other: the last digits are not the same."""


def small(seed=3, S=4, A=2, d=3, H=3, homogeneous=True):
    return random_mixture(S, A, d, H, seed=seed, homogeneous=homogeneous)


def signed():
    """Features of both signs, tiny and collinear: those of a mixture in other coordinates."""
    mdp = small(seed=5)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0] @ np.diag([1.0, 1e-3, 1.0])
    return MixtureMDP(mdp.features @ turn, np.linalg.solve(turn, mdp.weights[0]), mdp.rewards[0], horizon=3)


MDPS = {
    "mixture": small(),
    "per stage": small(homogeneous=False),
    "swim": mixture_swim(3, 4),
    "hypercube": hypercube_mixture(3, 3),
    "signed": signed(),
    "one dimension": small(d=1),
    "one state": small(S=1),
    "one action": small(A=1),
    "one stage": small(H=1),
    "killer": vtr_killer(),
}
CASES = [
    ("NestedVTR", "mixture", {}),
    ("NestedVTR", "mixture", {"homogeneous": True}),
    ("NestedVTR", "mixture", {"targets": "widest", "homogeneous": True}),
    ("NestedVTR", "per stage", {"targets": "widest", "regularization": 0.1}),
    ("NestedVTR", "mixture", {"likelihood": True}),
    ("NestedVTR", "swim", {"likelihood": True, "homogeneous": True, "delta": 0.3}),
    ("NestedVTR", "per stage", {"bonus_scale": 0.3, "regularization": 0.05}),
    ("NestedVTR", "per stage", {"radius": "determinant", "scaling": "horizon"}),
    ("NestedVTR", "mixture", {"scaling": "horizon", "homogeneous": True, "regularization": 0.1}),
    ("NestedVTR", "hypercube", {"regularization": 0.2}),
    ("NestedVTR", "signed", {"norm": 900.0, "regularization": 1e-6}),
    ("NestedVTR", "one dimension", {}),
    ("NestedVTR", "one state", {}),
    ("NestedVTR", "one action", {"likelihood": True}),
    ("NestedVTR", "one stage", {"likelihood": True}),
    ("NestedVTR", "one stage", {"homogeneous": True}),
    ("NestedVTR", "killer", {}),
    ("UPACVTR", "mixture", {"homogeneous": True}),
    ("UPACVTR", "per stage", {"regularization": 0.1}),
    ("UCRLVTR", "per stage", {}),
    ("UCRLVTR", "killer", {}),
    ("UCRLVTR", "killer", {"homogeneous": True}),
    ("UCRLVTR", "swim", {"homogeneous": True}),
    ("UCRLVTR", "per stage", {"radius": "mixture", "scaling": "span", "regularization": 0.3}),
]


@pytest.mark.parametrize(
    ("name", "world", "told"), CASES, ids=[f"{n}-{w}-{'-'.join(map(str, t.values()))}" for n, w, t in CASES]
)
def test_agent_is_what_its_pseudo_code_says(name, world, told):
    mdp = MDPS[world]
    agent = unipac.AGENTS[name].made_for(mdp, **told)
    given = {**DEFAULTS.get(name, {}), "norm": agent.norm, **told}
    slow = judge.Judge(mdp.features, mdp.rewards, mdp.horizon, rule=RULES[name], **given)
    rng = np.random.default_rng(0)
    for k in range(40 if told.get("likelihood") else 120):  # the judge is slow with a likelihood
        plan = agent._plan()
        action = plan.action[:, 0]
        slow.theta = agent.state.theta
        slow.plan()
        taken = np.take_along_axis(slow.Q, action[:, :, None], axis=2)[:, :, 0]
        assert (taken >= slow.Q.max(axis=2) - CLOSE).all()
        raw = np.where(slow.Q.max(axis=2, keepdims=True) - 1e-13 <= slow.Q, slow.raw, -math.inf).max(axis=2)
        assert (np.take_along_axis(slow.raw, action[:, :, None], axis=2)[:, :, 0] >= raw - 1e-6 - CLOSE).all()
        slow.certify(action)
        np.testing.assert_allclose(plan.bound, slow.bound, rtol=0, atol=1e-7)
        np.testing.assert_allclose(plan.lower, np.minimum(slow.lower[0], slow.bound), rtol=0, atol=1e-7)
        slow.upper, slow.lower = (
            agent.state.upper.copy(),
            agent.state.lower.copy(),
        )  # the same V to the last bit
        states, actions, following = [], [], []
        s = int(rng.choice(mdp.n_states))
        for h in range(mdp.horizon):
            a = int(rng.integers(mdp.n_actions)) if k % 3 == 0 else int(action[h, s])
            t = int(rng.choice(mdp.n_states, p=mdp.transitions[h, s, a]))
            states.append(s), actions.append(a), following.append(t)
            s = t
        columns = (np.array(column) for column in (states, actions, following))
        visited, chosen, after = columns
        agent._learn(Episode(visited, chosen, np.zeros_like(visited), np.zeros(mdp.horizon), after))
        slow.learn(states, actions, following)
        sizes = [len([level for level in agent.levels() if level.stage == m + 1]) for m in range(slow.M)]
        assert sizes == [len(stack) for stack in slow.stacks]


def test_several_levels_take_part():
    agent = unipac.NestedVTR.made_for(small(), homogeneous=True)
    agent.play(small(), episodes=120, seed=0)
    assert len(agent.levels()) >= 3


BANDITS = [("NestedVTR", "NestedOFUL"), ("UCRLVTR", "OFUL"), ("UPACVTR", "UPACOFUL")]


@pytest.mark.parametrize(("name", "bandit"), BANDITS)
def test_with_two_stages_they_are_bandits(name, bandit):
    """H = 2 and rewards 0, then those of arms: V_2 is known, so a step is a round with noise ½; 2,000 decisions."""
    rng = np.random.default_rng(2)
    S, A, d = 6, 5, 4
    models = rng.dirichlet(np.full(S, 0.3), size=(d, S, A))
    theta = np.array([0.6, 0.3, 0.1, 0.0])
    rewards = np.zeros((2, S, A))
    rewards[1] = np.linspace(0, 1, S)[:, None]
    mdp = MixtureMDP(unipac.envs.model_ensemble(models), theta, rewards, np.full(S, 1 / S), horizon=2)
    agent = unipac.AGENTS[name].made_for(mdp, radius="mixture", regularization=0.3, delta=0.1)
    arms = np.einsum("satd,t->sad", mdp.features, rewards[1, :, 0])
    other = unipac.AGENTS[bandit](
        d, radius="mixture", noise=0.5, norm=1.0, regularization=0.3, delta=0.1, action_norm=agent.value_norm
    )
    for k in range(2000):
        s = k % S
        decision = other.choose(np.ascontiguousarray(arms[s]))
        action = agent.act(s)
        assert action == decision.index
        t = int(rng.choice(S, p=mdp.transitions[0, s, action]))
        other.update(decision, float(rewards[1, t, 0]))
        agent.observe(0.0, t)
        agent.act(t)
        agent.observe(float(rewards[1, t, 0]), 0)
    assert [level.size for level in agent.levels()] == [level.size for level in other.levels()]
    radii = [
        [level.radius for level in one.levels()][:-1] for one in (agent, other)
    ]  # the last is that of all data
    np.testing.assert_allclose(*radii)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("more", [{}, {"homogeneous": True}])
def test_many_forced_episodes_are_single_ones(name, more):
    mdp = vtr_killer()
    one, many = (unipac.AGENTS[name].made_for(mdp, **more) for _ in range(2))
    many.absorb(mdp.forced_episode(), times=700)
    for _ in range(700):
        one.absorb(mdp.forced_episode())
    assert one.episodes == many.episodes == 700
    for first, second in zip(one.levels(), many.levels(), strict=True):
        assert first[:3] == second[:3]
        assert first.radius == pytest.approx(second.radius, rel=1e-12)
    np.testing.assert_allclose(one._plan().bound, many._plan().bound, rtol=1e-9)
    np.testing.assert_allclose(one._plan().lower, many._plan().lower, rtol=1e-9)


def test_an_absorbed_episode_is_one_that_was_played():
    mdp = small()
    one, other = (unipac.NestedVTR.made_for(mdp, likelihood=True) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(50):
        state, s = [], 0
        for h in range(mdp.horizon):
            a = one.act(s)
            t = int(rng.choice(mdp.n_states, p=mdp.transitions[h, s, a]))
            one.observe(float(mdp.rewards[h, s, a]), t)
            state.append((s, a, 0, mdp.rewards[h, s, a], t))
            s = t
        other.absorb(Episode(*(np.array(column) for column in zip(*state, strict=True))))
    np.testing.assert_array_equal(one._plan().bound, other._plan().bound)
    assert one.levels() == other.levels()
    assert one.episodes == other.episodes == 50


def test_what_is_not_absorbed():
    mdp = small()
    agent = unipac.NestedVTR.made_for(mdp)
    good = (np.array([0]), np.array([1]), np.array([0]), np.array([0.5]), np.array([2]))
    agent.absorb(good)
    for place, bad, message in (
        (0, np.array([4]), "episode.state must be"),
        (0, np.zeros(4, dtype=int), "episode must be of 1 to 3 stages"),
        (1, np.array([0.0]), "episode.action must be"),
        (3, np.array([2.0]), "episode.reward must be"),
        (4, np.array([-1]), "episode.following must be"),
        (4, np.array([[0.5, 0.4, 0.0, 0.0]]), "episode.following must be"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.absorb((*good[:place], bad, *good[place + 1 :]))
    with pytest.raises(ValueError, match="times must be 1 where values"):
        agent.absorb(good, times=2)
    with pytest.raises(ValueError, match="episode must be an Episode"):
        agent.absorb("no")
    with pytest.raises(ValueError, match="absorb must be asked of an agent that absorbs, got CertVI"):
        unipac.CertVI(2, 2, horizon=2).absorb(good)
    killer = unipac.UCRLVTR.made_for(vtr_killer(), regularization=1e-8)
    with pytest.raises(ValueError, match=r"times must be at most 5e\+12, or widths are lost"):
        killer.absorb(vtr_killer().forced_episode(), times=10**15)
    assert agent.episodes == 1


def test_compiled_play_is_the_loop_at_length():
    """Levels are opened on the way, and room is made for them."""
    mdp = mixture_swim(3, 5)
    for more in ({"homogeneous": True, "likelihood": True}, {"targets": "widest"}):
        one, other = (unipac.NestedVTR.made_for(mdp, regularization=1e-3, **more) for _ in range(2))
        trace = one.play(mdp, episodes=400, seed=1)
        other._play = lambda *given, agent=other: EpisodicAgent._play(agent, *given)
        slow = other.play(mdp, episodes=400, seed=1)
        np.testing.assert_array_equal(trace.gap, slow.gap)
        np.testing.assert_array_equal(trace.certificate, slow.certificate)
        assert one.levels() == other.levels()


def test_an_end_refutes_the_mixture():
    agent = unipac.NestedVTR.made_for(small())
    agent.act(0)
    with pytest.warns(RuntimeWarning, match="nothing is certified"):
        agent.observe(0.5, 0, terminated=True)
    assert not agent.certified
    assert math.isnan(agent.certificate(0))
    assert agent.guarantee == "none"


def test_features_of_a_table():
    """Any finite MDP is a mixture, of one kernel for each triple."""
    mdp = unipac.envs.river_swim(3, 3)
    agent = unipac.NestedVTR.made_for(mdp)
    assert agent.features.shape == (3, 2, 3, 18)
    np.testing.assert_allclose(agent.features @ mdp.tables[0].ravel(), mdp.tables[0])
    assert np.linalg.norm(mdp.tables[0]) <= agent.norm


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((2, 2, 3, 1))}, r"features must be of shape \(S, A, S, d\)"),
        ({"features": np.zeros((4, 2, 4, 3))}, "features must be not all 0"),
        ({"features": np.full((4, 2, 4, 3), np.nan)}, "features must be finite"),
        ({"rewards": np.zeros((2, 4))}, r"rewards must be of shape \(4, 2\) or \(3, 4, 2\)"),
        ({"rewards": np.full((4, 2), 2.0)}, r"rewards must be in \[0, 1\]"),
        ({"targets": "low"}, "targets must be one of 'up', 'widest'"),
        ({"likelihood": 1}, "likelihood must be True or False"),
        ({"regularization": 1e-12}, "regularization must be at least"),
        ({"scaling": "none"}, "scaling must be one of"),
    ],
)
def test_what_is_refused(change, message):
    mdp = small()
    good = {"features": mdp.features, "horizon": 3, "rewards": mdp.rewards}
    with pytest.raises(ValueError, match=message):
        unipac.NestedVTR(**{**good, **change})


def test_likelihood_needs_kernels():
    with pytest.raises(ValueError, match="likelihood must be False unless features are given kernels"):
        unipac.NestedVTR.made_for(vtr_killer(), likelihood=True)


@pytest.mark.parametrize(
    "told", [{}, {"bonus_scale": 0.02}, {"bonus_scale": 0.01, "norm": 3.0, "delta": 0.3}]
)
def test_weighted_regression_is_what_its_pseudo_code_says(told):
    mdp = small(homogeneous=False)
    agent = unipac.UCRLVTRPlus.made_for(mdp, **told)
    given = {"delta": 0.05, "norm": agent.norm, "bonus_scale": 1.0, **told}
    slow = judge.Plus(mdp.features, mdp.rewards, mdp.horizon, **given)
    for k in range(60):
        plan = agent._plan()
        slow.plan()
        action = plan.action[:, 0]
        np.testing.assert_allclose(plan.bound, slow.V[0], atol=1e-9)
        taken = np.take_along_axis(slow.Q, action[:, :, None], axis=2)[:, :, 0]
        assert (taken >= slow.Q.max(axis=2) - CLOSE).all()
        rng = np.random.default_rng(k)
        s, steps = int(rng.integers(4)), []
        for h in range(mdp.horizon):
            a = agent.act(s)
            t = int(rng.choice(4, p=mdp.transitions[h, s, a]))
            agent.observe(float(mdp.rewards[h, s, a]), t)
            steps.append((s, a, t))
            s = t
        slow.learn(*zip(*steps, strict=True))
    assert not agent.certified

"""NestedVTR is what its slow judge in ``helpers.judges.mixture`` says."""

import math

import numpy as np
import pytest

import unipac
from helpers import mixtures
from helpers.judges import mixture as judge
from helpers.mixtures import small
from unipac.envs import mixture_swim, vtr_killer
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode

CASES = [
    ("mixture", {}),
    ("mixture", {"homogeneous": True}),
    ("mixture", {"targets": "widest", "homogeneous": True}),
    ("per stage", {"targets": "widest", "regularization": 0.1}),
    ("mixture", {"likelihood": True}),
    ("swim", {"likelihood": True, "homogeneous": True, "delta": 0.3}),
    ("per stage", {"bonus_scale": 0.3, "regularization": 0.05}),
    ("per stage", {"radius": "determinant", "scaling": "horizon"}),
    ("mixture", {"scaling": "horizon", "homogeneous": True, "regularization": 0.1}),
    ("hypercube", {"regularization": 0.2}),
    ("signed", {"norm": 900.0, "regularization": 1e-6}),
    ("one dimension", {}),
    ("one state", {}),
    ("one action", {"likelihood": True}),
    ("one stage", {"likelihood": True}),
    ("one stage", {"homogeneous": True}),
    ("killer", {}),
]


@pytest.mark.parametrize(("world", "told"), CASES, ids=mixtures.named(CASES))
def test_agent_is_what_its_pseudo_code_says(world, told):
    mixtures.check_is_its_pseudo_code(unipac.NestedVTR, judge.NESTED, world, told)


def test_the_judge_can_say_no():
    """Negative control: the judge of another rule of levels."""
    with pytest.raises(AssertionError):
        mixtures.check_is_its_pseudo_code(
            unipac.NestedVTR, judge.DISJOINT, *("mixture", {"homogeneous": True})
        )


def test_several_levels_take_part():
    agent = unipac.NestedVTR.made_for(small(), homogeneous=True)
    agent.play(small(), episodes=120, seed=0)
    assert len(agent.levels()) >= 3


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

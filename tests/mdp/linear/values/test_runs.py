"""Runs of UPACLSVI and of MonotoneLSVI: compiled, with ends, cut, saved and copied."""

import copy

import numpy as np
import pytest

import unipac
from helpers.values import VARIANTS, assert_same
from unipac.envs import FiniteMDP, hypercube
from unipac.mdp.protocol.agent import EpisodicAgent


def walk():
    """States 0, 1, 2 in a row and the end 3; action 0 goes on with 0.7; the last step pays."""
    P, r = np.zeros((4, 2, 4)), np.zeros((4, 2))
    for s in range(3):
        P[s, 1, max(s - 1, 0)], P[s, 0, s + 1], P[s, 0, s] = 1.0, 0.7, 0.3
    P[3, :, 3], r[2, 0] = 1.0, 1.0
    return FiniteMDP(P, r, horizon=5, terminal=np.arange(4) == 3)


@pytest.mark.parametrize("told", [{}, {"radius": "vertex"}, {"reward_range": (-1.0, 1.0)}], ids=str)
@pytest.mark.parametrize("cls", [unipac.UPACLSVI, unipac.MonotoneLSVI])
def test_compiled_play_is_the_loop_where_episodes_end(cls, told):
    mdp = walk()
    told = {"radius": "monotone", **told}
    fast, slow = (cls.made_for(mdp, rounds=300, **told) for _ in range(2))
    trace = fast.play(mdp, episodes=300, seed=5)
    slow._play = lambda *arguments: EpisodicAgent._play(slow, *arguments)
    assert_same(trace, slow.play(mdp, episodes=300, seed=5))
    assert {3, 5} <= set((trace.level > 0).sum(axis=1).tolist())
    assert (trace.certificate >= trace.gap).all()
    np.testing.assert_array_equal(fast.state.data.counts.visits, slow.state.data.counts.visits)
    with pytest.raises(ValueError, match="terminates"):
        cls.made_for(mdp, rounds=1, terminates=False, **told).play(mdp, episodes=1)


@pytest.mark.parametrize(
    ("cls", "variant"),
    [(unipac.UPACLSVI, variant) for variant in VARIANTS]
    + [(unipac.MonotoneLSVI, variant) for variant in VARIANTS if variant != "auto"],  # it has no such radius
)
def test_runs_can_be_cut_saved_and_copied(cls, variant, tmp_path):
    mdp, told = hypercube(dim=3, horizon=3), {"radius": "monotone", "replan": "lazy", **VARIANTS[variant]}
    whole, parts = (cls.made_for(mdp, rounds=400, **told) for _ in range(2))
    trace = whole.play(mdp, episodes=400, seed=1)
    assert_same(trace.part(0, 171), parts.play(mdp, episodes=171, seed=1))
    parts.save(tmp_path / "agent.npz")
    for agent in (unipac.load(tmp_path / "agent.npz"), copy.deepcopy(parts), parts):
        assert_same(trace.part(171, 400), agent.play(mdp, episodes=229, seed=1))
        np.testing.assert_array_equal(np.asarray(agent.policy()), np.asarray(whole.policy()))

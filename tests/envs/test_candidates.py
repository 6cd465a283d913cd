"""Random MDPs with candidates for Q*."""

import numpy as np
import pytest

import unipac
from unipac.envs import CandidateMDP, FiniteMDP, random_candidates
from unipac.envs.play.visits import largest_return


@pytest.mark.parametrize(
    "size",
    [(3, 2, 2, 6), (1, 1, 1, 1), (4, 1, 3, 2), (2, 3, 1, 5)],
    ids=lambda size: "x".join(map(str, size)),
)
def test_the_truth_is_the_last_and_promises_least(size):
    mdp = random_candidates(*size, seed=7)
    S, A, H, N = size
    assert mdp.candidates.shape == (N, H, S, A)
    assert (mdp.candidates[-1] == mdp.optimal_q()).all()
    assert (mdp.candidates >= mdp.optimal_q() - 1e-15).all()
    assert mdp.candidates.max() <= 1.0
    assert largest_return(mdp) <= 1.0
    with pytest.raises(ValueError, match="read-only"):
        mdp.candidates[0] = 0.0


def test_it_is_a_function_of_its_seed():
    one, same, other = random_candidates(seed=1), random_candidates(seed=1), random_candidates(seed=2)
    assert (one.candidates == same.candidates).all()
    assert (one.transitions != other.transitions).any()


@pytest.mark.parametrize("name", ["n_states", "n_actions", "horizon", "candidates"])
def test_wrong_sizes_are_named(name):
    with pytest.raises(ValueError, match=name):
        random_candidates(**{name: 0})
    with pytest.raises(ValueError, match="seed"):
        random_candidates(seed=-1)


def test_olive_takes_them_unless_others_are_given():
    mdp = random_candidates(candidates=3)
    assert isinstance(mdp, CandidateMDP)
    assert (unipac.OLIVE.made_for(mdp).functions == mdp.candidates).all()
    own = np.ones((1, 2, 3, 2))
    assert (unipac.OLIVE.made_for(mdp, functions=own).functions == own).all()
    plain = FiniteMDP(mdp.transitions, mdp.rewards, mdp.initial)
    with pytest.raises(ValueError, match="functions must be given for finite-mdp"):
        unipac.OLIVE.made_for(plain)

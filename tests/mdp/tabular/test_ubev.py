"""UBEV against its slow judge."""

import numpy as np
import pytest

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular.ubev import UBEV


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("radius", ["printed", "stitched"])
def test_ubev_is_what_its_pseudo_code_says(pooled, known, radius):
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=3, pooled=pooled, by_pair=known)
    rewards = mdp.rewards() if known else None
    agent = UBEV(S, A, horizon=H, homogeneous=pooled, rewards=rewards, radius=radius, delta=0.2)
    data = judge.Data(pooled)
    for k in range(1000):
        plan = agent._plan()
        if k < 20 or k % 50 == 0:
            Q = judge.ubev(data, S, A, H, 0.2, rewards=rewards, radius=radius)
            np.testing.assert_allclose(plan.bound, Q[0].max(axis=1), atol=1e-9)
            assert agree(plan.action[:, 0], Q)
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        data.add(*episode)

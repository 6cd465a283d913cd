"""UCBVI against its slow judge."""

import numpy as np
import pytest

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular.ucbvi import UCBVI


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("variant", ["hoeffding", "bernstein", "without third term"])
def test_ucbvi_is_what_its_pseudo_code_says(pooled, variant):
    """With K = 1 and δ close to 1 the bonus is small enough to matter within these episodes."""
    S, A, H = 3, 2, 3
    mdp = RandomMDP(S, A, H, seed=5, pooled=pooled, by_pair=True)
    bonus = "hoeffding" if variant == "hoeffding" else "bernstein"
    told = {"rewards": mdp.rewards(), "bonus": bonus, "third_term": variant == "bernstein"}
    agent = UCBVI(S, A, horizon=H, homogeneous=pooled, delta=0.9, total_episodes=1, **told)
    slow = judge.UCBVI(S, A, H, 0.9, pooled=pooled, episodes=1, **told)
    for k in range(1500):
        plan = agent._plan()
        slow.plan()
        if k % 10 == 0:
            np.testing.assert_allclose(agent.state.Q.reshape(H, S, A), slow.Q, atol=1e-9)
            assert agree(plan.action[:, 0], slow.Q)
            np.testing.assert_array_equal(agent._plan().action, plan.action)
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        slow.learn(*episode)
    if variant == "without third term":
        assert (slow.Q < H).any()  # not only the start was compared

"""UCB-Advantage against its slow judge."""

import numpy as np

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage


def test_ucb_advantage_is_what_its_pseudo_code_says():
    S, A, H = 2, 2, 2
    mdp = RandomMDP(S, A, H, seed=2, pooled=False)
    agent = UCBAdvantage(S, A, horizon=H, delta=0.9, total_episodes=1, reference_factor=0.005)
    slow = judge.UCBAdvantage(S, A, H, 0.9, episodes=1, reference_factor=0.005)
    rng = np.random.default_rng(0)
    for k in range(20_000):
        if k % 100 == 0:
            plan = agent._plan()
            np.testing.assert_allclose(agent.state.Q, slow.Q, atol=1e-9)
            np.testing.assert_allclose(agent.state.V, [slow.V, slow.reference], atol=1e-9)
            assert agree(plan.action[:, 0], slow.Q)
            np.testing.assert_allclose(plan.bound, slow.V[0])
        episode = mdp.play(rng.integers(A, size=(H, S)))
        learned(agent, episode)
        slow.learn(*episode)
    assert (np.arange(H, 0, -1)[:, None, None] > slow.Q).any()
    assert (slow.reference[:H] < H).any()

"""Q-learning against its slow judge."""

import numpy as np
import pytest

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular.q_learning import QLearning


@pytest.mark.parametrize("pooled", [False, True])
def test_q_learning_is_what_its_pseudo_code_says(pooled):
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=1, pooled=pooled)
    told = {"learning_rate": 0.7, "learning_power": 0.6, "discount": 0.9, "initial_value": 0.5}
    agent = QLearning(S, A, horizon=H, homogeneous=pooled, epsilon_decay=500, seed=4, **told)
    slow = judge.QLearning(S, A, H, rate=0.7, power=0.6, discount=0.9, initial=0.5, pooled=pooled)
    explored, choices = 0, 0
    for k in range(1000):
        plan = agent._plan()
        np.testing.assert_array_equal(agent._plan().action, plan.action)
        Q = np.repeat(slow.Q[:1], H, axis=0) if pooled else slow.Q[:H]
        worse = np.take_along_axis(Q, plan.action[:, 0, :, None], axis=2)[:, :, 0] < Q.max(axis=2)
        if k >= 500:  # ε = 0.01
            explored += worse.sum()
            choices += worse.size
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        slow.learn(*episode)
        np.testing.assert_allclose(agent.state.Q, slow.Q[:1] if pooled else slow.Q[:H], atol=1e-12)
    # ε (1 − 1/A) of the choices are not greedy: 53 of 8,000 expected, standard deviation 7.3
    assert abs(explored - 0.01 * 2 / 3 * choices) < 5 * 7.3
    assert agree(np.asarray(agent.policy()), Q)

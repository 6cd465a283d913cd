"""PSRL draws from the posterior, and plans in what it drew."""

import numpy as np
import pytest

from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular import psrl
from unipac.mdp.tabular.psrl import PSRL


def test_psrl_draws_from_the_posterior_and_plays_the_best_policy():
    """Means and variances of the drawn probabilities are those of Dirichlet(1/S + N); 5 standard errors."""
    S, A, H, draws = 3, 1, 2, 4000
    agent = PSRL(S, A, horizon=H, homogeneous=True, rewards=np.zeros((S, A)))
    steps = [(0, 0, 0.0, 1)] * 6 + [(0, 0, 0.0, 2)] * 2
    for step in steps:
        learned(agent, tuple(np.array([x]) for x in step))
    counts = agent.state.counts
    drawn = np.zeros((draws, S))
    for k in range(draws):
        rng = np.random.default_rng([9, k])
        p, others, shares, _ = psrl.sample(counts, S, 0.0, 1.0, rng)
        for e in range(2):
            drawn[k, counts.following[e]] += p[e]
        drawn[k, 0] += shares[0].sum()  # of all states not seen; here it is one
        assert drawn[k].sum() == pytest.approx(1.0)
        assert ((others >= 0) & (others < S)).all()
    a = np.array([1 / 3, 6 + 1 / 3, 2 + 1 / 3])
    mean, total = a / a.sum(), a.sum()
    variance = mean * (1 - mean) / (total + 1)
    assert (abs(drawn.mean(axis=0) - mean) < 5 * np.sqrt(variance / draws)).all()
    assert (abs(drawn.var(axis=0) / variance - 1) < 0.15).all()


def test_psrl_plans_in_the_model_it_drew():
    """Dense backward induction with the same draw gives the same values."""
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=6, pooled=True)
    agent = PSRL(S, A, horizon=H, homogeneous=True, seed=5)
    for k in range(200):
        plan = agent._plan()
        rng, counts = np.random.default_rng([5, k]), agent.state.counts
        p, others, shares, means = psrl.sample(counts, S, 0.0, 1.0, rng)
        P = np.zeros((S * A, S))
        for cell in range(S * A):
            np.add.at(P[cell], others[cell], shares[cell])
            e = counts.first[cell]
            while e >= 0:
                if counts.following[e] >= 0:
                    P[cell, counts.following[e]] += p[e]
                e = counts.other[e]
        V = np.zeros(S)
        for h in reversed(range(H)):
            Q = (means + P @ V).reshape(S, A)
            V = Q.max(axis=1)
            assert agree(plan.action[h : h + 1, 0], Q[None])
        np.testing.assert_allclose(plan.bound, V, atol=1e-12)
        learned(agent, mdp.play(plan.action[:, 0]))

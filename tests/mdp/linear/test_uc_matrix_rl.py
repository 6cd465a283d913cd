"""UC-MatrixRL: with one-hot features of the next state it is LSVI-UCB; with others, its formula pair by pair."""

import numpy as np
import pytest

import unipac
from unipac.envs import random_simplex, river_swim
from unipac.theory import mdp_radii

CASES = {
    "simplex": (random_simplex(5, 3, 3, 4, seed=1), {}),
    "other regularization": (random_simplex(4, 2, 2, 3, seed=2), {"regularization": 0.3, "delta": 0.5}),
    "river swim": (river_swim(3, 3), {}),
    "one of each": (random_simplex(1, 1, 1, 1), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_one_hot_is_lsvi_ucb(case):
    mdp, told = CASES[case]
    one = unipac.UCMatrixRL.made_for(mdp, rounds=200, **told)
    other = unipac.LSVIUCB.made_for(mdp, rounds=200, radius="finite", **told)
    for k in range(200):
        mine, theirs = one._plan(), other._plan()
        np.testing.assert_array_equal(mine.action[:, -1], theirs.action[:, -1])
        np.testing.assert_allclose(mine.bound, theirs.bound, atol=1e-9)
        one.play(mdp, episodes=1, seed=k)
        other.play(mdp, episodes=1, seed=k)
    assert one._proven
    assert not one.certified  # it has bounds, but no certificates
    assert one.guarantee == "regret"


def test_radii_are_large_enough_that_plans_are_clipped_at_first_and_not_in_the_end():
    """The comparison above is not one of constants: with a small δ-share and many episodes bounds leave the cap."""
    mdp = random_simplex(1, 2, 1, 1, seed=0)
    agent = unipac.UCMatrixRL.made_for(mdp, rounds=2000)
    other = unipac.LSVIUCB.made_for(mdp, rounds=2000, radius="finite")
    assert agent._plan().bound[0] == 1.0
    agent.play(mdp, episodes=2000, seed=0)
    other.play(mdp, episodes=2000, seed=0)
    assert agent._plan().bound[0] < 1.0
    np.testing.assert_allclose(agent._plan().bound, other._plan().bound, atol=1e-9)


def test_other_features_of_the_next_state():
    rng = np.random.default_rng(0)
    S, A, d, H, D = 5, 2, 3, 3, 2
    psi = rng.random((S, D)) + 0.1
    phi = rng.dirichlet(np.ones(d), size=(S, A))
    agent = unipac.UCMatrixRL(phi, psi=psi, horizon=H, total_episodes=50)
    seen = [[] for _ in range(H)]
    for _ in range(30):
        s = 0
        for h in range(H):
            a, t, r = agent.act(s), int(rng.integers(S)), float(rng.random())
            agent.observe(r, t)
            seen[h].append((s, a, r, t))
            s = t
    V = np.zeros(S)
    K = psi.T @ psi
    inside, outside = mdp_radii.finite_constants(d, H, 1, 0.05, n_states=D, episodes=50)
    rho = max(
        sum(max((psi[s] - psi[t]) @ np.linalg.solve(K, psi[y]), 0) for y in range(S))
        for s in range(S)
        for t in range(S)
    )
    for h in reversed(range(H)):
        A_h = np.eye(d) + sum(np.outer(phi[s, a], phi[s, a]) for s, a, _, _ in seen[h])
        M = np.linalg.inv(A_h) @ sum(np.outer(phi[s, a], psi[t]) for s, a, _, t in seen[h]) @ np.linalg.inv(K)
        w = np.linalg.inv(A_h) @ sum(r * phi[s, a] for s, a, r, _ in seen[h])
        beta = max(rho, 1.0) * (H / 2 * np.sqrt(np.log(np.linalg.det(A_h)) + inside) + outside)
        bonus = beta * np.sqrt(np.einsum("sad,de,sae->sa", phi, np.linalg.inv(A_h), phi))
        V = np.clip(phi @ w + phi @ M @ psi.T @ V + bonus, 0, H).max(axis=1)
    np.testing.assert_allclose(agent._plan().bound, V, atol=1e-9)
    assert not agent.certified


def test_what_is_refused():
    mdp = river_swim(3, 3)
    with pytest.raises(ValueError, match=r"psi must be of shape \(3, d'\) and of rank d'"):
        unipac.UCMatrixRL(mdp.features, horizon=3, total_episodes=5, psi=np.ones((3, 2)))
    with pytest.raises(ValueError, match="reward_range must be"):
        unipac.UCMatrixRL(mdp.features, horizon=3, total_episodes=5, reward_range=(0, 2))

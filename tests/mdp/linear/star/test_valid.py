"""Bounds and certificates of StarLSVI under attack: δ = .5 and .1, first states of an adversary who knows the truth.

Null: in a run, some bound or certificate is wrong with probability at most δ. ``most_failures`` is the largest number
of failing runs that a test accepts; more have a probability below 1e-3 under the null. Controls: with radii multiplied
by .5 (even coins) or .25 (elsewhere) so many runs fail that the null is refuted.
"""

import numpy as np
import pytest
from scipy.stats import binom

from unipac import StarLSVI, envs
from unipac.mdp.linear.star.planning import plan as kernels

EPISODES, PIECE = 400, 20


def coins(good, horizon):
    """State 0 chooses one of two coins, the good state tosses the first, the bad one the second; the last toss pays."""
    phi = np.zeros((3, 2, 2))
    phi[0] = np.eye(2)
    phi[1, :, 0] = phi[2, :, 1] = 1.0
    nu = np.array([[0.0, p, 1 - p] for p in good])
    measures = np.broadcast_to(nu, (horizon, 2, 3))
    rewards = np.zeros((horizon, 3, 2))
    rewards[-1] = phi @ [1.0, 0.0]
    return envs.LinearMDP(
        phi, np.einsum("sad,hdt->hsat", phi, measures), rewards, [1.0, 0.0, 0.0], measures=measures
    )


def swim(seed):
    """The continuous swim d = 3 on cells of [0, 1]: the same features, finitely many states."""
    mdp, cells = envs.continuous_swim(3, 3), 40
    _, mass, phi = mdp._quadrature(cells)
    measures = np.broadcast_to(mass, (3, 3, cells))
    rewards = np.einsum("sad,hd->hsa", phi, mdp.weights)
    start = np.eye(cells)[int(0.3 * cells)]
    return envs.LinearMDP(phi, np.einsum("sad,hdt->hsat", phi, measures), rewards, start, measures=measures)


WORLDS = {
    "coins .5, .45": lambda seed: coins((0.5, 0.45), 2),
    "coins .02, .03": lambda seed: coins((0.02, 0.03), 2),
    "coins .5, .45, H = 3": lambda seed: coins((0.5, 0.45), 3),
    "coins .02, .03, H = 3": lambda seed: coins((0.02, 0.03), 3),
    "simplex d = 2": lambda seed: envs.random_simplex(5, 2, 2, 3, seed=seed),
    "simplex d = 3": lambda seed: envs.random_simplex(5, 3, 3, 4, seed=seed),
    "RiverSwim 3 x 3": lambda seed: envs.river_swim(3, 3),
    "swim d = 3": swim,
}


def failed(world, seed, delta, inflation=1.0, episodes=EPISODES, **told):
    """Whether some bound on Q* or V*, and whether some certificate, was wrong in a run."""
    mdp = WORLDS[world](seed)
    given = {
        "mixture": True,
        "terminates": False,
        "bonus_scale": (1.0, 0.2)[seed % 2],
        "delta": delta,
        **told,
    }
    if seed % 3 == 0:
        given["rewards"] = mdp.rewards
    agent = StarLSVI.made_for(mdp, **given)
    agent._rules = agent._rules._replace(inflation=inflation)
    Q, best = mdp.optimal_q(), mdp.optimal_value()
    wrong_bound = wrong_certificate = False
    z, y = np.empty(mdp.dim), np.empty(mdp.dim)
    rng = np.random.default_rng(seed)
    for _ in range(episodes // PIECE):
        gap = best - envs.policy_value(mdp, np.asarray(agent.policy()))[0]
        told_now = np.array([agent.certificate(s) for s in range(mdp.n_states)])
        wrong_certificate |= bool((told_now < gap - 1e-9).any())
        for h, s, a in np.ndindex(Q.shape):
            x = np.array(mdp.features[s, a])
            _, up, low = kernels.bounds(agent.state.chains, agent._rules, 0, h, x, z, y)
            wrong_bound |= not low - 1e-9 <= Q[h, s, a] <= up + 1e-9
        worst = int(gap.argmax()) if rng.random() < 0.8 else int(rng.integers(mdp.n_states))
        trace = agent.play(mdp, episodes=PIECE, seed=seed, initial_states=np.full(PIECE, worst))
        wrong_certificate |= bool((trace.certificate < trace.gap - 1e-9).any())
    return wrong_bound, wrong_certificate


def most_failures(runs, delta):
    """The smallest number of failing runs whose tail has a probability below 1e-3."""
    return int(binom.isf(1e-3, runs, delta))


def check_valid(world, runs, delta, **told):
    found = np.array([failed(world, seed, delta, **told) for seed in range(runs)])
    assert found.any(axis=1).sum() <= most_failures(runs, delta), found.sum(axis=0)


@pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")
@pytest.mark.parametrize("world", ["coins .5, .45", "simplex d = 2"])
def test_bounds_and_certificates_hold(world):
    check_valid(world, 12, 0.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")
@pytest.mark.parametrize("delta", [0.5, 0.1])
@pytest.mark.parametrize("world", WORLDS)
def test_bounds_and_certificates_hold_in_many_runs(world, delta):
    check_valid(world, 300, delta)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")
@pytest.mark.parametrize("told", [{"mixture": False}, {"rewards": "noisy"}, {"explore": 3}], ids=str)
def test_bounds_hold_in_other_settings(told):
    for world in ("coins .5, .45", "simplex d = 3"):
        check_valid(world, 100, 0.5, **told)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")
@pytest.mark.parametrize("world", WORLDS)
def test_smaller_radii_fail(world):
    """The control: with radii times .5 (even coins) or .25 so many runs fail that δ = .1 (or .02) is refuted."""
    runs = 100
    inflation = 0.5 if "coins .5" in world else 0.25
    level = 0.02 if world == "simplex d = 3" else 0.1  # bounds are far from tight there
    found = np.array([failed(world, seed, 0.5, inflation) for seed in range(runs)])
    assert found.any(axis=1).sum() > most_failures(runs, level), found.sum(axis=0)

"""The hard instance of Zhou, Gu and Szepesvári (2021): actions are corners of a cube, one of them a little better.

It comes as a linear MDP and as a linear mixture. States and actions are numbered from 0, stages from 1.
"""

from __future__ import annotations

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.mdps import tables
from unipac.envs.mdps.factories import check_linear_size, start_at_first
from unipac.envs.mdps.linear_mdp import LinearMDP
from unipac.envs.mdps.mixture_mdp import MixtureMDP


def hypercube(dim: int = 4, horizon: int = 4, gap: float | None = None, seed: int = 0) -> LinearMDP:
    """The hard instance of Zhou, Gu and Szepesvári (2021), written as a linear MDP.

    - States: x_1, ..., x_{H+1} (numbers 0 to H) and the rewarding x_{H+2} (number H + 1), which is never
      left. Every episode starts in x_1, and at stage h it is in x_h or in x_{H+2}.
    - Actions: the vectors a of {-1, 1}^(d-1); coordinate j is 1 if bit j of the number of the action is.
    - Transitions: at stage h, any of the first H + 1 states moves to x_{H+2} with probability
      1/H + <ν_h, a>, else to x_{h+1}. The signs of ν_h are random, its entries are ±gap/(d-1).
    - Rewards: 1 in x_{H+2}, else 0.
    - Features, of dimension d + 1: (α, β a, 0) in the first H + 1 states, (0, 0, 1) in x_{H+2}. The
      measures are θ_h(x_{h+1}) = ((1 - 1/H)/α, -ν_h/β, 0) and θ_h(x_{H+2}) = (1/(Hα), ν_h/β, 1), and the
      rewards have μ = (0, 0, 1).
    - Scaling: α² = 1/(1 + 2 gap) and β² = 2 gap/((1 + 2 gap)(d - 1)), so that |φ| = 1 and the squared
      integral of θ_h against V(x_{h+1}) = 1, V(x_{H+2}) = ±1 is at most 1 + max(1 + 2 gap, 1 + 8 gap³)
      ≤ 3 ≤ d + 1 for gap ≤ 1/H ≤ 1/2.
    - Optimum: the action with the signs of ν_h; with p = 1/H + gap, V*_1(x_1) is
      Σ_h (H - h) p (1 - p)^(h-1). A uniformly random action has p = 1/H.

    Args:
        dim: d, from 2 to 16: there are 2^(d-1) actions, and the features have dimension d + 1.
        horizon: number H of stages, at least 2.
        gap: how much the best action adds to the probability 1/H, in (0, 1/H]; 1/(2H) by default.
        seed: seed of the signs.

    Example:
        >>> hypercube(dim=4, horizon=4)
        <hypercube: 6 states, 8 actions, horizon 4, dimension 5>
        >>> float(hypercube(dim=4, horizon=4).optimal_value()[0])
        1.740234
    """
    dim, horizon, gap, rng = _checked(dim, horizon, gap, seed)
    n_states, n_actions = horizon + 2, 2 ** (dim - 1)
    check_linear_size(horizon, n_states, n_actions, dim + 1)
    actions = _corners(dim)
    drift = gap / (dim - 1) * rng.choice([-1.0, 1.0], size=(horizon, dim - 1))
    alpha = (1 + 2 * gap) ** -0.5
    beta = (2 * gap / ((1 + 2 * gap) * (dim - 1))) ** 0.5

    features = np.zeros((n_states, n_actions, dim + 1))
    features[:-1, :, 0] = alpha
    features[:-1, :, 1:dim] = beta * actions
    features[-1, :, dim] = 1.0
    measures = np.zeros((horizon, dim + 1, n_states))
    transitions = np.zeros((horizon, n_states, n_actions, n_states))
    for h in range(horizon):
        measures[h, 0, [h + 1, -1]] = (1 - 1 / horizon) / alpha, 1 / horizon / alpha
        measures[h, 1:dim, h + 1] = -drift[h] / beta
        measures[h, 1:dim, -1] = drift[h] / beta
        chance = np.clip(1 / horizon + actions @ drift[h], 0.0, 1.0)
        transitions[h, :-1, :, h + 1] = 1 - chance
        transitions[h, :-1, :, -1] = chance
    measures[:, dim, -1] = 1.0
    transitions[:, -1, :, -1] = 1.0
    rewards = np.zeros((horizon, n_states, n_actions))
    rewards[:, -1] = 1.0
    return LinearMDP(
        features, transitions, rewards, start_at_first(n_states), name="hypercube", measures=measures
    )


def hypercube_mixture(dim: int = 4, horizon: int = 4, gap: float | None = None, seed: int = 0) -> MixtureMDP:
    """The hard instance of Zhou, Gu and Szepesvári (2021) as a mixture, its original form.

    - States: x_1, ..., x_{H+1} (numbers 0 to H) and the rewarding x_{H+2} (number H + 1), which is never
      left. Every episode starts in x_1.
    - Actions: the vectors a of {-1, 1}^(d-1); coordinate j is 1 if bit j of the number of the action is.
    - Transitions: x_i moves to x_{H+2} with probability 1/H + <ν_h, a>, else to x_{i+1} (x_{H+1} stays). The
      signs of ν_h are random, its entries are ±gap/(d-1).
    - Rewards: 1 in x_{H+2}, else 0.
    - Features, of dimension d: φ(x_i, a, x_{i+1}) = (α(1 - 1/H), -β a), φ(x_i, a, x_{H+2}) = (α/H, β a),
      φ(x_{H+2}, a, x_{H+2}) = (α, 0), with θ_h = (1/α, ν_h/β).
    - Scaling: α² = 1/(1 + gap), β² = gap/((1 + gap)(d - 1)), so that |θ_h| = 1 + gap.
    - Optimum: the action with the signs of ν_h; with p = 1/H + gap, V*_1(x_1) is Σ_h (H - h) p (1 - p)^(h-1).

    Args:
        dim: d, from 2 to 16: there are 2^(d-1) actions.
        horizon: number H of stages, at least 2.
        gap: how much the best action adds to the probability 1/H, in (0, 1/H]; 1/(2H) by default.
        seed: seed of the signs.

    Example:
        >>> hypercube_mixture(dim=4, horizon=4)
        <hypercube_mixture: 6 states, 8 actions, horizon 4, dimension 4>
        >>> float(hypercube_mixture(dim=4, horizon=4).optimal_value()[0])
        1.740234
    """
    dim, horizon, gap, rng = _checked(dim, horizon, gap, seed)
    n_states, n_actions = horizon + 2, 2 ** (dim - 1)
    tables.check_size(n_states**2 * n_actions * (dim + horizon), f"horizon = {horizon} and dim = {dim}")
    actions = _corners(dim)
    alpha, beta = (1 + gap) ** -0.5, (gap / ((1 + gap) * (dim - 1))) ** 0.5
    features = np.zeros((n_states, n_actions, n_states, dim))
    for i in range(n_states - 1):
        onward = min(i + 1, n_states - 2)
        features[i, :, onward, 0], features[i, :, -1, 0] = alpha * (1 - 1 / horizon), alpha / horizon
        features[i, :, onward, 1:], features[i, :, -1, 1:] = -beta * actions, beta * actions
    features[-1, :, -1, 0] = alpha
    weights = np.full((horizon, dim), 1 / alpha)
    weights[:, 1:] = gap / (dim - 1) / beta * rng.choice([-1.0, 1.0], size=(horizon, dim - 1))
    rewards = np.zeros((n_states, n_actions))
    rewards[-1] = 1.0
    return MixtureMDP(features, weights, rewards, name="hypercube_mixture")


def _checked(
    dim: int, horizon: int, gap: float | None, seed: int
) -> tuple[int, int, float, np.random.Generator]:
    """The checked arguments of either function, with the default gap, and a generator for the seed."""
    dim = check.count("dim", dim, least=2, most=16)
    horizon = check.count("horizon", horizon, least=2)
    gap = 1 / (2 * horizon) if gap is None else check.positive("gap", gap)
    check.require(gap <= 1 / horizon, "gap", f"at most 1/H = {1 / horizon:g}", gap)
    rng = np.random.default_rng(check.seed("seed", seed))
    return dim, horizon, gap, rng


def _corners(dim: int) -> Array:
    """The actions, (2^(d-1), d - 1)."""
    bits = np.arange(2 ** (dim - 1))[:, None] >> np.arange(dim - 1) & 1
    return np.where(bits == 1, 1.0, -1.0)

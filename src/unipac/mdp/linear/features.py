"""Checks of the features of linear MDPs, and rewards on the scale of the radii."""

from __future__ import annotations

from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE, SMALLEST_RATIO
from unipac._inputs import check_norms, floats, read_only
from unipac.envs import FiniteMDP, LinearMDP


def checked_features(features: Any) -> Array:
    """φ of shape (states, actions, d), checked and read-only."""
    phi = floats("features", features).copy()
    if phi.ndim != 3 or 0 in phi.shape:
        raise ValueError(f"features must have shape (states, actions, d), got {phi.shape}")
    check_lengths("features", phi)
    return read_only(phi)


def check_lengths(name: str, phi: Array) -> None:
    """Refuse features longer than 1, or so short that each would open a level; Assumption 1 implies 1/√d or more."""
    check_norms(name, phi, 1.0)
    shortest = float(np.sqrt((phi * phi).sum(axis=-1)).min())
    check.require(shortest >= NEGLIGIBLE, name, f"of norm at least {NEGLIGIBLE:g}", shortest)


def check_regularization(regularization: float) -> None:
    """Refuse a λ so small that widths are lost to rounding."""
    expected = f"at least {SMALLEST_RATIO:g}, or widths are lost to rounding"
    check.require(regularization >= SMALLEST_RATIO, "regularization", expected, regularization)


def told_by(mdp: FiniteMDP) -> dict[str, Any]:
    """The arguments that an MDP determines; if it has no features, every pair gets one of its own."""
    features = mdp.features if isinstance(mdp, LinearMDP) else None
    if features is None:
        pairs = mdp.n_states * mdp.n_actions
        features = np.eye(pairs).reshape(mdp.n_states, mdp.n_actions, pairs)
    return {"features": features, "horizon": mdp.horizon}


def check_same(mdp: FiniteMDP, features: Array) -> None:
    """Refuse an MDP with other features."""
    fits = np.array_equal(told_by(mdp)["features"], features)
    check.require(fits, "mdp", "one with the features of this agent", mdp)


def on_scale(reward: Array, terminated: bool, horizon: int, reward_range: tuple[float, float]) -> Array:
    """Rewards on the scale from 0 to 1; the stages after an early end are worth 0, not ``low`` each."""
    low, high = reward_range
    scaled = (reward - low) / (high - low)
    if terminated:
        scaled[-1] -= (horizon - len(reward)) * low / (high - low)
    return scaled

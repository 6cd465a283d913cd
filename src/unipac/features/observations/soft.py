"""Soft aggregation: weights of the centres around an observation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.observations.box import BoxMap, per_number


class SoftAggregation(BoxMap):
    """Soft aggregation: the observation belongs to the centres around it, with weights that sum to 1; |ψ| ≤ 1.

    Centres form a regular grid with one at every end. Weights fall linearly to 0 at the next centre; with several
    numbers they are products. At a centre ψ is a unit vector. So if an MDP is linear in these features, every
    coordinate of them is the law of next states of one observation and action: the promise ``mixture=True`` of
    ``StarLSVI`` holds by construction. Whether the MDP *is* linear in them is not said by this. It is, if each centre
    has a law of its own and nature draws a centre with these weights; it is not, if values are merely smooth.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        centres: number of centres along each number of the observation, at least 2: one integer for all, or one for
            each.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``centres`` below 2, or more than 100 000
            features.

    Example:
        >>> f = SoftAggregation(low=[0], high=[2], n_actions=1, centres=3)
        >>> f([0.5]), f([1.0])
        (array([[0.5, 0.5, 0. ]]), array([[0., 1., 0.]]))
    """

    centres: tuple[int, ...]

    def __init__(
        self, low: ArrayLike, high: ArrayLike, n_actions: int, centres: int | Sequence[int] = 4
    ) -> None:
        super().__init__(low, high, n_actions)
        self.centres = per_number("centres", centres, self._width.size)
        check.require(min(self.centres) >= 2, "centres", "at least 2", centres)
        self._set_size(math.prod(self.centres), "centres", centres)

    def _settings(self) -> dict[str, Any]:
        return {"centres": list(self.centres)}

    def _of_unit(self, x: Array) -> Array:
        weights = np.ones((len(x), 1))
        for i, n in enumerate(self.centres):
            along = np.maximum(0.0, 1.0 - np.abs(x[:, i, None] * (n - 1) - np.arange(n)))
            weights = (weights[:, :, None] * along[:, None]).reshape(len(x), weights.shape[1] * n)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

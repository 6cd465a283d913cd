"""One-hots of the cells of grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.observations.box import BoxMap, per_number
from unipac.features.observations.map import MOST_FEATURES


class _Grids(BoxMap):
    """One-hots of the cells of grids, the j-th shifted by j / tilings of a cell."""

    bins: tuple[int, ...]

    def __init__(
        self, low: ArrayLike, high: ArrayLike, n_actions: int, bins: int | Sequence[int], tilings: int
    ) -> None:
        super().__init__(low, high, n_actions)
        self.bins = per_number("bins", bins, self._width.size)
        self._tilings = check.count("tilings", tilings, most=MOST_FEATURES)
        # The first grid is not shifted and needs no cell beyond the last.
        first, other = math.prod(self.bins), math.prod(b + 1 for b in self.bins)
        size = first + (self._tilings - 1) * other
        name = "tilings" if self._tilings > 1 and other * self.n_actions <= MOST_FEATURES else "bins"
        self._set_size(size, name, bins if name == "bins" else tilings)
        cells = np.array([self.bins, *([[b + 1 for b in self.bins]] * (self._tilings - 1))])
        self._last = cells - 1
        self._strides = np.ones_like(cells)
        self._strides[:, :-1] = np.cumprod(cells[:, :0:-1], axis=1)[:, ::-1]
        self._begin = np.concatenate([[0], first + other * np.arange(self._tilings - 1)])
        self._shift = np.arange(self._tilings)[:, None] / self._tilings

    def _of_unit(self, x: Array) -> Array:
        scaled = (x * np.array(self.bins))[:, None] + self._shift  # (m, tilings, k), not negative
        cells = np.minimum(scaled.astype(np.int64), self._last)
        active = (cells * self._strides).sum(axis=2) + self._begin
        states = np.zeros((len(x), self.state_dim))
        states[np.arange(len(x))[:, None], active] = 1.0 / math.sqrt(self._tilings)
        return states


class Aggregation(_Grids):
    """State aggregation: one-hot of the cell of a regular grid in which the observation lies; |ψ| = 1.

    Cells are numbered with the last number of the observation running fastest, and contain their lower
    ends; the last ones contain their upper ends, too.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        bins: number of cells along each number of the observation, an integer for all or one for each.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``bins`` below 1, or more than 100 000
            features.

    Example:
        >>> f = Aggregation(low=[0, -1], high=[1, 1], n_actions=1, bins=2)
        >>> f([0.2, 0.5])  # cell 0 of the first number, 1 of the second
        array([[0., 1., 0., 0.]])
        >>> f([7.0, -0.5])  # clipped to [1, -0.5]
        array([[0., 0., 1., 0.]])
    """

    def __init__(
        self, low: ArrayLike, high: ArrayLike, n_actions: int, bins: int | Sequence[int] = 8
    ) -> None:
        super().__init__(low, high, n_actions, bins, 1)

    def _settings(self) -> dict[str, Any]:
        return {"bins": list(self.bins)}


class TileCoding(_Grids):
    """Tile coding: one-hots of the cells of several shifted grids, scaled to |ψ| = 1.

    Tiling j = 0, 1, ... is shifted down by j / tilings of a cell along every number of the observation, and
    all but the first have one more cell there. Points closer than a cell share some of their features, so
    that values generalise further than with `Aggregation`, at a resolution of 1 / (bins · tilings).

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        bins: number of cells along each number of the observation, an integer for all or one for each.
        tilings: number of grids.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``bins`` or ``tilings`` below 1, or more
            than 100 000 features.

    Example:
        >>> f = TileCoding(low=[0], high=[1], n_actions=1, bins=2, tilings=4)
        >>> f([0.3])  # cells [0, 0, 1, 1] of grids of 2, 3, 3 and 3 cells
        array([[0.5, 0. , 0.5, 0. , 0. , 0. , 0.5, 0. , 0. , 0.5, 0. ]])
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        bins: int | Sequence[int] = 8,
        tilings: int = 4,
    ) -> None:
        super().__init__(low, high, n_actions, bins, tilings)
        self.tilings = self._tilings

    def _settings(self) -> dict[str, Any]:
        return {"bins": list(self.bins), "tilings": self.tilings}

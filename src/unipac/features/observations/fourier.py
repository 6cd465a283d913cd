"""Cosine features, with frequencies on a grid or at random."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.observations.box import BoxMap
from unipac.features.observations.map import MOST_FEATURES

SMALLEST_BANDWIDTH = 1e-6
"""With smaller bandwidths, the rounding of observations would determine the features."""


class Fourier(BoxMap):
    """The cosine basis: ψ(s) = cos(π <c, x>) / √n for n vectors c in {0, ..., order}^k; |ψ| ≤ 1.

    The vectors are sorted by the number of their nonzero entries, then by the places of these, then by their
    values: (0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2) for order 2.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        order: largest entry of a vector c, at least 1.
        coupling: keep only the c with at most this many nonzero entries; 1 gives sums of functions of one
            number each. None keeps all c.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``order`` or ``coupling`` below 1, or
            more than 100 000 features.

    Example:
        >>> f = Fourier(low=[0], high=[1], n_actions=1, order=3)
        >>> f([1.0])  # cosines of 0, π, 2π, 3π, divided by √4
        array([[ 0.5, -0.5,  0.5, -0.5]])
        >>> Fourier(low=[0] * 6, high=[1] * 6, n_actions=3, order=3, coupling=1)
        <Fourier: observations (6,), 3 actions, dimension 57, order=3, coupling=1>
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        order: int = 3,
        coupling: int | None = None,
    ) -> None:
        super().__init__(low, high, n_actions)
        self.order = check.count("order", order, most=MOST_FEATURES)
        self.coupling = None if coupling is None else check.count("coupling", coupling)
        k = self._width.size
        most = k if self.coupling is None else min(self.coupling, k)
        n = 1
        for j in range(1, most + 1):
            n += math.comb(k, j) * self.order**j
            if n > MOST_FEATURES:
                break
        if coupling is None or coupling == 1:
            self._set_size(n, "order", order)
        else:
            self._set_size(n, "coupling", coupling)
        # Only the nonzero entries of each c are stored, as places and values, padded with the value 0 at place 0.
        self._places = np.zeros((most, n), dtype=np.int64)
        self._values = np.zeros((most, n))
        vectors = (
            (places, values)
            for j in range(most + 1)
            for places in itertools.combinations(range(k), j)
            for values in itertools.product(range(1, self.order + 1), repeat=j)
        )
        for i, (places, values) in enumerate(vectors):
            self._places[: len(places), i] = places
            self._values[: len(values), i] = values

    def _settings(self) -> dict[str, Any]:
        return {"order": self.order, "coupling": self.coupling}

    def _of_unit(self, x: Array) -> Array:
        turns = np.zeros((len(x), self.state_dim))
        for places, values in zip(self._places, self._values, strict=True):
            turns += x[:, places] * values
        # The remainder is exact, and cosines of small numbers are accurate.
        return np.cos(np.pi * np.fmod(turns, 2.0)) / math.sqrt(self.state_dim)


class RandomFourier(BoxMap):
    """Random Fourier features: <ψ(s), ψ(s')> is about exp(-|x - x'|² / (2 bandwidth²)); |ψ| = 1.

    For D = features / 2 frequencies w drawn from a Gaussian with standard deviation 1 / bandwidth, ψ(s)
    consists of all cos(<w, x>) / √D, then all sin(<w, x>) / √D. For a pair of points, the error of the kernel
    exceeds t with probability at most 2 exp(-D t² / 2) over the seed.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        features: dimension of ψ, an even number: a cosine and a sine for each frequency.
        bandwidth: bandwidth of the Gaussian kernel, at least 1e-6, as a fraction of the range from ``low`` to
            ``high``. Points at much larger distances have almost orthogonal features.
        seed: seed of the frequencies.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``features`` odd or below 2,
            ``bandwidth`` not positive, or more than 100 000 features.

    Example:
        >>> f = RandomFourier(low=[0, 0], high=[2, 2], n_actions=1, features=4)
        >>> f([0, 0])  # cosines of 0, then sines of 0
        array([[0.70710678, 0.70710678, 0. , 0. ]])
        >>> float(np.linalg.norm(f([0.3, 1.2])))
        1.0
    """

    # scikit-learn's RBFSampler uses cos(<w, x> + b) with a random b, whose norm is random and may be near
    # √2; with a cosine and a sine for each frequency the norm is 1 for every observation.

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        features: int = 64,
        bandwidth: float = 0.2,
        seed: int = 0,
    ) -> None:
        super().__init__(low, high, n_actions)
        self.features = check.count("features", features, least=2)
        check.require(self.features % 2 == 0, "features", "even (a cosine and a sine each)", features)
        self.bandwidth = check.positive("bandwidth", bandwidth)
        check.require(
            self.bandwidth >= SMALLEST_BANDWIDTH, "bandwidth", f"at least {SMALLEST_BANDWIDTH:g}", bandwidth
        )
        self.seed = check.seed("seed", seed)
        self._set_size(self.features, "features", features)
        # A saved agent needs the same features later. The distributions of RandomState are frozen; those of
        # Generator may change with NumPy's version.
        rng = np.random.RandomState(np.random.PCG64(self.seed))
        frequencies = rng.standard_normal((self._width.size, self.features // 2))
        self._frequencies = frequencies / (2 * np.pi * self.bandwidth)  # (k, D), in turns

    def _settings(self) -> dict[str, Any]:
        return {"features": self.features, "bandwidth": self.bandwidth, "seed": self.seed}

    def _of_unit(self, x: Array) -> Array:
        half = self.features // 2
        turns = np.zeros((len(x), half))
        for place, frequencies in enumerate(self._frequencies):
            turns += x[:, place, None] * frequencies
        angles = 2 * np.pi * (turns - np.rint(turns))
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / math.sqrt(half)

"""Numbers for the values of a feature map: with finitely many of them, a linear MDP is a finite one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats


class Types:
    """Numbers observations by their features φ(s, ·), in the order in which these are first seen.

    In a linear MDP rewards and transitions depend on φ(s, ·) alone, and so do V* and Q*. If it takes finitely many
    values (one-hot features, aggregation, a tiling), these *types* are the states of a finite MDP, to which agents for
    numbered states apply. What they learn belongs to this numbering: keep ``features``, which make an equal one.

    Args:
        feature_map: from observations to φ, (A, d).
        most: the largest number of types; agents are made for so many states.
        features: (n, A, d), types that are known beforehand, in their order.

    Example:
        >>> from unipac import CertVI
        >>> from unipac.features import Aggregation
        >>> types = Types(Aggregation([0.0], [1.0], 2, bins=4), most=4)
        >>> types([0.9]), types([0.1]), types([0.99]), types.seen
        (0, 1, 0, 2)
        >>> agent = CertVI(types.most, n_actions=2, horizon=3)
        >>> action = agent.act(types([0.3]))
    """

    def __init__(
        self,
        feature_map: Callable[[Any], ArrayLike],
        *,
        most: int,
        features: ArrayLike | None = None,
    ) -> None:
        check.require(callable(feature_map), "feature_map", "a function", feature_map)
        self.most = check.count("most", most, most=2**31)
        self._map = feature_map
        self._number: dict[bytes, int] = {}
        self._seen: list[Array] = []
        if features is not None:
            for phi in floats("features", features):
                self._numbered(phi)
            check.require(
                len(self._seen) == len(np.asarray(features)), "features", "different ones", features
            )

    def __call__(self, observation: Any) -> int:
        """The number of an observation's type."""
        return self._numbered(floats("feature_map(observation)", self._map(observation)))

    def _numbered(self, phi: Array) -> int:
        check.require(
            phi.ndim == 2 and phi.size > 0, "feature_map(observation)", "of shape (A, d)", phi.shape
        )
        alike = not self._seen or self._seen[0].shape == phi.shape
        check.require(alike, "feature_map(observation)", "of the shape of those before", phi.shape)
        key = (phi + 0.0).tobytes()  # −0 is 0
        number = self._number.get(key)
        if number is None:
            number = len(self._seen)
            check.require(number < self.most, "most", f"large enough for {number + 1} types", self.most)
            self._seen.append(phi + 0.0)
            self._number[key] = number
        return number

    @property
    def seen(self) -> int:
        """How many types were seen."""
        return len(self._seen)

    @property
    def features(self) -> Array:
        """(n, A, d): φ of the types that were seen, in their order."""
        return np.array(self._seen)

    def __repr__(self) -> str:
        return f"<Types: {self.seen} of at most {self.most}>"

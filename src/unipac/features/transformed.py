"""A scikit-learn transformer as an encoder, for use within one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.encoders import Encoder
from unipac.features.tables import frame_of


class Transformed(Encoder):
    """What a fitted transformer makes of a row, divided by a bound on its norm.

    It costs milliseconds a row, and has no JSON: what a transformer does is code.

    Args:
        transformer: fitted; called with a frame of pandas of one row.
        columns: of the rows, in the order in which it was fitted.
        bound: on the norm of what it makes; a row that is longer is refused.

    Example:
        >>> import pandas
        >>> from sklearn.preprocessing import StandardScaler
        >>> table = pandas.DataFrame({"tokens": [100.0, 300.0]})
        >>> Transformed.of(StandardScaler(), table, bound=3.0).encode({"tokens": 300.0})
        array([0.33333333])
    """

    def __init__(self, transformer: Any, columns: list[str], *, bound: float) -> None:
        check.require(
            hasattr(transformer, "transform"), "transformer", "fitted, with transform()", transformer
        )
        self._transformer, self._order = transformer, list(columns)
        self.bound = check.positive("bound", bound)
        self._names = tuple(str(name) for name in transformer.get_feature_names_out())

    @classmethod
    def of(cls, transformer: Any, frame: Any, *, bound: float) -> Transformed:
        """Fit a transformer to a table, and use it."""
        return cls(transformer.fit(frame), list(frame_of("frame", frame).columns), bound=bound)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each feature."""
        return self._names

    @property
    def columns(self) -> frozenset[str]:
        """The columns that a row must have."""
        return frozenset(self._order)

    def encode(self, row: Any) -> Array:
        """The vector of a row."""
        import pandas  # only those who have a transformer need it

        made = self._transformer.transform(
            pandas.DataFrame([[row[name] for name in self._order]], columns=self._order)
        )
        made = made.toarray() if hasattr(made, "toarray") else made
        vector = np.asarray(made, dtype=np.float64).reshape(-1)
        norm = float(np.linalg.norm(vector))
        if not norm <= self.bound:
            raise ValueError(f"bound must be at least the norm of every row, got one of norm {norm:g}")
        return vector / self.bound

    def described(self) -> dict[str, Any]:
        """Raises a ``TypeError``."""
        raise TypeError(
            "a Transformed has no JSON, since a transformer is code; "
            "give features= to Deployment.load, or use Columns"
        )

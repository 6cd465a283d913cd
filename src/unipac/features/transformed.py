"""A scikit-learn transformer as an encoder, for use within one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.features.encoders import Encoder
from unipac.features.ids import refuse_set
from unipac.features.tables import frame_of


class Transformed(Encoder):
    """The output of a fitted transformer for a row, divided by a bound on its norm.

    It takes milliseconds per row. It cannot be written to JSON, since a transformer is code.

    Args:
        transformer: a fitted transformer; it is called with a pandas frame of one row.
        columns: columns of the rows, in the order in which it was fitted.
        bound: bound on the norm of its outputs; longer outputs are refused.

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
        refuse_set("columns", columns)
        self._transformer, self._order = transformer, list(columns)
        self.bound = check.positive("bound", bound)
        self._names = tuple(str(name) for name in transformer.get_feature_names_out())

    @classmethod
    def of(cls, transformer: Any, frame: Any, *, bound: float) -> Transformed:
        """Fit a transformer to a table, and make an encoder of it."""
        return cls(transformer.fit(frame), list(frame_of("frame", frame).columns), bound=bound)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self._names

    @property
    def columns(self) -> frozenset[str]:
        """The columns that a row must have."""
        return frozenset(self._order)

    def encode(self, row: Any) -> Array:
        """The vector of a row."""
        import pandas  # local, since only transformers need it

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
        """Raise a ``TypeError``: a transformer has no description in JSON."""
        raise TypeError(
            "a Transformed has no JSON, since a transformer is code; "
            "give features= to Deployment.load, or use Columns"
        )

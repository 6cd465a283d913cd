"""Verdicts on given sets of actions: bounds hold at all times at once, so looking is free and verdicts are kept.

From the first question on, the bounds of every action of a set are cut with all later ones. The first action whose
lower bound is within ε of the largest upper bound is the verdict. All verdicts for all sets are right together with
probability 1 − δ: they follow from one event, that all bounds hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac.deployment.errors import Full

MOST = 1000
"""Sets, and verdicts, that are kept."""
ROUNDING = 1e-9


class Settled(NamedTuple):
    """An action that is within ε of the best of its set.

    >>> from unipac import Deployment, OFUL
    >>> arms = [[1.0, 0.0], [0.0, 1.0]]
    >>> deployment = Deployment(OFUL(2, noise=0.0))
    >>> for k in range(50):
    ...     decision = deployment.decide(None, arms, id=k)
    ...     first = deployment.reward(k, [0.2, 0.7][decision.index])
    >>> deployment.settled(arms, eps=0.5).index
    1
    """

    label: str | int | None
    """Its id, where it has one."""
    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """Its row."""
    certificate: float
    """No action of the set is better by more than this; at most ε."""
    seq: int
    """The last event before the verdict."""


class _Known:
    """What is known of one set."""

    def __init__(self, X: Array) -> None:
        self.X = X.copy()
        self.upper, self.lower = np.full(len(X), np.inf), np.full(len(X), -np.inf)
        self.verdicts: dict[float, Settled] = {}


class Settling:
    """All sets that were asked about."""

    def __init__(self) -> None:
        self._sets: dict[tuple[int, bytes], _Known] = {}

    def ask(
        self, X: Array, labels: Sequence[Any] | None, eps: float, upper: Array, lower: Array, seq: int
    ) -> Settled | None:
        """The verdict on a set, given its bounds at this moment."""
        key = (len(X), X.tobytes())
        known = self._sets.get(key)
        if known is not None and eps in known.verdicts:
            return known.verdicts[eps]
        verdicts = sum(len(each.verdicts) for each in self._sets.values())
        if (known is None and len(self._sets) >= MOST) or verdicts >= MOST:
            raise Full(f"actions must be one of {MOST} sets, got one more")
        if known is None:
            known = self._sets[key] = _Known(X)
        np.minimum(known.upper, upper, out=known.upper)
        np.maximum(known.lower, lower, out=known.lower)
        scale = ROUNDING * max(1.0, float(np.abs(known.upper).max()))
        if (known.lower > known.upper + scale).any():  # bounds contradict each other: no verdict, ever
            return None
        gaps = known.upper.max() - known.lower
        found = np.flatnonzero(gaps <= eps)
        if len(found) == 0:
            return None
        k = int(found[0])
        label = None if labels is None else labels[k]
        verdict = Settled(label, k, max(0.0, float(gaps[k])), seq)
        known.verdicts[eps] = verdict
        return verdict

    def clear(self) -> None:
        """Drop all."""
        self._sets.clear()

    # -- files ---------------------------------------------------------------------------------

    def saved(self) -> tuple[list[Any], dict[str, NDArray[Any]]]:
        """Verdicts for JSON, and arrays."""
        told, arrays = [], {}
        for k, known in enumerate(self._sets.values()):
            told.append([[eps, list(verdict)] for eps, verdict in known.verdicts.items()])
            arrays[f"{k}.X"], arrays[f"{k}.bounds"] = known.X, np.array([known.upper, known.lower])
        return told, arrays

    def restore(self, told: Sequence[Any], arrays: Mapping[str, NDArray[Any]], dim: int) -> None:
        """Go on from what was saved; a ``ValueError`` if it cannot be."""
        for k, verdicts in enumerate(told):
            X, bounds = arrays[f"{k}.X"], arrays[f"{k}.bounds"]
            sound = X.ndim == 2 and X.shape[1] == dim and bounds.shape == (2, len(X))
            if not sound or X.dtype != np.float64 or bounds.dtype != np.float64:
                raise ValueError("the settled sets are not those of any data")
            known = self._sets[len(X), X.tobytes()] = _Known(X)
            known.upper, known.lower = bounds[0].copy(), bounds[1].copy()
            for eps, (label, index, certificate, seq) in verdicts:
                if not 0 <= index < len(X):
                    raise ValueError("the settled sets are not those of any data")
                known.verdicts[float(eps)] = Settled(label, int(index), float(certificate), int(seq))

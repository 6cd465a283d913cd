"""Verdicts on sets of actions: which action is within ε of the best; a verdict, once reached, is kept.

The bounds hold at all times at once, so users may ask as often as they like. At each question about a set, the new
bounds of its actions are intersected with the earlier ones. The verdict is the first action whose lower bound is within
ε of the largest upper bound. With probability 1 − δ all bounds hold, and then all verdicts on all sets are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import setitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._actions import label
from unipac._arrays import Array
from unipac._atomic import Change
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.play import seen
from unipac.deployment.errors import Full

MOST = 1000
"""The largest number of sets, and of verdicts, that are kept."""
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
    """The id of the action; None if the set has no ids."""
    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """The row of the action in its set."""
    certificate: float
    """No action of the set is better by more than this; at most ε."""
    seq: int
    """The number of the last event before the verdict."""


class Known(NamedTuple):
    """The bounds and verdicts on one set; they never change, others take their place."""

    X: Array
    upper: Array
    lower: Array
    verdicts: Mapping[float, Settled]


class Settling:
    """The bounds and verdicts on all sets that the user asked about."""

    def __init__(self) -> None:
        self.sets: dict[tuple[int, bytes], Known] = {}

    def __copy__(self) -> Settling:
        """Another one of the same bounds and verdicts."""
        other = Settling()
        other.sets = self.sets.copy()
        return other

    def ask(
        self, agent: BanditAgent, X: Array, labels: Sequence[Any] | None, eps: float, seq: int
    ) -> tuple[Settled | None, list[Change], bool]:
        """The verdict on a set, None if there is none yet; what changes; whether bounds refute the assumptions."""
        bounds, refuted = seen(agent, X)
        if refuted or not agent.consistent:
            changes: list[Change] = [(setattr, agent._ledger, "sound", False)] if refuted else []
            return None, [(self.sets.clear,), *changes], refuted
        key = (len(X), X.tobytes())
        known = self.sets.get(key)
        if known is not None and eps in known.verdicts:
            return known.verdicts[eps], [], False
        total = sum(len(each.verdicts) for each in self.sets.values())
        if (known is None and len(self.sets) >= MOST) or total >= MOST:
            raise Full(f"actions must be one of {MOST} sets, got one more")
        upper, lower = bounds.ucb, bounds.lcb
        if known is not None:
            upper, lower = np.minimum(known.upper, upper), np.maximum(known.lower, lower)
        verdicts = {} if known is None else known.verdicts
        verdict = _verdict(labels, eps, upper, lower, seq)
        if verdict is not None:
            verdicts = {**verdicts, eps: verdict}
        now = Known(X.copy() if known is None else known.X, upper, lower, verdicts)
        return verdict, [(setitem, self.sets, key, now)], False

    # -- files ---------------------------------------------------------------------------------

    def saved(self) -> tuple[list[Any], dict[str, NDArray[Any]]]:
        """The state for a file: the verdicts on each set for JSON, and arrays."""
        rows, arrays = [], {}
        for k, known in enumerate(self.sets.values()):
            rows.append([[eps, list(verdict)] for eps, verdict in known.verdicts.items()])
            arrays[f"{k}.X"], arrays[f"{k}.bounds"] = known.X, np.array([known.upper, known.lower])
        return rows, arrays

    def restore(
        self, rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]], dim: int, most_seq: int
    ) -> None:
        """Continue from a saved state; raise a ``ValueError`` if no data could have led to it."""
        for k, verdicts in enumerate(rows):
            X, bounds = arrays[f"{k}.X"], arrays[f"{k}.bounds"]
            sound = X.ndim == 2 and X.shape[1] == dim and bounds.shape == (2, len(X))
            if not sound or X.dtype != np.float64 or bounds.dtype != np.float64:
                raise ValueError("the settled sets are not those of any data")
            upper, lower = bounds.copy()
            found: dict[float, Settled] = {}
            for eps, (name, index, certificate, seq) in verdicts:
                k_best = check.count("index", index, least=0, most=len(X) - 1)
                # Bounds have only become tighter since, so the gap at the verdict was at least that of now.
                gap = max(0.0, float(upper.max() - lower[k_best]))
                if not (gap <= check.real("certificate", certificate) <= check.positive("eps", eps)):
                    raise ValueError("the settled sets are not those of any data")
                check.require(eps not in found, "eps", "of one verdict only", eps)
                known = None if name is None else label("label", name)
                number = check.count("seq", seq, least=0, most=most_seq)
                found[eps] = Settled(known, k_best, certificate, number)
            key = len(X), X.tobytes()
            check.require(
                key not in self.sets and not np.isnan(bounds).any(), "settled", "sets with bounds", k
            )
            self.sets[key] = Known(X, upper, lower, found)


def _verdict(
    labels: Sequence[Any] | None, eps: float, upper: Array, lower: Array, seq: int
) -> Settled | None:
    """The first action whose lower bound is within ``eps`` of the largest upper bound; None if there is none."""
    scale = ROUNDING * max(1.0, float(np.abs(upper).max()))
    if (lower > upper + scale).any():  # bounds contradict each other: no verdict, ever
        return None
    gaps = upper.max() - lower
    settled = np.flatnonzero(gaps <= eps)
    if len(settled) == 0:
        return None
    k = int(settled[0])
    return Settled(None if labels is None else labels[k], k, max(0.0, float(gaps[k])), seq)

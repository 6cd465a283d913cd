"""Verdicts on sets of actions: which action is within ε of the best; a verdict, once reached, is kept.

The bounds hold at all times at once, so one may look as often as one likes. A watched set is looked at when the watch
begins and after every 25 learned rounds: the new bounds of its actions are intersected with the earlier ones. The
verdict is the first action whose lower bound is within ε of the largest upper bound. With probability 1 − δ all bounds
hold, and then all verdicts on all sets are right. After its verdict, a set is looked at again only if the agent moves
on to another ζ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._actions import label
from unipac._arrays import Array
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.play import seen

MOST = 1000
"""The largest number of sets that are watched."""
EVERY = 25
"""Learned rounds between two looks."""
ROUNDING = 1e-9


class Settled(NamedTuple):
    """An action that is within ε of the best of its set.

    >>> from unipac import Deployment, OFUL
    >>> arms = [[1.0, 0.0], [0.0, 1.0]]
    >>> deployment = Deployment(OFUL(2, noise=0.0))
    >>> deployment.watch("both", arms, eps=0.5)
    >>> for k in range(50):
    ...     decision = deployment.decide(None, arms, id=k)
    ...     first = deployment.reward(k, [0.2, 0.7][decision.index])
    >>> deployment.settled("both").index
    1
    """

    label: str | int | None
    """The id of the action; None if the set has no ids."""
    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """The row of the action in its set."""
    certificate: float
    """No action of the set is better by more than this; at most ε."""
    seq: int
    """The number of the event that brought the verdict."""


class Watch(NamedTuple):
    """A set of actions, its bounds so far and the verdict; it is immutable, and replaced when something changes."""

    X: Array
    labels: tuple[Any, ...] | None
    eps: float
    upper: Array
    lower: Array
    verdict: Settled | None
    zeta: float
    """The misspecification under which its bounds hold."""

    @classmethod
    def of(cls, X: Array, labels: tuple[Any, ...] | None, eps: float, zeta: float = 0.0) -> Watch:
        """A set that was never looked at."""
        return cls(X, labels, eps, np.full(len(X), np.inf), np.full(len(X), -np.inf), None, zeta)

    def same(self, other: Watch) -> bool:
        """Whether both watch the same actions with the same ε."""
        return self.eps == other.eps and self.labels == other.labels and np.array_equal(self.X, other.X)

    def cut(self, agent: BanditAgent) -> tuple[Watch, bool]:
        """The set with its present bounds, and whether these refute the assumptions."""
        bounds, refuted = seen(agent, self.X)
        if refuted or not agent.consistent:
            return self, refuted
        known = self if self.holds(agent) else Watch.of(*self[:3], assumed(agent))
        upper, lower = np.minimum(known.upper, bounds.ucb), np.maximum(known.lower, bounds.lcb)
        return known._replace(upper=upper, lower=lower), False

    def holds(self, agent: BanditAgent) -> bool:
        """Whether the bounds hold under the misspecification that the agent assumes now."""
        return self.zeta == assumed(agent)

    def found(self) -> tuple[int, float] | None:
        """The first action whose lower bound is within ε of the largest upper bound, and how near; None if none is."""
        scale = ROUNDING * max(1.0, float(np.abs(self.upper).max()))
        if (self.lower > self.upper + scale).any():  # bounds contradict each other: no verdict, ever
            return None
        gaps = self.upper.max() - self.lower
        near = np.flatnonzero(gaps <= self.eps)
        return None if len(near) == 0 else (int(near[0]), max(0.0, float(gaps[near[0]])))

    def told(self) -> list[Any] | None:
        """The verdict for an event."""
        found = self.found()
        if found is None:
            return None
        k, certificate = found
        return [None if self.labels is None else self.labels[k], k, certificate]

    def settled(self, told: Sequence[Any] | None, seq: int) -> Watch:
        """The set with the verdict of an event, if it has one."""
        if told is None:
            return self
        name, index, certificate = told
        k = check.count("index", index, least=0, most=len(self.X) - 1)
        known = None if name is None else label("label", name)
        return self._replace(verdict=Settled(known, k, check.nonnegative("certificate", certificate), seq))


Watches = dict[str, Watch]


def looked(agent: BanditAgent, watches: Watches) -> tuple[Watches, bool]:
    """The sets without a valid verdict, with their present bounds, and whether these refute the assumptions."""
    cut: Watches = {}
    for name, watch in watches.items():
        if watch.verdict is None or not watch.holds(agent):
            cut[name], refuted = watch.cut(agent)
            if refuted:
                return {}, True
    return cut, False


def assumed(agent: BanditAgent) -> float:
    """The misspecification that an agent assumes now; bounds of smaller ones are not proven any more."""
    return float(getattr(agent, "misspecification", None) or 0.0)


def is_due(agent: BanditAgent, watches: Watches, asked: int) -> bool:
    """Whether watched sets must be looked at: ``EVERY`` rounds were learned since there were ``asked`` of them."""
    if not watches or agent.rounds - asked < EVERY or not agent.consistent:
        return False
    return any(watch.verdict is None or not watch.holds(agent) for watch in watches.values())


# -- files ---------------------------------------------------------------------------------------


def saved(watches: Watches) -> tuple[list[Any], dict[str, NDArray[Any]]]:
    """Watches for a file: rows for JSON, and arrays."""
    rows, arrays = [], {}
    for k, (name, watch) in enumerate(watches.items()):
        verdict = None if watch.verdict is None else list(watch.verdict)
        more = [watch.zeta] if watch.zeta else []
        rows.append([name, None if watch.labels is None else list(watch.labels), watch.eps, verdict, *more])
        arrays[f"{k}.X"], arrays[f"{k}.bounds"] = watch.X, np.array([watch.upper, watch.lower])
    return rows, arrays


def restored(rows: Sequence[Any], arrays: Mapping[str, NDArray[Any]], dim: int, most_seq: int) -> Watches:
    """Watches from a file; a ``ValueError`` if no data could have led to them."""
    made: Watches = {}
    for k, (name, labels, eps, verdict, *more) in enumerate(rows):
        X, bounds = arrays[f"{k}.X"], arrays[f"{k}.bounds"]
        sound = X.ndim == 2 and X.shape[1] == dim and bounds.shape == (2, len(X)) and len(X) > 0
        sound = sound and X.dtype == bounds.dtype == np.float64 and not np.isnan(bounds).any()
        sound = sound and isinstance(name, str) and name not in made and len(made) < MOST
        ids = None if labels is None else tuple(label("actions", one) for one in labels)
        if not sound or (ids is not None and len(ids) != len(X)):
            raise ValueError("the watched sets are not those of any data")
        upper, lower = bounds.copy()
        zeta = check.positive("zeta", more[0]) if more else 0.0
        watch = Watch(X, ids, check.positive("eps", eps), upper, lower, None, zeta)
        if verdict is not None:
            seq = check.count("seq", verdict[3], least=0, most=most_seq)
            if watch.told() != list(verdict[:3]):
                raise ValueError("the watched sets are not those of any data")
            watch = watch.settled(verdict[:3], seq)
        made[name] = watch
    return made

"""What agents hand out: decisions, bounds, levels, traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unipac import _notebook as notebook
from unipac._arrays import Array
from unipac._jit import jit
from unipac._notebook import as_json


class _Chosen(NamedTuple):
    """What is known of an action that was chosen."""

    id: int
    """The name of the decision when its reward comes; no other decision of any agent has it."""
    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """Row of the chosen action."""
    action: Array
    """(d,), read-only."""
    level: int
    """The first level in which the action is wider than 2^-level: the smaller, the more was to learn."""
    mean: float
    """Estimated reward, in the set that attains ``ucb``."""
    width: float
    """‖x‖_{Σ⁻¹} in that set, without the radius."""
    ucb: float
    """The least upper bound on the expected reward."""
    lcb: float
    """The greatest lower bound on it."""
    certificate: float
    """With probability 1 − δ, for all rounds at once, the best action is better by no more than this.

    NaN where nothing is proven, or an assumption was refuted.
    """
    certified: bool
    """Whether the bounds are proven under the assumptions given, none of which was refuted so far."""
    label: str | int | None = None
    """The id of the action, where it has one: see ``unipac.features``."""
    propensity: float | None = None
    """The probability with which a deployment takes this action here; None if it is not known."""
    holdout: bool = False
    """Whether a deployment drew the action at random, and learns nothing from it."""
    seq: int = 0
    """The number of its event in the log of a deployment."""


@final
class Decision(_Chosen):
    """An action chosen, with what is known of it at that moment.

    >>> from unipac import OFUL
    >>> OFUL(2, noise=0.1).choose([[1.0, 0.0], [0.0, 0.5]]).to_dict()["action"]
    [1.0, 0.0]
    """

    misspecification: float | None = None
    """ζ: the certificate holds if rewards are linear within this; None if it is not known.

    It is not an entry of the tuple: a copy of the entries loses it, and ``under`` sets it again.
    """

    def under(self, zeta: float | None) -> Decision:
        """This decision, with the ζ under which its certificate holds."""
        if zeta is not None:
            object.__setattr__(self, "misspecification", zeta)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"can't set attribute {name!r} of a Decision")

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: NaN becomes None, infinities text."""
        return {name: as_json(value) for name, value in zip(self._fields, self, strict=True)}

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.id)

    def _unsaid(self) -> set[str]:
        """Fields that say nothing here: those of labels and deployments, where there are none."""
        return {name for name, default in self._field_defaults.items() if getattr(self, name) == default}

    def __repr__(self) -> str:
        shown = [pair for pair in zip(self._fields, self, strict=True) if pair[0] not in self._unsaid()]
        if self.misspecification:
            shown.append(("misspecification", self.misspecification))
        texts = (f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v!r}" for k, v in shown)
        return f"Decision({', '.join(texts)})"

    def _repr_html_(self) -> str:
        return notebook.table("Decision", ("", ""), self.to_dict().items())


class Bounds(NamedTuple):
    """What is known of each of n actions.

    >>> from unipac import OFUL
    >>> OFUL(2, noise=0.1).bounds([[1.0, 0.0], [0.0, 0.5]]).ucb      # before the first round: S ‖x‖
    array([1. , 0.5])
    """

    mean: Array
    """(n,)."""
    ucb: Array
    """(n,)."""
    lcb: Array
    """(n,)."""

    def _repr_html_(self) -> str:
        rows = [(k, *row) for k, row in enumerate(zip(*self, strict=True))]
        return notebook.table("Bounds", ("action", *self._fields), rows)


class Level(NamedTuple):
    """The state of one level.

    >>> from unipac import NestedOFUL
    >>> agent = NestedOFUL(1, noise=0.1)
    >>> for _ in range(20):
    ...     agent.update(agent.choose([[1.0]]), 0.5)
    >>> [(level.level, level.size, level.bound) for level in agent.levels()]
    [(1, 3, 12), (2, 12, 71), (3, 5, 385)]
    """

    level: int
    """Its number, from 1."""
    size: int
    """How many rounds belong to it."""
    bound: float
    """No more than this many ever will; infinite where nothing bounds it."""
    radius: float
    """β of its confidence set."""


_COLUMNS = ("index", "level", "certificate", "reward", "gap", "covered")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened in T rounds, as arrays of length T.

    >>> from unipac import NestedOFUL, envs
    >>> trace = NestedOFUL(2, noise=0.1).play(envs.sphere(2, 5, noise=0.1), rounds=100, seed=0)
    >>> len(trace), len(trace[20:50]), bool((trace.gap <= trace.certificate).all())
    (100, 30, True)
    >>> trace.to_frame().columns
    ['round', 'index', 'level', 'certificate', 'reward', 'gap']
    """

    index: NDArray[np.int64]
    """The row of the action taken."""
    level: NDArray[np.int64]
    """The level of each round, as in ``Decision``."""
    certificate: Array
    """A proven bound on how much worse than the best the choice is; NaN where nothing is proven."""
    reward: Array
    """The reward of the action taken."""
    gap: Array | Any = None  # None where it is not known; Any spares users a check that most never need
    """Expected loss against the best action, where the instance or ``truth`` tells it."""
    covered: NDArray[np.bool_] | None = None
    """Whether ``truth`` was in all confidence sets at the time of the choice, where it was given."""
    misspecification: Array | None = None
    """ζ: each certificate holds if rewards are linear within this; None unless the agent has several."""

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} rounds", f"reward {self.reward.sum():.6g}"]
        if self.gap is not None:
            parts.append(f"regret {self.gap.sum():.6g}")
        if len(self) > 0:
            parts.append(f"levels up to {self.level.max()}, last certificate {self.certificate[-1]:.3g}")
        return f"<Trace: {', '.join(parts)}>"

    def to_frame(self) -> Any:
        """A polars frame with a column for each array, and ``round`` from 0."""
        return notebook.frame(self, "round", _COLUMNS)

    def plot(self, what: str = "overview") -> Any:
        """An Altair chart; ``.save("trace.svg")`` and ``.save("trace.png")`` write it.

        Args:
            what: "overview": rewards, certificates, gaps where they are known, and the share explored, over the rounds;
                "gaps": each certificate against the gap that it bounds; "levels": how many rounds each level has.
        """
        return notebook.charts().bandit(self, what)

    def _repr_html_(self) -> str:
        return notebook.trace_table(self, "round", _COLUMNS)

    def part(self, begin: int, end: int) -> Trace:
        """A view of the rounds from ``begin`` to ``end``."""
        return self[begin:end]

    def __getitem__(self, cut: slice) -> Trace:
        """A view of some rounds: ``trace[100:200]``."""
        if not isinstance(cut, slice):
            raise ValueError(f"rounds must be a slice such as trace[100:200], got {cut!r}")
        return Trace(
            self.index[cut],
            self.level[cut],
            self.certificate[cut],
            self.reward[cut],
            None if self.gap is None else self.gap[cut],
            None if self.covered is None else self.covered[cut],
            None if self.misspecification is None else self.misspecification[cut],
        )


def empty_trace(length: int, *, gap: bool, covered: bool, several: bool) -> Trace:
    """A trace to be filled; ``several`` if the agent has several values of ζ."""
    return Trace(
        index=np.empty(length, dtype=np.int64),
        level=np.empty(length, dtype=np.int64),
        certificate=np.empty(length),
        reward=np.empty(length),
        gap=np.full(length, np.nan) if gap else None,
        covered=np.empty(length, dtype=np.bool_) if covered else None,
        misspecification=np.empty(length) if several else None,
    )


def write_gaps(trace: Trace, means: Array) -> None:
    """Fill in the gaps, from the expected rewards (T, n), or (n,) if they are the same in all rounds."""
    if trace.gap is not None:
        _write_gaps(means.reshape(-1, means.shape[-1]), trace.index, trace.gap)


@jit
def _write_gaps(means: Array, index: NDArray[np.int64], gap: Array) -> None:
    n = means.shape[1]
    for t in range(gap.size):
        row = means[t] if means.shape[0] > 1 else means[0]
        best = row[0]
        for k in range(1, n):
            best = max(best, row[k])
        gap[t] = best - row[index[t]]

"""Measures of a run, from the gap of the action played in each round.

Rounds lie along the last axis; a leading axis, where allowed, counts independent runs.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.metrics._arrays import moderate, numbers


def regret(gaps: ArrayLike) -> Array:
    """Cumulative regret after each round, of the shape of `gaps`.

    Example:
        >>> regret([1.0, 0.0, 0.5])
        array([1. , 1. , 1.5])
    """
    return np.cumsum(_checked(gaps), axis=-1)


def mistakes(gaps: ArrayLike, eps: ArrayLike) -> np.int64 | NDArray[np.int64]:
    """Number of rounds whose gap is larger than eps, strictly.

    Args:
        gaps: (T,) or (runs, T).
        eps: one level, or a grid (m,) of levels in any order.

    Returns:
        Counts of shape ``gaps.shape[:-1] + eps.shape``: a number for one run and one level,
        (runs, m) for many of both.

    Example:
        >>> mistakes([1.0, 0.0, 0.5, 0.5], [0.0, 0.5, 0.9])
        array([3, 1, 1])
        >>> int(mistakes([1.0, 0.0, 0.5, 0.5], 0.25))
        3
    """
    gaps = _checked(gaps)
    eps = numbers("eps", eps)
    if gaps.ndim > 2:
        raise ValueError(f"gaps must have shape (T,) or (runs, T), got {gaps.shape}")
    if eps.ndim > 1 or np.isnan(eps).any():
        raise ValueError(f"eps must be a number or a grid (m,) without NaN, got {eps!r}")
    runs = np.sort(np.atleast_2d(gaps), axis=-1)
    counts = np.empty((len(runs), eps.size), dtype=np.int64)
    for row, run in zip(counts, runs, strict=True):
        row[:] = run.size - np.searchsorted(run, eps.ravel(), side="right")
    return counts.reshape(gaps.shape[:-1] + eps.shape)[()]


def last_iterate_envelope(gaps: ArrayLike) -> Array:
    """The largest gap from each round on: sup over s >= t of gap_s, of the shape of `gaps`.

    It tends to 0 exactly if the gaps converge to 0.

    Example:
        >>> last_iterate_envelope([0.5, 1.0, 0.0, 0.25])
        array([1.  , 1.  , 0.25, 0.25])
    """
    backwards = _checked(gaps)[..., ::-1]
    return np.ascontiguousarray(np.maximum.accumulate(backwards, axis=-1)[..., ::-1])


def certificate_violations(
    certificates: ArrayLike, gaps: ArrayLike, tolerance: float = 1e-12
) -> NDArray[np.bool_]:
    """Mask of the rounds whose gap exceeds the certificate by more than `tolerance`.

    Args:
        certificates: claimed bounds on the gaps; NaN claims nothing and is never violated.
        gaps: the gaps, of the same shape.
        tolerance: slack for rounding, at least 0.

    Example:
        >>> certificate_violations([0.5, 0.5, float("nan")], [0.4, 0.6, 0.6])
        array([False,  True, False])
    """
    gaps = _checked(gaps)
    certificates = numbers("certificates", certificates)
    if certificates.shape != gaps.shape:
        raise ValueError(f"certificates must have the shape {gaps.shape} of gaps, got {certificates.shape}")
    return gaps > certificates + check.nonnegative("tolerance", tolerance)


def coverage(covered: ArrayLike) -> float:
    """Fraction of the runs in which the truth never left its set.

    Args:
        covered: booleans, (T,) or (runs, T): whether the set of a round held the truth.

    Example:
        >>> coverage([[True, True, True], [True, False, True]])
        0.5
    """
    try:
        covered = np.asarray(covered)
    except ValueError:  # of lists of different lengths
        covered = np.empty(0)
    if covered.dtype != np.bool_ or covered.ndim not in (1, 2) or covered.size == 0:
        raise ValueError(
            "covered must be booleans of shape (T,) or (runs, T), not empty, "
            f"got {covered.dtype} of shape {covered.shape}"
        )
    return float(covered.all(axis=-1).mean())


def _checked(gaps: ArrayLike) -> Array:
    gaps = numbers("gaps", gaps)
    if gaps.ndim == 0:
        raise ValueError(f"gaps must have an axis of rounds, got the scalar {gaps}")
    if np.isnan(gaps).any():
        raise ValueError(f"gaps must not be NaN, got {int(np.isnan(gaps).sum())} NaN")
    return moderate("gaps", gaps)

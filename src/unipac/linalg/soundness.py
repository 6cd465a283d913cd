"""What of a stack of regressions goes to a file, and whether what is read there can be that of any data.

Rotations keep R, z and M together; a file may hold anything. Σ = RᵀR must exceed λI by what some rounds add, M must
be R⁻ᵀ up to what rounding may have done, and z must be within reach of rewards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac._constants import LARGEST_GROWTH, SMALLEST_RATIO
from unipac._state import LARGEST_SUM
from unipac.linalg import blocks
from unipac.linalg.levels import MOST_LEVELS, SINGLE

RESIDUAL = 1e-4
"""M = (I + E) R⁻ᵀ with ‖E‖ up to here passes for rounding; widths are then right up to this factor."""


class Saved(NamedTuple):
    """What of a stack goes to a file; radii and log-determinants follow from it."""

    rows: Array
    """(S, d, d + 2), or (S, d, w + 2) for blocks of w columns: the factors of the levels in use."""
    size: NDArray[np.int64]
    """(S,)."""
    rotations: NDArray[np.int64]
    """(S,)."""


def check_ratio(regularization: float, action_norm: float) -> None:
    """Refuse a λ so small that widths are lost to rounding."""
    least = SMALLEST_RATIO * action_norm**2
    expected = f"at least {least:g} ({SMALLEST_RATIO:g} action_norm²), or widths are lost to rounding"
    check.require(regularization >= least, "regularization", expected, regularization)


def check_growth(times: int, regularization: float, action_norm: float) -> None:
    """Refuse so many equal rounds in one step that widths are lost to rounding."""
    most = LARGEST_GROWTH * regularization / action_norm**2
    check.require(times <= most, "times", f"at most {most:g}, or widths are lost to rounding", times)


def check_factors(
    rows: Array, regularization: float, rounds: float, action_norm: float, reward: float
) -> None:
    """Refuse factors, laid out as in ``ridge``, that ``rounds`` rounds cannot have led to.

    Args:
        rows: (d, d + 2).
        regularization: λ.
        rounds: how many there were.
        action_norm: L.
        reward: no reward was larger.
    """
    d = len(rows)
    if not np.isfinite(rows).all():
        raise ValueError("a regression is not finite")
    R, M, z = np.triu(rows[:, 1 : d + 1]), np.tril(rows[:, :d]), rows[:, d + 1]
    if not (R.diagonal() > 0).all():
        raise ValueError("a regression has no positive factor")
    lengths = np.linalg.svd(R, compute_uv=False)
    slack = 1e-13 * d * lengths[0]
    added = (R * R).sum() - d * regularization
    most = rounds * action_norm**2 * (1 + 1e-5) + 1e-6 * d * regularization
    if lengths[-1] < np.sqrt(regularization) * (1 - 1e-6) - slack or added > most * (1 + 1e-6):
        raise ValueError("a regression is not that of so many rounds")
    if not np.abs(M @ R.T - np.eye(d)).max() * d <= RESIDUAL * max(1, d / 10):
        raise ValueError("a regression has factors that contradict each other")
    if not np.abs(z).max() <= np.sqrt(rounds) * reward * (1 + 1e-6):
        raise ValueError("a regression has rewards that are too large")


def check_blocks(
    rows: Array, regularization: float, rounds: float, action_norm: float, reward: float
) -> None:
    """The same for those of a level, laid out as in ``blocks``."""
    for b in range(len(rows) // (rows.shape[1] - 2)):
        check_factors(blocks.part_of(rows, b), regularization, rounds, action_norm, reward)


def check_shape(array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape, or with numbers of which sums and products may overflow."""
    if array.shape != shape or not (np.abs(array) <= LARGEST_SUM).all():
        raise ValueError(f"an array has shape {array.shape} in place of {shape}, or is too large")


def check_gram(gram: Array, least: float) -> None:
    """Refuse a matrix that is not symmetric and finite, or has an eigenvalue below ``least``."""
    sound = gram.shape == gram.T.shape and np.isfinite(gram).all() and np.array_equal(gram, gram.T)
    if not sound or not np.linalg.eigvalsh(gram)[0] >= least * (1 - 1e-6):
        raise ValueError("a matrix is not that of a regression")


def check_levels(size: NDArray[np.int64], rule: int) -> None:
    """Refuse sizes (stages, levels) of levels in use unless the last level of the first stage has members."""
    S = size.shape[1]
    if not (
        1 <= S <= (1 if rule == SINGLE else MOST_LEVELS) and size.min() >= 0 and (S == 1 or size[0, -1] > 0)
    ):
        raise ValueError("the levels are not those of any data")

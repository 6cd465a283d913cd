"""The sets of an agent, empty, packed, and in files."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._constants import SMALLEST_RATIO
from unipac._inputs import LARGEST_REWARD
from unipac._state import LARGEST_SUM
from unipac.bandits.sets import kernels, memory as packed
from unipac.bandits.sets.memory import COUNT, Rules
from unipac.bandits.sets.weighted import LEAST_VARIANCE
from unipac.linalg import ridge, triangle
from unipac.linalg.levels import REFRESH_EVERY, Levels
from unipac.linalg.soundness import check_factors

KEPT = 256
"""Scratch memory is kept for at most this many actions."""
NONE = np.zeros(0)
"""The memory of an agent without such sets."""


class State(NamedTuple):
    """What an agent with such sets has learned."""

    levels: Levels
    sets: Array
    """Packed as in ``memory.unpacked``; of length 0 if there are none."""


class SavedSets(NamedTuple):
    """The part of the sets that goes to a file; the rest follows from it. Without sets there are 0 blocks."""

    rows: Array
    """(m, d, d + 2), or (m, d, d + 3) with forecasts; (2m, d, d + 2) with the regressions of weighted B behind."""
    factor: Array
    """(m, d, d + 1): R, and the inverses of its diagonal."""
    sums: Array
    """(m, 4): E, M₁, M₂ and n of each block; (m, 5) with E of weighted B."""
    counts: NDArray[np.int64]
    """(m, 3)."""
    status: NDArray[np.int64]
    """(2,)."""


def make_rules(
    dim: int,
    blocks: int,
    share: float,
    *,
    noise: float,
    norm: float,
    regularization: float,
    action_norm: float,
    reward_range: tuple[float, float] | None,
    misspecification: tuple[float, ...] = (0.0,),
    rewards_within: tuple[float, float] | None = None,
) -> Rules:
    """The constants of the sets; A and B get ``share`` of δ each, for all blocks together.

    In a block, λ = R²d/(4S²) balances bias and noise; if R or S is 0, λ of the other regressions is used. If all
    rewards lie in a known range, B and weighted B get half of that share each.
    """
    low, high = reward_range or (-math.inf, math.inf)
    matched = noise > 0.0 and norm > 0.0
    lam = noise**2 * (dim // blocks) / (4.0 * norm**2) if matched else regularization
    least, most = rewards_within or (0.0, 0.0)
    weighted = 0.0
    if rewards_within is not None:  # d/(4S²), or widths are lost to rounding
        smallest = SMALLEST_RATIO * action_norm**2 / (LEAST_VARIANCE * (most - least) ** 2)
        weighted = max(min((dim // blocks) / max(4.0 * norm**2, 1e-150), 1e150), smallest)
    return Rules(
        noise=noise,
        norm=norm,
        action_norm=action_norm,
        regularization=max(lam, SMALLEST_RATIO * action_norm**2),  # or widths are lost to rounding
        log_share=math.log(blocks / share),
        low=low,
        high=high,
        forecast_share=math.log(blocks / share if rewards_within is None else 2.0 * blocks / share),
        least=least,
        span=most - least,
        weighted_regularization=weighted,
        zetas=np.array(misspecification, dtype=np.float64),
    )


def empty(dim: int, blocks: int, rules: Rules) -> Array:
    """The memory of sets without data."""
    d = dim // blocks
    columns = d + 3 if rules.zetas[-1] > 0.0 else d + 2
    head = [blocks, d, columns, len(rules.zetas), *rules[:-1], *rules.zetas]
    size = 12 * blocks + 3 + blocks * d * (columns + triangle.columns(d))
    size += blocks * (d * (d + 2) + 2) if rules.span > 0.0 else 0
    memory = np.concatenate((np.array(head, dtype=np.float64), np.zeros(size)))
    sets, _ = packed.unpacked(memory)
    sets.sums[:, packed.SCALE] = rules.regularization
    for rows in sets.weighted:
        ridge.reset(rows, rules.weighted_regularization)
    for b in range(blocks):
        ridge.reset(sets.rows[b], rules.regularization)
        triangle.reset(sets.factor[b], rules.regularization)
        kernels.set_radii(sets, rules, b)
    return memory


class Spare:
    """Scratch memory for kernels; it is kept for the last few sizes, unless they are large."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Array] = {}

    def room(self, n: int, memory: Array) -> Array:
        """For n actions."""
        key = n, memory.size
        if key in self._kept:
            return self._kept[key]
        made = np.zeros(packed.room(n, int(memory[0]), int(memory[1]), packed.is_weighted(memory)))
        if n <= KEPT:
            if len(self._kept) > 3:
                self._kept = {}
            self._kept[key] = made
        return made


def saved(memory: Array) -> SavedSets:
    """What goes to a file."""
    if not memory.size:
        return SavedSets(
            np.zeros((0, 0, 0)),
            np.zeros((0, 0, 0)),
            np.zeros((0, 4)),
            np.zeros((0, 3), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
        )
    sets, rules = packed.unpacked(memory)
    d = sets.rows.shape[1]
    factor = np.concatenate((np.triu(sets.factor[:, :, :d]), sets.factor[:, :, -1:]), axis=2)
    rows, sums = sets.rows, sets.sums[:, :4].copy()
    if rules.span > 0.0:
        rows = np.concatenate((rows, sets.weighted))
        sums = np.concatenate((sums, sets.weighted_sums[:, : packed.WEIGHTED_EXCESS + 1]), axis=1)
    return SavedSets(rows, factor, sums, sets.counts, sets.status[:2])


def _status(memory: Array, which: int) -> int:
    """An entry of the status; this is faster than ``unpacked``."""
    place = packed.HEAD + int(memory[3]) + 12 * int(memory[0])
    return int(memory[place : place + 3].view(np.int64)[which])


def refuted(memory: Array) -> bool:
    """Whether the data of the sets refute the assumptions by themselves, under every ζ."""
    return bool(memory.size) and _status(memory, 1) != 0


def in_force(memory: Array) -> float:
    """The ζ in force."""
    return float(memory[packed.HEAD + _status(memory, 0)])


def answered(memory: Array) -> float:
    """The ζ under which the last answer was given."""
    return float(memory[packed.HEAD + _status(memory, 2)])


def restored(told: SavedSets, fresh: Array, rounds: int) -> Array:
    """Write saved sets into ``fresh``, the memory of sets without data; a ``ValueError`` if no data lead to them."""
    expected = saved(fresh)
    if [array.shape for array in told] != [array.shape for array in expected]:
        raise ValueError("the sets are not those of such an agent")
    if not fresh.size:
        return fresh
    sets, rules = packed.unpacked(fresh)
    m, d, columns = sets.rows.shape
    n = told.sums[:, COUNT]
    sound = (
        np.isfinite(told.sums).all()
        and (np.abs(told.sums) <= LARGEST_SUM).all()
        and n.min() >= 0
        and float(n.sum()) <= rounds
        and (told.counts >= 0).all()
        and told.counts[:, packed.STEP].max() <= 400
        and told.counts[:, packed.ROTATIONS].max() <= max(REFRESH_EVERY, d)
        and told.counts[:, packed.LATE].max() <= 1
        and 0 <= told.status[0] < len(rules.zetas)
        and told.status[1] in (0, 1)
    )
    if not sound:
        raise ValueError("the sets are not those of any data")
    sets.rows[...], sets.counts[...], sets.status[:2] = told.rows[:m], told.counts, told.status
    sets.factor[:, :, :d], sets.factor[:, :, -1] = told.factor[:, :, :d], told.factor[:, :, d]
    sets.sums[:, :4] = told.sums[:, :4]
    for b in range(m):
        rows, factor = sets.rows[b], sets.factor[b]
        scale = rules.regularization * 4.0 ** float(sets.counts[b, packed.STEP])
        for outcome in range(d + 1, columns):
            own = np.concatenate((rows[:, : d + 1], rows[:, outcome : outcome + 1]), axis=1)
            check_factors(own, rules.regularization, float(n[b]), rules.action_norm, LARGEST_REWARD)
        _check_scale(rows, told.factor[b], rules.regularization, scale)
        if rules.span > 0.0:
            _restore_weighted(sets, rules, b, told.rows[m + b], float(told.sums[b, 4]))
        sets.sums[b, packed.SCALE] = scale
        sets.sums[b, packed.LOGDET] = triangle.log_determinant(factor, scale)
    for b in range(m):
        kernels.set_radii(sets, rules, b)
    return fresh


def _restore_weighted(sets: packed.Sets, rules: Rules, b: int, rows: Array, excess: float) -> None:
    """Restore the regression with weights; refuse one that no rewards within the range lead to."""
    weight = float(sets.sums[b, COUNT]) / (LEAST_VARIANCE * rules.span**2)
    largest = max(abs(rules.least), abs(rules.least + rules.span))
    check_factors(rows, rules.weighted_regularization, weight, rules.action_norm, largest)
    sets.weighted[b], sets.weighted_sums[b, packed.WEIGHTED_EXCESS] = rows, excess


def _check_scale(rows: Array, factor: Array, regularization: float, scale: float) -> None:
    """Refuse a factor that is not that of V + ℓI."""
    d = len(rows)
    R, H, inverse = np.triu(rows[:, 1 : d + 1]), np.triu(factor[:, :d]), factor[:, d]
    sound = (
        np.isfinite(factor).all()
        and (H.diagonal() > 0).all()
        and (np.tril(factor[:, :d], -1) == 0).all()
        and (np.abs(H.diagonal() * inverse - 1) < 1e-12).all()
    )
    if sound:
        gram = R.T @ R + (scale - regularization) * np.eye(d)
        sound = bool(np.abs(H.T @ H - gram).max() <= 1e-6 * np.abs(gram).max())
    if not sound:
        raise ValueError("the sets have factors that contradict each other")

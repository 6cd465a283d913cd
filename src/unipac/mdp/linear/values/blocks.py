"""Distinct features, and blocks of them without a common coordinate: data of one say nothing about the others.

A block of one feature needs no regression: it is counted. Regressions of other blocks take the coordinates of the block
only, so one-hot features never become matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unipac._arrays import Array, Integers

ALONE = -1
"""In place of the number of a block, for a feature that is alone in its block."""

NOT_COUNTED = -1


class Layout(NamedTuple):
    """N distinct features, B blocks of two or more of them."""

    number: Integers
    """(S, A): number of the feature of a pair."""
    block: Integers
    """(N,): number of the block, or ``ALONE``."""
    cell: Integers
    """(N,): number among those whose next states are counted, or ``NOT_COUNTED``."""
    x: Array
    """(N, D): coordinates in the block, with zeros up to the size of the largest one."""
    norm: Array
    """(N,)."""
    sizes: Integers
    """(B,): coordinates of each block."""
    cells: int
    """How many features are counted."""


def layout(features: Array, count_small_blocks: bool) -> Layout:
    """The layout of features (S, A, d); lone features are counted, on request also blocks of at most 2 rank of them."""
    n_states, n_actions, d = features.shape
    distinct, index = np.unique(features.reshape(-1, d) + 0.0, axis=0, return_inverse=True)
    groups = _groups(distinct)
    members = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
    many = [who for who in members if len(who) > 1]
    coordinates = [np.flatnonzero(distinct[who].any(axis=0)) for who in many]
    sizes = np.array([len(c) for c in coordinates], dtype=np.int64)
    block = np.full(len(distinct), ALONE)
    x = np.zeros((len(distinct), int(sizes.max(initial=0))))
    counted = np.ones(len(distinct), dtype=bool)
    for b, (who, where) in enumerate(zip(many, coordinates, strict=True)):
        block[who] = b
        x[who, : len(where)] = distinct[np.ix_(who, where)]
        counted[who] = count_small_blocks and len(who) <= 2 * np.linalg.matrix_rank(distinct[who])
    cell = np.full(len(distinct), NOT_COUNTED)
    cell[counted] = np.arange(counted.sum())
    norm = np.linalg.norm(distinct, axis=1)
    pairs = index.reshape(n_states, n_actions).astype(np.int64)
    return Layout(pairs, block, cell, x, norm, sizes, int(counted.sum()))


def _groups(X: Array) -> Integers:
    """The number of the block of each row: rows that share a coordinate, directly or through other rows."""
    leader = list(range(X.shape[1]))

    def find(j: int) -> int:
        while leader[j] != j:
            leader[j] = leader[leader[j]]
            j = leader[j]
        return j

    first = np.empty(len(X), dtype=np.int64)
    for i, row in enumerate(X):
        used = np.flatnonzero(row)
        first[i] = used[0]
        for j in used[1:]:
            leader[find(int(j))] = find(int(used[0]))
    return np.unique([find(int(j)) for j in first], return_inverse=True)[1].astype(np.int64)

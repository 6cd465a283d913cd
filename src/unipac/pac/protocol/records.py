"""What searches hand out, what their algorithms yield, and what they keep."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from unipac._arrays import Integers


class Batch(NamedTuple):
    """What to sample.

    >>> from unipac import LinGapE
    >>> batch = LinGapE([[1.0, 0.0], [0.0, 1.0]]).ask()
    >>> batch.arms.tolist(), batch.counts.tolist()
    ([0, 1], [1, 1])
    """

    arms: Integers
    """(m,): the arms to pull."""
    counts: Integers
    """(m,): how often each."""


class Answer(NamedTuple):
    """What a search has found so far.

    >>> from unipac import LinGapE, envs
    >>> LinGapE([[1.0, 0.0], [0.0, 1.0]], noise=0.0).run(envs.fixed_arms([[1, 0], [0, 1]], [0.2, 0.7])).index
    1
    """

    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """The arm."""
    certificate: float
    """With probability 1 − δ, at every moment, no other answer is better by more than this."""
    pulls: int
    """How many samples it took."""
    counts: Integers
    """(n,): how many of each arm."""


class Request(NamedTuple):
    """What an algorithm yields: a batch, and what it would answer now.

    >>> Request(arms=[0, 1], counts=[5, 5], index=0, certificate=2.0).counts
    [5, 5]
    """

    arms: Any
    """(m,): the arms to pull."""
    counts: Any
    """(m,): how often each."""
    index: Any
    """What it would answer now: an arm, or whatever ``_found`` takes."""
    certificate: float
    """How much worse than the best this answer can be."""


Steps = Generator[Request, Any, tuple[Any, float]]
"""Yields requests, receives what users pass to ``tell`` (sums of rewards, for arms), returns arm and certificate."""


class Moment(NamedTuple):
    """Where a search stands, beside its log."""

    wanted: Batch | None
    """What to sample next; None if the search is done."""
    index: Any
    """What it would answer now."""
    certificate: float
    """How much worse than the best this answer can be."""
    pulls: int
    counts: Integers
    """(n,): how many of each arm."""


class Log(NamedTuple):
    """All results that a search has received: its state on disk."""

    lengths: Integers
    """(batches,): the number of arms of each batch."""
    arms: Integers
    counts: Integers
    sums: Any
    """The results, one row for each arm of each batch."""

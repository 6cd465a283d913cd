"""What is said of a chosen action; apart from the protocol, so that kernels depend on this alone."""

from __future__ import annotations

from typing import NamedTuple

REFUTED = 1e-12
"""Relative margin by which a lower bound must exceed an upper one to be more than rounding."""


class Verdict(NamedTuple):
    """What is known of a chosen action."""

    chosen: int
    level: int
    mean: float
    width: float
    ucb: float
    lcb: float
    certificate: float
    refuted: bool

"""What is said of a chosen action; apart from the protocol, so that kernels depend on this alone."""

from __future__ import annotations

from typing import NamedTuple

from unipac._jit import inlined

REFUTED = 1e-12
"""Relative margin by which a lower bound must exceed an upper one to be more than rounding."""

UNDERFLOW = 1e-100
"""Rewards below this refute nothing: squares of numbers near 1e-162 vanish, and with them widths. β is below 1e60."""


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


@inlined
def contradict(lcb: float, ucb: float, reach: float) -> bool:
    """Whether bounds on an expected reward refute the assumptions: they cross, or leave ±``reach``, which is S L."""
    crossed = lcb > ucb + (REFUTED * max(abs(lcb), abs(ucb)) + UNDERFLOW)
    most = reach * (1.0 + REFUTED) + UNDERFLOW
    return crossed or lcb > most or ucb < -most

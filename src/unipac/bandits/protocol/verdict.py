"""What is said of a chosen action; apart from the protocol, so that kernels depend on this alone."""

from __future__ import annotations

from typing import NamedTuple

from unipac._jit import jit

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


@jit
def contradict(lcb: float, ucb: float, reach: float) -> bool:
    """Whether bounds on an expected reward refute the assumptions: they cross, or leave ±``reach``, which is S L."""
    crossed = lcb > ucb + REFUTED * max(abs(lcb), abs(ucb))
    return crossed or lcb > reach * (1.0 + REFUTED) or ucb < -reach * (1.0 + REFUTED)

"""Declarations of parameters that many agents share: one default, one check, one wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unipac import _checks as check
from unipac._parameters import Converted, parameter


def delta() -> Any:
    """The parameter δ."""
    return parameter(default=0.05, check=check.probability, words="δ, the probability that some bound fails")


def noise() -> Any:
    """The parameter R."""
    return parameter(default=1.0, check=check.scale, words="R, the sub-Gaussian scale of the noise")


def norm() -> Any:
    """The parameter S."""
    words = "S, a bound on the norm of the unknown parameter"
    return parameter(default=1.0, check=check.scale, words=words)


def regularization() -> Any:
    """The parameter λ."""
    return parameter(default=1.0, check=check.positive, words="λ > 0 of the ridge regressions")


EPISODES_FOR_BONUS = "K, for how many episodes the bonus is made; nothing is proven beyond"
"""The words for ``total_episodes``, which type checkers must see declared as required."""
EPISODES_MOVED = {"episodes": "K is given as total_episodes, not as episodes"}


def seed(words: str) -> Any:
    """A seed of at most 128 bits; ``words`` says what it is for."""
    return parameter(default=0, check=check.seed, words=words)


def bonus_scale() -> Any:
    """The factor of the bonus of a choice."""
    words = (
        "multiplies the bonus used to choose; bounds keep the proven radius, mistakes are bounded only at 1"
    )
    return parameter(default=1.0, check=check.nonnegative, words=words)


def tight() -> Any:
    """Whether certificates come from further sets."""
    words = (
        "whether certificates use further sets of all data, with a part of δ: smaller, at some cost in speed"
    )
    return parameter(default=True, check=check.flag, words=words)


def blocks() -> Any:
    """How many blocks of columns there are."""
    words = "m: the vectors are m blocks of d/m columns, and an action is zero outside of one; certificates use it"
    return parameter(default=1, check=check.count, words=words)


def misspecification() -> Any:
    """By how much expected rewards may differ from linear ones."""
    words = (
        "ζ ≥ 0: expected rewards differ from linear ones by at most ζ; or several, increasing: when the data refute "
        "one, the next is assumed. Then the attribute is the one in force"
    )
    return parameter(default=0.0, check=check.increasing, words=words)


Misspecification = Converted[float | Sequence[float], float]
"""One number or several; the attribute is the one in force."""


def rewards_within() -> Any:
    """Between which numbers every reward lies."""
    words = (
        "(low, high) between which every reward lies, if known: others are refused, and certificates are smaller where "
        "rewards are near an end. ``reward_range`` is the same unless it is given"
    )
    return parameter(default=None, check=check.optional_range, words=words)


def replan(default: str) -> Any:
    """When to plan anew."""
    words = 'when to plan anew: "always" before every episode, or "lazy"'
    return parameter(default=default, check=check.choice("lazy", "always"), words=words)


def replan_factor(default: float) -> Any:
    """How long a lazy plan lasts."""
    words = "a lazy plan lasts until some determinant or count has grown by this factor"
    return parameter(default=default, check=check.at_least_one, words=words)

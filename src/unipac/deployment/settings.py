"""The settings of a deployment, which the first event of its log holds."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from unipac import _checks as check
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.inputs import checked_reward
from unipac.deployment.log import reward_value
from unipac.features.maps import Features

MOST_TESTED = 64
"""Up to this dimension linearity is tested by default: a test takes d² steps for each round."""
LINEARITY = 0.01


class Settings(NamedTuple):
    """The arguments of the constructor, checked."""

    window: float | None
    default: float | None
    holdout: float
    seed: int
    drift: float
    linearity: float
    max_pending: int

    @classmethod
    def told(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a log; older logs have no alarm of linearity."""
        return {name: spec.get(name, 0.0) if name == "linearity" else spec[name] for name in cls._fields}


def checked(
    agent: Any,
    features: Any,
    window: float | timedelta | None,
    default: float | None,
    holdout: float,
    seed: int | None,
    drift: float,
    linearity: float | None,
    max_pending: int,
) -> Settings:
    """The settings, or a ``ValueError`` that names what does not fit."""
    fits = isinstance(agent, BanditAgent) and not agent.pending
    check.require(fits, "agent", "a bandit agent without pending decisions", agent)
    if features is not None:
        fits = isinstance(features, Features) and features.dim == agent.dim
        check.require(fits, "features", f"a map of unipac.features with dim {agent.dim}", features)
    seconds = window.total_seconds() if isinstance(window, timedelta) else window
    if seconds is not None and default is not None:
        checked_reward(agent, default, "default")  # it is learned as a reward
    share = _below_one("holdout", holdout)
    if seed is None:
        seed = secrets.randbits(53) if share > 0.0 else 0  # JSON has integers of 53 bits everywhere
    if linearity is None:
        linearity = LINEARITY if agent.dim <= MOST_TESTED else 0.0
    return Settings(
        None if seconds is None else check.positive("window", seconds),
        None if default is None else reward_value("default", default),
        share,
        check.seed("seed", seed),
        _below_one("drift", drift),
        _below_one("linearity", linearity),
        check.count("max_pending", max_pending),
    )


def _below_one(name: str, value: float) -> float:
    number = check.real(name, value)
    check.require(0.0 <= number < 1.0, name, "from 0 to less than 1", value)
    return number

"""The parameters of an agent over levels: which radii they give, level by level, and whether these are proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unipac._arrays import Array
from unipac.linalg.levels import NESTED, SINGLE
from unipac.theory import mdp_radii, radii

FIXED, FINITE, MIXTURE = 0, 1, 2
"""Kinds of radius: one number per level; ``flute_finite`` with two constants; H times ``mixture`` with a share of δ."""

CENTRED = ("finite", "explicit")
"""Radii for targets r + V(s') − (H − h)/2 with V at most H − h."""

MOST_CHECKED = 30
"""Levels up to which the theorem is compared with the explicit radius; the ratio of the two falls with l."""


class Rules(NamedTuple):
    """The constants of an agent, for kernels."""

    rule: int
    """SINGLE, DISJOINT or NESTED, as in ``linalg.levels``."""
    kind: int
    """FIXED, FINITE or MIXTURE."""
    horizon: int
    regularization: float
    scale: float
    """``bonus_scale``: the factor of the radii when choosing."""
    rise: float
    """Replan when a log det rose by more than this; negative: before every episode."""
    constants: Array
    """(levels, H, 2): constants of the radius of each level at each stage."""
    centre: Array
    """(H,): what is subtracted from the targets of each stage, and added to the estimate."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """The parameters of an agent, for its memory."""

    horizon: int
    n_states: int
    """0 where observations are not numbers of states."""
    n_actions: int
    dim: int
    reward_range: tuple[float, float] = (0.0, 1.0)
    rule: int
    """SINGLE, DISJOINT or NESTED."""
    caps: Array
    """(H,): the largest possible value from each stage on, to which Q is clipped."""
    radius: str
    delta: float
    regularization: float
    constant: float = 1.0
    bonus_scale: float = 1.0
    replan_factor: float | None = None
    """None: a new plan before every episode."""
    total_episodes: int | None = None
    """How many episodes the radius is made for, if it depends on that."""

    @property
    def lazy(self) -> bool:
        """Whether a plan may serve several episodes."""
        return self.replan_factor is not None

    def rules(self, levels: int) -> Rules:
        """The constants for ``levels`` levels."""
        constants = np.zeros((levels, self.horizon, 2))
        for i in range(1 if self.rule == SINGLE else levels):
            constants[i] = self._constants(i + 1)
        return Rules(
            rule=self.rule,
            kind={"finite": FINITE, "mixture": MIXTURE}.get(self.radius, FIXED),
            horizon=self.horizon,
            regularization=self.regularization,
            scale=self.bonus_scale,
            rise=-1.0 if self.replan_factor is None else math.log(self.replan_factor) + 1e-9,
            constants=constants,
            centre=0.5 * np.arange(self.horizon - 1, -1, -1.0) * (self.radius in CENTRED),
        )

    def _constants(self, level: int) -> Array:
        """(H, 2): constants of a level at each stage; only "finite" uses the second column."""
        d, H, delta = self.dim, self.horizon, self.delta
        nested = self.rule == NESTED
        if self.radius == "finite":
            args: dict[str, Any] = {
                "n_states": self.n_states,
                "nested": nested,
                "episodes": self.total_episodes,
            }
            args |= {"regularization": self.regularization}
            stages = range(1, H + 1)
            return np.array([mdp_radii.finite_constants(d, H, level, delta, stage=h, **args) for h in stages])
        if self.radius == "mixture":
            first = delta if self.rule == SINGLE else radii.level_delta(delta, level)
        elif self.radius == "explicit":
            first = mdp_radii.flute_explicit(
                d, H, level, delta, regularization=self.regularization, nested=nested
            )
        elif self.rule == SINGLE:
            assert self.total_episodes is not None
            first = mdp_radii.lsvi_ucb(d, H, self.total_episodes, delta, constant=self.constant)
        else:
            first = mdp_radii.flute_theorem(d, H, level, delta, constant=self.constant)
        return np.tile([first, 0.0], (H, 1))

    @property
    def certified(self) -> bool:
        """Whether the radius is proven: "mixture" never, "theorem" if its constant is large enough."""
        if self.reward_range != (0.0, 1.0):
            return False
        if self.radius in CENTRED:
            return True
        if self.radius == "mixture" or self.rule == SINGLE:
            return False
        sizes, nested = (self.dim, self.horizon), self.rule == NESTED
        return all(
            mdp_radii.flute_theorem(*sizes, level, self.delta, constant=self.constant)
            >= mdp_radii.uncentred_explicit(*sizes, level, self.delta, self.regularization, nested)
            for level in range(1, MOST_CHECKED + 1)
        )

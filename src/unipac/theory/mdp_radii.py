"""Radii of the regressions in FLUTE and LSVI-UCB: bonuses that keep every Q above Q*.

The V in the regression targets r + V_{h+1}(s') is estimated from the same data. So the noise bound must hold for
all V of a class at once, and a cover of the class enters the radius. Q is clipped to [0, H − h + 1], so
V = V_{h+1} lies in [0, R], R = H − h, and its noise is R/2-sub-Gaussian. Let n be the number of members of a set, e
the resolution of the cover. Since probabilities sum to 1, P(V − R/2) is linear in the features, too. So one may
regress on r + V(s') − R/2 and add R/2 afterwards. The parameter then has a norm of at most (1 + R/2) √d, and

    β = (R/2) √(log det(Σ/λ) + 2 log N(e) + 2 log(2H l(l+1)/δ)) + 2e √n + (1 + R/2) √(dλ)

where the last two terms are the errors of the cover and of the ridge. For finitely many states N(e) ≤ (1 +
R/(2e))^{n_states}; in general the class of level l is parametrised by the w and β²Σ⁻¹ of the levels i ≤ l,
whose covers multiply. At the last stage R = 0, and only the error of the ridge remains.

| symbol | argument | meaning |
|---|---|---|
| d, H | ``dim``, ``horizon`` | length of the features, stages of an episode |
| l | ``level`` | level, from 1 |
| δ | ``delta`` | probability that some set fails |
| λ | ``regularization`` | ridge parameter |
| K | ``episodes`` | number of episodes, known beforehand |
"""

from __future__ import annotations

import functools
import math

import numpy as np

from unipac import _checks as check
from unipac.theory.bounds import LARGEST_LEVEL, level_size

LARGEST_HORIZON = 10_000


def flute_theorem(dim: int, horizon: int, level: int, delta: float, *, constant: float = 1.0) -> float:
    """Theorem 2 of He, Zhou and Gu (2021): β_l = C d H l √log(d l H/δ); the paper leaves C open.

    >>> flute_theorem(2, 3, 1, 0.05)     # 6 √log 120 = 6 √4.787492
    13.128203
    """
    d, H, delta = _checked(dim, horizon, delta)
    level = check.count("level", level)
    scale = check.positive("constant", constant) * d * H * level
    return scale * math.sqrt(math.log(d * level * H / delta))


def lsvi_ucb(dim: int, horizon: int, episodes: int, delta: float, *, constant: float = 1.0) -> float:
    """Theorem 3.1 of Jin et al. (2020): β = c d H √log(2 d K H/δ); the paper leaves c open.

    >>> lsvi_ucb(2, 3, 100, 0.05)        # 6 √log 24000 = 6 √10.085809
    19.054898
    """
    d, H, delta = _checked(dim, horizon, delta)
    K = check.count("episodes", episodes)
    scale = check.positive("constant", constant) * d * H
    return scale * math.sqrt(math.log(2 * d * K * H / delta))


def members_bound(
    dim: int, horizon: int, level: int, *, regularization: float = 1.0, nested: bool = False
) -> int:
    """The most members of the set of level l at a stage: H ``level_size(l)``, summed up to l if ``nested``.

    A stage may inherit the level of the stage before it, so H times as many rounds can enter a level as in a
    bandit.

    >>> members_bound(1, 3, 2), members_bound(1, 3, 2, nested=True)     # 3 · 71 and 3 · (12 + 71)
    (213, 249)
    """
    d = check.count("dim", dim)
    H = check.count("horizon", horizon, most=LARGEST_HORIZON)
    level = check.count("level", level, most=LARGEST_LEVEL)
    lam = check.positive("regularization", regularization)
    return _members_bound(d, H, level, lam, check.flag("nested", nested))


@functools.lru_cache(maxsize=4096)
def _members_bound(d: int, H: int, level: int, lam: float, nested: bool) -> int:
    levels = range(1, level + 1) if nested else [level]
    return H * sum(level_size(d, i, lam) for i in levels)


def flute_finite(
    logdet: float,
    dim: int,
    horizon: int,
    level: int,
    delta: float,
    *,
    n_states: int,
    regularization: float = 1.0,
    nested: bool = False,
    stage: int = 1,
) -> float:
    """The radius for finitely many states, with the log-determinant of the data; proven for all δ, λ.

    By default it is the radius of the first stage, which is the largest.

    >>> flute_finite(0.0, 2, 3, 1, 0.05, n_states=3, stage=3)        # √2: nothing comes after the last stage
    1.414214
    """
    inside, outside = finite_constants(
        dim,
        horizon,
        level,
        delta,
        n_states=n_states,
        regularization=regularization,
        nested=nested,
        stage=stage,
    )
    return _flute_finite(check.nonnegative("logdet", logdet), int(horizon) - int(stage), inside, outside)


def finite_constants(
    dim: int,
    horizon: int,
    level: int,
    delta: float,
    *,
    n_states: int,
    regularization: float = 1.0,
    nested: bool = False,
    episodes: int | None = None,
    stage: int = 1,
) -> tuple[float, float]:
    """The terms of ``flute_finite`` under the root and outside it; they do not depend on the data.

    The resolution e minimises the radius of a full set. With ``episodes`` the set is that of LSVI-UCB: it has
    that many members, and δ is not shared between levels.
    """
    d, H, delta = _checked(dim, horizon, delta)
    states = check.count("n_states", n_states)
    lam = check.positive("regularization", regularization)
    R = H - check.count("stage", stage, most=H)
    if episodes is None:
        level = check.count("level", level, most=LARGEST_LEVEL)
        n = members_bound(d, H, level, regularization=lam, nested=nested)
        failures = 2 * H * level * (level + 1) / delta
    else:
        n = check.count("episodes", episodes)
        failures = 2 * H / delta
    return _finite_constants(d, states, lam, R, n, failures)


@functools.lru_cache(maxsize=4096)
def _finite_constants(
    d: int, states: int, lam: float, R: int, n: int, failures: float
) -> tuple[float, float]:
    logdet = d * math.log1p(n / (d * lam))
    ridge = (1 + R / 2) * math.sqrt(d * lam)
    if R == 0:
        return 0.0, ridge
    e = R * np.geomspace(1e-12, 1.0, 400)
    inside = 2 * float(states) * np.log1p(R / (2 * e)) + 2 * math.log(failures)
    outside = 2 * e * math.sqrt(n) + ridge
    best = int(np.argmin(R / 2 * np.sqrt(logdet + inside) + outside))
    return float(inside[best]), float(outside[best])


def flute_explicit(
    dim: int,
    horizon: int,
    level: int,
    delta: float,
    *,
    regularization: float = 1.0,
    nested: bool = False,
) -> float:
    """The radius for any state space, with all constants; a fixed point, since the cover of level l depends on β_l.

    It is the radius of the first stage, R = H − 1, and serves all stages, since the others have smaller ones.

    β_l = (R/2) √(d log(1 + n_l/(dλ)) + 2 Σ_{i ≤ l} [d log(1 + 4W_i/e) + d(d+1)/2 log(1 + 8√d β_i²/(λe²))]
    + 2 log(2H l(l+1)/δ)) + 2e √n_l + (1 + R/2) √(dλ), W_i = (1 + R/2) √(d n_i/λ), with the e that minimises it.
    For λ ≥ 1 the entries of Σ⁻¹ are at most 1, and the λ under β_i² is replaced by 1.

    >>> round(flute_explicit(2, 2, 1, 0.05))
    8
    """
    d, H, delta = _checked(dim, horizon, delta)
    level = check.count("level", level, most=LARGEST_LEVEL)
    lam = check.positive("regularization", regularization)
    return _flute_explicit(d, H, level, delta, lam, check.flag("nested", nested), H - 1.0, (H + 1) / 2)


def uncentred_explicit(d: int, H: int, level: int, delta: float, lam: float, nested: bool) -> float:
    """``flute_explicit`` for values in [0, H] and targets r + V(s'), as in Theorem 2."""
    return _flute_explicit(d, H, level, delta, lam, nested, float(H), H + 1.0)


@functools.lru_cache(maxsize=4096)
def _flute_explicit(
    d: int, H: int, level: int, delta: float, lam: float, nested: bool, span: float, target: float
) -> float:
    """V has values in an interval of length ``span``, and targets are at most ``target`` in absolute value."""
    if span == 0.0:
        return target * math.sqrt(d * lam)
    shrink = min(lam, 1.0)
    n = [members_bound(d, H, i, regularization=lam, nested=nested) for i in range(1, level + 1)]
    e = np.geomspace(1e-12, 1.0, 400) * span
    cover = np.zeros_like(e)
    for i, members in enumerate(n, start=1):
        cover += 2 * d * np.log1p(4 * target * math.sqrt(d * members / lam) / e)
        if i < level:
            beta = _flute_explicit(d, H, i, delta, lam, nested, span, target)
            cover += d * (d + 1) * np.log1p(8 * math.sqrt(d) * beta**2 / (shrink * e**2))
    fixed = d * math.log1p(n[-1] / (d * lam)) + 2 * math.log(2 * H * level * (level + 1) / delta)
    rest = 2 * e * math.sqrt(n[-1]) + target * math.sqrt(d * lam)
    beta = 1.0
    for _ in range(200):
        own = d * (d + 1) * np.log1p(8 * math.sqrt(d) * beta**2 / (shrink * e**2))
        following = float((span / 2 * np.sqrt(fixed + cover + own) + rest).min())
        if abs(following - beta) <= 1e-12 * following:
            break
        beta = following
    return following


def _checked(dim: int, horizon: int, delta: float) -> tuple[int, int, float]:
    d = check.count("dim", dim)
    return d, check.count("horizon", horizon, most=LARGEST_HORIZON), check.share("delta", delta)


def _flute_finite(logdet: float, span: float, inside: float, outside: float) -> float:
    return 0.5 * span * math.sqrt(logdet + inside) + outside

"""Radii of the regressions in FLUTE and LSVI-UCB: what must be added so that every Q stays above Q*.

The regression targets r + V_{h+1}(s') use a V that was estimated from the same data, so the noise bound
must hold for all V of a class at once: a cover of the class enters the radius. Let n be the number of
members of a set, e the resolution of the cover; V lies in [0, H], so its noise is H/2-sub-Gaussian, and

    β = (H/2) √(log det(Σ/λ) + 2 log N(e) + 2 log(2H l(l+1)/δ)) + 2e √n + (1 + H) √(dλ)

where the last two terms are the error of the cover and of the ridge. For finitely many states N(e) ≤ (1 +
H/(2e))^{n_states}; in general the class of level l is parametrised by the w and β²Σ⁻¹ of the levels i ≤ l,
whose covers multiply.

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
from unipac.theory.bounds import level_size


def flute_theorem(dim: int, horizon: int, level: int, delta: float, *, constant: float = 1.0) -> float:
    """Theorem 2 of He, Zhou and Gu (2021): β_l = C d H l √log(d l H/δ); C is not given there.

    >>> flute_theorem(2, 3, 1, 0.05)     # 6 √log 120 = 6 √4.787492
    13.128203
    """
    check.count("dim", dim)
    check.count("horizon", horizon)
    check.count("level", level)
    check.probability("delta", delta)
    scale = check.positive("constant", constant) * dim * horizon * level
    return scale * math.sqrt(math.log(dim * level * horizon / delta))


def lsvi_ucb(dim: int, horizon: int, episodes: int, delta: float, *, constant: float = 1.0) -> float:
    """Theorem 3.1 of Jin et al. (2020): β = c d H √log(2 d K H/δ); c is not given there.

    >>> lsvi_ucb(2, 3, 100, 0.05)        # 6 √log 24000 = 6 √10.085809
    19.054898
    """
    check.count("dim", dim)
    check.count("horizon", horizon)
    check.count("episodes", episodes)
    check.probability("delta", delta)
    scale = check.positive("constant", constant) * dim * horizon
    return scale * math.sqrt(math.log(2 * dim * episodes * horizon / delta))


def members_bound(
    dim: int, horizon: int, level: int, *, regularization: float = 1.0, nested: bool = False
) -> int:
    """The most members of the set of level l at a stage: H ``level_size(l)``, or that of all levels up to l.

    A stage takes over the level of the stage before it, so H times as many rounds can reach it as in a
    bandit.

    >>> members_bound(1, 3, 2), members_bound(1, 3, 2, nested=True)     # 3 · 71 and 3 · (12 + 71)
    (213, 249)
    """
    check.count("horizon", horizon)
    levels = range(1, level + 1) if nested else [level]
    return horizon * sum(level_size(dim, i, regularization) for i in levels)


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
) -> float:
    """The radius for finitely many states, with the log-determinant of the data; proven for all δ, λ.

    >>> round(flute_finite(0.0, 2, 3, 1, 0.05, n_states=3), 2)
    14.92
    """
    inside, outside = finite_constants(
        dim, horizon, level, delta, n_states=n_states, regularization=regularization, nested=nested
    )
    return _flute_finite(check.nonnegative("logdet", logdet), horizon, inside, outside)


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
) -> tuple[float, float]:
    """The terms of ``flute_finite`` under the root and outside it; they do not depend on the data.

    The resolution e is the one that makes the radius of a full set smallest. With ``episodes`` the set is
    that of LSVI-UCB: so many members, and no share of δ for levels.
    """
    check.count("n_states", n_states)
    lam = check.positive("regularization", regularization)
    if episodes is None:
        n = members_bound(dim, horizon, level, regularization=lam, nested=nested)
        failures = 2 * horizon * level * (level + 1) / check.probability("delta", delta)
    else:
        n = check.count("episodes", episodes)
        failures = 2 * horizon / check.probability("delta", delta)
    logdet = dim * math.log1p(n / (dim * lam))
    ridge = (1 + horizon) * math.sqrt(dim * lam)
    e = horizon * np.geomspace(1e-12, 1.0, 400)
    inside = 2 * n_states * np.log1p(horizon / (2 * e)) + 2 * math.log(failures)
    outside = 2 * e * math.sqrt(n) + ridge
    best = int(np.argmin(horizon / 2 * np.sqrt(logdet + inside) + outside))
    return float(inside[best]), float(outside[best])


@functools.lru_cache(maxsize=4096)
def flute_explicit(
    dim: int,
    horizon: int,
    level: int,
    delta: float,
    *,
    regularization: float = 1.0,
    nested: bool = False,
) -> float:
    """The radius for any state space, with all constants; a fixed point, as the cover of level l holds β_l.

    β_l = (H/2) √(d log(1 + n_l/(dλ)) + 2 Σ_{i ≤ l} [d log(1 + 4W_i/e) + d(d+1)/2 log(1 + 8√d β_i²/(λe²))]
    + 2 log(2H l(l+1)/δ)) + 2e √n_l + (1 + H) √(dλ), W_i = (H + 1) √(d n_i/λ), e chosen best; for λ ≥ 1 the
    entries of Σ⁻¹ are at most 1 and λ under β_i² is left out.

    >>> round(flute_explicit(2, 2, 1, 0.05))
    16
    """
    lam = check.positive("regularization", regularization)
    shrink = min(lam, 1.0)
    d, H = check.count("dim", dim), check.count("horizon", horizon)
    check.probability("delta", delta)
    n = [members_bound(d, H, i, regularization=lam, nested=nested) for i in range(1, level + 1)]
    e = np.geomspace(1e-12, 1.0, 400) * H
    cover = np.zeros_like(e)
    for i, members in enumerate(n, start=1):
        cover += 2 * d * np.log1p(4 * (H + 1) * math.sqrt(d * members / lam) / e)
        if i < level:
            beta = flute_explicit(d, H, i, delta, regularization=lam, nested=nested)
            cover += d * (d + 1) * np.log1p(8 * math.sqrt(d) * beta**2 / (shrink * e**2))
    fixed = d * math.log1p(n[-1] / (d * lam)) + 2 * math.log(2 * H * level * (level + 1) / delta)
    rest = 2 * e * math.sqrt(n[-1]) + (1 + H) * math.sqrt(d * lam)
    beta = 1.0
    for _ in range(200):
        own = d * (d + 1) * np.log1p(8 * math.sqrt(d) * beta**2 / (shrink * e**2))
        following = float((H / 2 * np.sqrt(fixed + cover + own) + rest).min())
        if abs(following - beta) <= 1e-12 * following:
            break
        beta = following
    return following


def _flute_finite(logdet: float, horizon: int, inside: float, outside: float) -> float:
    return 0.5 * horizon * math.sqrt(logdet + inside) + outside

"""Radii of Cert-LSVI-UCB and ELEANOR: bounds on the error of regressions on estimated values.

The V in the targets r + V(s') is estimated from the same data, so a bound must hold for all V of a class. V lies
in [0, R], R = H − h. With finitely many states a grid of resolution e in [0, R]^S has at most (1 + R/(2e))^S points,
and a V between grid points costs 2e√n. With a fixed e that term would grow with the data until a level never ends.
So e = 2^{−j/2}/2 for 2^{j−1} < n ≤ 2^j, with the share 1/((j+1)(j+2)) of δ.
"""

from __future__ import annotations

import math

from unipac import _checks as check
from unipac.theory.radii import _level_delta


def cert_lsvi_printed(dim: int, horizon: int, level: int, delta: float) -> float:
    """γ_l = 5(l + 20 + ⌈log(l d)⌉) d H √log(16 l d H/δ), as in Zhang, Fan, He and Gu (2024), for λ = 16.

    >>> round(cert_lsvi_printed(4, 4, 1, 0.05))     # 5 · (1 + 20 + 2) · 16 · √log 5120
    5377
    """
    dim, horizon, level = (
        check.count("dim", dim),
        check.count("horizon", horizon),
        check.count("level", level),
    )
    delta = check.probability("delta", delta)
    log = math.log(16 * level * dim * horizon / delta)
    return 5 * (level + 20 + math.ceil(math.log(level * dim))) * dim * horizon * math.sqrt(log)


def cert_lsvi_finite(
    logdet: float,
    members: int,
    level: int,
    *,
    largest: float,
    dim: int,
    n_states: int,
    horizon: int,
    delta: float,
    regularization: float = 1.0,
) -> float:
    """γ = (R/2) √(log det(U/λ) + 2 log(H l(l+1)(j+1)(j+2)/δ) + 2S log(1 + R 2^{j/2})) + 1 + √(λd) (1 + R).

    With probability 1 − δ, for all stages, levels, times and all V with values in [0, R] at once, ⟨φ, w(V)⟩ differs
    from r + PV by at most γ ‖φ‖ in the norm of U⁻¹. With R = 0 there is no noise, and γ = √(λd).

    Args:
        logdet: log det(U/λ).
        members: n, the number of transitions in the regression; j = ⌈log2 n⌉.
        level: l, from 1.
        largest: R, the largest value of V.
        dim: d.
        n_states: S.
        horizon: H.
        delta: δ.
        regularization: λ.

    >>> known = {"largest": 2.0, "dim": 4, "n_states": 3, "horizon": 3, "delta": 0.05}
    >>> cert_lsvi_finite(2.0, 100, 1, **known)     # j = 7: √(2 + 2 log(3·2·8·9/0.05) + 6 log(1 + 2·2^3.5)) + 1 + 2·3
    13.253220
    """
    bias = math.sqrt(regularization * dim)
    if largest == 0.0:
        return bias
    j = math.ceil(math.log2(max(members, 1)))
    share = _level_delta(delta, level) / (horizon * (j + 1) * (j + 2))
    cover = 2 * n_states * math.log(1 + largest * 2 ** (j / 2))
    noise = largest / 2 * math.sqrt(logdet + 2 * math.log(1 / share) + cover)
    return noise + 1 + bias * (1 + largest)


def eleanor(
    logdet: float,
    members: int,
    *,
    largest: float,
    dim: int,
    horizon: int,
    delta: float,
    regularization: float = 1.0,
) -> float:
    """√α = (R/2) √(log det(Σ/λ) + 2 log(H (n+1)(n+2)/δ) + 2d log(1 + 2D/e)) + 2e √n + √(λd) (1 + R).

    For V = max_a ⟨φ, θ⟩ with ‖θ‖ ≤ D = 2(R + 1) √d, clipped to [0, R]; e = 1/√(n + 1). Balls in the d dimensions of
    θ cover all such V: this is why ELEANOR gains √d. With R = 0 there is no noise.

    >>> eleanor(2.0, 99, largest=2.0, dim=4, horizon=3, delta=0.05)  # D = 12: √(2 + 26.63 + 43.88) + 0.2 √99 + 2·3
    16.505117
    """
    bias = math.sqrt(regularization * dim)
    if largest == 0.0:
        return bias
    e, D = 1 / math.sqrt(members + 1), 2 * (largest + 1) * math.sqrt(dim)
    union = 2 * math.log(horizon * (members + 1) * (members + 2) / delta) + 2 * dim * math.log(1 + 2 * D / e)
    return largest / 2 * math.sqrt(logdet + union) + 2 * e * math.sqrt(members) + bias * (1 + largest)

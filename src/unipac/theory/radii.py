"""Radii of the confidence sets ‖w − μ*‖_Σ ≤ β: pure functions of named scalars.

Setting: rewards r = ⟨μ*, x⟩ + η with conditionally R-sub-Gaussian noise η and ‖μ*‖ ≤ S; Σ = λI + Σ xxᵀ
over the rounds of one set. Whether a round belongs to the set is decided before its reward is seen. Each
radius holds for all rounds at once with probability 1 − δ.

| symbol | argument | meaning |
|---|---|---|
| δ | ``delta`` | probability that the set ever misses μ* |
| R | ``noise`` | sub-Gaussian scale of the noise |
| S | ``norm`` | bound on ‖μ*‖ |
| λ | ``regularization`` | ridge parameter |
| log det(Σ/λ) | ``logdet`` | information gathered by the set |

The formulas themselves are the private functions at the end, which the agents' kernels compile, too.
"""

from __future__ import annotations

import math

from unipac import _checks as check


def theorem(dim: int, level: int, delta: float) -> float:
    """The radius of level l in Theorem 1 of He, Zhou and Gu (2021): β_l = 6 √(d l log(d l/δ)).

    Proven for λ = 1, R, S, L ≤ 1 and, if d = 1, δ ≤ 0.71 (at d = l = 1 and larger δ it is too
    small for the proof; see ``theorem_is_proven``).

    >>> theorem(dim=2, level=3, delta=0.05)   # 6 √(6 log 120) = 6 √(6 · 4.787492)
    32.1574
    """
    d = check.count("dim", dim)
    level = check.count("level", level)
    return _theorem(d, level, check.share("delta", delta))


def determinant(
    logdet: float,
    delta: float,
    *,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
) -> float:
    """Theorem 2 of Abbasi-Yadkori et al. (2011), first form: R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S.

    >>> determinant(logdet=3.0, delta=0.05, noise=0.5, regularization=4.0)  # 0.5 √(3 + 5.991465) + 2
    3.499289
    """
    return _determinant(*_checked(logdet, delta, noise, norm, regularization))


def mixture(
    logdet: float,
    delta: float,
    *,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
) -> float:
    """The smaller radius √(R² [log det(Σ/λ) + 2 log(1/δ)] + λ S²).

    Why it holds: exp{(‖r − Φμ*‖² − ‖r − Φθ‖²)/(2R²)} is a supermartingale for each fixed θ (Φ holds the
    actions, r the rewards). Averaged over θ ~ N(0, (R²/λ) I) it equals
    det(Σ/λ)^(−1/2) exp{(‖r − Φμ*‖² − m)/(2R²)} with m = min_θ ‖r − Φθ‖² + λ‖θ‖². Ville's inequality bounds
    it by 1/δ for all rounds at once, and ‖r − Φμ*‖² + λ‖μ*‖² = m + ‖w − μ*‖²_Σ. This is the analytic
    radius of Flynn et al. (2023); it is never above ``determinant``, as √(a² + b²) ≤ a + b.

    >>> mixture(logdet=3.0, delta=0.05, noise=0.5, regularization=4.0)   # √(0.25 · 8.991465 + 4)
    2.499573
    """
    return _mixture(*_checked(logdet, delta, noise, norm, regularization))


def scaled(logdet: float, step: int, delta: float, *, noise: float = 1.0) -> float:
    """The radius of the noise at prior scale ℓ_j = λ 4^j: R √(log det(I + V/ℓ_j) + 2 log((j+1)(j+2)/δ)).

    With probability 1 − δ it bounds ‖Σ x η‖ in the norm of (V + ℓ_j I)⁻¹ for all rounds and all j at once
    (Theorem A of ``docs/theory/sets.md``); so ℓ may follow the data, while λ stays small.

    >>> scaled(logdet=3.0, step=1, delta=0.05, noise=0.5)   # 0.5 √(3 + 2 log(6/0.05))
    1.773061
    """
    return _scaled(
        check.nonnegative("logdet", logdet),
        check.count("step", step, least=0),
        math.log(1.0 / check.share("delta", delta)),
        check.nonnegative("noise", noise),
    )


def forecast(
    excess: float,
    delta: float,
    *,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
) -> float:
    """The radius √(λS² + 2R² log(1/δ) + E), E the realised loss of forecasts beyond that of the regression.

    E = Σ [(y − q)² − (y − ⟨θ̂, x⟩)²/(1 + w²)], with forecasts q, estimates θ̂ and squared widths w² of before each
    reward (Theorem B of ``docs/theory/sets.md``). NaN if E is so small that the assumptions are refuted.

    >>> forecast(excess=0.5, delta=0.05, noise=0.5, regularization=0.1)   # √(0.1 + 0.5 log 20 + 0.5)
    1.448401
    """
    squared = _forecast(
        check.real("excess", excess), 0.0, 0.0, 0.0, 0.0, 0.0,
        math.log(1.0 / check.share("delta", delta)),
        check.nonnegative("noise", noise),
        check.nonnegative("norm", norm),
        check.positive("regularization", regularization),
    )  # fmt: skip
    return math.sqrt(squared) if squared >= 0.0 else math.nan


def pair_variance(lower: float, upper: float, forecast: float) -> float:
    """By which v the squared error of a forecast may be divided, of a reward in [0, 1] whose mean is within bounds.

    E exp{[(y − p)² − (y − q)²]/(2v)} ≤ 1 for every reward y in [0, 1] with a mean p from ``lower`` to ``upper`` and
    the forecast q, also within them: v = h(1 − h) − (1 − 2h)(h − q)/3 with h = ``upper`` if that is at most 1/2, the
    same of 1 − y if ``lower`` is at least 1/2, and else 1/4 (Lemma 4 of ``docs/theory/sets.md``).

    >>> pair_variance(lower=0.0, upper=0.1, forecast=0.02)   # 0.1 · 0.9 − 0.8 · 0.08/3
    0.068667
    """
    low = check.real("lower", lower)
    check.require(0.0 <= low <= 1.0, "lower", "from 0 to 1", lower)
    high = check.real("upper", upper)
    check.require(low <= high <= 1.0, "upper", f"from lower = {low:g} to 1", upper)
    q = check.real("forecast", forecast)
    check.require(low <= q <= high, "forecast", f"from {low:g} to {high:g}", forecast)
    return _pair_variance(low, high, q)


def level_delta(delta: float, level: int) -> float:
    """The share δ_l = δ/(l(l+1)) of level l; the shares of all levels add up to δ.

    >>> level_delta(0.06, 2)   # 0.06 / (2 · 3)
    0.01
    """
    level = check.count("level", level)
    return _level_delta(check.share("delta", delta), level)


def theorem_is_proven(
    dim: int,
    delta: float,
    *,
    noise: float = 1.0,
    norm: float = 1.0,
    regularization: float = 1.0,
    action_norm: float = 1.0,
) -> bool:
    """Whether ``theorem`` is at least ``determinant`` at the level-size bound, for every level.

    If so, the sets of Theorem 1 hold with probability 1 − δ. The paper assumes λ = 1 and R = S = L = 1
    (smaller R, S, L only help). Its "any δ in (0, 1)" fails at d = l = 1, where β_1 tends to 0 as δ tends to
    1: there δ ≤ 0.71 is needed.

    >>> theorem_is_proven(1, 0.71), theorem_is_proven(1, 0.75), theorem_is_proven(2, 0.75)
    (True, False, True)
    """
    d = check.count("dim", dim)
    delta = check.share("delta", delta)
    noise = check.nonnegative("noise", noise)
    norm = check.nonnegative("norm", norm)
    regularization = check.positive("regularization", regularization)
    action_norm = check.positive("action_norm", action_norm)
    return (
        regularization == 1.0
        and noise <= 1.0
        and norm <= 1.0
        and action_norm <= 1.0
        and (d > 1 or delta <= 0.71)
    )


def _checked(
    logdet: float, delta: float, noise: float, norm: float, regularization: float
) -> tuple[float, float, float, float, float]:
    return (
        check.nonnegative("logdet", logdet),
        check.share("delta", delta),
        check.nonnegative("noise", noise),
        check.nonnegative("norm", norm),
        check.positive("regularization", regularization),
    )


def _theorem(dim: int, level: int, delta: float) -> float:
    return 6.0 * math.sqrt(dim * level * math.log(dim * level / delta))


def _determinant(logdet: float, delta: float, noise: float, norm: float, regularization: float) -> float:
    return noise * math.sqrt(logdet + 2.0 * math.log(1.0 / delta)) + math.sqrt(regularization) * norm


def _mixture(logdet: float, delta: float, noise: float, norm: float, regularization: float) -> float:
    return math.sqrt(noise**2 * (logdet + 2.0 * math.log(1.0 / delta)) + regularization * norm**2)


def _level_delta(delta: float, level: int) -> float:
    return delta / (level * (level + 1.0))


def _scaled(logdet: float, step: int, log_share: float, noise: float) -> float:
    return noise * math.sqrt(logdet + 2.0 * (log_share + math.log((step + 1.0) * (step + 2.0))))


def _forecast(
    excess: float,
    cross: float,
    squares: float,
    count: float,
    mix: float,
    zeta: float,
    log_share: float,
    noise: float,
    norm: float,
    regularization: float,
) -> float:
    """The squared radius; with misspecification ζ it holds for any ``mix`` e in (0, 1), chosen by the data."""
    total = regularization * norm**2
    rest = 1.0 - mix
    bias = count * zeta**2 / mix if mix > 0.0 else 0.0
    total += (bias + 2.0 * noise**2 * log_share) / rest
    return total + (excess + 2.0 * mix * cross - mix**2 * squares) / rest**2


def _pair_variance(lower: float, upper: float, forecast: float) -> float:
    h, q = (upper, forecast) if upper <= 1.0 - lower else (1.0 - lower, 1.0 - forecast)
    h = max(h, q)  # equal up to rounding, if q is within the bounds
    return h * (1.0 - h) - (1.0 - 2.0 * h) * (h - q) / 3.0 if h <= 0.5 else 0.25

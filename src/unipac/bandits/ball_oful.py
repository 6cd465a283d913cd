"""BallOFUL: the variant of OFUL in Appendix A of He, Zhou and Gu (2021).

    pseudo-code                                                          here
    Θ = {θ: ‖θ − w‖_Σ ≤ β}, Σ and w from all rounds                      linalg.ridge
    x_k = argmax_{x ∈ D_k} max_{θ ∈ Θ ∩ B(S)} ⟨x, θ⟩, ties at random     support
    β = R √(log det(Σ/λ) + 2 log(1/δ)) + √λ S                            theory.radii.determinant

The inner maximum over an ellipsoid and a ball: every mixture (1 − t)(‖θ − w‖²_Σ − β²) + t (‖θ‖² − S²) ≤ 0
of their inequalities is an ellipsoid that holds both, with a closed-form maximum; the least of these over t
is the answer (strong duality). At that t its maximiser lies on both boundaries, so t is found by bisection
on ‖θ‖ − S.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._checks import one_of
from unipac._inputs import check_norms
from unipac._jit import jit
from unipac.bandits.base import rounds as compiled
from unipac.bandits.base.agent import LinearAgent
from unipac.bandits.base.records import Trace
from unipac.linalg import ridge
from unipac.linalg.levels import SINGLE, Levels

Array = NDArray[np.float64]

TIE = 1e-9
"""Values this close to the largest, relative to it and to S ‖x‖, are ties."""

BISECTIONS = 90
"""Enough to halve the range of log(t/(1 − t)), about 100 wide, down to rounding."""


@jit
def axes(rows: Array) -> tuple[Array, Array, Array]:
    """Σ = V diag(λ_i) Vᵀ from the singular values of R: the λ_i, Vᵀ, and the estimate Vᵀw."""
    d = rows.shape[0]
    R = np.zeros((d, d))
    for i in range(d):
        for j in range(i, d):
            R[i, j] = rows[i, j + 1]
    Q, s, Vt = np.linalg.svd(R)
    return s * s, Vt, np.dot(Q.T, np.ascontiguousarray(rows[:, d + 1])) / s


@jit
def support(eigenvalues: Array, centre: Array, beta: float, norm: float, x: Array) -> tuple[float, bool]:
    """Max ⟨x, θ⟩ over θ in ellipsoid and ball, in the axes of the ellipsoid; whether they intersect."""
    length2 = np.dot(x, x)
    if length2 == 0.0:
        return 0.0, True
    value, size2, _ = _mixed(eigenvalues, centre, beta, norm, x, 1.0, 0.0)
    if size2 <= norm * norm:
        return value, True
    tip = x * (norm / math.sqrt(length2))
    if np.sum(eigenvalues * (tip - centre) ** 2) <= beta * beta:
        return norm * math.sqrt(length2), True
    low = math.log(eigenvalues.min()) - 46.0
    high = math.log(eigenvalues.max()) + 46.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        ratio = math.exp(middle)
        value, size2, meets = _mixed(
            eigenvalues, centre, beta, norm, x, 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
        )
        if not meets:
            return value, False
        if size2 > norm * norm:
            low = middle
        else:
            high = middle
    return value, True


@jit
def _mixed(
    eigenvalues: Array,
    centre: Array,
    beta: float,
    norm: float,
    x: Array,
    a: float,
    b: float,
) -> tuple[float, float, bool]:
    """Over a (‖θ − w‖²_Σ − β²) + b (‖θ‖² − S²) ≤ 0: max ⟨x, θ⟩, ‖θ‖² of the maximiser, whether not empty."""
    slack = a * beta * beta + b * norm * norm
    mean = 0.0
    width2 = 0.0
    for i in range(x.size):
        weight = a * eigenvalues[i] + b
        c_i = a * eigenvalues[i] * centre[i] / weight
        slack -= b * c_i * centre[i]
        mean += x[i] * c_i
        width2 += x[i] * x[i] / weight
    if slack < 0.0:
        return mean, 0.0, False
    size2 = 0.0
    for i in range(x.size):
        weight = a * eigenvalues[i] + b
        c_i = a * eigenvalues[i] * centre[i] / weight
        size2 += (c_i + math.sqrt(slack / width2) * x[i] / weight) ** 2
    return mean + math.sqrt(slack * width2), size2, True


@jit
def bound_all(levels: Levels, norm: float, X: Array, out: Array) -> bool:
    """Mean, ucb and lcb of every row of X, as rows of ``out``; whether ellipsoid and ball intersect.

    If they do not, the bounds are those of the ellipsoid alone.
    """
    beta = levels.beta[0]
    eigenvalues, Vt, centre = axes(levels.rows[0])
    consistent = True
    for k in range(X.shape[0]):
        mean, width2 = ridge.evaluate(levels.rows[0], X[k])
        x = np.dot(Vt, X[k])
        upper, meets = support(eigenvalues, centre, beta, norm, x)
        lower, meets_too = support(eigenvalues, centre, beta, norm, -x)
        out[0, k] = mean
        out[1, k] = upper
        out[2, k] = -lower
        if not (meets and meets_too):
            out[1, k] = mean + beta * math.sqrt(width2)
            out[2, k] = mean - beta * math.sqrt(width2)
            consistent = False
    return consistent


class BallOFUL(LinearAgent):
    """OFUL whose confidence set is cut with the ball of all possible parameters; ties at random.

    Args:
        dim: d, the length of the action vectors.
        delta: δ, the probability that the bounds may fail.
        noise: R, the sub-Gaussian scale of the noise.
        norm: S, a bound on the norm of the unknown parameter and the radius of the ball.
        regularization: λ > 0 of the ridge regression.
        action_norm: L, a bound on the norm of the actions.
        radius: "determinant" as in the paper, or the smaller "mixture".
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        fixed_actions: (n, d); then ``choose()`` needs no argument.
        seed: of the generator that breaks ties.

    >>> agent = BallOFUL(2, noise=0.1)
    >>> agent.bounds([[0.6, 0.8], [0.0, -0.5]]).ucb    # no data yet: S ‖x‖
    array([1. , 0.5])
    """

    def __init__(
        self,
        dim: int,
        *,
        delta: float = 0.05,
        noise: float = 1.0,
        norm: float = 1.0,
        regularization: float = 1.0,
        action_norm: float = 1.0,
        radius: str = "determinant",
        bonus_scale: float = 1.0,
        fixed_actions: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            dim,
            rule=SINGLE,
            radius=one_of("radius", radius, ("determinant", "mixture")),
            delta=delta,
            noise=noise,
            norm=norm,
            regularization=regularization,
            action_norm=action_norm,
            bonus_scale=bonus_scale,
            fixed_actions=fixed_actions,
        )
        self._parameters["seed"] = check.count("seed", seed, least=0)
        self._rng = np.random.default_rng(seed)

    def _choose(self, X: Array, fixed: bool) -> compiled.Verdict:
        check_norms("actions", X, self._confidence.action_norm)
        out = np.empty((3, len(X)))
        meets = self._bound_all(X, out)
        best = out[1].max()
        scale = self._confidence.norm * math.sqrt((X * X).sum(axis=1).max())
        tied = np.flatnonzero(out[1] >= best - TIE * max(scale, abs(best)))
        index = int(tied[0] if len(tied) == 1 else tied[self._rng.integers(len(tied))])
        mean, ucb, lcb = (float(value) for value in out[:, index])
        _, width2 = ridge.evaluate(self._levels.rows[0], X[index])
        certificate, refuted = compiled.certify(self._confidence, best, ucb, lcb)
        if self.certified and not meets:
            certificate, refuted = 0.0, True
        return compiled.Verdict(index, 1, mean, math.sqrt(width2), ucb, lcb, certificate, refuted)

    def _bound_all(self, X: Array, out: Array) -> bool:
        return bound_all(self._levels, self._confidence.norm, X, out)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        for t, rewards in enumerate(y):
            offered = X if X.ndim == 2 else X[t]
            if trace.covered is not None:
                distance = ridge.distance(self._levels.rows[0], truth)
                inside = np.linalg.norm(truth) <= self._confidence.norm
                trace.covered[t] = inside and distance <= self._levels.beta[0]
            choice = self._choose(offered, False)
            if choice.refuted:
                self._refute()
            k = choice.chosen
            self._learn(offered[k : k + 1], rewards[k : k + 1], 1)
            self._rounds += 1
            trace.index[t] = k
            trace.level[t] = choice.level
            trace.certificate[t] = choice.certificate
            trace.reward[t] = rewards[k]

    def _random_state(self) -> Any:
        return self._rng.bit_generator.state

    def _set_random_state(self, state: Any) -> None:
        self._rng.bit_generator.state = state

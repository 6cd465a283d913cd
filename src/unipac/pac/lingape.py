"""LinGapE: Algorithm 1 of Xu, Honda and Sugiyama (2018), greedy form, with a smaller radius.

    pseudo-code, for arms X and targets Z (those arms, if none are given)            here
    pull every arm once; A = λI + Σ x xᵀ, b = Σ x r, θ̂ = A⁻¹b                        pac.lingape.learn
    repeat                                                                           pac.lingape.LinGapE._steps
      i = argmax ⟨θ̂, z_i⟩,  j = argmax_{j ≠ i} ⟨θ̂, z_j − z_i⟩ + C ‖z_j − z_i‖_{A⁻¹}  pac.lingape.compare
      stop with i if that is at most ε
      pull argmin_{a ∈ X} ‖z_i − z_j‖_{(A + a aᵀ)⁻¹}                                 pac.lingape.compare
    C = √(R² [log det(A/λ) + 2 log(1/δ)] + λS²)                                      theory.radii.mixture

The paper has C = R √(2 log(n² det(A)^½/(δ λ^{d/2}))) + √λ S. The mixture bound holds for all directions and all
times at once, so the n² is not needed, and targets that cannot be pulled cost nothing more: with probability 1 − δ no
target is better than target i by more than the number that is compared with ε, at every step.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from unipac import _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.linalg.soundness import check_ratio
from unipac.pac.best_arm import BestArm
from unipac.pac.protocol.records import Request, Steps
from unipac.theory.kernels import mixture as _mixture


@jit
def images(rows: Array, X: Array) -> Array:
    """Mx of every row x of X, M = R⁻ᵀ of the factor: ⟨Mx, My⟩ = xᵀA⁻¹y."""
    n, d = X.shape
    U = np.empty((n, d))
    for k in range(n):
        for r in range(d):
            u = 0.0
            for c in range(r + 1):
                u += rows[r, c] * X[k, c]
            U[k, r] = u
    return U


@jit
def learn(
    rows: Array, X: Array, arms: NDArray[np.int64], sums: Array, constants: tuple[float, float, float, float]
) -> float:
    """Add the rewards of some arms, one pull of each; returns the new radius C."""
    delta, noise, norm, regularization = constants
    below = np.empty(X.shape[1] + 2)
    for k in range(len(arms)):
        ridge.add(rows, X[arms[k]], sums[k], 1.0, below)
    ridge.refresh(rows)
    return _mixture(ridge.log_determinant(rows, regularization), delta, noise, norm, regularization)


@jit
def compare(rows: Array, X: Array, Z: Array, same: bool, C: float) -> tuple[int, float, int]:
    """The empirically best target, how much better another may be, and the arm to pull to find out.

    ``same``: the targets are the arms.
    """
    d = X.shape[1]
    U = images(rows, X)
    W = U if same else images(rows, Z)
    means = np.zeros(len(W))
    i = 0
    for k in range(len(W)):
        for r in range(d):
            means[k] += W[k, r] * rows[r, d + 1]
        if means[k] > means[i]:
            i = k
    j, most = i, -math.inf
    for k in range(len(W)):
        width2 = 0.0
        for r in range(d):
            width2 += (W[k, r] - W[i, r]) ** 2
        gap = means[k] - means[i] + C * math.sqrt(width2)
        if k != i and gap > most:
            j, most = k, gap
    best, pull = -math.inf, 0
    for k in range(len(U)):
        along, width2 = 0.0, 0.0
        for r in range(d):
            along += U[k, r] * (W[i, r] - W[j, r])
            width2 += U[k, r] * U[k, r]
        if along * along / (1.0 + width2) > best:
            best, pull = along * along / (1.0 + width2), k
    return i, most, pull


@agent
class LinGapE(BestArm):
    """Pull what tells the best arm from its nearest rival.

    {parameters}

    {example}
    """

    regularization: float = declare.regularization()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ratio(self.regularization, float(np.linalg.norm(self._X, axis=1).max()))

    def _steps(self) -> Steps:
        X, Z, same = self._X, self._Z, self.targets is None
        d = X.shape[1]
        rows = np.empty((d, d + 2))
        ridge.reset(rows, self.regularization)
        constants = (self.delta, self.noise, self.norm, self.regularization)
        largest_gap = functools.cache(self._largest_gap)
        index, certificate = 0, largest_gap(0)
        pulls = np.arange(len(X) if len(Z) > 1 else 0)
        while len(pulls):
            sums = yield Request(pulls, np.ones(len(pulls), dtype=np.int64), index, certificate)
            C = learn(rows, X, pulls, sums, constants)
            index, gap, pull = compare(rows, X, Z, same, C)
            certificate = min(max(gap, 0.0), largest_gap(index))
            pulls = np.array([pull] if gap > self.eps else [], dtype=np.int64)
        return index, 0.0 if len(Z) == 1 else certificate

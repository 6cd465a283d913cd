"""LinGapE: Algorithm 1 of Xu, Honda and Sugiyama (2018), greedy form, with a smaller radius.

    pseudo-code                                                                      here
    pull every arm once; A = λI + Σ x xᵀ, b = Σ x r, θ̂ = A⁻¹b                        linalg.ridge
    repeat                                                                           LinGapE._steps
      i = argmax ⟨θ̂, x_i⟩,  j = argmax_{j ≠ i} ⟨θ̂, x_j − x_i⟩ + C ‖x_j − x_i‖_{A⁻¹}  compare
      stop with i if that is at most ε
      pull argmin_a ‖x_i − x_j‖_{(A + a aᵀ)⁻¹}                                        compare
    C = √(R² [log det(A/λ) + 2 log(1/δ)] + λS²)                                      theory.radii.mixture

The paper has C = R √(2 log(n² det(A)^½/(δ λ^{d/2}))) + √λ S. The mixture bound holds for all directions and all
times at once, so the n² is not needed: with probability 1 − δ no arm is better than arm i by more than the number
that is compared with ε, at every step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.pac.base import BestArm, Request, Steps
from unipac.theory import radii

Array = NDArray[np.float64]


@jit
def compare(rows: Array, X: Array, C: float) -> tuple[int, float, int]:
    """The empirically best arm, how much another may be better, and the arm that tells most about it."""
    n, d = X.shape
    U, means = np.empty((n, d)), np.zeros(n)
    i = 0
    for k in range(n):
        for r in range(d):
            u = 0.0
            for c in range(r + 1):
                u += rows[r, c] * X[k, c]
            U[k, r] = u
            means[k] += u * rows[r, d + 1]
        if means[k] > means[i]:
            i = k
    j, most = i, -math.inf
    for k in range(n):
        width2 = 0.0
        for r in range(d):
            width2 += (U[k, r] - U[i, r]) ** 2
        gap = means[k] - means[i] + C * math.sqrt(width2)
        if k != i and gap > most:
            j, most = k, gap
    best, pull = -math.inf, 0
    for k in range(n):
        along, width2 = 0.0, 0.0
        for r in range(d):
            along += U[k, r] * (U[i, r] - U[j, r])
            width2 += U[k, r] * U[k, r]
        if along * along / (1.0 + width2) > best:
            best, pull = along * along / (1.0 + width2), k
    return i, most, pull


@agent
class LinGapE(BestArm):
    """Pull what tells the best arm from its nearest rival.

    {parameters}

    >>> from unipac.envs import soare
    >>> instance = soare(dim=3, angle=0.5)
    >>> search = LinGapE.made_for(instance, delta=0.05)
    >>> answer = search.run(instance, seed=0)
    >>> answer.index, answer.certificate, search.done
    (0, 0.0, True)
    """

    regularization: float = parameter(1.0, check.positive, "λ > 0 of the ridge regression")

    def _steps(self) -> Steps:
        X, below = self._X, np.empty(self._X.shape[1] + 2)
        rows = np.empty((len(below) - 2, len(below)))
        ridge.reset(rows, self.regularization)
        index, certificate = 0, self._largest_gap(0)
        pulls = np.arange(len(X)) if len(X) > 1 else np.empty(0, dtype=np.int64)
        while len(pulls):
            sums = yield Request(pulls, np.ones(len(pulls)), index, certificate)
            for a, y in zip(pulls, sums.tolist(), strict=True):
                ridge.add(rows, X[a], y, 1.0, below)
            ridge.refresh(rows)
            logdet = ridge.log_determinant(rows, self.regularization)
            C = radii._mixture(logdet, self.delta, self.noise, self.norm, self.regularization)
            index, gap, pull = compare(rows, X, C)
            certificate = min(max(gap, 0.0), self._largest_gap(index))
            pulls = np.array([pull] if gap > self.eps else [], dtype=np.int64)
        return index, 0.0 if len(X) == 1 else certificate

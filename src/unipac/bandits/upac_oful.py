"""UPAC-OFUL: Algorithm 1 of He, Zhou and Gu (2021), to the letter.

Setting: in round k actions D_k ⊂ R^d are offered, ‖x‖ ≤ L; the reward of x is ⟨μ*, x⟩ plus R-sub-Gaussian
noise, ‖μ*‖ ≤ S.

    line  pseudo-code                                                     here
    1     C^l ← ∅ for all l, S_1 = 1                                      linalg.levels.empty
    4     Σ^l = λI + Σ_{i ∈ C^l} x_i x_iᵀ                                 linalg.ridge: RᵀR = Σ^l
    5     b^l = Σ_{i ∈ C^l} x_i r_i,  w^l = (Σ^l)⁻¹ b^l                   linalg.ridge: Rᵀz = b^l
    8     x_k = argmax_{x ∈ D_k} min_{l ≤ S} ⟨w^l, x⟩ + β_l ‖x‖_{(Σ^l)⁻¹}  linalg.fast.argmax.select
    9-12  l = 1; while l ≤ S and ‖x_k‖_{(Σ^l)⁻¹} ≤ 2^-l: l ← l + 1        linalg.levels.level_of
    13    C^l ← C^l ∪ {k}, receive r_k                                    linalg.levels.add
    14    S = max{l: C^l ≠ ∅}                                             linalg.levels.top
          β_l = 6 √(d l log(d l/δ))                                       theory.radii.theorem

    symbol          argument or attribute       meaning
    d, δ, λ         dim, delta, regularization
    R, S, L         noise, norm, action_norm    (S bounds ‖μ*‖ here, the number of levels above)
    l_k             decision.level              the smaller, the more was to learn
    ‖x‖_{Σ⁻¹}, w    decision.width, .mean       of the level that attains the minimum of line 8

The same in plain NumPy, slow and without its safeguards:

    >>> import numpy as np
    >>> def algorithm_1(contexts, rewards, delta=0.05):
    ...     d, C, chosen = contexts.shape[2], {1: []}, []                           # line 1
    ...     for X, r in zip(contexts, rewards):                                     # line 2
    ...         S = max(l for l in C if C[l] or l == 1)                             # line 14
    ...         sets = []
    ...         for l in range(1, S + 1):                                           # line 3
    ...             A = np.array([x for x, _ in C.get(l, [])]).reshape(-1, d)
    ...             Sigma = np.eye(d) + A.T @ A                                     # line 4
    ...             w = np.linalg.solve(Sigma, A.T @ [y for _, y in C.get(l, [])])  # line 5
    ...             beta = 6 * np.sqrt(d * l * np.log(d * l / delta))
    ...             width = np.sqrt((X * np.linalg.solve(Sigma, X.T).T).sum(axis=1))
    ...             sets.append((X @ w + beta * width, width))
    ...         k = np.min([ucb for ucb, _ in sets], axis=0).argmax()               # line 8
    ...         l = 1                                                               # line 9
    ...         while l <= S and sets[l - 1][1][k] <= 2.0 ** -l:                    # line 10
    ...             l += 1                                                          # line 11
    ...         C.setdefault(l, []).append((X[k], r[k]))                            # line 13
    ...         chosen.append(int(k))
    ...     return chosen
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 4, 3))
    >>> y = X @ [0.6, 0.0, 0.8]
    >>> algorithm_1(X, y) == UPACOFUL(3).play(X, y).index.tolist()
    True

Theorem 1: with probability 1 − δ, for all ε > 0 at once, the number of rounds with a gap above ε is
O(d² log³(d/(δε))/ε²); ``theory.mistake_bound`` has it with constants.
``docs/agents/upac_oful.md`` lists every deviation.
"""

from __future__ import annotations

from typing import ClassVar

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.bandits.levelled.agent import OptimisticAgent
from unipac.linalg.levels import DISJOINT


@agent
class UPACOFUL(OptimisticAgent):
    """Optimism over disjoint levels of data, each of which stays finite.

    {parameters}

    >>> agent = UPACOFUL(2, delta=0.05, noise=0.1)
    >>> for _ in range(100):
    ...     decision = agent.choose([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    ...     agent.update(decision, reward=decision.action @ [0.6, 0.8])
    >>> levels = agent.levels()
    >>> sum(level.size for level in levels), all(level.size <= level.bound for level in levels)
    (100, True)
    """

    rule: ClassVar[int] = DISJOINT
    theorem: ClassVar[str] = "uniform-PAC"

    radius: str = parameter(
        default="theorem",
        check=check.choice("theorem", "determinant", "mixture"),
        words='"theorem" as in the paper, or the smaller "determinant" or "mixture"',
    )

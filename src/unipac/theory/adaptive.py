"""A self-normalised bound for martingales of unknown variance, in every direction and at all times.

Let e_i be martingale differences, φ_i ∈ R^d predictable, S_n = Σ φ_i e_i and

    W_n = Σ φ_i φ_iᵀ (e_i² + 2 E[e_i² | past])/3

**Lemma.** For every s > 0 that does not depend on the data, with probability 1 − δ, for all n at once:

    ‖S_n‖²_{(W_n + sI)⁻¹} ≤ log det(I + W_n/s) + 2 log(1/δ)

and the same with any W' ≥ W_n in the place of W_n, whatever W' depends on.

*Proof.* g(x) = log(1 + x + x²/3) − x + x²/6 has g(0) = 0 and g'(x) = (x³/9)/(1 + x + x²/3), which has the sign of x. So
g ≥ 0, that is exp(x − x²/6) ≤ 1 + x + x²/3 for all real x. For X with E[X | past] = 0 therefore
E[exp(X − X²/6 − E[X² | past]/3) | past] ≤ (1 + v/3) exp(−v/3) ≤ 1, v = E[X² | past]. With X = ⟨l, φ_i⟩ e_i,
exp(⟨l, S_n⟩ − lᵀW_n l/2) is a supermartingale for every l ∈ R^d, and so is its mean over l ~ N(0, I/s), which is
det(I + W_n/s)^(−1/2) exp(‖S_n‖²_{(W_n + sI)⁻¹}/2). Ville's inequality gives the bound. The left side falls and the
right side rises in W, so the event implies, path by path, the same for every W' ≥ W_n. ∎

Nothing is assumed of the size of the e_i, and no variance must be predicted: it is enough to bound |e_i| and
E[e_i² | past] afterwards. So the bound serves wherever errors are known only by intervals: for V* between two bounds in
StarLSVI, and for any regression whose noise differs from round to round in a way that is seen later.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._inputs import floats
from unipac._jit import jit


@jit
def adaptive_kernel(logdet: float, log_failures: float) -> float:
    """√(logdet + log_failures), the second being 2 log(1/failure)."""
    return math.sqrt(max(logdet, 0.0) + log_failures)


def adaptive_radius(spread: ArrayLike, failure: float, *, prior: float = 1.0) -> float:
    """√(log det(I + W/s) + 2 log(1/failure)), the radius in the norm of (W + sI)⁻¹.

    Args:
        spread: W, (d, d), symmetric and non-negative: Σ φφᵀ (e² + 2v)/3 of noise e with conditional variances v, or
            anything above.
        failure: probability that the bound fails.
        prior: s, fixed before the data.

    Example:
        >>> adaptive_radius([[3.0, 0.0], [0.0, 0.0]], 0.05, prior=1.0)       # √(log 4 + 2 log 20)
        2.716203
    """
    W = floats("spread", spread)
    sound = W.ndim == 2 and W.shape[0] == W.shape[1] and W.size > 0 and bool(np.allclose(W, W.T))
    check.require(sound, "spread", "a symmetric matrix", W.shape)
    s = check.positive("prior", prior)
    smallest = float(np.linalg.eigvalsh(W)[0])
    check.require(smallest >= -1e-9 * max(1.0, float(np.abs(W).max())), "spread", "non-negative", smallest)
    logdet = float(np.linalg.slogdet(np.eye(len(W)) + W / s)[1])
    return float(adaptive_kernel(logdet, -2.0 * math.log(check.share("failure", failure))))

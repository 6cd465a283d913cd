"""Confidence sets for the laws of finite MDPs, and a bound on the number of large certificates of CertVI.

Let n independent outcomes of one (state, action) pair have the law P; N_j of them are outcome j. All sets
hold for all n at once with probability 1 − failure. A *threshold* is n times the radius of a ball in KL(p̂ ‖ ·).

*One function* (``kinf_threshold``). For a function V fixed beforehand, P V is at most the largest q V with
n KL(p̂ ‖ q) ≤ log(1/failure) + kt(n). Proof: For λ in [0, 1] the product over the outcomes of
1 − λ + λ (max V − V)/(max V − P V) is a nonnegative martingale. Its mixture over λ ~ Beta(1/2, 1/2) is smaller than
with the best λ by at most the factor exp(kt(n)). Apply Ville's inequality and the duality of Honda and Takemura.

*All functions, a known set of outcomes* (``dirichlet_threshold``). The likelihood of a mixture over Dirichlet laws,
divided by that of P, is a martingale, so n KL(p̂ ‖ P) ≤ log(1/failure) + Σ N_j log(N_j/n) − log mixture(N). The
mixture is half Dirichlet(1/m, ..., 1/m) and half Dirichlet(1/2, ..., 1/2) on m outcomes.

*All functions, an unknown set of outcomes* (``open_threshold``). P is any law; P_j is the mass of an outcome j, 0 in a
continuous part. Given the past, the next outcome is a seen outcome j with probability P_j, or else "new". So a
sequence of (seen outcome j | new) has the likelihood Π P_j^(N_j − 1) times factors P(new) ≤ 1, one for the first of
each kind. Predict it by a mixture over k = 1, 2, ... with weights 1/(k(k+1)) of Dirichlet(1/2) on k outcomes. After i
kinds, the total mass is n + k/2: "new" has (k − i)/2, that of the unseen outcomes, and j has N_j + 1/2. K kinds in n
draws get the likelihood k!/(k − K)! Π Γ(N_j + 1/2)/Γ(1/2) Γ(k/2)/Γ(n + k/2), so the term k = K of the mixture is
Q = K!/(K(K+1)) Π Γ(N_j + 1/2)/Γ(1/2) Γ(K/2)/Γ(n + K/2). The mixture divided by the likelihood is a nonnegative
supermartingale, as its predictions sum to 1, so by Ville's inequality log Q − Σ (N_j − 1) log P_j ≤ log(1/failure) for
all n. With m = n − K and p̃_j = (N_j − 1)/m this is m KL(p̃ ‖ P) ≤ log(1/failure) + Σ (N_j − 1) log p̃_j − log Q. Only
outcomes seen at least twice have weight in p̃. A lower bound assigns the least possible value to the rest of P.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats
from unipac._jit import jit
from unipac.theory.bounds import largest_number

MOST = 2**62
"""Larger counts are refused."""

EXPLORING = 0.9
"""The share of δ for upper values; the rest is for lower values, whose radius hardly depends on it."""


@jit
def kt_kernel(n: float) -> float:
    """``kt`` without checks."""
    if n > 1e4:  # an upper bound, as Γ(n + 1)/Γ(n + 1/2) ≤ √n e^{1/(8n)}; the difference below would cancel
        return 0.5 * math.log(math.pi * n) + 0.125 / n
    return math.lgamma(n + 1.0) - math.lgamma(n + 0.5) + 0.5 * math.log(math.pi)


@jit
def dirichlet_kernel(counts: Array, outcomes: int, log_failures: float) -> float:
    """``dirichlet_threshold`` without checks, with log(1/failure) as argument."""
    n = counts.sum()
    fit, sparse, even = 0.0, 0.0, 0.0
    a = 1.0 / outcomes
    for N in counts:
        if N > 0.0:
            fit += N * math.log(N / n)
            sparse += math.lgamma(N + a) - math.lgamma(a)
            even += math.lgamma(N + 0.5) - math.lgamma(0.5)
    sparse -= math.lgamma(n + 1.0)
    even += math.lgamma(0.5 * outcomes) - math.lgamma(n + 0.5 * outcomes)
    larger, smaller = max(sparse, even), min(sparse, even)
    mixture = larger + math.log1p(math.exp(smaller - larger)) - math.log(2.0)
    return log_failures + fit - mixture


@jit
def open_kernel(counts: Array, log_failures: float) -> float:
    """``open_threshold`` without checks, with log(1/failure) as argument."""
    n, kinds = counts.sum(), float(counts.size)
    fit = 0.0
    mixture = math.lgamma(kinds + 1.0) - math.log(kinds * (kinds + 1.0))
    mixture += math.lgamma(0.5 * kinds) - math.lgamma(n + 0.5 * kinds)
    for N in counts:
        if N > 1.0:
            fit += (N - 1.0) * math.log((N - 1.0) / (n - kinds))
        mixture += math.lgamma(N + 0.5) - math.lgamma(0.5)
    return log_failures + fit - mixture


@jit
def stitched_kernel(n: float, log_failures: float) -> float:
    """``stitched`` without checks, with log(1/failure) as argument."""
    v = max(1.0, 0.25 * n)
    return (
        1.7
        * math.sqrt(v * (max(0.0, math.log(math.log(2.0 * v))) + 0.72 * (math.log(5.2) + log_failures)))
        / n
    )


@jit
def ubev_kernel(n: float, log_failures: float) -> float:
    """``ubev`` without checks, with log(1/failure) as argument."""
    return math.sqrt((2.0 * math.log(math.log(max(n, math.e))) + math.log(3.0) + log_failures) / n)


def kt(n: float) -> float:
    """The largest log-ratio of the best λ to a Beta(1/2, 1/2) mixture over λ: log √π Γ(n + 1)/Γ(n + 1/2).

    At most log(2 √n) for n ≥ 1.

    >>> kt(0), kt(1)                     # 0 and log 2, as Γ(3/2) = √π/2
    (0.0, 0.693147)
    >>> kt(2)                            # log(2/(3/4)) = log(8/3)
    0.980829
    """
    return kt_kernel(check.nonnegative("n", n))


def kinf_threshold(n: float, failure: float) -> float:
    """The threshold for one function: n KL(p̂ ‖ q) ≤ log(1/failure) + kt(n).

    >>> kinf_threshold(1, 0.05)          # log 20 + log 2 = log 40
    3.688879
    """
    return -math.log(check.share("failure", failure)) + kt(n)


def dirichlet_threshold(counts: ArrayLike, failure: float, *, outcomes: int) -> float:
    """The threshold for all functions: n KL(p̂ ‖ P) is at most this, if P has at most this many ``outcomes``.

    >>> dirichlet_threshold([3], 0.05, outcomes=2)      # log 20 − log(5/16): both mixtures are Dirichlet(1/2, 1/2)
    4.158883
    """
    N = _counts(counts)
    m = check.count("outcomes", outcomes, least=max(1, N.size), most=2**31)
    return dirichlet_kernel(N, m, -math.log(check.share("failure", failure)))


def open_threshold(counts: ArrayLike, failure: float) -> float:
    """The threshold for all functions and any outcomes: m KL(p̃ ‖ P) is at most this; p̃ takes one off each count.

    >>> open_threshold([7], 0.05)        # log 20 + log 2: free of n where all is the same
    3.688879
    >>> open_threshold([2, 1], 0.05)     # log 20 + log 48, as 2!/6 · 3/4 · 1/2 · 1/3! = 1/48
    6.866933
    """
    return open_kernel(_counts(counts), -math.log(check.share("failure", failure)))


def stitched(n: float, failure: float) -> float:
    """One-sided error of the mean of n variables in [0, 1], for all n at once (Howard et al. 2021).

    1.7 √(v (ln ln(2v) + 0.72 ln(5.2/failure)))/n with v = max(1, n/4), where a negative ln ln(2v) counts as 0.

    >>> stitched(4, 0.05)                # 1.7 √(0.72 ln 104)/4, as v = 1 and ln ln 2 < 0
    0.777176
    """
    return stitched_kernel(check.positive("n", n), -math.log(check.share("failure", failure)))


def ubev(n: float, failure: float) -> float:
    """The radius of UBEV: √((2 llnp(n) + ln(3/failure))/n), llnp(n) = ln ln max(n, e).

    >>> ubev(4, 0.05)                    # √((2 · 0.326634 + 4.094345)/4)
    1.089451
    """
    return ubev_kernel(check.positive("n", n), -math.log(check.share("failure", failure)))


def _counts(counts: ArrayLike) -> Array:
    N = floats("counts", counts).copy()
    sound = N.ndim == 1 and N.size > 0 and bool(((N >= 1) & (N <= MOST)).all())
    check.require(sound, "counts", f"numbers from 1 to {MOST:g}, (k,)", counts)
    return N


def certvi_mistake_bound(
    eps: float,
    n_states: int,
    n_actions: int,
    horizon: int,
    delta: float,
    *,
    rewards: str = "known",
    replan_factor: float = 1.02,
    replan_every: int = 1,
    outcomes: int | None = None,
) -> int:
    """With probability 1 − 2δ, for all ε at once: at most this many certificates of CertVI exceed ε.

    For rewards in [0, 1]. If all sets hold (probability 1 − δ), a certificate is at most the expectation
    of Σ_h R_h min(1, √(C/n)) over the episode. Here n is the number of visits of the pair so far, R_h the range of the
    later rewards, f the replan factor, and C depends on the rewards:

    - "known": R_h = H − h, C = 8 f² b by Pinsker's inequality, b the larger of both thresholds;
    - "many" values, means learned: the same with R_h = H − h + 1, as r is within √(b/2n) on either side;
    - "few" values: R_h = H − h + 1, C = f² (√(b'/2) + 3 √b'' + √K)², where K is the largest number of outcomes (s', r)
      of a pair, p̂ and p̃ differ by K/n, and n − K ≥ n/2 unless n < 2K ≤ C. If the reward is a function of (s, a, s'),
      K = S + 1, counting the end. For J cells, b'' ≤ log(6 J/0.1δ) + (K − 1)/2 log(n + 1) + K (1 + log n).

    For any set of episodes, each decided before it begins, the expectations sum to at most e/(e−1) times (the realised
    sum + B log(1/δ')), B = Σ R_h. The realised sum over m of them is at most Σ_h R_h SA (1 + ∫_0^X min(1, √(C/x)) dx),
    X = m/SA; with the C of X, the integral is at most 2 √(CX) − C. If plans may last for P > 1 episodes (replan_every),
    the n of a plan is at least the present one less P − 1, or at least a part 1/f of it. So in each cell at most
    2(P − 1) visits count as 1, and the others have f ≥ 2. With δ' = δ/(i(i+1)) for ε_i = H 2^-i, the bound is the
    largest m for which m ε/2 is at most all this.

    Args:
        eps: ε.
        n_states: S.
        n_actions: A.
        horizon: H.
        delta: δ.
        rewards: "known", or learned with "few" or "many" values.
        replan_factor: f; 1 if the agent replans in every episode.
        replan_every: P.
        outcomes: K, with "few"; by default S + 1, for rewards that are a function of (s, a, s').

    >>> certvi_mistake_bound(0.1, 3, 2, 3, 0.05) < certvi_mistake_bound(0.1, 3, 2, 3, 0.05, rewards="few")
    True
    >>> certvi_mistake_bound(0.5, 1, 1, 1, 0.05)         # nothing to learn
    0
    """
    eps = check.positive("eps", eps)
    S = check.count("n_states", n_states, most=2**31)
    A = check.count("n_actions", n_actions, most=2**31)
    H = check.count("horizon", horizon, most=10_000)
    delta = check.probability("delta", delta)
    f = check.at_least_one("replan_factor", replan_factor)
    late = 2 * (check.count("replan_every", replan_every) - 1)
    f = max(f, 2.0) if late else f
    check.one_of("rewards", rewards, ("known", "few", "many"))
    K = S + 1 if outcomes is None else check.count("outcomes", outcomes, most=2**40)
    stages = H - 1 if rewards == "known" else H
    ranges = sum(range(1, stages + 1))
    if ranges == 0:
        return 0
    i = max(1, math.ceil(math.log2(H / eps)))
    chance = ranges * math.log(i * (i + 1) / delta)

    def excess(m: int) -> float:
        x = m / (S * A)
        C = f**2 * _squared_width(x, K, S * A * stages, delta, rewards)
        filled = x if x <= C else 2 * math.sqrt(C * x) - C
        return math.e / (math.e - 1) * (ranges * S * A * (1 + late + filled) + chance) - m * eps / 2

    return largest_number(excess)


def _squared_width(n: float, kinds: int, cells: int, delta: float, rewards: str) -> float:
    """C of ``certvi_mistake_bound`` without f, for up to n visits: a bound on n times the squared width."""
    share = EXPLORING / 2 if rewards == "many" else EXPLORING
    one = math.log(cells / (share * delta)) + kt(n)
    failures = math.log(cells / ((1 - EXPLORING) * delta))
    regret = 0.5 * (kinds - 1) * math.log(n + 1)  # of the Dirichlet(1/2) mixture, up to log 2
    if rewards != "few":
        return 8 * max(one, failures + 2 * math.log(2) + regret)
    every = failures + math.log(3) + math.log(2) + regret + kinds * (1 + math.log(max(1.0, n)))
    return float((math.sqrt(one / 2) + 3 * math.sqrt(every) + math.sqrt(kinds)) ** 2)

"""What searches for a policy by a generative model share: pairs, anchors, the backup of a value.

A pair (s, a) has the number s·A + a. P(· | s, a) = Σ_j λ_j(s, a) P(· | anchor j), and all that an algorithm needs of a
value V are the means w_j of V over the next states of the anchors: (TV)(s) = max_a r + γ ⟨λ(s, a), w⟩. For a V that
does not depend on the samples, w_j is off by at most e_j, the smaller of Hoeffding's and Maurer and Pontil's width.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._inputs import floats, read_only
from unipac.envs import DiscountedMDP
from unipac.envs.mdps.discounted import discount_factor
from unipac.pac.protocol.records import Batch
from unipac.pac.protocol.search import Search
from unipac.theory import sampling

MOST_SAMPLES = 2**50
"""The most samples of one anchor in one batch: counts stay exact as float64."""

_MOST_BACKUPS = 20_000
_SUM_TOLERANCE = 1e-9


class Solution(NamedTuple):
    """What a search for a policy has found so far.

    >>> from unipac import CertifiedPlanning, envs
    >>> mdp = envs.DiscountedMDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, 0], [0, 1.0]], discount=0.5)
    >>> found = CertifiedPlanning.made_for(mdp, eps=0.2).run(mdp, seed=0)
    >>> found.policy.tolist(), found.certificate <= 0.2
    ([1, 1], True)
    """

    policy: Integers
    """The action of each state, (S,); (H, S) where there are stages."""
    certificate: float
    """With probability 1 − δ, at every moment, no policy is better by more than this."""
    pulls: int
    """How many samples, or episodes, it took."""
    counts: Integers
    """How many of each pair, (S·A,), or of each policy."""
    value: Array
    """An estimate of the policy's value, (S,)."""
    lower: Array
    """A lower bound on the policy's value, (S,), proven with the certificate."""


class Found(NamedTuple):
    """What a search would answer."""

    policy: Integers
    value: Array
    lower: Array


@agent
class PolicySearch(Search):
    """A search for a policy; the algorithms derive from it.

    {parameters}
    """

    eps: float = parameter(
        default=0.1,
        check=check.positive,
        words="ε > 0, how much worse than the best policy the answer may be",
    )

    @property
    def answer(self) -> Solution:
        """The policy so far, with a certificate that holds at every moment."""
        with self._lock:
            now = self._now
        policy, value, lower = (array.copy() for array in now.index)
        return Solution(policy, now.certificate, now.pulls, now.counts.copy(), value, lower)

    def _best(self) -> str:
        return "policy"

    def _found(self, index: Found) -> Found:
        return Found(np.array(index.policy), np.array(index.value), np.array(index.lower))


@agent
class Planner(PolicySearch):
    """A search for a policy by samples of next states; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertifiedPlanning
    >>> search = CertifiedPlanning([[0.0, 0.0], [1.0, 0.0]], discount=0.5, eps=0.2)
    >>> isinstance(search, Planner), search.ask().arms.tolist()              # all pairs, by their numbers s·A + a
    (True, [0, 1, 2, 3])
    """

    samples: ClassVar[str] = "next states"

    rewards: ArrayLike = parameter(words="(S, A), what each pair pays, from 0 to 1", kw_only=False)
    discount: float = parameter(default=0.9, check=discount_factor, words="γ, from 0 to 1 - 1e-6")
    anchors: ArrayLike | None = parameter(
        default=None, words="(K,), numbers s·A + a of the pairs to sample; all if not given"
    )
    coefficients: ArrayLike | None = parameter(
        default=None, words="(S, A, K), λ with sums 1; needed with anchors"
    )

    def _check_parameters(self) -> None:
        r = floats("rewards", self.rewards).copy()
        check.require(r.ndim == 2 and r.size > 0, "rewards", "of shape (S, A), not empty", r.shape)
        check.require(bool(((r >= 0) & (r <= 1)).all()), "rewards", "from 0 to 1", r)
        self.rewards, self._r = read_only(r), r
        both = (self.anchors is None) == (self.coefficients is None)
        check.require(both, "anchors", "given together with coefficients", self.anchors)
        self._anchors, self._mass = np.arange(r.size), 1.0
        self._weights: Array | None = None
        if self.anchors is not None:
            self._read_anchors(r, self.anchors, self.coefficients)
        every = np.arange(len(r))
        greedy = r.argmax(axis=1)
        paid = r[every, greedy]
        rest = self.discount / (1 - self.discount)  # times the least, or the largest, of the later rewards
        self._start = Found(greedy, paid + rest * paid.min(), paid + rest * paid.min())
        self._largest_gap = float(rest * (paid.max() - paid.min()))

    def _read_anchors(self, r: Array, anchors: ArrayLike, coefficients: Any) -> None:
        numbers = np.asarray(anchors)
        sound = numbers.ndim == 1 and numbers.size > 0 and numbers.dtype.kind in "iu"
        sound = sound and bool(((numbers >= 0) & (numbers < r.size)).all())
        check.require(sound, "anchors", f"integers of shape (K,) from 0 to {r.size - 1}", anchors)
        self._anchors = numbers.astype(np.int64)
        weights = floats("coefficients", coefficients).copy()
        shape = (*r.shape, len(numbers))
        check.require(weights.shape == shape, "coefficients", f"of shape {shape}", weights.shape)
        summed = bool((np.abs(weights.sum(axis=2) - 1) <= _SUM_TOLERANCE).all())
        check.require(summed, "coefficients", "finite, with sums 1", weights)
        self._mass = float(np.abs(weights).sum(axis=2).max())
        check.require(self._mass <= 1e6, "coefficients", "such that Σ_j |λ_j| is at most 1e6", self._mass)
        self.anchors, self.coefficients = read_only(self._anchors), read_only(weights)
        self._weights = weights

    @classmethod
    def made_for(
        cls, instance: DiscountedMDP, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """A search that fits a discounted MDP: its rewards, discount and anchors.

        Args:
            instance: from ``unipac.envs``.
            rounds: not needed; searches stop by themselves.
            seed: not needed; nothing is random but the samples.
            parameters: further arguments of the search.
        """
        check.require(isinstance(instance, DiscountedMDP), "instance", "a DiscountedMDP", instance)
        args = {name: getattr(instance, name) for name in ("rewards", "discount", "anchors", "coefficients")}
        return cls(**{**args, **parameters})

    def _check_instance(self, instance: Any) -> None:
        fits = isinstance(instance, DiscountedMDP) and np.array_equal(instance.rewards, self._r)
        fits = fits and instance.discount == self.discount
        check.require(fits, "instance", "a DiscountedMDP with these rewards and this discount", instance)

    # -- samples -------------------------------------------------------------------------------

    def _n_arms(self) -> int:
        return int(self._r.size)

    def _nothing(self) -> Integers:
        return np.empty((0, len(self._r)), dtype=np.int64)

    def _read(self, sums: Any, batch: Batch) -> Integers:
        """How often each next state came, (m, S): integers with the sums that were asked for."""
        rows = floats("counts", sums)
        shape = (len(batch.arms), len(self._r))
        check.require(rows.shape == shape, "counts", f"of shape {shape}, by pair and next state", rows.shape)
        whole = bool(((rows >= 0) & (rows == np.floor(rows)) & (rows <= MOST_SAMPLES)).all())
        check.require(whole, "counts", "numbers of next states", rows)
        fits = np.array_equal(rows.sum(axis=1), batch.counts)
        check.require(fits, "counts", f"with the sums {batch.counts} of the batch", rows.sum(axis=1))
        return rows.astype(np.int64)

    # -- what the algorithms use ---------------------------------------------------------------

    def _each(self, samples: int) -> tuple[Integers, Integers]:
        """The anchors, and ``samples`` for each of them."""
        return self._anchors, np.full(len(self._anchors), min(samples, MOST_SAMPLES))

    def _q(self, w: Array) -> Array:
        """Q = r + γ ⟨λ, w⟩, (S, A), from the means of a value at the anchors, (K,)."""
        mixed = w.reshape(self._r.shape) if self._weights is None else self._weights @ w
        q: Array = self._r + self.discount * mixed
        return q

    def _error(self, e: Array) -> Array:
        """γ ⟨|λ|, e⟩, (S, A): how far ``_q`` may be off."""
        mixed = e.reshape(self._r.shape) if self._weights is None else np.abs(self._weights) @ e
        error: Array = self.discount * mixed
        return error

    def _planned(self, counts: Integers) -> tuple[Array, Integers]:
        """The optimal value of the model that has these frequencies, and its greedy policy."""
        model = counts / counts.sum(axis=1, keepdims=True)
        value = self._start.value
        top = 1 / (1 - self.discount)
        for _ in range(_MOST_BACKUPS):
            q = self._q(model @ value)
            before, value = value, np.clip(q.max(axis=1), 0.0, top)
            if float(np.abs(value - before).max()) <= 1e-10 * top * (1 - self.discount):
                break
        return value, q.argmax(axis=1)


def means(counts: Integers, value: Array, failure: float) -> tuple[Array, Array]:
    """The mean of a value over the next states of each anchor, (K,), and its error on either side.

    Each side of each anchor fails with probability at most ``failure``; ``value`` must not depend on the samples.
    """
    n = int(counts[0].sum())
    low = float(value.min())
    span = float(value.max()) - low
    shares = counts / n
    w = shares @ (value - low)
    error = np.full(len(w), sampling.hoeffding(n, failure / 2, span=span))
    if n > 1:
        variance = np.maximum(shares @ (value - low) ** 2 - w**2, 0.0) * (n / (n - 1))
        error = np.minimum(error, sampling.empirical_bernstein(variance, n, failure / 2, span=span))
    return w + low, error

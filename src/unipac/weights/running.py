"""The mean value of a policy on the rounds so far, between bounds that hold at all times at once.

    before the data: bets l_1 > ... > l_K with prior weights c_k
    in each round, on each side, where no weight can be above W:
        θ_k = min(1, (0.98/l_k − g)/W)
        wealth_k *= 1 + l_k (u + θ_k z − G)              # kernels.py defines u, z and G
    lower(α): the least mean m with Σ_k c_k wealth_k exp(l_k (Σ G − t m)) < 1/α

docs/weights.md has the theorem and its proof.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check, _storage as storage
from unipac._arrays import Array
from unipac._atomic import Change
from unipac._inputs import floats
from unipac.weights import kernels

BETS = 32
"""Number of bets on each side."""
DECADES = 6.0
"""The least bet is 10^-6 of the largest."""
ROUNDING = 1e-8
"""Relative amount by which a weight may exceed the largest one, and a number its range."""
LARGEST_WEIGHT = 1e50
KIND = "running mean"


class Totals(NamedTuple):
    """All that a `RunningMean` has seen; its memory does not grow."""

    totals: Array
    """(15,): sums over the rounds, in the order of ``kernels``."""
    products: Array
    """(2, K): products of the latest factors of each bet, for the lower and the upper side."""
    logs: Array
    """(2, K): logarithms of the products before."""


def grid(most: float, decades: float = DECADES) -> tuple[Array, Array, Array]:
    """The bets l for numbers of at least −``most``, from 0.98/most down; their log priors; and 0.98/l − most."""
    depth = np.linspace(0.0, decades, BETS)
    bets = kernels.CLOSEST / most * 10.0**-depth
    prior = 1.0 / (1.0 + 2.0 * np.maximum(0.0, depth - 2.0) ** 2)
    return bets, np.log(prior / prior.sum()), np.maximum(kernels.CLOSEST / bets - most, 0.0)


class RunningMean:
    """Bounds on the mean value of a policy, or on the difference of two, at all times at once.

    In each round an action A was drawn with known probability p(A); the policy would have taken it with probability
    π(A). The weight of the round is w = π(A)/p(A). The bounds hold for the mean of the policy's expected rewards **on
    the rounds so far**, whatever the rewards are: they may drift, or be chosen by an adversary who knows the past.

    The bounds assume that each p is right and was positive wherever π was; that π, and the guess if there is one, were
    fixed before the draw; and that rewards lie in the range. They do not hold for policies that were chosen by looking
    at these rounds.

    Args:
        reward_range: (low, high) between which all rewards lie.
        largest_weight: W, a bound on all weights, announced before the data (1/p for a policy that may take any
            action with the least propensity p). Without it, and without ``largest`` in `add`, the bounds hold for any
            weights, but are much wider where rewards are rare. A larger weight is refused.
        difference: whether to bound the value of the policy minus that of another one, whose weights ``add`` takes too.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> taken = rng.integers(2, size=10000)                          # a fair coin: p = 1/2
        >>> clicks = rng.random(10000) < np.array([0.10, 0.15])[taken]
        >>> always_1 = RunningMean(reward_range=(0.0, 1.0), largest_weight=2.0)
        >>> always_1.add(2.0 * (taken == 1), clicks)
        >>> always_1.interval(0.05)
        (0.127, 0.161)
        >>> other = RunningMean(reward_range=(0.0, 1.0), largest_weight=2.0, difference=True)
        >>> other.add(2.0 * (taken == 1), clicks, 2.0 * (taken == 0))    # against always 0
        >>> other.lower(0.05) > 0.01
        True
    """

    def __init__(
        self,
        *,
        reward_range: Sequence[SupportsFloat],
        largest_weight: SupportsFloat | None = None,
        difference: bool = False,
    ) -> None:
        self.reward_range = check.value_range("reward_range", reward_range)
        self.largest_weight: float | None = None
        if largest_weight is not None:
            self.largest_weight = check.at_least_one("largest_weight", largest_weight)
        self.difference = check.flag("difference", difference)
        self._most = 2.0 if self.difference else 1.0
        self._bets, self._log_priors, self._rooms = grid(self._most)
        self._largest = math.inf if self.largest_weight is None else self.largest_weight
        totals = np.zeros(kernels.TOTALS)
        totals[[kernels.GROWN, kernels.SHRUNK]] = 1.0
        self._state = Totals(totals, np.ones((2, BETS)), np.zeros((2, BETS)))
        self._files = storage.Files()

    def add(
        self,
        weight: ArrayLike,
        reward: ArrayLike,
        other: ArrayLike | None = None,
        *,
        guess: ArrayLike | None = None,
        expected: ArrayLike | None = None,
        other_expected: ArrayLike | None = None,
        largest: ArrayLike | None = None,
    ) -> None:
        """Add one round, or several as arrays (T,), in the order of their draws.

        Args:
            weight: π(A)/p(A), the probability of the action taken under the policy over that of the log.
            reward: the reward.
            other: the weight of the other policy, if this is a difference; 1 for the decisions as they were made. A
                single number holds for all rounds.
            guess: a guess f(A) of the reward of the action taken, within the range, made before the draw. It may be
                wrong; a good one makes the bounds narrower. Without any, the mean so far is the guess.
            expected: Σ_a π(a) f(a), with a guess.
            other_expected: the same for the other policy, with a guess, if this is a difference. It may be left out if
                the other policy is the one that made the decisions, with weights 1.
            largest: the largest weight that any action could have had in the round, known before the draw: the largest
                π(a)/p(a), of both policies if this is a difference. It may change from round to round.

        Raises:
            ValueError: if a weight is negative or above the largest one, a reward outside its range, or something is
                missing; then no round was added.
        """
        given, guided = other is not None, guess is not None
        words = "the weight of the other policy" if self.difference else "left out: this is not a difference"
        check.require(given == self.difference, "other", words, other)
        check.require((expected is not None) == guided, "expected", "given with a guess alone", expected)
        words = "left out without a guess and another policy"
        check.require(other_expected is None or (guided and given), "other_expected", words, other_expected)
        if guided and other is not None and other_expected is None:
            sound = bool((np.abs(floats("other", other) - 1.0) <= ROUNDING).all())
            words = "1, as for what was decided, or other_expected given"
            check.require(sound, "other", words, other)
        if isinstance(weight, float) and isinstance(reward, float):
            self._add_one(weight, reward, other, guess, expected, other_expected, largest)
            return
        w = _column("weight", weight)
        rounds, nothing = len(w), np.empty(0)
        r = self._scaled("reward", _column("reward", reward, rounds))
        same = np.ndim(other) == 0 and other is not None  # type: ignore[arg-type]
        v = nothing if other is None else _column("other", np.full(rounds, other) if same else other, rounds)
        f = nothing if guess is None else self._scaled("guess", _column("guess", guess, rounds))
        m = nothing if expected is None else self._scaled("expected", _column("expected", expected, rounds))
        n = nothing
        if other_expected is not None:
            n = self._scaled("other_expected", _column("other_expected", other_expected, rounds))
        W = np.full(rounds, self._largest)
        if largest is not None:
            told = _column("largest", largest, rounds)
            check.require(bool((told > 0.0).all()), "largest", "> 0", largest)  # also for NaN
            W = np.minimum(W, told)
        w, v = _bounded("weight", w, W), _bounded("other", v, W)
        if rounds:
            kernels.add(w, r, v, f, m, n, W, self._bets, self._rooms, *self._state)

    def _add_one(self, weight: float, reward: float, *rest: ArrayLike | None) -> None:
        """Add one round without making arrays."""
        names = ("other", "guess", "expected", "other_expected", "largest")
        told = [0.0 if x is None else check.real(name, x) for name, x in zip(names, rest, strict=True)]  # type: ignore[arg-type]
        v, f, m, n, W = told
        if rest[4] is None:
            W = self._largest
        else:
            check.require(W > 0.0, "largest", "> 0", W)
            W = min(W, self._largest)
        w, v = _one_weight("weight", weight, W), _one_weight("other", v, W)
        r, guided = self._one_scaled("reward", reward), rest[1] is not None
        if guided:
            f, m = self._one_scaled("guess", f), self._one_scaled("expected", m)
            n = math.nan if rest[3] is None else self._one_scaled("other_expected", n)
        kernels.add_one(w, r, v, f, m, n, self.difference, guided, W, self._bets, self._rooms, *self._state)

    def change(self, weight: float, reward: float, other: float, largest: float) -> Change:
        """The change that adds one round of a difference, for ``unipac._atomic.commit``; nothing is added yet."""
        told = weight, self._one_scaled("reward", reward), other, 0.0, 0.0, 0.0, True, False, largest
        return (kernels.add_one, *told, self._bets, self._rooms, *self._state)

    @property
    def decided(self) -> float:
        """The mean reward of the other policy so far, scaled to [0, 1]; a first guess counts as one round."""
        t = self._state.totals
        return float((t[kernels.OTHER_EARNED] + kernels.PRIOR) / (t[kernels.OTHER_WEIGHTS] + 1.0))

    def _scaled(self, name: str, x: Array) -> Array:
        """Rewards or guesses, scaled to [0, 1]."""
        low, high = self.reward_range
        if x.size and not (x.min() >= low and x.max() <= high):
            return np.array(
                [
                    self._one_scaled(name if x.size == 1 else f"{name}[{s}]", y)
                    for s, y in enumerate(x.tolist())
                ]
            )
        return np.asarray((x - low) / (high - low))

    def _one_scaled(self, name: str, x: float) -> float:
        low, high = self.reward_range
        room = ROUNDING * (high - low)
        if not low - room <= x <= high + room:
            check.require(False, name, f"in reward_range, from {low:g} to {high:g}", x)
        return min(max((x - low) / (high - low), 0.0), 1.0)

    # -- what is known -------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return int(self._state.totals[kernels.ROUNDS])

    def lower(self, alpha: SupportsFloat) -> float:
        """A bound that the mean exceeds at all times at once, with probability 1 − ``alpha``."""
        low, high = self.reward_range
        shift = 1.0 if self.difference else 0.0
        return (0.0 if self.difference else low) + (high - low) * (self._least(0, alpha) - shift)

    def upper(self, alpha: SupportsFloat) -> float:
        """A bound that the mean stays below at all times at once, with probability 1 − ``alpha``."""
        low, high = self.reward_range
        return (0.0 if self.difference else low) + (high - low) * (1.0 - self._least(1, alpha))

    def interval(self, alpha: SupportsFloat = 0.05) -> tuple[float, float]:
        """Both bounds, which hold together at all times at once with probability 1 − ``alpha``: half for each."""
        half = check.probability("alpha", alpha) / 2.0
        return self.lower(half), self.upper(half)

    def _least(self, side: int, alpha: SupportsFloat) -> float:
        """The lower bound of one side, as a mean in [0, 1], or [0, 2] for a difference."""
        limit = -math.log(check.share("alpha", alpha))
        totals, products, logs = self._state
        rounds = self.rounds
        if rounds == 0:
            return 0.0
        centres = float(totals[kernels.UPPER_CENTRES if side else kernels.LOWER_CENTRES])
        found = kernels.least_sum(
            self._bets, self._log_priors, products[side], logs[side], centres, self._most * rounds, limit
        )
        return found / rounds

    @property
    def ipw(self) -> float:
        """The mean of w r, unbiased; of a difference, the first mean minus the second. NaN without rounds."""
        t = self._state.totals
        low, high = self.reward_range
        weights = t[kernels.WEIGHTS] - t[kernels.OTHER_WEIGHTS]
        return _ratio(
            low * weights + (high - low) * (t[kernels.EARNED] - t[kernels.OTHER_EARNED]), t[kernels.ROUNDS]
        )

    @property
    def snipw(self) -> float:
        """Σ w r / Σ w, self-normalised: less noisy, slightly biased. NaN where all weights are 0."""
        t = self._state.totals
        low, high = self.reward_range
        first = low + (high - low) * _ratio(t[kernels.EARNED], t[kernels.WEIGHTS])
        if not self.difference:
            return first
        return first - low - (high - low) * _ratio(t[kernels.OTHER_EARNED], t[kernels.OTHER_WEIGHTS])

    @property
    def dr(self) -> float:
        """The doubly robust mean, of Σ_a π(a) f(a) + w (r − f(A)), unbiased; without a guess, f is the mean so far."""
        t = self._state.totals
        low, high = self.reward_range
        mean = _ratio(t[kernels.CORRECTED] - t[kernels.OTHER_CORRECTED], t[kernels.ROUNDS])
        return (0.0 if self.difference else low) + (high - low) * mean

    @property
    def mean_weight(self) -> float:
        """The mean of w, which is about 1 if the propensities are right. NaN without rounds."""
        return _ratio(self._state.totals[kernels.WEIGHTS], self._state.totals[kernels.ROUNDS])

    @property
    def effective_rounds(self) -> float:
        """(Σ w)²/Σ w²: this many rounds of equal weight would tell as much; of a difference, the smaller of two."""
        t = self._state.totals
        first = _effective(t[kernels.WEIGHTS], t[kernels.SQUARES])
        if not self.difference:
            return first
        return min(first, _effective(t[kernels.OTHER_WEIGHTS], t[kernels.OTHER_SQUARES]))

    def __repr__(self) -> str:
        what = "difference" if self.difference else "mean"
        lower, upper = self.interval(0.05)
        return f"<RunningMean: {self.rounds:,} rounds, {what} from {lower:.4g} to {upper:.4g} (alpha=0.05)>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_files"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._files = storage.Files()

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write it to a file; `load` continues from it bit for bit.

        A file that another object or process wrote is replaced only with ``replace``.
        """
        replace = check.flag("replace", replace)
        with self._files.lock:
            storage.write(path, *self.described(), files=self._files, replace=replace, verify=_check)

    def described(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Header and arrays of a file; `made` is the way back."""
        told = {
            "reward_range": list(self.reward_range),
            "largest_weight": self.largest_weight,
            "difference": self.difference,
        }
        return {"kind": KIND, "parameters": told}, self._state._asdict()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunningMean:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is damaged, or holds something else.
        """
        header, arrays, stated = storage.read_all(path)
        try:
            found = made(header, arrays)
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(
                f"path must be that of a running mean, got {os.fspath(path)!r} ({error})"
            ) from None
        found._files.note(path, stated)
        return found


def _check(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Refuse what was written unless it can be read."""
    made(header, arrays)


def made(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> RunningMean:
    """The bound of a file; a ``ValueError``, ``KeyError`` or ``TypeError`` if there is none in it."""
    check.require(header.get("kind") == KIND, "kind", KIND, header.get("kind"))
    found = RunningMean(**header["parameters"])
    state = Totals(**arrays)
    for field, model in found._state._asdict().items():
        values = getattr(state, field)
        sound = values.dtype == model.dtype and values.shape == model.shape
        sound = (
            sound and bool(np.isfinite(values).all()) and (field != "products" or bool((values > 0).all()))
        )
        check.require(sound, field, "sound", values)
    found._state = state
    return found


def _column(name: str, values: ArrayLike, rounds: int | None = None) -> Array:
    """A number, or numbers (T,), as a new array (T,)."""
    array = floats(name, values)
    expected = "a number or of shape (T,)" if rounds is None else f"of length {rounds}, as weight is"
    sound = array.ndim <= 1 and (rounds is None or array.size == rounds)
    check.require(sound, name, expected, array.shape)
    return np.array(array, dtype=np.float64).reshape(-1)


def _bounded(name: str, w: Array, largest: Array) -> Array:
    """Weights, none of them above the largest that was possible."""
    most = np.minimum(largest, LARGEST_WEIGHT)
    if w.size and not ((w >= 0.0) & (w <= most)).all():  # also for NaN
        for s, (x, W) in enumerate(zip(w.tolist(), largest.tolist(), strict=True)):
            _one_weight(name if w.size == 1 else f"{name}[{s}]", x, W)
    return np.minimum(w, most) if w.size else w


def _one_weight(name: str, w: float, largest: float) -> float:
    most = min(largest, LARGEST_WEIGHT)
    if not 0.0 <= w <= most * (1.0 + ROUNDING):
        check.require(False, name, f"from 0 to {most:g}, the largest possible", w)
    return min(w, most)


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count > 0.0 else math.nan


def _effective(total: float, squares: float) -> float:
    return float(total * total / squares) if squares > 0.0 else 0.0

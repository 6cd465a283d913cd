"""What an algorithm for bandits declares and writes; nothing here knows of regressions, levels or radii.

It declares its parameters and capabilities, and writes four methods:

    _empty()                     the state before the first round, a named tuple of arrays
    _bounds(X)                   mean, width, ucb and lcb of every row of X, each (n,)
    _choose(X)                   (row, level): the choice of the next round
    _learn(x, y, level, times)   a reward has come; ``level`` is that of the decision, 0 for a logged round

Families that must be faster replace what is made of these: ``_decide``, ``_reward``, ``_absorb``, ``_play``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._agents import accepted, agent, parameter
from unipac._arrays import Array
from unipac._inputs import action_array, check_norms, read_only
from unipac._parameters import OptionalArrayParameter
from unipac.bandits.protocol.inputs import noise_scales
from unipac.bandits.protocol.ledger import Ledger
from unipac.bandits.protocol.records import Decision, Level, Trace
from unipac.bandits.protocol.verdict import Verdict, contradict
from unipac.envs import BanditInstance

LARGEST_DIM = 2**16


@agent
class BanditAlgorithm(Ledger):
    """Parameters, capabilities, and what a round is made of."""

    kind: ClassVar[str] = "bandit"
    counts_many: ClassVar[bool] = False
    """Whether ``update(times=)`` takes many equal rounds in one exact step."""
    absorbs: ClassVar[bool] = True
    """Whether logged rounds may be learned without harm to what is proven."""
    weighs: ClassVar[bool] = False
    """Whether rounds may differ in their noise: ``noise=`` of ``update``, ``absorb`` and ``play``."""
    only_dim: ClassVar[int | None] = None
    """The one dimension that it is made for, if not any."""
    bounded_noise: ClassVar[bool] = False
    """Whether ``noise`` bounds the noise itself, not its sub-Gaussian scale."""

    draws: ClassVar[bool] = False
    """Whether choices depend on random numbers; those of decision k are drawn from (seed, k)."""

    dim: int = parameter(
        check=lambda name, value: check.count(name, value, most=LARGEST_DIM),
        words="d, the length of the action vectors",
        kw_only=False,
    )
    action_norm: float = parameter(
        default=1.0, check=check.positive, words="L, a bound on the norm of the actions"
    )
    reward_range: tuple[float, float] | None = parameter(
        default=None,
        check=check.optional_range,
        words="(low, high) of the expected rewards, if known: reported bounds stay within",
    )
    fixed_actions: OptionalArrayParameter = parameter(
        default=None, words="(n, d); then ``choose()`` needs no argument"
    )

    def _check_parameters(self) -> None:
        if self.fixed_actions is not None:
            X = action_array("fixed_actions", self.fixed_actions, self.dim).copy()
            check_norms("fixed_actions", X, self.action_norm)
            self._arms = X
            self.fixed_actions = read_only(X)
        else:
            self._arms = np.empty((0, self.dim))

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """An agent that fits an instance: its dimension, noise and norm, unless they are given.

        Args:
            instance: from ``unipac.envs``.
            rounds: how many will be played, for algorithms that must know it (their ``horizon``).
            seed: for algorithms that draw random numbers.
            parameters: further arguments of the agent.
        """
        check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
        told = accepted(cls, noise=instance.noise, norm=instance.norm, seed=seed, horizon=rounds)
        return cls(**{"dim": instance.dim, **told, **parameters})

    # -- what an algorithm writes --------------------------------------------------------------

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        raise NotImplementedError

    def _choose(self, X: Array) -> tuple[int, int]:
        raise NotImplementedError

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        raise NotImplementedError

    def _weigh(self, x: Array, y: float, level: int, times: int, noise: float) -> None:
        """As ``_learn``, of a round whose noise has this scale; where ``weighs``."""
        raise NotImplementedError

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given, however actions are chosen."""
        return False

    def levels(self) -> list[Level]:
        """Size, proven bound on the size, and radius of each level in use; empty if there are no levels."""
        return []

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε.

        Infinite where nothing bounds the number.
        """
        check.positive("eps", eps)
        return math.inf

    def _largest_gap(self) -> float:
        """No action can be worse than another by more, whatever was seen: 2SL."""
        return 2.0 * getattr(self, "norm", math.inf) * self.action_norm

    # -- what follows from it: families that must be faster replace some -----------------------

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        """The choice among the rows of X, which are the fixed actions if ``fixed``; a Verdict, as a tuple."""
        if not fixed:
            check_norms("actions", X, self.action_norm)
        index, level = self._choose(X)
        values = self._bounds(X)
        mean, width, ucb, lcb = (float(column[index]) for column in values)
        low, high = self.reward_range or (-math.inf, math.inf)
        certificate, refuted = math.nan, False
        if self._consistent and self.certified:
            best = min(float(values[2].max()), high)
            certificate, refuted = self._certify(best, min(ucb, high), max(lcb, low))
        ucb, lcb = min(max(ucb, low), high), min(max(lcb, low), high)
        return Verdict(int(index), int(level), mean, width, ucb, lcb, certificate, refuted)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        """The certificate of an action with these bounds, and whether they refute the assumptions.

        No action has a ucb above ``best``. Bounds refute the assumptions if they contradict each other or ‖θ‖ ≤ S.
        """
        if contradict(lcb, ucb, self._largest_gap() / 2):
            return math.nan, True
        return min(max(best - lcb, 0.0), self._largest_gap()), False

    def _clipped(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """As ``_bounds``, within the range of the rewards."""
        mean, width, ucb, lcb = self._bounds(X)
        if self.reward_range is not None:
            ucb, lcb = np.clip(ucb, *self.reward_range), np.clip(lcb, *self.reward_range)
        return mean, width, ucb, lcb

    def _reward(self, waiting: Decision, value: float, times: int) -> None:
        """Learn the reward of a decision that waited for it."""
        self._learn(np.array(waiting.action), value, waiting.level, times)

    def _absorb(self, X: Array, y: Array) -> None:
        """Learn logged rounds from checked arrays, and count them."""
        for x, value in zip(X, y.tolist(), strict=True):
            self._learn(x.copy(), value, 0, 1)
            self._rounds += 1

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        """Rounds on checked arrays, into a trace; counts them."""
        self._loop(X, y, truth, trace, None)

    def _loop(self, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None) -> None:
        """The same by choosing and learning one after the other; each with its own noise if it is given."""
        for t, rewards in enumerate(y):
            offered = X if X.ndim == 2 else X[t]
            if trace.covered is not None:
                trace.covered[t] = self._covers(truth, offered)
            verdict = Verdict(*self._decide(offered, False))
            if verdict.refuted:
                self._refute()
            k = verdict.chosen
            round_ = (offered[k].copy(), float(rewards[k]), verdict.level, 1)
            if noise is None:
                self._learn(*round_)
            else:
                self._weigh(*round_, float(noise[t]))
            self._rounds += 1
            trace.index[t], trace.level[t], trace.certificate[t] = k, verdict.level, verdict.certificate
            trace.reward[t] = rewards[k]

    def _covers(self, truth: Array, X: Array) -> bool:
        """Whether the truth is in all confidence sets; here, as far as the offered actions can tell."""
        _, _, ucb, lcb = self._bounds(X)
        means = X @ truth
        return bool(((lcb <= means) & (means <= ucb)).all())

    # -- what it may refuse --------------------------------------------------------------------

    def _check_logged(self, X: Array) -> None:
        """Refuse logged actions that cannot have been offered to this agent."""

    def _level_range(self) -> tuple[int, int]:
        """The least and the largest level that a decision can have."""
        return 0, 64

    def _noise(self, name: str, noise: ArrayLike, shape: tuple[int, ...]) -> Array:
        """The noise of some rounds, checked; of one round if the shape is ()."""
        check.require(
            self.weighs, name, f"left out with {type(self).__name__}, whose rounds weigh the same", noise
        )
        return noise_scales(name, noise, shape, self._least_noise())

    def _least_noise(self) -> float:
        """No round may have less noise; where ``weighs``."""
        return 0.0

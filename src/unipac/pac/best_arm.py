"""What the searches for the best arm share: arms, targets, and least squares of one batch (``linalg.fit``).

Only pairs with the best target matter: it must not be dropped, and a survivor must not lose more to it than its
certificate says. So in phase j with m active targets 2(m − 1) one-sided bounds are enough, each at δ/(2(m − 1) j(j+1)).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check, _declarations as declare
from unipac._agents import accepted, agent, parameter
from unipac._arrays import Array, Integers
from unipac._inputs import check_norms, floats, read_only
from unipac.envs import BanditInstance
from unipac.linalg.design import RANK, Span, allocate
from unipac.linalg.fit import Fit
from unipac.pac.protocol.records import Request
from unipac.pac.protocol.search import Search


@agent
class BestArm(Search):
    """The best of some arms, or of other vectors than those that it pulls, up to ε; the algorithms derive from it.

    In an algorithm ``_X`` (n, d) are the arms and ``_Z`` (m, d) the targets.

    {parameters}

    >>> from unipac import RAGE, envs
    >>> instance = envs.fixed_arms([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7], noise=0.1)
    >>> search = RAGE.made_for(instance, eps=0.1)
    >>> isinstance(search, BestArm), search.run(instance, seed=0).index
    (True, 1)
    """

    _example: ClassVar[str] = """
    >>> from unipac.envs import soare
    >>> instance = soare(dim=3, angle=0.5)
    >>> search = {name}.made_for(instance, delta=0.05)
    >>> search.run(instance, seed=0).index, search.done
    (0, True)
    """

    arms: ArrayLike = parameter(words="(n, d), the arms", kw_only=False)
    eps: float = parameter(
        default=0.0, check=check.nonnegative, words="ε ≥ 0, how much worse than the best the answer may be"
    )
    noise: float = declare.noise()
    norm: float = declare.norm()
    targets: ArrayLike | None = parameter(
        default=None, words="(m, d), the candidates for the best; by default the arms"
    )

    def _check_parameters(self) -> None:
        X = floats("arms", self.arms).copy()
        check.require(X.ndim == 2 and X.size > 0, "arms", "of shape (n, d), not empty", X.shape)
        check_norms("arms", X, check.LARGEST)
        self.arms, self._X, self._Z = read_only(X), X, X
        if self.targets is not None:
            Z = floats("targets", self.targets).copy()
            fits = Z.ndim == 2 and Z.size > 0 and Z.shape[1] == X.shape[1]
            check.require(fits, "targets", f"of shape (m, {X.shape[1]}), not empty", Z.shape)
            check_norms("targets", Z, check.LARGEST)
            outside = float(Span.of(X).residual(Z - Z[0]).max())
            reach = float(np.abs(X).max()) + float(np.abs(Z).max())
            expected = "such that their differences lie in the span of the arms"
            check.require(outside <= 4.0 * RANK * reach, "targets", expected, outside)
            self.targets, self._Z = read_only(Z), Z

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """A search that fits an instance with fixed arms: with its noise and norm, unless you pass others.

        Args:
            instance: from ``unipac.envs``.
            rounds: not needed; searches stop by themselves.
            seed: for algorithms that break ties at random.
            parameters: further arguments of the search.
        """
        fits = isinstance(instance, BanditInstance) and instance.actions is not None
        check.require(fits, "instance", "a BanditInstance with fixed actions", instance)
        fitting = accepted(cls, noise=instance.noise, norm=instance.norm, seed=seed)
        return cls(**{"arms": instance.actions, **fitting, **parameters})

    def _n_arms(self) -> int:
        return len(self._X)

    def _check_instance(self, instance: Any) -> None:
        arms = instance.actions if isinstance(instance, BanditInstance) else None
        fits = arms is not None and np.array_equal(arms, self._X)
        check.require(fits, "instance", "a BanditInstance with the arms of this search", instance)

    # -- what the algorithms use ---------------------------------------------------------------

    def _largest_gap(self, index: int) -> float:
        """S max ‖y − x‖: whatever the data, no target is better than this one by more."""
        return self.norm * float(np.linalg.norm(self._Z - self._Z[index], axis=1).max())

    def _trivial(self) -> tuple[int, float]:
        """The answer before any data, and its certificate."""
        return 0, self._largest_gap(0)

    def _batch(
        self, weights: Array, pulls: float, best: tuple[int, float]
    ) -> Generator[Request, Array, tuple[Integers, Array]]:
        """Pull each arm ⌈λ N⌉ times; returns counts and sums of all arms."""
        counts = allocate(weights, pulls)
        arms = np.flatnonzero(counts)
        sums = np.zeros(len(counts))
        sums[arms] = yield Request(arms, counts[arms], *best)
        return counts, sums

    def _fit(self, counts: Integers, sums: Array) -> Fit:
        return Fit(self._X, counts, sums, self.noise, self.norm)


def better(best: tuple[int, float], answer: int, certificate: float) -> tuple[int, float]:
    """The answer with the smaller certificate of two."""
    return (answer, certificate) if certificate <= best[1] else best

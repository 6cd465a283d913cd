"""What the searches with fixed batches share: targets, and least squares of one batch (``linalg.fit``).

Only pairs with the best target matter: it must not be dropped, and a survivor must not lose more to it than its
certificate says. So in phase j with m active targets 2(m − 1) sides are enough: p = δ/(2(m − 1) j(j+1)).
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array, Integers
from unipac._inputs import check_norms, floats, read_only
from unipac._parameters import OptionalArrayParameter
from unipac.linalg.design import RANK, Span, allocate
from unipac.linalg.fit import Fit
from unipac.pac.base import BestArm, Request


@agent
class TargetedSearch(BestArm):
    """A search that may look for the best of other vectors than those that it pulls; the algorithms derive from it.

    {parameters}
    """

    targets: OptionalArrayParameter = parameter(
        default=None, words="(m, d), among which the best is sought; the arms if not given"
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._Z = self._X
        if self.targets is not None:
            Z = floats("targets", self.targets).copy()
            fits = Z.ndim == 2 and Z.size > 0 and Z.shape[1] == self._X.shape[1]
            check.require(fits, "targets", f"of shape (m, {self._X.shape[1]}), not empty", Z.shape)
            check_norms("targets", Z, check.LARGEST)
            outside = float(Span.of(self._X).residual(Z - Z[0]).max())
            reach = float(np.abs(self._X).max()) + float(np.abs(Z).max())
            known = outside <= 4.0 * RANK * reach
            check.require(
                known, "targets", "such that their differences lie in the span of the arms", outside
            )
            self.targets, self._Z = read_only(Z), Z

    def _largest_gap(self, index: int) -> float:
        """No target is better than this one by more, whatever was seen: S max ‖y − x‖."""
        return self.norm * float(np.linalg.norm(self._Z - self._Z[index], axis=1).max())

    def _trivial(self) -> tuple[int, float]:
        """The answer before anything was seen."""
        return 0, self._largest_gap(0)

    def _batch(
        self, weights: Array, pulls: float, known: tuple[int, float]
    ) -> Generator[Request, Array, tuple[Integers, Array]]:
        """Pull ⌈λ N⌉ of each arm; counts and sums of all arms."""
        counts = allocate(weights, pulls)
        arms = np.flatnonzero(counts)
        sums = np.zeros(len(counts))
        sums[arms] = yield Request(arms, counts[arms], *known)
        return counts, sums

    def _fit(self, counts: Integers, sums: Array) -> Fit:
        return Fit(self._X, counts, sums, self.noise, self.norm)


def better(known: tuple[int, float], answer: int, certificate: float) -> tuple[int, float]:
    """The one of two answers that is known to lose less."""
    return (answer, certificate) if certificate <= known[1] else known

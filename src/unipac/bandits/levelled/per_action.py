"""One model per action: the k-th action of every round is judged by the k-th of n regressions.

For agents that have one compiled regression of all data otherwise; ``disjoint`` says which. What is chosen and learned
one round at a time is the protocol's own loop; ``decision.level`` is the number of the model, from 1.
"""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.levelled.agent import LevelledAgent
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.records import Trace
from unipac.bandits.regressions import agent as models
from unipac.envs import BanditInstance
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_growth


@agent
class PerActionAgent(LevelledAgent):
    """One regression, or with ``disjoint`` one per action; the algorithms derive from it.

    {parameters}
    """

    disjoint: bool = parameter(
        default=False,
        check=check.flag,
        words="whether the k-th offered action has the k-th of ``n_actions`` models to itself",
    )
    n_actions: int = parameter(
        default=0,
        check=lambda name, value: check.count(name, value, least=0),
        words="how many actions every round offers, if disjoint",
    )

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """As for all agents; with ``disjoint`` there are as many models as the instance has actions."""
        if parameters.get("disjoint") is True and isinstance(instance, BanditInstance):
            parameters = {"n_actions": instance.n_actions, **parameters}
        return super().made_for(instance, rounds=rounds, seed=seed, **parameters)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        fits = self.n_actions > 0 if self.disjoint else self.n_actions == 0
        check.require(fits, "n_actions", "given with disjoint=True, and only then", self.n_actions)
        if self.disjoint:
            self.__dict__["absorbs"] = False  # a logged round does not tell which action it was
            vars(self).update(  # in place of what is compiled for a single regression
                _decide=functools.partial(BanditAgent._decide, self),
                _reward=functools.partial(BanditAgent._reward, self),
                _learn=self._learn_own,
                _play=self._play_all,
            )
            if self.fixed_actions is not None:
                self._check_count(self._arms)

    def _check_count(self, X: Array) -> None:
        fits = X.shape[-2] == self.n_actions
        check.require(fits, "actions", f"{self.n_actions} in every round, one for each model", X.shape[-2])

    def _level_range(self) -> tuple[int, int]:
        return (1, self.n_actions) if self.disjoint else super()._level_range()

    def _bonus_factor(self) -> float:
        """What multiplies the width."""
        raise NotImplementedError

    # -- each in two ways ----------------------------------------------------------------------

    def _empty(self) -> Levels:
        if not self.disjoint:
            return super()._empty()
        self._confidence = self._sets()
        self._certified = self._confidence.certified
        return models.regressions(self.n_actions, self.dim, self.regularization)

    def _saved(self) -> Any:
        return models.saved(self.state) if self.disjoint else super()._saved()

    def _restored(self, saved: Any) -> Levels:
        if not self.disjoint:
            return super()._restored(saved)
        if len(saved.size) != self.n_actions or sum(saved.size.tolist()) != self._rounds:
            raise ValueError("the models are not those of so many rounds")
        return models.restored(saved, self.dim, self.regularization, self.action_norm)

    def _has_level(self, level: int) -> bool:
        return not self.disjoint or 1 <= level <= self.n_actions

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        if not self.disjoint:
            return super()._bounds(X)
        self._check_count(X)
        mean, width = np.empty(len(X)), np.empty(len(X))
        for k, x in enumerate(X):
            (mean[k],), (width[k],) = models.evaluated(self.state, k, x[None], self.regularization)
        bonus = self._bonus_factor() * width
        return mean, width, mean + bonus, mean - bonus

    def _choose(self, X: Array) -> tuple[int, int]:
        k = int(self._bounds(X)[2].argmax())
        return k, k + 1

    def _learn_own(self, x: Array, y: float, level: int, times: int) -> None:
        check_growth(times, self.regularization, self.action_norm)
        models.insert(self.state, (level - 1,), x, y, times, self.regularization)

    def _play_all(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_count(X)
        self._loop(X, y, truth, trace, None)

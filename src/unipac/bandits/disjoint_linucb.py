"""DisjointLinUCB: one model per action, Li, Chu, Langford and Schapire (2010), Algorithm 1.

    pseudo-code                                                                  here
    action k: Σ_k = λI + Σ x xᵀ, w_k = Σ_k⁻¹ Σ x r, over the rounds that         bandits.regressions.agent.insert
      chose the k-th action
    play argmax_k ⟨w_k, x_k⟩ + α ‖x_k‖_{Σ_k⁻¹}                                   DisjointLinUCB._bounds

α is a constant to be tuned: for data chosen by the agent itself no theorem backs it, so nothing is certified.
``decision.level`` is the number of the model, from 1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import Step
from unipac.bandits.protocol.records import Trace
from unipac.bandits.regressions.agent import evaluated, insert, regressions, restored, saved
from unipac.envs import BanditInstance
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import Saved, check_growth, check_ratio


@agent
class DisjointLinUCB(BanditAgent):
    """LinUCB with a model for each action: the k-th offered action is judged by the k-th model alone.

    {parameters}

    >>> agent = DisjointLinUCB(2, n_actions=2)
    >>> for _ in range(50):
    ...     decision = agent.choose([[0.6, 0.8], [0.6, 0.8]])
    ...     agent.update(decision, reward=[0.2, 0.7][decision.index])
    >>> decision.index, decision.level
    (1, 2)
    """

    counts_many = True
    absorbs = False  # a logged round does not say which action it was

    n_actions: int = parameter(check=check.count, words="how many actions every round offers")
    alpha: float = parameter(default=1.0, check=check.nonnegative, words="α ≥ 0, how much to explore")
    regularization: float = declare.regularization()

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """As for all agents, with a model for each action of the instance."""
        parameters = {"n_actions": getattr(instance, "n_actions", None), **parameters}
        return super().made_for(instance, rounds=rounds, seed=seed, **parameters)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ratio(self.regularization, self.action_norm)
        if self.fixed_actions is not None:
            self._check_count(self._arms)

    def _check_count(self, X: Array) -> None:
        fits = X.shape[-2] == self.n_actions
        check.require(fits, "actions", f"{self.n_actions} in every round, one for each model", X.shape[-2])

    def _level_range(self) -> tuple[int, int]:
        return 1, self.n_actions

    def _has_level(self, level: int) -> bool:
        return 1 <= level <= self.n_actions

    def _empty(self) -> Levels:
        return regressions(self.n_actions, self.dim, self.regularization)

    def _saved(self) -> Saved:
        return saved(self.state)

    def _restored(self, saved: Any) -> Levels:
        if len(saved.size) != self.n_actions or sum(saved.size.tolist()) != self.rounds:
            raise ValueError("the models are not those of so many rounds")
        return restored(saved, self.dim, self.regularization, self.action_norm)

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        self._check_count(X)
        mean, width = np.empty(len(X)), np.empty(len(X))
        for k, x in enumerate(X):
            (mean[k],), (width[k],) = evaluated(self.state, k, x[None], self.regularization)
        return mean, width, mean + self.alpha * width, mean - self.alpha * width

    def _choose(self, X: Array) -> tuple[int, int]:
        k = int(self._bounds(X)[2].argmax())
        return k, k + 1

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        check_growth(times, self.regularization, self.action_norm)
        return insert, (self.state, np.array([level - 1]), x, y, times, self.regularization)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        self._check_count(X)
        super()._play(X, y, truth, trace)

"""What searches among functions share that play episodes: policies as arms, steps as what is told."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Integers
from unipac._inputs import floats, read_only
from unipac._parameters import OptionalArrayParameter
from unipac.envs import CandidateMDP, FiniteMDP
from unipac.envs.play.visits import RANDOM, largest_return, visits
from unipac.pac.base import Batch
from unipac.pac.planning import PolicySearch


@agent
class FunctionSearch(PolicySearch):
    """A search among candidates for Q*; the algorithms derive from it.

    {parameters}

    >>> from unipac import OLIVE, envs
    >>> mdp = envs.FiniteMDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, 0], [0, 0.5]], horizon=2)
    >>> search = OLIVE.made_for(mdp, functions=[mdp.optimal_q()], eps=0.5)
    >>> isinstance(search, FunctionSearch), search.functions.shape
    (True, (1, 2, 2, 2))
    """

    samples: ClassVar[str] = "episodes"

    functions: OptionalArrayParameter = parameter(
        default=None, words="(N, H, S, A), candidates for Q*, from 0 to 1", kw_only=False
    )
    rewards: OptionalArrayParameter = parameter(
        default=None, words="(H, S, A), at least 0, of which no episode brings more than 1 in all"
    )

    def _check_parameters(self) -> None:
        F, r = floats("functions", self.functions).copy(), floats("rewards", self.rewards).copy()
        check.require(F.ndim == 4 and F.size > 0, "functions", "of shape (N, H, S, A), not empty", F.shape)
        check.require(r.shape == F.shape[1:], "rewards", f"of shape {F.shape[1:]}", r.shape)
        for name, array in (("functions", F), ("rewards", r)):
            check.require(bool(((array >= 0) & (array <= 1)).all()), name, "from 0 to 1", array)
        self.functions, self.rewards = read_only(F), read_only(r)
        N, self._H, self._S, self._A = F.shape
        self._greedy = F.argmax(axis=3)
        self._V = np.concatenate([F.max(axis=3), np.zeros((N, 1, self._S))], axis=1)

    @classmethod
    def made_for(
        cls, instance: FiniteMDP, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """A search that fits a finite MDP: its rewards, and its ``candidates``; ``functions`` if it has none.

        Args:
            instance: from ``unipac.envs``, with rewards of pairs that bring at most 1 in an episode.
            rounds: not needed; searches stop by themselves.
            seed: not needed; nothing is random but the episodes.
            parameters: further arguments of the search.
        """
        _check_mdp(instance)
        told = {"functions": instance.candidates} if isinstance(instance, CandidateMDP) else {}
        known = bool(told) or parameters.get("functions") is not None
        check.require(
            known, "functions", f"given for {instance.name}, which lists no candidates for Q*", None
        )
        return cls(**{"rewards": instance.rewards, **told, **parameters})

    def policy_of(self, arm: int) -> Integers:
        """The policy that an arm stands for, (H, S); -1 is an action that is drawn uniformly."""
        f, h = divmod(check.count("arm", arm, least=0, most=self._n_arms() - 1), self._H + 1)
        policy: Integers = self._greedy[f].copy()
        policy[h - 1 : h] = RANDOM  # nothing if h = 0
        return policy

    # -- what is told --------------------------------------------------------------------------

    def _n_arms(self) -> int:
        return int(len(self.functions) * (self._H + 1))

    def _nothing(self) -> Integers:
        return np.empty((0, self._H, self._S, self._A, self._S), dtype=np.int64)

    def _check_instance(self, instance: Any) -> None:
        _check_mdp(instance)
        fits = np.array_equal(instance.rewards, self.rewards)
        check.require(fits, "instance", "a FiniteMDP with these rewards", instance)

    def _sample(self, instance: Any, seed: int) -> Integers:
        arm, episodes = (int(part[0]) for part in self.ask())
        return visits(instance, self.policy_of(arm), episodes, batch=len(self.state), seed=seed)[None]

    def _read(self, sums: Any, batch: Batch) -> Integers:
        steps, n = floats("steps", sums), int(batch.counts[0])
        shape = self._nothing().shape[1:]
        check.require(steps.shape == (1, *shape), "steps", f"of shape {(1, *shape)}", steps.shape)
        whole = bool(((steps >= 0) & (steps == np.floor(steps)) & (steps <= n)).all())
        check.require(whole, "steps", "numbers of steps", steps)
        came, gone = steps[0].sum(axis=(1, 2)), steps[0].sum(axis=(2, 3))
        fits = bool((gone.sum(axis=1) == n).all()) and np.array_equal(came[:-1], gone[1:])
        check.require(
            fits, "steps", f"those of {n} episodes, each stage going on where the last ended", steps
        )
        policy = self.policy_of(int(batch.arms[0]))
        others = np.where((policy == RANDOM)[..., None], False, np.arange(self._A) != policy[..., None])
        obeyed = not steps[0].sum(axis=3)[others].any()
        check.require(obeyed, "steps", "those of the policy that was asked for", steps)
        return steps.astype(np.int64)


def _check_mdp(instance: Any) -> None:
    fits = (
        isinstance(instance, FiniteMDP) and instance.arrival_rewards is None and instance.reward_range[0] >= 0
    )
    check.require(fits, "instance", "a FiniteMDP with rewards of pairs that are at least 0", instance)
    most = largest_return(instance)
    check.require(most <= 1 + 1e-9, "instance", "an MDP whose episodes bring at most 1 in all", most)

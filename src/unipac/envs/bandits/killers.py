"""Noiseless instances that lead optimism astray: a long forced run, then a free choice."""

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.arrays import read_only
from unipac.envs.bandits.instance import BanditInstance


class SwitchingArms(BanditInstance):
    """Two action sets: one in runs of forced rounds, the other elsewhere.

    In a forced round all actions teach the same: their rewards are equal and free of noise, and they are
    equal, or opposite with the reward 0. So an agent takes a whole run of them in one step, with any action.

    Example:
        >>> instance = killer(forced=10**15)
        >>> instance.forced_at(3), instance.free_at(10**15)
        (999999999999997, inf)
    """

    def __init__(
        self,
        name: str,
        theta: ArrayLike,
        *,
        forced_arms: ArrayLike,
        free_arms: ArrayLike,
        runs: Sequence[tuple[int, int]],
    ) -> None:
        theta = np.asarray(theta, dtype=np.float64)
        self._forced_arms = read_only(np.asarray(forced_arms, dtype=np.float64))
        self._free_arms = np.asarray(free_arms, dtype=np.float64)
        self._runs = tuple(runs)
        n_actions, dim = self._free_arms.shape
        super().__init__(name, dim, n_actions, theta=theta)
        self._forced_means = self._forced_arms @ theta
        self._free_means = self._free_arms @ theta

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        first = index * self.block
        forced = np.zeros(self.block, dtype=np.bool_)
        for begin, end in self._runs:
            forced[max(begin - first, 0) : max(end - first, 0)] = True
        actions[:], means[:] = self._free_arms, self._free_means
        actions[forced], means[forced] = self._forced_arms, self._forced_means

    def forced_at(self, k: int) -> int:
        """How many forced rounds there are from round `k` on until the next free choice.

        Args:
            k: number of a round, from 0.

        Returns:
            The number of forced rounds, 0 if round `k` is free.
        """
        k = check.count("k", k, least=0)
        run = bisect_right(self._runs, k, key=lambda bounds: bounds[0]) - 1
        return max(self._runs[run][1] - k, 0)

    @property
    def forced_action(self) -> Array:
        """(d,): one of the actions of a forced round."""
        action: Array = self._forced_arms[0]
        return action

    @property
    def forced_reward(self) -> float:
        """The reward of every action of a forced round."""
        return float(self._forced_means[0])

    def free_at(self, k: int) -> float:
        """How many free rounds there are from round `k` on until the next forced one; perhaps infinite.

        Args:
            k: number of a round, from 0.
        """
        if self.forced_at(k) > 0:
            return 0
        later = [begin for begin, end in self._runs if begin > k and end > begin]
        return later[0] - k if later else math.inf


class Killer(SwitchingArms):
    """Runs of rounds in which e1 is the only action, between choices of e1 and e2.

    A forced round lists e1 twice, so that all rounds have two actions.

    >>> isinstance(killer(forced=10), Killer)
    True
    """


def appendix_a(forced: int = 1000) -> SwitchingArms:
    """The instance in Appendix A of He, Zhou and Gu (2021).

    theta = (0, 1), no noise. The actions are ±(1, 0), both of mean 0, in the first `forced`
    rounds, and ±(0, 1) afterwards.

    Args:
        forced: number of rounds which teach nothing about the later ones.

    Example:
        >>> appendix_a(forced=3).rounds(2, 2, seed=0).actions
        array([[[ 1.,  0.],
                [-1.,  0.]],
        <BLANKLINE>
               [[ 0.,  1.],
                [ 0., -1.]]])
    """
    return SwitchingArms(
        "appendix_a",
        [0.0, 1.0],
        forced_arms=[[1.0, 0.0], [-1.0, 0.0]],
        free_arms=[[0.0, 1.0], [0.0, -1.0]],
        runs=[(0, check.count("forced", forced, least=0))],
    )


def killer(forced: int = 1000) -> Killer:
    """The two-armed instance that kills the original OFUL.

    theta = (1/2, 0), no noise. The first `forced` rounds offer e1 only, the others e1 and e2.
    The longer the forced run, the wider a confidence set that grows with time is in the
    direction e2, which has index 1 and the gap 1/2. An agent takes the forced rounds in one step,
    ``agent.update(agent.choose([[1, 0]]), 0.5, times=forced)``, after which
    ``agent.play(killer(forced), rounds=...)`` goes on with the free ones.

    Args:
        forced: number of rounds without a choice.

    Example:
        >>> killer(forced=1).rounds(0, 2, seed=0).means
        array([[0.5, 0.5],
               [0.5, 0. ]])
    """
    return _killer("killer", [(0, check.count("forced", forced, least=0))])


def killer_phases(forced: Sequence[int] = (10**3, 10**6), choices: int = 200) -> Killer:
    """The `killer` in phases, each a longer forced run and then some free choices.

    After the choices of the last phase the rounds stay free for ever.

    Args:
        forced: number of forced rounds of each phase.
        choices: number of free rounds at the end of each phase.

    Example:
        >>> instance = killer_phases(forced=(2, 3), choices=1)
        >>> [instance.forced_at(k) for k in range(8)]
        [2, 1, 0, 3, 2, 1, 0, 0]
    """
    check.require(isinstance(forced, Sequence) and len(forced) > 0, "forced", "a sequence, not empty", forced)
    choices = check.count("choices", choices)
    runs = []
    begin = 0
    for phase, length in enumerate(forced):
        end = begin + check.count(f"forced[{phase}]", length, least=0)
        runs.append((begin, end))
        begin = end + choices
    return _killer("killer_phases", runs)


def _killer(name: str, runs: Sequence[tuple[int, int]]) -> Killer:
    return Killer(
        name,
        [0.5, 0.0],
        forced_arms=[[1.0, 0.0], [1.0, 0.0]],
        free_arms=[[1.0, 0.0], [0.0, 1.0]],
        runs=runs,
    )

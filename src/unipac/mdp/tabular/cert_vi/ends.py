"""States that are known to be ends: no action is taken in them, and nothing comes after them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac._arrays import Integers
from unipac._parameters import OptionalArrayParameter
from unipac.envs import FiniteMDP
from unipac.mdp.tabular.counting.agent import TabularAgent


@agent
class AgentWithEnds(TabularAgent):
    """An agent that may be told which states are ends; what contradicts this is refused.

    {parameters}
    """

    ends: OptionalArrayParameter = parameter(
        default=None,
        words="states in which an episode is over, worth 0 and left out of all bounds: numbers, or booleans (S,)",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._over: NDArray[np.bool_] = np.zeros(self.n_states, dtype=np.bool_)
        if self.ends is None:
            return
        S, told = self.n_states, np.asarray(self.ends)
        if told.dtype == np.bool_ and told.shape == (S,):
            told = np.flatnonzero(told)
        sound = told.ndim == 1 and told.size > 0 and told.dtype.kind in "iu"
        sound = sound and 0 <= told.min() <= told.max() < S
        sound = sound and np.unique(told).size == told.size < S
        expected = f"different numbers from 0 to {S - 1}, or booleans of shape ({S},), not of all states"
        check.require(bool(sound), "ends", expected, self.ends)
        self._over[told] = True
        self.ends = tuple(np.flatnonzero(self._over).tolist())

    def _seen(self, name: str, observation: Any) -> int:
        """A state in which an action is asked for, or was taken, is no end; the next one may be."""
        s: int = super()._seen(name, observation)
        asked = name in ("observation", "seen")
        check.require(not (asked and self._over[s]), name, "a state that is none of the ends", observation)
        return s

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        super()._check_mdp(mdp)
        over = self._over
        comes = (mdp.tables[:, ~over][..., over] > 0.0).any(axis=(0, 1, 2)) | (mdp.initial[over] > 0.0)
        wrong = np.flatnonzero(over)[comes & ~mdp.terminal[over]]
        expected = "states that are terminal in this MDP, or that no other state leads to"
        check.require(wrong.size == 0, "ends", expected, wrong.tolist())

    def _check_starts(self, states: Integers) -> None:
        wrong = states[self._over[states]][:1].tolist()
        check.require(not wrong, "initial_states", "states that are none of the ends", wrong)

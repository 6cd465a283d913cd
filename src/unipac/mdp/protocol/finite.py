"""The protocol of agents whose states and actions are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.envs import FiniteMDP
from unipac.mdp.protocol.agent import EpisodicAgent


@agent
class FiniteAgent(EpisodicAgent):
    """An agent for states and actions that are numbers; the algorithms derive from it.

    {parameters}

    >>> from unipac import CertVI
    >>> agent = CertVI(2, 2, horizon=1)
    >>> action = agent.act(0)                                   # state 0
    >>> agent.observe(1.0, 1, terminated=True)                  # reward, next state
    >>> isinstance(agent, FiniteAgent), agent.episodes
    (True, 1)
    """

    n_states: int = parameter(check=check.count, words="S, the number of states", kw_only=False)
    n_actions: int = parameter(check=check.count, words="A, the number of actions", kw_only=False)

    @classmethod
    def _told(cls, mdp: FiniteMDP) -> dict[str, Any]:
        return {"n_states": mdp.n_states, "n_actions": mdp.n_actions, "horizon": mdp.horizon}

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        held = sum(array.size for name, array in arrays.items() if name.startswith("state."))
        pairs = parameters["n_states"] * parameters["n_actions"]  # each has at least one number in the state
        check.require(pairs <= held, "n_states", "no more than the file has room for", parameters["n_states"])

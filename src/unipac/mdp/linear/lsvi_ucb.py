"""LSVI-UCB: Algorithm 1 of Jin, Yang, Wang and Jordan (2020), one Gram matrix per stage.

    pseudo-code                                                                   here
    Λ_h = λI + Σ φφᵀ, w_h = Λ_h⁻¹ Σ φ [r + max_a Q_{h+1}(s', a)]                  mdp.backward._regress
    Q_h(s, a) = min{⟨w_h, φ⟩ + β ‖φ‖_{Λ_h⁻¹}, H}, clipped at 0 from below too     mdp.backward.backward
    a_h = argmax_a Q_h(s_h, a)                                                    mdp.episodes.choose
    β = c d H √log(2 d K H/δ)                                                     theory.lsvi_ucb

K, the number of episodes, must be known beforehand, and β grows with it: regret, but no convergence.
``replan="lazy"`` is the rare-switching form (Wang, Zhou and Gu 2021).

The radii "monotone" and "vertex" are those of ``upac_lsvi``, on one set of all data instead of levels; K is not used.
They come with a certificate before every episode. Theorem: ``docs/agents/lsvi_ucb.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.envs import FiniteMDP
from unipac.linalg.levels import SINGLE
from unipac.mdp.linear.levelled.agent import LinearAgent
from unipac.mdp.linear.values.agent import Bounding
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.records import StageLevel

FOR_ALL_TIMES = ("monotone", "vertex")


@agent
class LSVIUCB(LinearAgent):
    """Optimistic value iteration on all data.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = LSVIUCB(mdp.features, horizon=3, total_episodes=100, radius="monotone")
    >>> trace = agent.play(mdp, episodes=100, seed=0)
    >>> bool((trace.bound >= mdp.optimal_value()[0]).all()), bool((trace.certificate >= trace.gap).all())
    (True, True)
    """

    rule: ClassVar[int] = SINGLE
    theorem: ClassVar[str] = "regret"

    total_episodes: int = parameter(
        check=check.count,
        words="K, for how many episodes the radius is made; nothing is certified beyond, except by the radii "
        '"monotone" and "vertex", which hold for all',
    )
    moved: ClassVar[Mapping[str, str]] = {"episodes": "K is given as total_episodes, not as episodes"}
    radius: str = parameter(
        default="theorem",
        check=check.choice("theorem", "finite", "mixture", *FOR_ALL_TIMES),
        words='"theorem" as in the paper, whose constant is not given, so that it is never certified; '
        "for finitely many "
        'states "monotone" and "vertex", those of UPACLSVI, or the larger "finite"; or the heuristic "mixture"',
    )
    terminates: bool = parameter(
        default=True,
        check=check.flag,
        words='whether episodes may end before H; bounds of "monotone" and "vertex" are a little smaller if not',
    )

    def _known_episodes(self) -> int | None:
        return self.total_episodes

    def _make_way(self) -> Any:
        for_all = self.radius in FOR_ALL_TIMES
        return Bounding(self, levelled=False) if for_all else super()._make_way()

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        if parameters["radius"] not in FOR_ALL_TIMES:
            super()._foresee(parameters, arrays)

    @property
    def certified(self) -> bool:
        """Whether every bound is proven, with probability 1 − δ for the episodes foreseen or, if so, for all."""
        if isinstance(self._way, Bounding):
            return self._way.certified
        return super().certified and self._episodes <= self.total_episodes

    def levels(self) -> list[StageLevel]:
        """Size and radius of the set of all data of each stage."""
        if not isinstance(self._way, Bounding):
            return super().levels()
        with self._lock:
            return self._way.stage_levels()

    def _check_mdp(self, mdp: FiniteMDP) -> None:
        if isinstance(self._way, Bounding):
            EpisodicAgent._check_mdp(self, mdp)
            self._way.check_mdp(mdp, self._told(mdp)["features"])
        else:
            super()._check_mdp(mdp)

    def _check_end(self, h: int, terminated: bool) -> None:
        check_end = self._way.check_end if isinstance(self._way, Bounding) else super()._check_end
        check_end(h, terminated)

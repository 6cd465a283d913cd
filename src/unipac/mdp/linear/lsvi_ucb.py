"""LSVI-UCB: Algorithm 1 of Jin, Yang, Wang and Jordan (2020), one Gram matrix per stage.

    pseudo-code                                                                  here
    Λ_h = λI + Σ φφᵀ, w_h = Λ_h⁻¹ Σ φ [r + max_a Q_{h+1}(s', a)]                 mdp.linear.counted.backward.regress
    Q_h(s, a) = min{⟨w_h, φ⟩ + β ‖φ‖_{Λ_h⁻¹}, H}, clipped at 0 from below too    mdp.linear.counted.backward.backward
    a_h = argmax_a Q_h(s_h, a)                                                   mdp.linear.counted.backward.tabulate
    β = c d H √log(2 d K H/δ)                                                    theory.mdp_radii.lsvi_ucb

K, the number of episodes, must be known beforehand, and β grows with it: regret, but no convergence.
``replan="lazy"`` is the rare-switching form (Wang, Zhou and Gu 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac.linalg.levels import SINGLE
from unipac.mdp.linear.levelled.agent import LinearAgent


def _radius(name: str, value: str) -> str:
    """Check a radius; two that this class had now belong to another class."""
    if isinstance(value, str) and value in ("monotone", "vertex"):
        raise ValueError(f"{name}={value!r} is a radius of MonotoneLSVI, no longer of LSVIUCB")
    return check.one_of(name, value, ("theorem", "finite", "mixture"))


@agent
class LSVIUCB(LinearAgent):
    """Optimistic value iteration on all data.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = LSVIUCB(mdp.features, horizon=3, total_episodes=100, radius="finite")
    >>> trace = agent.play(mdp, episodes=100, seed=0)
    >>> agent.certified, bool((trace.bound >= mdp.optimal_value()[0]).all())
    (True, True)
    """

    _rule: ClassVar[int] = SINGLE
    theorem: ClassVar[str] = "regret"

    total_episodes: int = parameter(
        check=check.count, words="K, for how many episodes the radius is made; nothing is proven beyond"
    )
    moved: ClassVar[Mapping[str, str]] = {
        **declare.EPISODES_MOVED,
        "terminates": "terminates is a parameter of MonotoneLSVI, no longer of LSVIUCB",
    }
    radius: str = parameter(
        default="theorem",
        check=_radius,
        words='"theorem" as in the paper, whose constant is not given, so that it is never proven; "finite" for '
        'finitely many states; or the heuristic "mixture"',
    )

    @property
    def _proven(self) -> bool:
        """Whether every bound is proven, with probability 1 − δ for ``total_episodes`` episodes."""
        return super()._proven and self.episodes <= self.total_episodes

"""NestedFLUTE: FLUTE with nested levels, lazy replanning and the cap H − h + 1; we recommend it.

It differs from Algorithm 2 (``flute``) in four ways; Theorem 2 holds with other absolute constants:

    1. Level l regresses on D_h^l = C_h^1 ∪ ... ∪ C_h^l, all with the target V_{h+1}^l. The size of C_h^l
       keeps its bound.
    2. Q_h is clipped to [0, H − h + 1], the largest value that is possible from stage h on.
    3. The plan is renewed only when a level was opened at stage 1, or some det Σ_h^l has grown by
       ``replan_factor`` since; the level test always uses the current Σ, so level sizes keep their bound.
    4. The radius is "finite", proven for finitely many states.
"""

from __future__ import annotations

from typing import ClassVar

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac.linalg.levels import NESTED
from unipac.mdp.linear.levelled.agent import LinearAgent


@agent
class NestedFLUTE(LinearAgent):
    """Optimistic value iteration over nested levels of data, planned anew only when it pays.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = NestedFLUTE(mdp.features, horizon=3)
    >>> trace = agent.play(mdp, episodes=2000, seed=0)
    >>> agent.certified, int(trace.replanned.sum()) < 300
    (True, True)
    """

    _rule: ClassVar[int] = NESTED
    theorem: ClassVar[str] = "uniform-PAC"

    radius: str | None = parameter(  # type: ignore[assignment]
        default=None,
        check=check.optional_choice("finite", "explicit", "theorem", "mixture"),
        words='"finite", "explicit", "theorem", or the heuristic "mixture"; by default "finite" with '
        "finitely many states, "
        'else "explicit"',
    )
    replan: str = declare.replan("lazy")

    def _check_parameters(self) -> None:
        if self.radius is None:
            self.radius = "explicit" if self.features is None else "finite"
        super()._check_parameters()

    def _largest_value(self, h: int) -> float:
        return float(self.horizon - h)

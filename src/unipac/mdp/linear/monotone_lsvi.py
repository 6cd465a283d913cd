"""MonotoneLSVI: LSVI-UCB with the radii of UPACLSVI, on one set of all data instead of levels.

    pseudo-code                                                                   here
    the plan of UPACLSVI, with one level, of all data, in every block             mdp.linear.values.plan.choose
      rad = ½ √(log det(Σ/λ) + 2 log(1/failure)) w + ½ λ √d ‖Σ⁻¹x‖                mdp.linear.values.bounds.upper_bounds
    certificate(s) = V_1(s) − Vlow_1(s)                                           mdp.linear.values.plan.certify
    add (x, s') of the episode to the data and to the counts                      mdp.linear.values.plan.learn

It need not know the number of episodes, and has a certificate before every one. The radius grows with log det Σ of all
data: regret, but no convergence. Theorem: ``docs/agents/monotone_lsvi.md``.
"""

from __future__ import annotations

from typing import ClassVar

from unipac import _declarations as declare
from unipac._agents import agent
from unipac.mdp.linear.values.agent import ValueAgent


@agent
class MonotoneLSVI(ValueAgent):
    """Certified value iteration on all data: no levels, no number of episodes to know.

    {parameters}

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = MonotoneLSVI(mdp.features, horizon=3)
    >>> trace = agent.play(mdp, episodes=100, seed=0)
    >>> bool((trace.bound >= mdp.optimal_value()[0]).all()), bool((trace.certificate >= trace.gap).all())
    (True, True)
    """

    theorem: ClassVar[str] = "regret"
    _levelled: ClassVar[bool] = False

    replan: str = declare.replan("always")
    replan_factor: float = declare.replan_factor(1.25)

"""FLUTE: Algorithm 2 of He, Zhou and Gu (2021), with the repairs that it needs to run.

    line   pseudo-code                                                         here
    1      C_h^l ← ∅ for all h, l; S_1 = 1                                     mdp.linear.counted.sums.empty
    3      V_{H+1}^l = 0                                                       mdp.linear.counted.backward.backward
    6-8    Σ_h^l, b_h^l = Σ φ [r + V_{h+1}^l(s')], w_h^l = (Σ_h^l)⁻¹ b_h^l     mdp.linear.counted.backward.regress
    9      Q_h^l(s, a) = min{H, ⟨w_h^l, φ⟩ + β_l ‖φ‖_{(Σ_h^l)⁻¹}}              mdp.linear.counted.backward.backward
    12     V_h^l(s) = max_a min_{i ≤ l} Q_h^i(s, a)                            mdp.linear.counted.backward.backward
    15     l_0 = S_k + 1                                                       mdp.linear.counted.episodes.play
    17     a_h = argmax_a min_{i ≤ l_{h-1} − 1} Q_h^i(s_h, a)                  mdp.linear.counted.backward.tabulate
    18-21  l_h = first l ≤ l_{h-1} − 1 whose test φ(s_h, a_h) fails            mdp.linear.counted.sums.find_first
           (‖φ‖_{(Σ_h^l)⁻¹} > 2^-l), l_{h-1} if it passes all
    22     C_h^{l_h} ← C_h^{l_h} ∪ {k}                                         mdp.linear.counted.sums.learn
    25     S_{k+1} = max{l: C_1^l ≠ ∅}                                         mdp.linear.counted.sums.top
           β_l = C d H l √log(d l H/δ)                                         theory.mdp_radii.flute_theorem

Repairs: Q is clipped at 0 from below, as the proofs need; where l_{h-1} = 1 the minimum of line 17 is over
no level, and the action is greedy for Q_h^1; the level test has the tolerance of ``linalg.levels``; the paper
leaves C open, here it is ``constant``.
"""

from __future__ import annotations

from typing import ClassVar

from unipac._agents import agent
from unipac.linalg.levels import DISJOINT
from unipac.mdp.linear.levelled.agent import LinearAgent


@agent
class FLUTE(LinearAgent):
    """Optimistic value iteration over disjoint levels of data.

    {parameters}

    If ``constant`` is below about 2 to 9, depending on d and H, "theorem" is smaller than what is proven: then nothing
    is guaranteed. There are certificates with "finite" alone.

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = FLUTE(mdp.features, horizon=3, radius="finite")
    >>> trace = agent.play(mdp, episodes=100, seed=0)
    >>> agent.certified, bool((trace.bound >= mdp.optimal_value()[0]).all())
    (True, True)
    """

    _rule: ClassVar[int] = DISJOINT
    theorem: ClassVar[str] = "uniform-PAC"

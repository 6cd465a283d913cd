"""UPAC-VTR: value-targeted regression over disjoint levels, like those of UPAC-OFUL.

    pseudo-code                                                                here
    as NestedVTR, but (x, V(s')/u) is added to level l alone                   linalg.levels.DISJOINT
    level l of each of M stacks has δ/(M l(l+1)); there is no set of all data  mdp.mixture.regression.kernels.set_radii

The specialisation to linear mixtures of the idea of Wu, He and Gu (2023), of which we know only the abstract: derived
here, not transcribed. For comparison with ``NestedVTR``, whose levels see more data under the same theorem.
"""

from __future__ import annotations

from typing import ClassVar

from unipac._agents import agent
from unipac.linalg.levels import DISJOINT
from unipac.mdp.mixture.regression.agent import MixtureAgent


@agent
class UPACVTR(MixtureAgent):
    """Value-targeted regression over disjoint levels: uniform-PAC, for comparison.

    {parameters}

    >>> from unipac.envs import mixture_swim
    >>> mdp = mixture_swim(n_states=3, horizon=4)
    >>> agent = UPACVTR(mdp.features, horizon=4, rewards=mdp.rewards, homogeneous=True)
    >>> trace = agent.play(mdp, episodes=500, seed=0)
    >>> bool((trace.certificate >= trace.gap).all()), agent.guarantee
    (True, 'uniform-PAC')
    """

    _rule: ClassVar[int] = DISJOINT
    theorem: ClassVar[str] = "uniform-PAC"

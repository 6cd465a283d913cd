"""Instances which know their optimum: stochastic linear bandits and finite MDPs, linear or not.

Every bandit instance yields its rounds as pure functions of a seed and the number of the round, see
`BanditInstance`. `BANDITS` maps names to the factories that need no argument. `MDPS` does so for the
factories of `LinearMDP` and `MixtureMDP`, which are Gymnasium environments as well, see ``unipac.envs.gymnasium.env``.
Any other MDP with finitely many states is a `FiniteMDP`, one without end a `DiscountedMDP`, one whose states fill a
cube a `ContinuousMDP`.

Names are imported when they are first used.

>>> from unipac import envs
>>> float(envs.river_swim(n_states=3, horizon=3).optimal_value()[0])
0.2515
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "envs.bandits.almost_linear": "misspecified",
        "envs.bandits.arms": "end_of_optimism fixed_arms soare",
        "envs.bandits.contexts": "filling sphere uneven_noise",
        "envs.bandits.instance": "BanditInstance",
        "envs.bandits.killers": "appendix_a Killer killer killer_phases SwitchingArms",
        "envs.bandits.rounds": "Rounds",
        "envs.catalogue": "BANDITS MDPS",
        "envs.gymnasium.continuous": "ContinuousMDPEnv",
        "envs.gymnasium.env": "LinearMDPEnv",
        "envs.gymnasium.numbering": "Numbered numbered",
        "envs.mdps.candidates": "CandidateMDP random_candidates",
        "envs.mdps.continuous": "continuous_swim ContinuousMDP random_continuous",
        "envs.mdps.discounted": "DiscountedMDP random_anchors Simulator",
        "envs.mdps.factories": "deep_sea frozen_lake grid_world lsvi_killer LSVIKiller random_simplex river_swim",
        "envs.mdps.finite_mdp": "FiniteMDP optimal policy_value",
        "envs.mdps.hypercubes": "hypercube hypercube_mixture",
        "envs.mdps.linear_mdp": "LinearMDP",
        "envs.mdps.mixture_mdp": "MixtureMDP model_ensemble",
        "envs.mdps.mixtures": "mixture_swim random_mixture vtr_killer VTRKiller",
        "envs.mdps.published": "from_gymnasium",
    },
)

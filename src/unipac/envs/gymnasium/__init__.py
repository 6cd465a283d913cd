"""Our MDPs as Gymnasium environments; importing this registers their ids."""

import gymnasium

IDS = {
    "unipac/RiverSwim-v0": "river_swim",
    "unipac/RandomSimplex-v0": "random_simplex",
    "unipac/DeepSea-v0": "deep_sea",
    "unipac/GridWorld-v0": "grid_world",
    "unipac/FrozenLake-v0": "frozen_lake",
    "unipac/Hypercube-v0": "hypercube",
    "unipac/LSVIKiller-v0": "lsvi_killer",
    "unipac/MixtureSwim-v0": "mixture_swim",
    "unipac/RandomMixture-v0": "random_mixture",
    "unipac/HypercubeMixture-v0": "hypercube_mixture",
    "unipac/VTRKiller-v0": "vtr_killer",
}
"""Gymnasium's id of each factory in ``unipac.envs.MDPS``."""

CONTINUOUS_IDS = {
    "unipac/ContinuousSwim-v0": "continuous_swim",
    "unipac/RandomContinuous-v0": "random_continuous",
}
"""Gymnasium's id of each factory of MDPs with continuous states."""

for _ids, _entry in ((IDS, "env:LinearMDPEnv"), (CONTINUOUS_IDS, "continuous:ContinuousMDPEnv")):
    for _id, _factory in _ids.items():
        if _id not in gymnasium.registry:
            gymnasium.register(_id, entry_point=f"{__name__}.{_entry}", kwargs={"mdp": _factory})

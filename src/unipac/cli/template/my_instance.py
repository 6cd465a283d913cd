"""An instance of your own: a function that makes one. Here, arms on a circle; the one that points up is the best."""

from __future__ import annotations

import numpy as np

from unipac import envs


def my_instance(n_arms: int = 8, noise: float = 0.3) -> envs.BanditInstance:
    """Arms evenly on the unit circle, with expected reward ⟨arm, (0, 1)⟩; config.toml may set the arguments.

    Return whatever you like: ``envs.sphere`` draws new actions in every round, ``envs.river_swim`` is an MDP for
    agents of MDPs. If the function has an argument ``seed``, each seed gets an instance of its own.
    """
    angles = 2 * np.pi * np.arange(n_arms) / n_arms
    arms = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return envs.fixed_arms(arms, theta=[0.0, 1.0], noise=noise)

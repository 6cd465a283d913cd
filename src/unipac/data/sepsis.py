"""ICU-Sepsis: the treatment of sepsis as an MDP estimated from patient records (Choudhary et al. 2024)."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac.data.files import content
from unipac.envs import FiniteMDP

DEATH, SURVIVAL = 713, 714


class ICUSepsis(NamedTuple):
    """The MDP and the policy of the clinicians.

    >>> ICUSepsis._fields
    ('mdp', 'expert')
    """

    mdp: FiniteMDP
    """States, treatments and survival."""
    expert: NDArray[np.float64]
    """(S, A): probabilities of the clinicians' actions; the rows of the two terminal states are 0."""


def icu_sepsis(horizon: int = 20) -> ICUSepsis:
    """The MDP of the package icu-sepsis 2.0.1: 713 states of patients, 25 treatments, survival pays 1.

    - States: 0 to 712 for patients, 713 for death and 714 for survival, both terminal. The package's last state,
      which only continues an episode after its end, is left out.
    - Actions: 5 a + b, with the package's amounts a of fluids and b of vasopressors, 0 to 4 each. An action that was
      taken too rarely in a state gets the mean of the transitions of the others there, as in the package.
    - Rewards: 1 on arrival in survival, else 0.

    The first call needs ``unipac data get icu-sepsis``. Tables and rewards take 205 MB.

    Args:
        horizon: number H of stages; the package stops after 500.

    Raises:
        FileNotFoundError: if the file is missing.

    Example:
        >>> icu_sepsis(horizon=0)
        Traceback (most recent call last):
        ValueError: horizon must be an integer >= 1, got 0
    """
    horizon = check.count("horizon", horizon)
    with np.load(io.BytesIO(content("icu-sepsis")), allow_pickle=False) as arrays:
        transitions, first, expert = (arrays[name] for name in ("tx_mat", "d_0", "expert_policy"))
    S = SURVIVAL + 1
    P = transitions[:S, :, :S]
    rewards = np.zeros(P.shape)
    rewards[:DEATH, :, SURVIVAL] = 1.0
    terminal = np.arange(S) >= DEATH
    P[terminal] = 0.0
    for s in (DEATH, SURVIVAL):
        P[s, :, s] = 1.0
    mdp = FiniteMDP(P, rewards, first[:S], horizon, name="icu-sepsis", terminal=terminal)
    doctors = np.where(terminal[:, None], 0.0, expert[:S])
    return ICUSepsis(mdp, doctors)

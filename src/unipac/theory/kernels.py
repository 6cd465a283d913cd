"""The formulas of ``radii`` and ``mdp_radii`` as kernels, compiled once for the agents of all kinds."""

from __future__ import annotations

from unipac._jit import jit
from unipac.theory import mdp_radii, radii

theorem = jit(radii._theorem)
determinant = jit(radii._determinant)
mixture = jit(radii._mixture)
level_delta = jit(radii._level_delta)
scaled = jit(radii._scaled)
forecast = jit(radii._forecast)
flute_finite = jit(mdp_radii._flute_finite)

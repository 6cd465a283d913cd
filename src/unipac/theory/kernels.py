"""The formulas of ``radii`` and ``mdp_radii`` as kernels, compiled once for the agents of all kinds."""

from __future__ import annotations

from unipac._jit import inlined
from unipac.theory import mdp_radii, radii

theorem = inlined(radii._theorem)
determinant = inlined(radii._determinant)
mixture = inlined(radii._mixture)
level_delta = inlined(radii._level_delta)
scaled = inlined(radii._scaled)
forecast = inlined(radii._forecast)
pair_variance = inlined(radii._pair_variance)
flute_finite = inlined(mdp_radii._flute_finite)

# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.theory.adaptive import adaptive_radius
from unipac.theory.bounds import level_size, mistake_bound, regret_bound, staircase
from unipac.theory.elimination import (
    anytime_mistake_bound, fixed_design, guarded_mistake_bound, phased_elimination_mistake_bound
)
from unipac.theory.identification import identification_time
from unipac.theory.mdp_bounds import flute_mistake_bound
from unipac.theory.mdp_radii import flute_explicit, flute_finite, flute_theorem, lsvi_ucb
from unipac.theory.noise import bounded_noise
from unipac.theory.radii import determinant, level_delta, mixture, theorem, theorem_is_proven
from unipac.theory.sampling import empirical_bernstein, hoeffding, ppq_samples
from unipac.theory.tabular import (
    certvi_mistake_bound, dirichlet_threshold, kinf_threshold, kt, open_threshold, stitched, ubev
)
from unipac.theory.upac_lsvi import upac_lsvi_mistake_bound
from unipac.theory.vtr import likelihood_threshold, vtr_mistake_bound

__all__ = [
    "adaptive_radius", "anytime_mistake_bound", "bounded_noise", "certvi_mistake_bound", "determinant",
    "dirichlet_threshold", "empirical_bernstein", "fixed_design", "flute_explicit", "flute_finite",
    "flute_mistake_bound", "flute_theorem", "guarded_mistake_bound", "hoeffding", "identification_time",
    "kinf_threshold", "kt", "level_delta", "level_size", "likelihood_threshold", "lsvi_ucb", "mistake_bound",
    "mixture", "open_threshold", "phased_elimination_mistake_bound", "ppq_samples", "regret_bound",
    "staircase", "stitched", "theorem", "theorem_is_proven", "ubev", "upac_lsvi_mistake_bound",
    "vtr_mistake_bound"
]

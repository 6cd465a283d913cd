"""What is proven: radii of confidence sets, sizes of levels, bounds on mistakes and regret."""

from unipac.theory.bounds import level_size, mistake_bound, pac_bound, regret_bound
from unipac.theory.elimination import fixed_design, guarded_mistake_bound, phased_elimination_mistake_bound
from unipac.theory.identification import identification_time
from unipac.theory.mdp_bounds import flute_mistake_bound
from unipac.theory.mdp_radii import flute_explicit, flute_finite, flute_theorem, lsvi_ucb
from unipac.theory.radii import determinant, level_delta, mixture, theorem, theorem_is_proven
from unipac.theory.tabular import (
    certvi_mistake_bound,
    dirichlet_threshold,
    kinf_threshold,
    kt,
    open_threshold,
    stitched,
    ubev,
)

__all__ = [
    "certvi_mistake_bound",
    "determinant",
    "dirichlet_threshold",
    "fixed_design",
    "flute_explicit",
    "flute_finite",
    "flute_mistake_bound",
    "flute_theorem",
    "guarded_mistake_bound",
    "identification_time",
    "kinf_threshold",
    "kt",
    "level_delta",
    "level_size",
    "lsvi_ucb",
    "mistake_bound",
    "mixture",
    "open_threshold",
    "pac_bound",
    "phased_elimination_mistake_bound",
    "regret_bound",
    "stitched",
    "theorem",
    "theorem_is_proven",
    "ubev",
]

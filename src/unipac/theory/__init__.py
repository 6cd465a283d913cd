"""What is proven: radii of confidence sets, sizes of levels, bounds on mistakes and regret.

>>> from unipac import theory
>>> theory.mistake_bound(eps=0.1, dim=5, delta=0.05)
5769729
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:
    from unipac.theory.bounds import level_size, mistake_bound, pac_bound, regret_bound, staircase
    from unipac.theory.elimination import (
        anytime_mistake_bound,
        fixed_design,
        guarded_mistake_bound,
        phased_elimination_mistake_bound,
    )
    from unipac.theory.identification import identification_time
    from unipac.theory.mdp_bounds import flute_mistake_bound
    from unipac.theory.mdp_radii import flute_explicit, flute_finite, flute_theorem, lsvi_ucb
    from unipac.theory.noise import bounded_noise
    from unipac.theory.radii import determinant, level_delta, mixture, theorem, theorem_is_proven
    from unipac.theory.sampling import empirical_bernstein, hoeffding, ppq_samples
    from unipac.theory.tabular import (
        certvi_mistake_bound,
        dirichlet_threshold,
        kinf_threshold,
        kt,
        open_threshold,
        stitched,
        ubev,
    )
    from unipac.theory.upac_lsvi import upac_lsvi_mistake_bound
    from unipac.theory.vtr import likelihood_threshold, vtr_mistake_bound

_HOMES = {
    "anytime_mistake_bound": "unipac.theory.elimination",
    "bounded_noise": "unipac.theory.noise",
    "certvi_mistake_bound": "unipac.theory.tabular",
    "determinant": "unipac.theory.radii",
    "dirichlet_threshold": "unipac.theory.tabular",
    "empirical_bernstein": "unipac.theory.sampling",
    "fixed_design": "unipac.theory.elimination",
    "flute_explicit": "unipac.theory.mdp_radii",
    "flute_finite": "unipac.theory.mdp_radii",
    "flute_mistake_bound": "unipac.theory.mdp_bounds",
    "flute_theorem": "unipac.theory.mdp_radii",
    "guarded_mistake_bound": "unipac.theory.elimination",
    "hoeffding": "unipac.theory.sampling",
    "identification_time": "unipac.theory.identification",
    "kinf_threshold": "unipac.theory.tabular",
    "kt": "unipac.theory.tabular",
    "level_delta": "unipac.theory.radii",
    "level_size": "unipac.theory.bounds",
    "likelihood_threshold": "unipac.theory.vtr",
    "lsvi_ucb": "unipac.theory.mdp_radii",
    "mistake_bound": "unipac.theory.bounds",
    "mixture": "unipac.theory.radii",
    "open_threshold": "unipac.theory.tabular",
    "pac_bound": "unipac.theory.bounds",
    "phased_elimination_mistake_bound": "unipac.theory.elimination",
    "ppq_samples": "unipac.theory.sampling",
    "regret_bound": "unipac.theory.bounds",
    "staircase": "unipac.theory.bounds",
    "stitched": "unipac.theory.tabular",
    "theorem": "unipac.theory.radii",
    "theorem_is_proven": "unipac.theory.radii",
    "ubev": "unipac.theory.tabular",
    "upac_lsvi_mistake_bound": "unipac.theory.upac_lsvi",
    "vtr_mistake_bound": "unipac.theory.vtr",
}

__all__ = [
    "anytime_mistake_bound",
    "bounded_noise",
    "certvi_mistake_bound",
    "determinant",
    "dirichlet_threshold",
    "empirical_bernstein",
    "fixed_design",
    "flute_explicit",
    "flute_finite",
    "flute_mistake_bound",
    "flute_theorem",
    "guarded_mistake_bound",
    "hoeffding",
    "identification_time",
    "kinf_threshold",
    "kt",
    "level_delta",
    "level_size",
    "likelihood_threshold",
    "lsvi_ucb",
    "mistake_bound",
    "mixture",
    "open_threshold",
    "pac_bound",
    "phased_elimination_mistake_bound",
    "ppq_samples",
    "regret_bound",
    "staircase",
    "stitched",
    "theorem",
    "theorem_is_proven",
    "ubev",
    "upac_lsvi_mistake_bound",
    "vtr_mistake_bound",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)

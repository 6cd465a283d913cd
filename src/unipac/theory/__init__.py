"""What is proven: radii of confidence sets, sizes of levels, bounds on mistakes and regret.

>>> from unipac import theory
>>> theory.mistake_bound(eps=0.1, dim=5, delta=0.05)
5769729
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "theory.adaptive": "adaptive_radius",
        "theory.bounds": "level_size mistake_bound regret_bound staircase",
        "theory.elimination": "anytime_mistake_bound fixed_design guarded_mistake_bound "
        "phased_elimination_mistake_bound",
        "theory.identification": "identification_time",
        "theory.mdp_bounds": "flute_mistake_bound",
        "theory.mdp_radii": "flute_explicit flute_finite flute_theorem lsvi_ucb",
        "theory.noise": "bounded_noise",
        "theory.radii": "determinant level_delta mixture theorem theorem_is_proven",
        "theory.sampling": "empirical_bernstein hoeffding ppq_samples",
        "theory.tabular": "certvi_mistake_bound dirichlet_threshold kinf_threshold kt open_threshold stitched ubev",
        "theory.upac_lsvi": "upac_lsvi_mistake_bound",
        "theory.vtr": "likelihood_threshold vtr_mistake_bound",
    },
)

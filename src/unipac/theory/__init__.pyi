# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.theory.bounds import level_size as level_size
from unipac.theory.bounds import mistake_bound as mistake_bound
from unipac.theory.bounds import pac_bound as pac_bound
from unipac.theory.bounds import regret_bound as regret_bound
from unipac.theory.bounds import staircase as staircase
from unipac.theory.elimination import anytime_mistake_bound as anytime_mistake_bound
from unipac.theory.elimination import fixed_design as fixed_design
from unipac.theory.elimination import guarded_mistake_bound as guarded_mistake_bound
from unipac.theory.elimination import phased_elimination_mistake_bound as phased_elimination_mistake_bound
from unipac.theory.identification import identification_time as identification_time
from unipac.theory.mdp_bounds import flute_mistake_bound as flute_mistake_bound
from unipac.theory.mdp_radii import flute_explicit as flute_explicit
from unipac.theory.mdp_radii import flute_finite as flute_finite
from unipac.theory.mdp_radii import flute_theorem as flute_theorem
from unipac.theory.mdp_radii import lsvi_ucb as lsvi_ucb
from unipac.theory.noise import bounded_noise as bounded_noise
from unipac.theory.radii import determinant as determinant
from unipac.theory.radii import level_delta as level_delta
from unipac.theory.radii import mixture as mixture
from unipac.theory.radii import theorem as theorem
from unipac.theory.radii import theorem_is_proven as theorem_is_proven
from unipac.theory.sampling import empirical_bernstein as empirical_bernstein
from unipac.theory.sampling import hoeffding as hoeffding
from unipac.theory.sampling import ppq_samples as ppq_samples
from unipac.theory.tabular import certvi_mistake_bound as certvi_mistake_bound
from unipac.theory.tabular import dirichlet_threshold as dirichlet_threshold
from unipac.theory.tabular import kinf_threshold as kinf_threshold
from unipac.theory.tabular import kt as kt
from unipac.theory.tabular import open_threshold as open_threshold
from unipac.theory.tabular import stitched as stitched
from unipac.theory.tabular import ubev as ubev
from unipac.theory.upac_lsvi import upac_lsvi_mistake_bound as upac_lsvi_mistake_bound
from unipac.theory.vtr import likelihood_threshold as likelihood_threshold
from unipac.theory.vtr import vtr_mistake_bound as vtr_mistake_bound

__all__: list[str]

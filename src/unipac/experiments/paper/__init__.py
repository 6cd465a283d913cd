"""The experiments that the paper does not have, E1 to E18; the numbers are those of the list they come from."""

from unipac.experiments.paper.any_states import E18
from unipac.experiments.paper.arms import E11, E17
from unipac.experiments.paper.compute import E15
from unipac.experiments.paper.confidence import E06, E07
from unipac.experiments.paper.counting import E03, E04, E05
from unipac.experiments.paper.killers import E01, E02, E13
from unipac.experiments.paper.mdps import E12
from unipac.experiments.paper.misspecification import E16
from unipac.experiments.paper.mixtures import E14
from unipac.experiments.paper.regret import E08, E09, E10

PAPER = (E01, E02, E03, E04, E05, E06, E07, E08, E09, E10, E11, E12, E13, E14, E15, E16, E17, E18)

__all__ = ["PAPER"]

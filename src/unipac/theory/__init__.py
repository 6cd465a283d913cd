"""What is proven: radii of confidence sets, sizes of levels, bounds on mistakes and regret."""

from unipac.theory.bounds import level_size, mistake_bound, pac_bound, regret_bound
from unipac.theory.radii import determinant, level_delta, mixture, theorem, theorem_is_proven

__all__ = [
    "determinant",
    "level_delta",
    "level_size",
    "mistake_bound",
    "mixture",
    "pac_bound",
    "regret_bound",
    "theorem",
    "theorem_is_proven",
]

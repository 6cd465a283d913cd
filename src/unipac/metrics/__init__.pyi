# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.metrics.chance import binomial_upper_tail
from unipac.metrics.episodes import aggregate_certificate, aggregate_slack
from unipac.metrics.gaps import certificate_violations, coverage, last_iterate_envelope, mistakes, regret

__all__ = [
    "aggregate_certificate", "aggregate_slack", "binomial_upper_tail", "certificate_violations", "coverage",
    "last_iterate_envelope", "mistakes", "regret"
]

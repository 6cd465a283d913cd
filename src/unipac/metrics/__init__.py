"""Measures of a run as pure functions of arrays: regret, mistakes, convergence, coverage.

>>> from unipac import metrics
>>> metrics.mistakes([0.3, 0.0, 0.05, 0.2], eps=[0.25, 0.1]).tolist()
[1, 2]
"""

from unipac.metrics.chance import binomial_upper_tail
from unipac.metrics.episodes import aggregate_certificate, aggregate_slack
from unipac.metrics.gaps import (
    certificate_violations,
    coverage,
    last_iterate_envelope,
    mistakes,
    regret,
)

__all__ = [
    "aggregate_certificate",
    "aggregate_slack",
    "binomial_upper_tail",
    "certificate_violations",
    "coverage",
    "last_iterate_envelope",
    "mistakes",
    "regret",
]

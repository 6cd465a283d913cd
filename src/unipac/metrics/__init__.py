"""Measures of a run as pure functions of arrays: regret, mistakes, convergence, coverage.

>>> from unipac import metrics
>>> metrics.mistakes([0.3, 0.0, 0.05, 0.2], eps=[0.25, 0.1]).tolist()
[1, 2]
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "metrics.chance": "binomial_upper_tail",
        "metrics.episodes": "aggregate_certificate aggregate_slack",
        "metrics.gaps": "certificate_violations coverage last_iterate_envelope mistakes regret",
    },
)

# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.metrics.chance import binomial_upper_tail as binomial_upper_tail
from unipac.metrics.episodes import aggregate_certificate as aggregate_certificate
from unipac.metrics.episodes import aggregate_slack as aggregate_slack
from unipac.metrics.gaps import certificate_violations as certificate_violations
from unipac.metrics.gaps import coverage as coverage
from unipac.metrics.gaps import last_iterate_envelope as last_iterate_envelope
from unipac.metrics.gaps import mistakes as mistakes
from unipac.metrics.gaps import regret as regret

"""The data sets that are bandits, by name."""

from __future__ import annotations

from unipac.data.classification import breast_cancer, digits
from unipac.data.travel import swissmetro

INSTANCES = {make.__name__: make for make in (digits, breast_cancer, swissmetro)}
"""The bandit instances, by name.

>>> sorted(INSTANCES)
['breast_cancer', 'digits', 'swissmetro']
"""

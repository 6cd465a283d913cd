"""The data sets that are bandits, by name."""

from __future__ import annotations

from unipac.data.classification import breast_cancer, digits
from unipac.data.travel import swissmetro

AS_BANDITS = {make.__name__: make for make in (digits, breast_cancer, swissmetro)}
"""Data sets as bandit instances, by name.

>>> sorted(AS_BANDITS)
['breast_cancer', 'digits', 'swissmetro']
"""

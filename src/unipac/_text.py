"""Make text from files and labels safe for file names and terminals."""

from __future__ import annotations

import re
import unicodedata

_OTHERS = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff")
"""More characters to escape: line separators, changes of direction, and two that XML cannot hold."""


def slug(text: str, keep: str = "") -> str:
    """Text for a file name: letters, digits, "_" and the signs in ``keep``; hyphens replace the rest.

    Example:
        >>> slug("Killer forced=1000 <b>"), slug("ε forced=1e6", keep="=")
        ('Killer-forced-1000-b', 'ε-forced=1e6')
    """
    return re.sub(rf"[^\w{re.escape(keep)}]+", "-", text).strip("-")


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in _OTHERS


def control_character(text: str, allowed: str = "") -> str | None:
    """The first character that could control a terminal or break a picture; None if there is none."""
    return next((char for char in text if char not in allowed and _is_control(char)), None)


def printable(text: str, allowed: str = "\n\t") -> str:
    r"""Text with its control characters replaced by escape sequences.

    Example:
        >>> print(printable("red \x1b[31m"))
        red \x1b[31m
    """
    return "".join(repr(char)[1:-1] if char not in allowed and _is_control(char) else char for char in text)

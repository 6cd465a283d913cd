"""Refuse work that does not fit into memory, before anything is allocated."""

from __future__ import annotations

import os

from unipac import _checks as check


def require_room(name: str, what: str, size: int) -> None:
    """Refuse to allocate more bytes than are free.

    Args:
        name: the argument that determines the size.
        what: what needs the memory, in words, in the plural.
        size: the number of bytes.
    """
    free = available()
    check.require(
        size <= free, name, f"such that {what} fit into memory ({in_words(free)} are free)", Bytes(size)
    )


class Bytes(int):
    """A number of bytes whose repr has a unit, such as 1.5 GiB."""

    def __repr__(self) -> str:
        return in_words(self)


def in_words(size: float) -> str:
    """A number of bytes with a unit.

    >>> in_words(3 * 2**29)
    '1.5 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def available() -> int:
    """The free bytes; where the system does not report them, all bytes, or 2^62."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**62

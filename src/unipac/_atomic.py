"""Changes that are made all together or not at all, even if a signal or another thread raises in between.

CPython raises interrupts (Ctrl-C, signal handlers) only in its loop over bytecode: after calls, at backward jumps, and
when a function is entered. So a public call first prepares a list of changes, and changes nothing yet. A change is a
tuple (function, argument, ...); its function is written in C, such as ``setattr`` and ``operator.setitem``, or compiled
by Numba. ``commit`` then runs the changes in a loop that is itself in C.

One thing can still be interrupted: a kernel that is called for the first time is compiled, or read from the disk, in
Python, before it does anything. If it is the first change, nothing has happened yet. Otherwise the rest of the changes
is made before the interrupt propagates. So kernels come first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import starmap
from operator import call
from typing import Any

Change = tuple[Any, ...]
"""(function, argument, ...): a function written in C or compiled by Numba; no function in Python, no property."""

TRIES = 3
"""How often a change is tried after an interrupt, if others were made before it."""


def commit(changes: Sequence[Change]) -> None:
    """Make these changes in this order, all or none; nothing is raised in between, unless a change itself fails."""
    done: list[Any] = []
    try:
        done.extend(starmap(call, changes))
    except BaseException:
        if 0 < len(done) < len(changes):
            _finish(changes[len(done) :])
        raise


def _finish(changes: Sequence[Change]) -> None:
    """Make the remaining changes after an interrupt."""
    tries = 0
    while changes and tries < TRIES:
        done: list[Any] = []
        with contextlib.suppress(BaseException):  # another interrupt; or the change fails, and will again
            done.extend(starmap(call, changes))
        changes = changes[len(done) :]
        tries = 0 if done else tries + 1


def hand_over(error: BaseException, trace: Any, what: str) -> None:
    """Add to an exception that interrupts ``play`` the rounds or episodes learned so far, as its ``trace``."""
    error.trace = trace  # type: ignore[attr-defined]
    error.add_note(f"{len(trace):,} {what} were learned before this; they are in the exception's trace.")

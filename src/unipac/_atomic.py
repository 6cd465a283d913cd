"""Changes that are made all together or not at all, even if a signal or another thread raises in between.

CPython raises what comes from outside (Ctrl-C, a handler of a signal) in its loop over bytecode alone: after calls, at
jumps back and on entry of functions. So a public call prepares first, while it changes nothing, a list of changes:
tuples (function, argument, ...) of functions in C, such as ``setattr`` and ``operator.setitem``, or compiled by Numba.
``commit`` then runs them in a loop that is itself in C.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import starmap
from operator import call
from typing import Any

Change = tuple[Any, ...]
"""(function, argument, ...): a function written in C or compiled by Numba; no function in Python, no property."""


_run = deque[Any](maxlen=0).extend  # keeps nothing of what it runs through


def commit(changes: Iterable[Change]) -> None:
    """Make these changes, in this order; nothing is raised in between, unless a change itself fails."""
    _run(starmap(call, changes))


def hand_over(error: BaseException, trace: Any, what: str) -> None:
    """Let what interrupts ``play`` say which rounds or episodes were learned before, as its attribute ``trace``."""
    error.trace = trace  # type: ignore[attr-defined]
    error.add_note(f"{len(trace):,} {what} were learned before this; they are in the exception's trace.")

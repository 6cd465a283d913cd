"""Forks: a child process gets agents and deployments in a state between two calls, with locks and ids of its own.

``os.fork`` copies the memory at one moment, and only the thread that forks continues in the child. So all locks are
taken before a fork: then no other thread is in the middle of a call. Loops that hold their lock for long play
``in_turns``, so a fork waits for at most one block. In the child, every object gets a new lock and a new identity:
decisions of parent and child have different ids.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from unipac._atomic import hand_over


class Owner(Protocol):
    """An object with a lock."""

    _lock: Any

    def _forked(self) -> None:
        """Renew locks and identity, in a child process."""


class _Reference(weakref.ref[Any]):
    """A weak reference that equals only itself, however the object defines equality."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


_owners: set[_Reference] = set()
_gate = threading.Lock()
"""Held from before a fork until after it."""
_held: list[Any] = []
"""The locks that are held for a fork."""


def register(owner: Owner) -> None:
    """Take the lock of this object before every fork, as long as the object lives."""
    _owners.add(_Reference(owner, _owners.discard))


def in_turns(
    owner: Owner, counted: Callable[[], int], some: Callable[[int], bool], trace: Any, what: str
) -> None:
    """Play many rounds or episodes under a lock, and release it between two blocks if a fork waits for it.

    Args:
        owner: has the lock.
        counted: how many rounds or episodes the owner has learned so far.
        some: plays on from the round or episode of this number; it returns after a block if ``is_waiting()``, and says
            whether all are played.
        trace: what is recorded; an exception gets the part of it that was learned.
        what: "rounds" or "episodes".
    """
    done, over = 0, False
    try:
        while not over:
            with owner._lock:
                before = counted() - done
                try:
                    over = some(done)
                    done = counted() - before
                except BaseException:
                    done = counted() - before
                    raise
            with _gate:  # a waiting fork takes the locks here
                pass
    except BaseException as error:
        hand_over(error, trace.part(0, done), what)
        raise


def is_waiting() -> bool:
    """Whether a fork waits for locks."""
    return _gate.locked()


def _living() -> list[Any]:
    found = (reference() for reference in list(_owners))
    return [owner for owner in found if owner is not None and hasattr(owner, "_lock")]


def _before() -> None:
    _gate.acquire()
    locks = [owner._lock for owner in _living()]
    missing: Any = None
    while True:  # wait for a lock only while holding none, since other threads may take several in any order
        if missing is not None:
            missing.acquire()
            _held.append(missing)
        missing = next((lock for lock in locks if lock is not missing and not _taken(lock)), None)
        if missing is None:
            return
        _release()


def _taken(lock: Any) -> bool:
    if not lock.acquire(blocking=False):
        return False
    _held.append(lock)
    return True


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_parent() -> None:
    _release()
    _gate.release()


def _in_child() -> None:
    global _gate
    _held.clear()
    _gate = threading.Lock()
    for owner in _living():
        owner._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

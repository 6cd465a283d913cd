"""What a log asks of the file system: a lock, a list of its segments, a thread that syncs, errors with a sentence."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import weakref
from pathlib import Path
from typing import Any


def locked(folder: Path) -> int:
    """A file that nobody else has locked; closing it, or the end of the process, unlocks it."""
    owner = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl

        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not everywhere
        pass
    except OSError:
        os.close(owner)
        raise ValueError(f"log must be one that nobody else writes, got {str(folder)!r}") from None
    return owner


def segments(folder: Path) -> list[int]:
    """The numbers of all segments, in their order; none may be missing."""
    with os.scandir(folder) as entries:
        names = [re.fullmatch(r"(\d{12})\.log", entry.name) for entry in entries]
    found = sorted(int(name[1]) for name in names if name)
    if found != list(range(len(found))):
        missing = min(set(range(found[-1])) - set(found))
        raise ValueError(f"log must have all its segments, got {str(folder)!r} without {missing:012}.log")
    return found


def told(error: OSError, words: str, path: Path) -> OSError:
    """The same error, with a sentence that explains it."""
    return type(error)(error.errno, f"{words} ({error.strerror})", str(path))


def every_second(reference: weakref.ref[Any], stop: threading.Event) -> None:
    """Sync a store, as long as it lives."""
    while not stop.wait(1.0):
        store = reference()
        if store is None:
            return
        with contextlib.suppress(OSError, ValueError):  # the next call raises it
            store.sync()
        del store

"""Our files among those of others: each can be told by a mark in it, and no other is ever written or removed.

Symbolic links are never ours. A whole folder may be one: what counts is what lies in it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from unipac._storage import write_atomically

UNFINISHED = ".unipac-unfinished"
"""Ends the names of files that are being written; they begin with a dot."""

Test = Callable[[BinaryIO], bool]
"""Whether the content of a file is ours."""


class StoreError(Exception):
    """Results cannot be read or written; the message names the file and says what to do.

    >>> from unipac.report import sections
    >>> sections("none")
    Traceback (most recent call last):
    unipac.experiments.files.StoreError: none: holds no run with a finished cell; ...
    """


def begins_with(mark: bytes) -> Test:
    """The test of files that begin with a mark."""
    return lambda stream: stream.read(len(mark)) == mark


def is_there(file: Path, ours: Test) -> bool:
    """Whether a file of ours is there; a ``StoreError`` if it is somebody else's."""
    remedy = "move it elsewhere and run again (or let `unipac run` use another folder, with --out)"
    try:
        mode = os.lstat(file).st_mode
        if not stat.S_ISREG(mode):
            what = "a symbolic link" if stat.S_ISLNK(mode) else "no plain file"
            raise StoreError(f"{file}: is {what}, and unipac would have to write there; {remedy}")
        with open(file, "rb") as stream:
            if not ours(stream):
                raise StoreError(
                    f"{file}: damaged, or not written by unipac, which would replace it; {remedy}"
                )
    except FileNotFoundError:
        return False
    except OSError as error:
        raise cannot("read", file, error) from None
    return True


def write(file: Path, content: bytes, ours: Test) -> None:
    """Write a file, in place of one of ours; nothing is done if it is there with this content."""
    there = is_there(file, ours)
    try:
        if not (there and file.read_bytes() == content):
            write_atomically(file, content, suffix=UNFINISHED)
    except OSError as error:
        raise cannot("write", file, error) from None


def remove(file: Path, ours: Test) -> None:
    """Remove a file of ours, if it is there."""
    if is_there(file, ours):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise cannot("remove", file, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder inside another, unless it is there; a link in its place is refused."""
    if folder.is_symlink():
        raise StoreError(
            f"{folder}: is a symbolic link, and unipac would have to write through it; remove the link, or "
            "choose another folder with --out, which may be a link as a whole"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", folder, error) from None


def is_unfinished(entry: os.DirEntry[str]) -> bool:
    """Whether this is left of a process of ours that was killed while it wrote."""
    named = entry.name.startswith(".") and entry.name.endswith(UNFINISHED)
    return named and entry.is_file(follow_symlinks=False)


def cannot(verb: str, file: Path, error: OSError) -> StoreError:
    """What to say when the system refuses."""
    remedies = {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.EACCES: "give yourself the right to write there, or choose another folder with --out",
        errno.EPERM: "give yourself the right to write there, or choose another folder with --out",
        errno.EROFS: "choose another folder with --out",
        errno.ENOTDIR: "choose another folder with --out",
    }
    remedy = remedies.get(error.errno or 0, "choose another folder with --out")
    return StoreError(
        f"{file}: cannot {verb} it: {error.strerror or error}; {remedy} and run the same command again: "
        "what is finished is kept"
    )

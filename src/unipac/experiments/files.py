"""Write and remove only files of unipac: each is recognised by a mark in it, and other files are never touched.

Symbolic links never count as files of unipac. A results folder as a whole may be a link: its contents count.
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
"""The suffix of files that are being written; their names begin with a dot."""

Test = Callable[[BinaryIO], bool]
"""A test of whether unipac wrote the content of a file."""


class StoreError(Exception):
    """Results cannot be read or written; the message names the file and says what to do.

    >>> from unipac.report import sections
    >>> sections("none")
    Traceback (most recent call last):
    unipac.experiments.files.StoreError: none: holds no run with a finished cell; ...
    """


def begins_with(mark: bytes) -> Test:
    """Make a test of whether a file begins with a mark."""
    return lambda stream: stream.read(len(mark)) == mark


def is_there(file: Path, ours: Test) -> bool:
    """Whether the file exists; raise a ``StoreError`` if it exists but is not a file of unipac."""
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
    """Write a file, or replace one of unipac; do nothing if it already has this content."""
    there = is_there(file, ours)
    try:
        if not (there and file.read_bytes() == content):
            write_atomically(file, content, suffix=UNFINISHED)
    except OSError as error:
        raise cannot("write", file, error) from None


def remove(file: Path, ours: Test) -> None:
    """Remove a file of unipac, if it exists."""
    if is_there(file, ours):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise cannot("remove", file, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder, unless it exists; refuse a link in its place."""
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
    """Whether this file was left by a process of unipac that was killed while it wrote."""
    named = entry.name.startswith(".") and entry.name.endswith(UNFINISHED)
    return named and entry.is_file(follow_symlinks=False)


def cannot(verb: str, file: Path, error: OSError) -> StoreError:
    """A ``StoreError`` for an operation that the system refused, with a remedy."""
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

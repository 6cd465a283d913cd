"""Files: at every moment of writing, the old or the new one is there, complete; reading does not trust them.

A file of ours is an uncompressed ``.npz`` archive of plain arrays, one of which is a JSON header. The header
holds a digest of everything else. Nothing in a file can make the reader run code or take more memory than the
file is long.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "unipac"
VERSION = 5
READ = (2, 3, 4, 5)
"""Versions that can be read; ``_versions`` converts the older ones to ``VERSION``."""

UNFINISHED = ".unfinished"
"""The end of the temporary name under which a file is first written."""

UNREADABLE = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError,
)  # fmt: skip
"""The exceptions that may be raised when an object is made from invalid contents."""

Arrays = Mapping[str, NDArray[Any]]


class Files:
    """The files that an object has read or written, each with the digests that it may have; one is saved at a time."""

    __slots__ = ("known", "lock")

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, ...]] = {}
        self.lock = threading.RLock()

    def note(self, path: str | os.PathLike[str], *digests: str) -> None:
        """Note that the file of this path has one of these digests, unless somebody else writes it."""
        self.known[os.path.realpath(path)] = digests

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise a ``ValueError`` if there is a file that another object or process wrote, or that is none of ours."""
        target = Path(path)
        if not target.is_file() or target.stat().st_size == 0:
            return
        found = _stated(target)
        if not any(found in digests for digests in self.known.values()):
            raise ValueError(
                "path must name no file, or the one that this object has loaded or saved last, "
                f"got {os.fspath(path)!r}, which is another; save(path, replace=True) replaces it"
            )


def write(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Arrays,
    *,
    files: Files,
    replace: bool,
    verify: Callable[[dict[str, Any], dict[str, NDArray[Any]]], None],
) -> None:
    """Write a header and arrays, replacing the file if there is one.

    Args:
        path: of the file.
        header: what JSON can express.
        arrays: by name.
        files: the files that the object knows; others are replaced only with ``replace``.
        replace: whether any file may be replaced.
        verify: gets what was written, as it is read again, and raises an error if it cannot be loaded; then the old
            file stays.
    """
    target = _checked(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must lie in an existing folder, got {os.fspath(path)!r}")
    if not replace:
        files.check(target)  # before the work; others may still write in the meantime
    stated, data = _content(header, arrays)

    def ready(unfinished: Path) -> None:
        try:
            verify(*read(unfinished))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ValueError(
                f"what is saved must be what load accepts, got an object that it refuses ({error}); "
                f"{os.fspath(path)!r} is as it was"
            ) from None

    def last() -> None:
        if not replace:
            files.check(target)
        # Note old and new digests, since an interrupt may come before the file is replaced or right after it.
        files.note(target, *files.known.get(os.path.realpath(target), ()), stated)

    write_atomically(target, data, ready=ready, last=last)
    files.note(target, stated)
    _remove_leftovers(Path(os.path.realpath(target)))


def content(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file; equal for equal headers and arrays."""
    return _content(header, arrays)[1]


def _content(header: Mapping[str, Any], arrays: Arrays) -> tuple[str, bytes]:
    """The digest and the bytes of a file."""
    full = {"format": FORMAT, "version": VERSION, **header}
    stated = digest(full, arrays)
    text = json.dumps({**full, "digest": stated}, allow_nan=False)
    members = {"header": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    return stated, _archive({name: np.ascontiguousarray(array) for name, array in members.items()})


def _archive(members: Arrays) -> bytes:
    """The bytes of an ``.npz`` archive, as ``numpy.savez`` writes it."""
    stream = io.BytesIO()
    archive = zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED)
    try:
        for name, array in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.close()
    except BaseException:
        archive.fp = None  # otherwise closing half an archive raises an error that hides the interrupt
        raise
    return stream.getvalue()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a ``ValueError`` if it is damaged or not a file of ours."""
    header, arrays, _ = read_all(path)
    return header, arrays


def read_all(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """As ``read``, and the digest of the file."""
    shown = os.fspath(_checked(path))
    with open(shown, "rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size, shown)


def read_bytes(data: bytes, shown: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """As ``read_all``, from the bytes of a file; errors call it ``shown``."""
    return _read(io.BytesIO(data), len(data), shown)


def _read(file: Any, length: int, shown: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    try:
        arrays = _members(file, length)
        header = json.loads(arrays.pop("header").tobytes())
        stated = header.pop("digest", None)
        computed = digest(header, arrays)
    except (Exception, RecursionError):  # a damaged archive can fail in many ways, and all mean the same
        raise ValueError(
            f"path must name a file written by save(), got {shown!r}, which is truncated or of another kind"
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(f"path must name a file written by save(), got {shown!r}")
    if header.get("version") not in READ:
        raise ValueError(
            f"path must name a file of version {READ[0]} to {VERSION}, "
            f"got version {header.get('version')!r} in {shown!r}"
        )
    if stated != computed:
        raise ValueError(
            f"path must name a file written by save(), got {shown!r}, whose contents were altered"
        )
    return header, arrays, computed


def _stated(path: Path) -> str | None:
    """The digest that a file states; None if it is no file of ours."""
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo("header.npy")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > path.stat().st_size:
                return None
            header = json.loads(_array(archive.read(member)).tobytes())
        return str(header["digest"]) if header["format"] == FORMAT else None
    except (Exception, RecursionError):  # as in ``read``
        return None


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """The SHA-256 of a header and arrays; the order of their names does not matter."""
    total = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def write_atomically(
    target: Path,
    content: bytes | memoryview,
    suffix: str = UNFINISHED,
    *,
    ready: Callable[[Path], None] | None = None,
    last: Callable[[], None] | None = None,
) -> None:
    """Write a file so that at every moment either the old or the new one is there, complete.

    A symbolic link stays one, and a file keeps its mode.

    Args:
        target: the file.
        content: its bytes.
        suffix: the end of the temporary name under which it is first written.
        ready: called with the temporary file once it is on disk; what it raises leaves the old file.
        last: called just before the old file is replaced, while no other process is between its own check and
            replacement of a file in this folder; what it raises leaves the old file.
    """
    target = Path(os.path.realpath(target))
    unfinished = target.with_name(f".{_stem(target)}.{os.getpid()}.{time.monotonic_ns()}{suffix}")
    try:
        with open(unfinished, "xb") as file:
            if target.exists() and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), target.stat().st_mode & 0o7777)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if ready is not None:
            ready(unfinished)
        if last is None:
            os.replace(unfinished, target)
        else:
            with _alone(target.parent):
                last()
                os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time, as far as the system and the file system can lock folders."""
    descriptor = -1
    try:
        with contextlib.suppress(ImportError, OSError):
            import fcntl  # not everywhere

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _stem(target: Path) -> str:
    """The name of a file, or a digest if no suffix would fit behind it: file systems take at most 255 bytes."""
    name = os.fsencode(target.name)
    return target.name if len(name) <= 150 else hashlib.sha256(name).hexdigest()


def _remove_leftovers(target: Path) -> None:
    """Remove the unfinished files of this target whose processes no longer run."""
    ours = re.compile(re.escape(f".{_stem(target)}.") + r"(\d+)\.\d+" + re.escape(UNFINISHED))
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            match = ours.fullmatch(entry.name)
            if match and not _is_running(int(match[1])):
                Path(entry.path).unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _members(file: Any, length: int) -> dict[str, NDArray[Any]]:
    """The arrays of an archive, whose members must be uncompressed and as long as they state."""
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > length:
            raise ValueError("the members are longer than the file")
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or not member.filename.endswith(".npy"):
                raise ValueError(f"{member.filename} is compressed or not an array")
            arrays[member.filename.removesuffix(".npy")] = _array(archive.read(member))
    return arrays


def _array(content: bytes) -> NDArray[Any]:
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("not the version of the array format that we write")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or fortran_order or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("the array does not have the length that it states")
    return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape).copy()


def _checked(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path must be a path, got {path!r}")
    return Path(path)


def _sync_directory(directory: Path) -> None:
    """Flush the renaming to disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

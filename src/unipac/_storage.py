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
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "unipac"
VERSION = 4
READ = (2, 3, 4)
"""Versions that can be read; ``_versions`` converts the older ones to ``VERSION``."""

UNFINISHED = ".unfinished"
"""The end of the temporary name under which a file is first written."""

Arrays = Mapping[str, NDArray[Any]]


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays, replacing the file if there is one."""
    target = _checked(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must lie in an existing folder, got {os.fspath(path)!r}")
    write_atomically(target, content(header, arrays))
    _remove_leftovers(Path(os.path.realpath(target)))


def content(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file; equal for equal headers and arrays."""
    full = {"format": FORMAT, "version": VERSION, **header}
    text = json.dumps({**full, "digest": digest(full, arrays)}, allow_nan=False)
    stream = io.BytesIO()
    members: dict[str, Any] = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    np.savez(stream, header=np.frombuffer(text.encode(), dtype=np.uint8), **members)
    return stream.getvalue()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a ``ValueError`` if it is damaged or not a file of ours."""
    shown = os.fspath(_checked(path))
    with open(shown, "rb") as file:
        try:
            arrays = _members(file)
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
    return header, arrays


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """The SHA-256 of a header and arrays; the order of their names does not matter."""
    total = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def write_atomically(target: Path, content: bytes | memoryview, suffix: str = UNFINISHED) -> None:
    """Write a file so that at every moment either the old or the new one is there, complete.

    A symbolic link stays one, and a file keeps its mode.

    Args:
        target: the file.
        content: its bytes.
        suffix: the end of the temporary name under which it is first written.
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
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _stem(target: Path) -> str:
    """The name of a file, or a digest of it if there would be no room for more: file systems take 255 bytes."""
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


def _members(file: io.BufferedReader) -> dict[str, NDArray[Any]]:
    """The arrays of an archive, whose members must be uncompressed and as long as they state."""
    arrays = {}
    length = os.fstat(file.fileno()).st_size
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

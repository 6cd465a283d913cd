"""State on disk: named arrays and a JSON header in one ``.npz`` file, without pickle."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "unipac"
VERSION = 1


def write(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[np.generic]],
) -> None:
    """Write a file so that at every moment either the old or the new one is there, complete."""
    target = _checked(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must lie in an existing folder, got {os.fspath(path)!r}")
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)  # type: ignore[arg-type]
    write_atomically(target, content.getbuffer())


def write_atomically(target: Path, content: bytes | memoryview, suffix: str = "") -> None:
    """Write a file so that at every moment either the old or the new one is there, complete.

    Args:
        target: the file.
        content: its bytes.
        suffix: of the name under which it is written at first.
    """
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}{suffix}")
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a ``ValueError`` if it is not a whole file of ours."""
    with open(_checked(path), "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(arrays.pop("header").tobytes())
        except Exception:  # a damaged archive can fail in many ways, and all mean the same
            raise ValueError(
                f"path must name a file written by save(), got {os.fspath(path)!r}, "
                "which is truncated or of another kind"
            ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"path must name a file written by save(), got {os.fspath(path)!r}")
    if header.get("version") != VERSION:
        raise ValueError(
            f"path must name a file of version {VERSION}, got version {header.get('version')!r} "
            f"in {os.fspath(path)!r}"
        )
    return header, arrays


def like(model: NDArray[np.generic], arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """A saved array, if it has the form of ``model``."""
    array = arrays[name]
    if array.shape != model.shape or array.dtype != model.dtype or not np.isfinite(array).all():
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
    return np.require(array, requirements=["C", "W"])


def _checked(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path must be a path, got {path!r}")
    return Path(path)


def _sync_directory(directory: Path) -> None:
    """Make the renaming last, where the system can."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

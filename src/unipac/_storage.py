"""State on disk: named arrays and a JSON header in one ``.npz`` file, without pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
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
    target = Path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez(file, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    _sync_directory(target.parent)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a ``ValueError`` if it is not a whole file of ours."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
    except FileNotFoundError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(
            f"path must name a file written by save(), got {os.fspath(path)!r}, "
            f"which is truncated or of another kind ({error})"
        ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"path must name a file written by save(), got {os.fspath(path)!r}")
    if header.get("version") != VERSION:
        raise ValueError(
            f"path must name a file of version {VERSION}, got version {header.get('version')!r} "
            f"in {os.fspath(path)!r}"
        )
    return header, arrays


def _sync_directory(directory: Path) -> None:
    """Make the renaming last, where the system can."""
    if os.name == "posix":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""A copy of the database, as a file that has no name any more while it is sent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from unipac.serve.database import Database

PIECE = 2**20


def made(database: Database) -> tuple[int, Iterator[bytes]]:
    """The size of the copy, and its bytes."""
    handle, name = tempfile.mkstemp(prefix="unipac-backup-", suffix=".sqlite")
    os.close(handle)
    path = Path(name)
    try:
        database.backup(path)
        file = path.open("rb")
    finally:
        path.unlink()  # whatever becomes of the answer, nothing stays
    return os.fstat(file.fileno()).st_size, _pieces(file)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece

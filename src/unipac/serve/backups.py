"""A copy of the database, as a file that is removed after it was sent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask

from unipac.serve.database import Database


def made(database: Database) -> tuple[Path, BackgroundTask]:
    """The file, and the task that removes it."""
    handle, name = tempfile.mkstemp(prefix="unipac-backup-", suffix=".sqlite")
    os.close(handle)
    path = Path(name)
    try:
        database.backup(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path, BackgroundTask(path.unlink, missing_ok=True)

"""Fresh kernels for the tests."""

from pathlib import Path

import unipac


def pytest_configure(config):
    """Drop compiled kernels that are older than some source file.

    Numba recompiles a kernel when its own file changes, but not when a kernel that it calls does.
    """
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist; the controller has done it
        return
    package = Path(unipac.__file__).parent
    newest = max(path.stat().st_mtime for path in package.rglob("*.py"))
    for cached in package.rglob("__pycache__/*.nb[ic]"):
        if cached.stat().st_mtime < newest:
            cached.unlink()

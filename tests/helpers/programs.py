"""Programs that some tests need beside Python."""

import os
import shutil

import pytest


def needed(*names):
    """The first of these programs that is there; without one the test is skipped, or fails where all are required."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        words = f"no {' or '.join(names)} on this machine"
        if os.environ.get("UNIPAC_REQUIRE_PROGRAMS") == "1":
            pytest.fail(f"UNIPAC_REQUIRE_PROGRAMS=1, but there is {words}")
        pytest.skip(words)
    return found

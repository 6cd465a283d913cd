"""PostgreSQL for the tests of the service, started once."""

from __future__ import annotations

import pytest

from helpers.serving import postgresql


@pytest.fixture(scope="session")
def postgres():
    with postgresql() as server:
        yield server

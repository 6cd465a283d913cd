"""``unipac serve config.toml``."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import uvicorn

from unipac.serve import app, config as config_, journal
from unipac.serve.database import Broken, Unreachable
from unipac.serve.problems import Problem
from unipac.serve.service import DAMAGED, Service, opened
from unipac.serve.writer import FAILED

REFUSED = 2
"""The exit code if the configuration is refused."""


def run(path: Path) -> int:
    """Serve until a signal comes; returns the exit code."""
    try:
        config = config_.read(path)
        service = Service(config, opened(config))
    except (ValueError, OSError) as error:
        return _said("refused", error, REFUSED)
    except Unreachable as error:
        return _said("database unreachable", error, FAILED)
    try:
        service.open_all()
    except Problem as problem:
        return _said("refused", problem, REFUSED)
    except (Broken, sqlite3.DatabaseError) as error:
        return _said("damaged", error, DAMAGED)
    except ValueError as error:
        return _said("refused", error, REFUSED)
    except Unreachable as error:
        return _said("database unreachable", error, FAILED)
    return _served(service)


def _said(event: str, error: Exception, code: int) -> int:
    journal.line(event, error=str(error), exit=code)
    return code


def _served(service: Service) -> int:
    server = uvicorn.Server(
        uvicorn.Config(
            app.made(service), host=service.config.host, port=service.config.port, log_level="warning",
            access_log=False, loop="uvloop", http="httptools", ws="none", backlog=1024, server_header=False,
            timeout_graceful_shutdown=15,
        )
    )  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal again when it has stopped; ignored, the exit code is 0 and not 143.
        signal.signal(number, _ignore)
    signal.signal(signal.SIGHUP, lambda *_: _reread(service))
    sys.setswitchinterval(0.001)  # the loop must not wait long for the thread that writes
    with contextlib.suppress(SystemExit):  # so uvicorn ends if it cannot listen
        server.run()
    if not server.started:
        journal.line("refused", error="listen must be an address that is free", exit=REFUSED)
        os._exit(REFUSED)
    return 0


def _ignore(*_: Any) -> None:
    pass


def _reread(service: Service) -> None:
    try:
        service.read_tokens()
    except (OSError, ValueError) as error:  # the old ones stay
        journal.line("tokens refused", error=str(error))

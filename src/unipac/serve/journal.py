"""Lines of JSON about what the service does, on the standard error; without contexts, rewards or tokens."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def line(event: str, **more: Any) -> None:
    """Write a line."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(_encode({"at": round(time.time(), 3), "event": event, **more}).decode() + "\n")
        stream.flush()
    except (OSError, ValueError):  # the standard error is closed
        pass

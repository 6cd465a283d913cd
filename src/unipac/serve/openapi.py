"""The description of the API."""

from __future__ import annotations


def text() -> bytes:
    return b"{}"

"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest caller outside the library."""
    depth = 2  # 1 is the line below
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        depth += 1
    warnings.warn(message, category, stacklevel=depth)

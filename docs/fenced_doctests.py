"""An extension of Griffe for the reference: doctests in docstrings are code, not quotations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from write_pages import fenced


class FencedDoctests(griffe.Extension):
    """Puts fences around the doctests of all docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Once for each object, as soon as it is known."""
        if obj.docstring and "```pycon" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)

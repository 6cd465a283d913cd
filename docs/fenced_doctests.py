"""An extension of Griffe for the reference: doctests are code, and attributes have the words below them."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from write_pages import assigned, fenced

STAR = re.compile(r"(?<=[A-Za-zα-ωΑ-Ω)])\*(?=[\s_,.;:)\]}‖⟩|^=/]|$)")
UNDERSCORE = re.compile(r"(?<=[‖⟩)\]}|*])_(?=[{A-Za-zα-ω(])")
EMPHASIS = re.compile(r"((?<![\w*])\*{1,2}[A-Za-z][^*]*\*{1,2}(?!\w))")


def spelled_out(text: str) -> str:
    r"""The text with the stars and underscores of formulas escaped, outside of code: they are no emphasis.

    >>> print(spelled_out("V*_h and ‖x‖_{Σ⁻¹}, but *this* and `a*` are as they were"))
    V\*\_h and ‖x‖\_{Σ⁻¹}, but *this* and `a*` are as they were
    """
    lines, fenced_now = [], False
    for line in text.split("\n"):
        fenced_now ^= line.lstrip().startswith("```")
        if not fenced_now and not line.lstrip().startswith(">>> "):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [UNDERSCORE.sub(r"\\_", star(part)) for part in parts[::2]]
            line = "".join(parts)
        lines.append(line)
    return "\n".join(lines)


def star(part: str) -> str:
    """Escape the stars behind a symbol that are not part of an emphasis."""
    words = EMPHASIS.split(part)
    words[::2] = [STAR.sub(r"\\*", word) for word in words[::2]]
    return "".join(words)


@functools.cache
def below(module: str) -> dict[tuple[str, str], tuple[str, str]]:
    """The annotation of each assignment in the classes of a module and the string below it, by class and name.

    Python does not keep it: asked for its documentation, an attribute tells that of its type.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return {}
    found = {}
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            for statement, after in zip(node.body, node.body[1:], strict=False):
                name = getattr(getattr(statement, "target", None), "id", None)
                if name and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    found[node.name, name] = ast.unparse(statement.annotation), str(after.value.value)
    return found


class FencedDoctests(griffe.Extension):
    """Puts fences around the doctests of all docstrings, and tells attributes as they are told in the source."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Once for each object, as soon as it is known."""
        owner = obj.parent
        if obj.is_attribute and owner is not None and owner.is_class:
            told = below(owner.module.path).get((owner.name, obj.name))
            field = str(obj.value).startswith(("_tuplegetter", "<member"))  # of a named tuple, of slots
            if told:
                obj.annotation, obj.docstring = told[0], griffe.Docstring(told[1], parent=obj)
            elif field or "property" not in obj.labels:
                obj.docstring = None
            obj.value = None if field else obj.value
        if obj.is_attribute and owner is not None and owner.is_module:
            obj.docstring = None  # of a constant Python tells that of its type
            with contextlib.suppress(LookupError):
                words = inspect.cleandoc(assigned(owner.path, obj.name))
                obj.docstring = griffe.Docstring(words, parent=obj) if words else None
        if obj.is_attribute and len(str(obj.value)) > 120:  # would be one line
            obj.value = None
        if obj.docstring and "```pycon" not in obj.docstring.value:
            obj.docstring.value = spelled_out(fenced(obj.docstring.value))

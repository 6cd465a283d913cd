"""Write the figures as pictures, one file for each panel."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import BinaryIO, Literal

from unipac._text import slug
from unipac.experiments import files
from unipac.report.content import Section, all_looks
from unipac.report.lines import Panel, configured, draw

_MARKS = {"png": b"tEXtSoftware\0unipac", "svg": b"<!-- unipac -->\n", "pdf": b"% unipac\n"}
"""Marks by which unipac recognises its own pictures; each format allows such a comment in a file."""
_END = b"\0\0\0\0IEND\xaeB`\x82"
"""The last bytes of every PNG."""


def write(sections: Sequence[Section], folder: Path, format: Literal["png", "svg", "pdf"]) -> list[Path]:  # noqa: A002
    """Draw every panel of every figure into a file like ``regret-sphere.png``, and return the paths.

    If there are several sections, each file name begins with the name of its section.
    """
    files.make_folder(folder)
    chosen = all_looks(sections)
    panels: dict[Path, Panel] = {}
    for section in sections:
        prefix = f"{slug(section.name.lower())}-" if len(sections) > 1 else ""
        for figure in section.figures:
            for panel in figure.with_looks(chosen).drawn.panels:
                path = _unused(folder / f"{prefix}{panel.name}.{format}", list(panels))
                files.is_there(path, is_picture)
                panels[path] = panel
    for path, panel in panels.items():
        files.write(path, _marked(_drawn(panel, format), format), is_picture)
    return list(panels)


def is_picture(stream: BinaryIO) -> bool:
    """Whether a file is a picture that unipac wrote."""
    content = stream.read()
    return any(mark in content[-1000:] for mark in _MARKS.values())


def _marked(content: bytes, format: Literal["png", "svg", "pdf"]) -> bytes:  # noqa: A002
    """The picture with the mark of unipac near its end."""
    mark = _MARKS[format]
    if format != "png":
        return content.rstrip(b"\n") + b"\n" + mark
    if not content.endswith(_END):
        raise ValueError("a PNG must end with an empty chunk IEND")
    length = len(mark) - len(b"tEXt")
    return content[: -len(_END)] + length.to_bytes(4) + mark + zlib.crc32(mark).to_bytes(4) + _END


def _drawn(panel: Panel, format: Literal["png", "svg", "pdf"]) -> bytes:  # noqa: A002
    chart = configured(draw(panel))
    if format == "svg":
        text = StringIO()
        chart.save(text, format=format)
        return text.getvalue().encode()
    content = BytesIO()
    chart.save(content, format=format, scale_factor=2 if format == "png" else 1)
    return content.getvalue()


def _unused(path: Path, written: Sequence[Path]) -> Path:
    """The path, with a number if it is taken: labels may differ only in signs that a file name cannot have."""
    candidate, i = path, 1
    while candidate in written:
        i += 1
        candidate = path.with_stem(f"{path.stem}-{i}")
    return candidate

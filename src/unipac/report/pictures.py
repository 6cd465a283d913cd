"""The figures as pictures, one file each."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Literal

from unipac._storage import write_atomically
from unipac.report.content import Section, all_looks, figures_of
from unipac.report.lines import Panel, configured, draw
from unipac.experiments.text import slug


def write(sections: Sequence[Section], folder: Path, format: Literal["png", "svg", "pdf"]) -> list[Path]:  # noqa: A002
    """Draw every panel of every figure into a file like ``regret-sphere.png``; returns their paths.

    With several sections each name begins with that of its section.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chosen = all_looks(sections)
    written: list[Path] = []
    for section in sections:
        prefix = f"{slug(section.name.lower())}-" if len(sections) > 1 else ""
        for figure in figures_of(section.results, chosen):
            for panel in figure.drawn.panels:
                path = _unused(folder / f"{prefix}{panel.name}.{format}", written)
                write_atomically(path, _drawn(panel, format))
                written.append(path)
    return written


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
    """The path, with a number where two labels differ only in signs that a file name cannot have."""
    candidate, i = path, 1
    while candidate in written:
        i += 1
        candidate = path.with_stem(f"{path.stem}-{i}")
    return candidate

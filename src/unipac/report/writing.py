"""Write a report as a page or as pictures, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from unipac.experiments.store import cannot
from unipac.report import html, pictures
from unipac.report.content import Section


def build(
    sections: Sequence[Section],
    out: Path,
    format: Literal["html", "png", "svg", "pdf"] = "html",  # noqa: A002
    command: str = "",
    *,
    title: str = "unipac report",
    details: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write the report and return the files.

    Args:
        sections: one per experiment.
        out: a folder, created if it does not exist; the page is its ``report.html``, pictures go to ``figures``.
        format: "html" for one page, the others for a picture of each panel.
        command: the command that writes this report again; the page shows it.
        title: the title of the page.
        details: more about how the page was made, such as versions or a date, by name.

    Example:
        With the ``folder`` of a finished run:

        >>> from unipac.report import sections
        >>> [file.name for file in build(sections(folder), folder)]
        ['report.html']
    """
    if not sections:
        raise ValueError("sections must hold at least one experiment, got none")
    if format not in ("html", "png", "svg", "pdf"):
        raise ValueError(f"format must be html, png, svg or pdf, got {format!r}")
    out = Path(out)
    try:
        if format == "html":
            out.mkdir(parents=True, exist_ok=True)
            return [html.write(sections, out / "report.html", command, title=title, details=details)]
        return pictures.write(sections, out / "figures", format)
    except OSError as error:
        raise cannot("write", Path(error.filename or out), error) from None

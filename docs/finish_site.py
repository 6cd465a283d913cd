"""Finish the built site: formulas become MathML, and search works from a folder, without a server.

python docs/finish_site.py site

The builder leaves TeX between ``\\(`` and ``\\)``, marked by the class "arithmatex". Browsers know MathML: no script and
no font is needed. A page that is opened from a folder may not fetch ``search.json``, but it may load a script.
"""

from __future__ import annotations

import functools
import html
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)
LEFT = re.compile(r"\\[a-zA-Z]+|\$")
"""What no formula shows as text: a command that was not understood, or a dollar."""


@functools.cache
def mathml(tex: str, display: bool) -> str:
    """The MathML of a formula; a ValueError says what was not understood.

    >>> mathml(r"\\sqrt{d}", False)[-46:]
    '<mrow><msqrt><mi>d</mi></msqrt></mrow></math>'
    """
    written = convert(tex, display="block" if display else "inline")
    left = LEFT.findall(html.unescape(re.sub(r"<[^>]*>", " ", written)))
    if left:
        raise ValueError(f"formula {tex!r}: not understood: {', '.join(left)}")
    return written


def finished(page: str) -> str:
    """A page with MathML in the place of TeX."""

    def replaced(found: re.Match[str]) -> str:
        display = found[2] == "["
        written = mathml(html.unescape(found[3]).strip(), display)
        return f'<div class="formula">{written}</div>' if display else written

    return FORMULA.sub(replaced, page)


def main(folder: Path) -> None:
    """Finish all pages of a folder."""
    for path in sorted(folder.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        if 'class="arithmatex"' in page:
            path.write_text(finished(page), encoding="utf-8")
    index = folder / "search.json"
    if not index.exists():  # Material for MkDocs has it elsewhere
        index = folder / "search" / "search_index.json"
    if index.exists():
        text = re.sub(r"\\\\[()\[\]]", "", index.read_text(encoding="utf-8"))
        index.write_text(text, encoding="utf-8")
        index.with_suffix(".js").write_text(f"var __index = {text};\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

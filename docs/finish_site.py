r"""Finish the built site: formulas become MathML, and search works from a folder, without a server.

python docs/finish_site.py site

The builder leaves TeX between ``\(`` and ``\)``, marked by the class "arithmatex". Browsers know MathML: no script
and no font is needed. A page that is opened from a folder may not fetch ``search.json``, but it may load a script.
"""

from __future__ import annotations

import functools
import html
import json
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)
OPERATORS = {
    "⪰": "&#x02AB0;",
    "‖": "&#x02016;",
    "{": "&#x0007B;",
    "}": "&#x0007D;",
    "⌈": "&#x02308;",
    "⌉": "&#x02309;",
}
"""Symbols that latex2mathml takes for names."""

REPAIRS = {
    "<mo>&#x02016;</mo>": '<mo stretchy="false" lspace="0" rspace="0">‖</mo>',  # both bars of a norm alike
    "<mo>&#x0007C;</mo>": '<mo stretchy="false" lspace="0" rspace="0">|</mo>',  # nor of one that stretches
    '<mo stretchy="false">&#x0007C;</mo>': '<mo stretchy="false" lspace="0" rspace="0">|</mo>',  # no gap beside a bar
    '<mo stretchy="true">&#x000AF;</mo></mover>': '<mo accent="true" stretchy="false">&#x000AF;</mo></mover>',  # V bar
}

LONG = 60
"""Characters of TeX beyond which a formula in the text may be wider than a phone: it then scrolls by itself."""

LEFT = re.compile(r"\\[a-zA-Z]+|\$")
"""What no formula shows as text: a command that was not understood, or a dollar."""


@functools.cache
def mathml(tex: str, display: bool) -> str:
    r"""The MathML of a formula; a ValueError says what was not understood.

    >>> mathml(r"\sqrt{d}", False)[-46:]
    '><mrow><mi>d</mi></mrow></msqrt></mrow></math>'
    """
    written = convert(tex, display="block" if display else "inline")
    for symbol, entity in OPERATORS.items():
        written = written.replace(f"<mi>{entity}</mi>", f'<mo stretchy="false">{symbol}</mo>')
    for theirs, ours in REPAIRS.items():
        written = written.replace(theirs, ours)
    left = LEFT.findall(html.unescape(re.sub(r"<[^>]*>", " ", written)))
    if left:
        raise ValueError(f"formula {tex!r}: not understood: {', '.join(left)}")
    return written


def finished(page: str) -> str:
    """A page with MathML in the place of TeX."""

    def replaced(found: re.Match[str]) -> str:
        display = found[2] == "["
        written = mathml(html.unescape(found[3]).strip(), display)
        if display:
            return f'<div class="formula">{written}</div>'
        return f'<span class="long-formula">{written}</span>' if len(found[3]) > LONG else written

    return FORMULA.sub(replaced, page)


def plain(text: str) -> str:
    """A text of the index, with each formula as a reader says it: its symbols without their places."""

    def replaced(found: re.Match[str]) -> str:
        written = mathml(html.unescape(found[1]).strip(), False)
        return html.unescape(re.sub(r"<[^>]*>", "", written))

    return re.sub(r"\\[(\[](.*?)\\[)\]]", replaced, text, flags=re.S)


def main(folder: Path) -> None:
    """Finish all pages of a folder."""
    for path in sorted(folder.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        if 'class="arithmatex"' in page:
            path.write_text(finished(page), encoding="utf-8")
    index = folder / "search.json"
    if index.exists():  # Material for MkDocs has another one
        content = json.loads(index.read_text(encoding="utf-8"))
        for item in content["items"]:
            item["text"] = plain(item["text"])
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        index.write_text(text, encoding="utf-8")
        index.with_suffix(".js").write_text(f"var __index = {text};\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

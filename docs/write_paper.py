"""One PDF of the theorems: docs/theory/*.md in the order of the menu, by pandoc and XeLaTeX.

python docs/write_paper.py paper.pdf

Both are programs of the system, on Debian in these PACKAGES.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGES = "pandoc texlive-xetex texlive-latex-recommended texlive-fonts-recommended lmodern"
HEADER = r"""---
title: Uniform-PAC and certified decisions
subtitle: The theorems of unipac, with proofs
documentclass: article
papersize: a4
geometry: margin=22mm
fontsize: 11pt
mainfont: Latin Modern Roman
mathfont: Latin Modern Math
monofont: Latin Modern Mono
monofontoptions: Scale=0.85
linkcolor: black
numbersections: true
secnumdepth: 1
toc: true
toc-depth: 1
header-includes: |
  ```{=latex}
  \usepackage{newunicodechar}
  \emergencystretch=3em
  \sloppy
CHARACTERS
  ```
---

"""
"""What pandoc is told."""

SIGNS = {
    "∎": r"\blacksquare", "≤": r"\le", "≥": r"\ge", "√": r"\surd", "∞": r"\infty", "−": "-", "α": r"\alpha",
    "β": r"\beta", "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "λ": r"\lambda",
    "μ": r"\mu", "σ": r"\sigma", "τ": r"\tau", "×": r"\times", "·": r"\cdot", "±": r"\pm",
}  # fmt: skip
"""Characters of the text that Latin Modern does not have."""


WIDE = 120
"""Characters beyond which a displayed formula of several parts gets a line for each."""


def header() -> str:
    """The header, with what to set for each of these characters."""
    told = {sign: f"\\ensuremath{{{tex}}}" for sign, tex in SIGNS.items()}
    told |= {sign: f"\\textsuperscript{{{digit}}}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    told["⁻"] = r"\textsuperscript{-}"
    lines = [f"  \\newunicodechar{{{sign}}}{{{tex}}}" for sign, tex in told.items()]
    return HEADER.replace("CHARACTERS", "\n".join(lines))


def pages() -> list[Path]:
    """The pages, in the order of the menu."""
    menu = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    return [DOCS / name for name in re.findall(r"(theory/\w+\.md)$", menu, flags=re.M)]


def anchor(page: str, rest: str = "") -> str:
    """The name of a place in the one document: "theory-tools-ville"."""
    return "-".join(part for part in (Path(page).stem, rest) if part)


def slug(heading: str) -> str:
    """The name of a heading, as the site has it."""
    ascii_only = heading.encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def prepared(path: Path) -> str:
    """A page as a chapter: its headings named by page and place, links to other chapters inside of the document.

    Links to pages that are not chapters lose their address. Code breaks after each of its slashes, points and colons.
    """
    text = path.read_text(encoding="utf-8")

    def heading(found: re.Match[str]) -> str:
        given = re.search(r" \{ #(\S+) \}$", found[2])
        title = found[2][: given.start()] if given else found[2]
        name = (
            anchor(path.name, given[1] if given else slug(title)) if len(found[1]) > 1 else anchor(path.name)
        )
        return f"{found[1]} {title} {{#{name}}}"

    def link(found: re.Match[str]) -> str:
        words, target, place = found[1], found[2], found[3] or ""
        if target.startswith("https://"):
            return found[0]
        inside = not target or (path.parent / target).resolve() in pages()
        return f"[{words}](#{anchor(target or path.name, place)})" if inside else words

    def broken(found: re.Match[str]) -> str:
        parts = [part.strip() for part in re.split(r"\\qquad", found[1]) if part.strip()]
        if len(parts) == 1 or len(found[1]) < WIDE:
            return found[0]
        lines = " \\\\ ".join(parts)
        return f"$$\n\\begin{{gathered}} {lines} \\end{{gathered}}\n$$"

    text = re.sub(r"^\$\$\n(.*?)\n\$\$$", broken, text, flags=re.M | re.S)
    text = re.sub(r"^(#+) (.*)$", heading, text, flags=re.M)
    text = re.sub(r"\[([^\]]+)\]\(([^)#\s]*)(?:#([^)\s]*))?\)", link, text)
    return re.sub(r"^<!--.*-->$", "", text, flags=re.M)


def main(target: Path) -> int:
    """Write the PDF; says what is missing."""
    missing = [program for program in ("pandoc", "xelatex") if shutil.which(program) is None]
    if missing:
        print(f"not found: {', '.join(missing)}. On Debian: apt-get install {PACKAGES}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "paper.md"
        source.write_text(header() + "\n\n".join(map(prepared, pages())), encoding="utf-8")
        options = [
            "--from=markdown-implicit_figures",
            "--pdf-engine=xelatex",
            f"--output={target.absolute()}",
        ]
        done = subprocess.run(["pandoc", str(source), *options], capture_output=True, text=True, check=False)
    print(done.stderr, file=sys.stderr, end="")
    if done.returncode == 0:
        print(f"written: {target}")
    return done.returncode or int("Missing character" in done.stderr)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

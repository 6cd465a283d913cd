"""Write the findings and figures of a run into docs/results/experiments.md.

python docs/results/write_experiments.py results/paper

Experiments that the folder does not hold stay on the page as they are.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

from unipac import report
from unipac.report.content import Section

DOCS = Path(__file__).parent
MARK = "<!-- below this line: written by docs/results/write_experiments.py -->"

GUARANTEES = ("mistakes", "levels", "certificates", "pulls")
"""Figures whose own findings are told as well."""

FIGURES = {
    "e01-appendix-a": ["mistakes-over-time-appendix-a"],
    "e02-killer": ["mistakes-over-time-killer", "mistakes-over-time-killer-in-phases"],
    "e03-mistakes": ["mistakes-contexts-dim-3", "mistakes-gaps-at-every-scale"],
    "e05-level-sizes": ["levels-random-dim-2", "levels-adversarial-dim-2"],
    "e07-certificates": ["certificates-and-gaps-contexts", "certificates-and-gaps-riverswim"],
    "e08-regret-growth": ["regret-contexts-dim-5", "mistakes-over-time-fixed-gap"],
    "e10-ablation": ["regret-noise-1", "regret-noise-0-1"],
    "e11-finite-arms": ["pulls-against-the-lower-bound", "regret-contexts", "mistakes-over-time-fixed-arms"],
    "e12-mdps": ["regret-riverswim", "regret-small-riverswim", "regret-riverswim-6-x-20"],
    "e13-lsvi-killer": ["mistakes-over-time-lsvi-killer"],
    "e15-compute": ["time-riverswim-stored", "plans-riverswim"],
    "e16-misspecification": ["regret-contexts-zeta-0", "regret-contexts-zeta-0-4"],
    "e17-price": ["pulls-against-the-lower-bound", "certificates-and-gaps-soare-angle-0-2"],
}
"""The panels to show, by experiment."""


def main(folder: str) -> None:
    """Draw, then write the page."""
    sections = report.sections(folder)
    pictures = DOCS / "figures" / "experiments"
    pictures.mkdir(parents=True, exist_ok=True)
    page = DOCS / "experiments.md"
    before, _, written = page.read_text(encoding="utf-8").partition(MARK)
    parts = dict(part.split("\n", 1) for part in written.strip().removeprefix("### ").split("\n### ") if part)
    with tempfile.TemporaryDirectory() as drawn:
        for section in sections:  # one by one: each in its own colours, however many there are
            report.build([section], Path(drawn) / section.name, format="png")
            for old in pictures.glob(f"{section.name}-*.png"):
                old.unlink()
            parts[section.title] = "\n".join(told(section, Path(drawn) / section.name / "figures", pictures))
    ordered = sorted(parts, key=lambda title: int(title.partition(".")[0].removeprefix("E")))
    text = "\n\n".join(f"### {title}\n{parts[title].rstrip()}" for title in ordered)
    page.write_text(f"{before}{MARK}\n\n{text}\n", encoding="utf-8")


def told(section: Section, drawn: Path, pictures: Path) -> list[str]:
    """What the page says of one experiment, below its title; its pictures are copied."""
    counts = section.results.curves.group_by("agent", "instance").agg(seeds="seed")
    runs = counts["seeds"].list.n_unique().max()
    about = f"{section.description} Runs of each pair: {runs:,}."
    lines = ["", *textwrap.wrap(about, 120, break_long_words=False, break_on_hyphens=False), ""]
    lines += ["| prediction | | measured |", "|---|---|---|"]
    sure = [
        figure.finding
        for figure in section.figures
        if figure.name in GUARANTEES and figure.finding is not None and figure.finding.seen is not None
    ]
    lines += [
        f"| {cell(f.prediction)} | {'**NOT seen**' if f.seen is False else f.verdict} | {cell(f.observation)} |"
        for f in [*section.findings, *sure]
    ]
    shown = []
    for panel in FIGURES.get(section.name, []):
        picture = pictures / f"{section.name}-{panel}.png"
        shutil.copy(drawn / f"{panel}.png", picture)
        caption = panel.replace("-", " ")
        shown += [f'<img src="figures/experiments/{picture.name}"', f'alt="{caption}" width="48%">']
    return [*lines, "", *shown]


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(*sys.argv[1:])

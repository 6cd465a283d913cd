"""Write the findings and figures of a full run into docs/experiments.md.

python docs/write_experiments.py results/paper
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from unipac import report
from unipac.report.content import all_looks, figures_of

DOCS = Path(__file__).parent
MARK = "<!-- below this line: written by docs/write_experiments.py -->"

GUARANTEES = ("mistakes", "levels", "certificates")
"""Figures whose own findings are told as well."""

FIGURES = {
    "e01-appendix-a": ["mistakes-over-time-appendix-a"],
    "e02-killer": ["mistakes-over-time-killer", "mistakes-over-time-killer-in-phases"],
    "e03-mistakes": ["mistakes-contexts-dim-3", "mistakes-gaps-at-every-scale"],
    "e05-level-sizes": ["levels-random-dim-2", "levels-adversarial-dim-2"],
    "e07-certificates": ["certificates-and-gaps-contexts", "certificates-and-gaps-riverswim"],
    "e08-regret-growth": ["regret-contexts-dim-5", "mistakes-over-time-fixed-gap"],
    "e10-ablation": ["regret-noise-1", "regret-noise-0-1"],
    "e12-mdps": ["regret-riverswim", "regret-small-riverswim", "regret-riverswim-6-x-20"],
    "e13-lsvi-killer": ["mistakes-over-time-lsvi-killer"],
    "e15-compute": ["time-riverswim-stored", "plans-riverswim"],
}
"""The panels to show, by experiment."""


def main(folder: str) -> None:
    """Draw, then write the page."""
    sections = report.sections(folder)
    pictures = DOCS / "figures" / "experiments"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    lines = []
    with tempfile.TemporaryDirectory() as drawn:
        report.build(sections, Path(drawn), format="png")
        for section in sections:
            counts = section.results.curves.group_by("agent", "instance").agg(seeds="seed")
            runs = counts["seeds"].list.n_unique().max()
            lines += [f"### {section.title}", "", f"{section.description} Runs of each pair: {runs:,}.", ""]
            lines += ["| prediction | | measured |", "|---|---|---|"]
            sure = [
                figure.finding
                for figure in figures_of(section.results, all_looks([section]))
                if figure.name in GUARANTEES and figure.finding.seen is not None
            ]
            lines += [
                f"| {cell(f.prediction)} | {'**NOT seen**' if f.seen is False else f.verdict} | "
                f"{cell(f.observation)} |"
                for f in [*section.findings, *sure]
            ]
            lines.append("")
            shown = []
            for panel in FIGURES.get(section.name, []):
                source = Path(drawn) / "figures" / f"{section.name}-{panel}.png"
                shutil.copy(source, pictures / source.name)
                caption = panel.replace("-", " ")
                shown.append(f'<img src="figures/experiments/{source.name}" alt="{caption}" width="48%">')
            if shown:
                lines += ["\n".join(shown), ""]
    page = DOCS / "experiments.md"
    before = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{before}{MARK}\n\n" + "\n".join(lines), encoding="utf-8")


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(*sys.argv[1:])

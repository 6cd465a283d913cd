"""Write the findings and figures of a run into docs/results/experiments.md.

python docs/results/write_experiments.py results/paper

Experiments that the folder does not hold stay on the page as they are.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from unipac import report
from unipac.experiments.results import ends, labels
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
    "e12-mdps": [
        "regret-riverswim",
        "regret-small-riverswim",
        "regret-riverswim-3-x-3",
        "regret-riverswim-6-x-20",
    ],
    "e13-lsvi-killer": ["mistakes-over-time-lsvi-killer"],
    "e14-mixtures": [
        "regret-mixture-swim",
        "regret-hypercube-mixture",
        "regret-riverswim-6-x-20",
        "mistakes-over-time-vtr-killer",
    ],
    "e15-compute": ["time-riverswim-stored", "plans-riverswim"],
    "e16-misspecification": ["regret-contexts-zeta-0", "regret-contexts-zeta-0-4"],
    "e17-price": ["pulls-against-the-lower-bound", "certificates-and-gaps-soare-angle-0-2"],
}
"""The panels to show, by experiment."""

TABLES = ("e12-mdps", "e14-mixtures")
"""Experiments with a table of the regret of all agents."""


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
            for former in [title for title in parts if number(title) == number(section.title)]:
                del parts[former]  # whatever it was called
            parts[section.title] = "\n".join(told(section, Path(drawn) / section.name / "figures", pictures))
    ordered = sorted(parts, key=number)
    text = "\n\n".join(f"### {title}\n{parts[title].rstrip()}" for title in ordered)
    page.write_text(f"{before}{MARK}\n\n{text}\n", encoding="utf-8")


def told(section: Section, drawn: Path, pictures: Path) -> list[str]:
    """What the page says of one experiment, below its title; its pictures are copied."""
    counts = section.results.curves.group_by("agent", "instance").agg(seeds="seed")
    runs = counts["seeds"].list.n_unique().max()
    lengths = ends(section.results.curves)["free"].unique().sort().to_list()
    rounds = (
        " or ".join(f"{length:,}" for length in lengths) if len(lengths) <= 4 else f"up to {lengths[-1]:,}"
    )
    about = f"{section.description} Runs of each pair: {runs:,}, of {rounds} rounds or episodes."
    typed = ", ".join(f"`{command(line)}`" for line in section.command.splitlines())
    about += f" This run: {typed}." if typed else ""
    lines = ["", *textwrap.wrap(about, 120, break_long_words=False, break_on_hyphens=False), ""]
    if section.name in TABLES:
        lines += [line for table in regrets(section) for line in (*table, "")]
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


def number(title: str) -> int:
    """Of an experiment, from its title."""
    return int(title.partition(".")[0].removeprefix("E"))


def command(line: str) -> str:
    """What was typed, without where the results went and how many workers there were."""
    return re.sub(r" --(out|workers|engine)[= ]\S+", "", line)


def regrets(section: Section) -> Iterator[list[str]]:
    """Tables of the mean regret and its standard error: one of all single instances, one of each sweep."""
    end = ends(section.results.curves).with_columns(pl.col("agent", "family", "instance").cast(pl.String))
    several = end.group_by("family").agg(many=pl.col("instance").n_unique() > 1)
    swept = set(several.filter("many")["family"])
    single = end.filter(~pl.col("family").is_in(list(swept)))
    parts = [single] if len(single) else []
    parts += [end.filter(pl.col("family") == family) for family in labels(end, "family") if family in swept]
    for part in parts:
        instances = labels(part, "instance")
        found = part.group_by("agent", "instance").agg(
            mean=pl.col("regret").mean(),
            error=pl.col("regret").std() / pl.len().sqrt(),
            sure=pl.col("certified").all(),
        )
        values = {(row["agent"], row["instance"]): row for row in found.iter_rows(named=True)}
        agents = [agent for agent in labels(end, "agent") if any((agent, i) in values for i in instances)]
        table = [f"| mean regret | {' | '.join(instances)} |", "|---" * (1 + len(instances)) + "|"]
        for agent in agents:
            entries = [shown(values.get((agent, instance))) for instance in instances]
            sure = any(values[agent, i]["sure"] for i in instances if (agent, i) in values)
            table.append(f"| {cell(agent)}{'' if sure else ' *'} | {' | '.join(entries)} |")
        yield table
    yield ["± is a standard error. An agent marked by * is not certified."]


def shown(row: dict[str, float] | None) -> str:
    """A mean with its standard error."""
    if row is None:
        return ""
    digits = 0 if row["mean"] >= 100 else 1 if row["mean"] >= 10 else 2
    error = "" if row["error"] is None else f" ± {row['error']:,.{digits}f}"
    return f"{row['mean']:,.{digits}f}{error}"


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main(*sys.argv[1:])

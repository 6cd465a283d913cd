"""From the results of a run: tables on the screen, and the figure of docs/results/benchmarks.md.

python benchmarks/report.py [FILE]

`make numbers` writes the tables of that page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import reward

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"

TITLES = {
    "a": "choose and update, one round at a time, d = 20, n = 10",
    "b": "choose and update, one round at a time, d = 50, n = 1,000",
    "c": "whole runs, d = 20, n = 10",
    "d": "fixed arms, d = 50, n = 1,000",
    "e": "LSVI-UCB on the same MDP",
    "f": "FLUTE, counted: cost of an episode against the episodes before",
    "g": "FLUTE, stored: a backward pass against its BLAS products",
    "h": "choose against BLAS, d = 128, n = 1,000, 6 levels",
    "i": "UCBVI and CertVI on the same MDP",
    "start": "import and first use",
    "reward": "reward on real data, and values of policies from logs",
}

PER_ARM = "easier: one model per arm, one context for all arms, no bound on the loss"
NOTES = {
    "NestedOFUL": "shared parameter, certificate for every decision",
    "NestedOFUL, tight=False": "the same with larger certificates",
    "OFUL": "shared parameter, certificate for every decision",
    "OFUL, tight=False": "the same with larger certificates",
    "UPACOFUL": "the paper's algorithm to the letter, certificate for every decision",
    "NumPy": "the loop that users write: shared parameter, no checks, no certificate",
    "mabwiser": PER_ARM,
    "river": PER_ARM,
    "contextualbandits": PER_ARM + "; rewards 0 or 1, single precision",
    "bayesianbandits": PER_ARM + "; quantiles from 1,000 draws",
    "coba": "same problem (LinUCB, shared parameter); no bound on the loss",
    "vowpalwabbit": "other problem: gradient steps, no confidence set; text input, written on the clock",
    "vowpalwabbit, text prepared": "the same, text of all actions written before the clock starts",
    "rlberry-scool": "easier: one Gram matrix for all stages; a bonus of its own",
}
OTHERS = ("NestedOFUL, tight=False", "OFUL", "OFUL, tight=False")
RIDGE_PEERS = ("mabwiser", "river", "coba", "contextualbandits", "bayesianbandits")
PEERS = (*RIDGE_PEERS, "vowpalwabbit")

Row = tuple[str, str, str, str, str]


def figure(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def span(values: dict[str, float]) -> str:
    return f"{figure(values['median'])} ({figure(values['low'])} to {figure(values['high'])})"


def spread(values: list[float]) -> dict[str, float]:
    return {"median": median(values), "low": min(values), "high": max(values)}


def ratio(programs: dict[str, Any], fast: str, slow: str) -> dict[str, float]:
    pairs = zip(programs[fast]["rounds_per_s"], programs[slow]["rounds_per_s"], strict=True)
    return spread([a / b for a, b in pairs])


def fastest(programs: dict[str, Any], names: tuple[str, ...]) -> str | None:
    there = [name for name in names if programs.get(name, {}).get("rounds_per_s")]
    return max(there, key=lambda name: median(programs[name]["rounds_per_s"]), default=None)


def row(work: str, what: str, values: dict[str, float], goal: float | None = None, most: bool = False) -> Row:
    """One line of the table of goals; with ``most`` the goal is an upper limit."""
    if goal is None:
        return work, what, span(values), "", ""
    holds = values["median"] <= goal if most else values["median"] >= goal
    sign = "at most" if most else "at least"
    return work, what, span(values), f"{sign} {goal:,g}", "yes" if holds else "no"


def goals(results: dict[str, Any]) -> list[Row]:
    """What was to be reached, and what was measured."""
    rows: list[Row] = []
    for work, agent_word, goal in (("a", "choose/update", 25.0), ("c", "play", 100.0)):
        if work not in results:
            continue
        programs = results[work]["programs"]
        peer = fastest(programs, PEERS)
        ridge = fastest(programs, RIDGE_PEERS)
        if peer is not None:
            what = f"NestedOFUL {agent_word} / {peer}, the fastest peer"
            rows.append(row(work, what, ratio(programs, "NestedOFUL", peer), goal))
            rows += [
                row(work, f"{name} {agent_word} / {peer}", ratio(programs, name, peer), goal)
                for name in OTHERS
            ]
        if ridge is not None and ridge != peer:
            what = f"NestedOFUL {agent_word} / {ridge}, the fastest peer with confidence bounds"
            rows.append(row(work, what, ratio(programs, "NestedOFUL", ridge), goal))
            rows += [
                row(work, f"{name} {agent_word} / {ridge}", ratio(programs, name, ridge), goal)
                for name in OTHERS
            ]
    if "b" in results:
        programs = results["b"]["programs"]
        if programs.get("mabwiser", {}).get("rounds_per_s"):
            rows.append(row("b", "NestedOFUL / mabwiser", ratio(programs, "NestedOFUL", "mabwiser"), 50.0))
        for name in ("NestedOFUL", *OTHERS):
            goal = 0.9 if name.startswith("NestedOFUL") else 1.3
            rows.append(row("b", f"{name} / NumPy loop", ratio(programs, name, "NumPy"), goal))
    if "d" in results:
        ratios = results["d"]["ratios"]
        for name in ("NestedOFUL", *OTHERS, "UPACOFUL"):
            goal = None if name in ("NestedOFUL", "OFUL") else 10.0  # the table does not know the sets
            rows.append(row("d", f"{name}, play: with fixed_actions / without", ratios[name], goal))
        what = "NestedOFUL, tight=False, choose/update: with fixed_actions / without"
        rows.append(row("d", what, ratios["loop"]))
    if "e" in results:
        e = results["e"]
        for K, values in e.get("ratio", {}).items():
            goal = 1000.0 if K == "80" else None
            rows.append(row("e", f"time of rlberry-scool / LSVIUCB, K = {K}", values, goal))
        rows.append(row("e", "LSVIUCB: exponent of time in K, 20 to 160", e["exponent"]["unipac"], 1.1, True))
        long = e["exponent"]["unipac, long runs"]
        if long["median"] == long["median"]:
            rows.append(row("e", "LSVIUCB: the same, 1,000 to 100,000", long, 1.1, True))
        if "rlberry-scool" in e["exponent"]:
            theirs = e["exponent"]["rlberry-scool"]
            rows.append(row("e", "rlberry-scool: exponent of time in K, 20 to 160", theirs))
    if "f" in results:
        for kind in ("FLUTE", "NestedFLUTE"):
            first, last = results["f"][kind][0], results["f"][kind][-1]
            for at in (first, last):
                what = f"{kind}: µs per episode and level after {at['episodes']:,} ({at['levels']} levels)"
                rows.append(row("f", what, at["microseconds_per_episode_and_level"]))
    if "g" in results:
        rows.append(row("g", "time of a backward pass / its BLAS products", results["g"]["ratio"]))
    if "h" in results:
        rows.append(row("h", "time of choose / X @ [A_1 ... A_6]", results["h"]["tight"]))
        rows.append(row("h", "the same, tight=False", results["h"]["ratio"], 1.5, True))
        what = "the same in the worst case, where no level rules out an action, tight=False"
        rows.append(row("h", what, results["h"]["worst"], 1.5, True))
    if "i" in results:
        programs = results["i"]["programs"]
        if programs.get("rlberry-scool", {}).get("rounds_per_s"):
            for name in ("UCBVI", "CertVI"):
                rows.append(
                    row("i", f"{name} / UCBVI of rlberry-scool", ratio(programs, name, "rlberry-scool"))
                )
    return rows


def rates(results: dict[str, Any], work: str) -> list[tuple[str, str, str, str]]:
    """Rounds per second of every program, and how many times as many NestedOFUL does."""
    programs = results[work]["programs"]
    lines = []
    for name, program in programs.items():
        note = NOTES.get(name, "")
        if "error" in program:
            lines.append((name, "failed", "", program["error"]))
            continue
        times = "" if name == "NestedOFUL" else span(ratio(programs, "NestedOFUL", name))
        lines.append((name, span(spread(program["rounds_per_s"])), times, note))
    for name, status in results.get("peers", {}).items():
        if "problem" in status and name != "rlberry-scool":
            lines.append((name, "not measured", "", status["problem"]))
    return lines


def print_tables(results: dict[str, Any]) -> None:
    """For the screen."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=150)
    for work in ("a", "b", "c"):
        if work in results:
            table = Table(title=f"({work}) {TITLES[work]}")
            for heading in ("program", "rounds/s", "NestedOFUL has times as many", "what it solves"):
                table.add_column(heading)
            for line in rates(results, work):
                table.add_row(*line)
            console.print(table)
    if "reward" in results:
        for line in reward.lines(results["reward"]):
            console.print(line, markup=False, soft_wrap=True)
    if not set(results) & {"a", "b", "c", "d", "e", "f", "g", "h"}:
        return
    table = Table(title="ratios: median (least to largest) over repetitions")
    for heading in ("", "what", "measured", "goal", "reached"):
        table.add_column(heading)
    for line in goals(results):
        table.add_row(*line)
    console.print(table)
    if "start" in results:
        console.print({name: round(value, 2) for name, value in results["start"].items()})


def markdown(headings: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rule = "|" + "---|" * len(headings)
    return "\n".join(
        ["| " + " | ".join(line) + " |" for line in (headings, *lines)][:1]
        + [rule]
        + ["| " + " | ".join(line) + " |" for line in lines]
    )


def generated(results: dict[str, Any]) -> str:
    """The part of docs/results/benchmarks.md that comes from a run."""
    m = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in m["versions"].items())
    peers = ", ".join(
        f"{name} {status['versions'][name]}"
        if "versions" in status
        else f"{name} (not measured: {status['problem']})"
        for name, status in results["peers"].items()
    )
    start = results["start"]
    parts = [
        f"One run on {m['processor']}, {m['cores']} cores, Python {m['python']}, {versions}. "
        f"Peers: {peers}. Load of the machine at the start: {m['load_before']}. Seed {results['seed']}.",
        "\n## Goals\n",
        markdown(("", "what", "median (least to largest)", "goal", "reached"), goals(results)),
    ]
    for work in ("a", "b", "c"):
        parts += [
            f"\n## ({work}) {TITLES[work].capitalize()}\n",
            markdown(
                ("program", "rounds/s", "NestedOFUL does times as many", "what it solves"),
                rates(results, work),
            ),
        ]
    micro = results["d"]["microseconds_per_round"]
    parts += [
        f"\n## (d) {TITLES['d'].capitalize()}\n",
        markdown(
            ("agent", "µs a round without", "with `fixed_actions`"),
            [
                (
                    "NestedOFUL, tight=False, choose/update" if name == "loop" else f"{name}, play",
                    f"{micro[f'{name} free']:.1f}",
                    f"{micro[f'{name} fixed']:.1f}",
                )
                for name in ("NestedOFUL", *OTHERS, "UPACOFUL", "loop")
            ],
        ),
        f"\n## (e) {TITLES['e']}\n",
        markdown(
            ("K", "LSVIUCB, ms", "rlberry-scool, ms"),
            [
                (
                    f"{int(K):,}",
                    span({n: 1e3 * v for n, v in values.items()}),
                    span(
                        {
                            n: 1e3 * v
                            for n, v in results["e"]["seconds"].get("rlberry-scool", {}).get(K, {}).items()
                        }
                    )
                    if K in results["e"]["seconds"].get("rlberry-scool", {})
                    else "",
                )
                for K, values in results["e"]["seconds"]["unipac"].items()
            ],
        ),
        *_ucbvi(results),
        "\n## Start\n",
        f"`import unipac` {start['import']:.2f} s; first use of an agent, kernels not yet compiled, "
        f"{start['first use']:.1f} s; in later processes {start['later']:.2f} s (processor time).",
    ]
    return "\n".join(parts)


def _ucbvi(results: dict[str, Any]) -> list[str]:
    if "i" not in results:
        return []
    problem, programs = results["i"]["problem"], results["i"]["programs"]
    head = (
        f"RiverSwim {problem['n_states']} × {problem['horizon']}, {problem['episodes']:,} episodes, stages pooled, "
        f"rewards learned; the best policy earns {problem['optimal_value']:.3f}. rlberry-scool's bonus is its own, "
        "and nothing is proven of it; CertVI gives a proven certificate before every episode.\n"
    )
    lines = [
        (
            {"rlberry-scool": "rlberry-scool, UCBVI"}.get(name, name),
            span(spread(program["rounds_per_s"])),
            f"{program['mean_reward']:.3f}",
        )
        for name, program in programs.items()
        if "error" not in program
    ]
    table = markdown(("program", "episodes/s", "mean return"), lines)
    return [f"\n## (i) {TITLES['i']}\n", head, table]


ABOVE = -26
"""Where the name of a line stands, from its last point."""


def draw(results: dict[str, Any], path: Path) -> None:
    """Total time of LSVI-UCB against K, and time of an episode of FLUTE against k."""
    import altair as alt

    total = [
        {
            "episodes": int(K),
            "value": 1e3 * values["median"],
            "low": 1e3 * values["low"],
            "high": 1e3 * values["high"],
            "program": name.replace("unipac", "unipac LSVIUCB"),
        }
        for name, per in results["e"]["seconds"].items()
        for K, values in per.items()
    ]
    cost = [
        {
            "episodes": at["episodes"],
            "value": values["median"],
            "low": values["low"],
            "high": values["high"],
            "program": kind,
        }
        for kind in ("FLUTE", "NestedFLUTE")
        for at in results["f"][kind]
        for values in (at["microseconds_per_episode_and_level"],)
    ]

    def panel(values: list[dict[str, Any]], title: str, x: str, y: str, scale: Any, under: int) -> Any:
        base = alt.Chart(alt.Data(values=values)).encode(
            x=alt.X(
                "episodes:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title=x, format="~s", tickCount=6)
            ),
            color=alt.Color("program:N", legend=None),
        )
        line = base.mark_line(point=alt.OverlayMarkDef(size=40)).encode(
            y=alt.Y("value:Q", scale=scale, axis=alt.Axis(title=y, format=",~g", tickCount=6))
        )
        bars = base.mark_rule().encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
        last = [*{row["program"]: row for row in values}.values()]
        lowest = min(last, key=lambda row: row["value"])
        names = [
            alt.Chart(alt.Data(values=[row]))
            .mark_text(align="right", dy=under if row is lowest else ABOVE, dx=4, fontSize=12)
            .encode(
                x="episodes:Q",
                y=alt.Y("value:Q", scale=scale),
                text="program:N",
                color=alt.Color("program:N", legend=None),
            )
            for row in last
        ]
        return alt.layer(bars, line, *names).properties(width=380, height=280, title=title)

    chart = (
        alt.hconcat(
            panel(
                total,
                "LSVI-UCB: total time of K episodes",
                "episodes K",
                "milliseconds",
                alt.Scale(type="log"),
                ABOVE,
            ),
            panel(
                cost,
                "Counted: time per episode and level",
                "episodes before",
                "microseconds",
                alt.Scale(domainMin=0),
                18,
            ),
        )
        .resolve_scale(color="independent")
        .configure_axis(labelFontSize=12, titleFontSize=13)
        .configure_title(fontSize=14)
    )
    path.parent.mkdir(exist_ok=True)
    chart.save(str(path), scale_factor=2)


def main() -> None:
    """Renew the figure; `make numbers` writes the tables of the page."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results.json"
    results = json.loads(source.read_text())
    draw(results, DOCS / "figures" / "growth.png")
    print_tables(results)


if __name__ == "__main__":
    main()

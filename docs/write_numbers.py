"""Write the numbers that come from runs into README.md and the pages of docs/, between marks.

python docs/write_numbers.py [--check]

A block is ``<!-- from: FILE#KEY -->``, what is written, ``<!-- end -->``. FILE is what a run wrote; KEY says which of
the functions below puts it into words. ``--check`` writes nothing and exits with 1 if something would change.
"""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
BENCHMARKS = "benchmarks/results.json"
LEARNING = "benchmarks/learning.json"
REWARD = "benchmarks/reward.json"
RLSVI = "benchmarks/rlsvi.json"
LAKE = "benchmarks/lake.json"
LATE = "benchmarks/late.json"
STAR = "benchmarks/star_lsvi.json"
MANY = "benchmarks/many.json"
SERVE = "benchmarks/serve.json"
IDEA = "docs/figures/idea.json"
PICTURE = "docs/figures/certificate.json"
FIRST = "benchmarks/first.json"
BLOCK = re.compile(r"(<!-- from: (\S+) -->\n).*?(<!-- end -->)", flags=re.S)
WIDTH = 120

Said = Callable[[Any], str]
SAID: dict[str, Said] = {}
"""What a block says, by FILE#KEY."""


def says(source: str) -> Callable[[Said], Said]:
    """Register the words of a block."""

    def register(words: Said) -> Said:
        SAID[source] = words
        return words

    return register


@says(f"{BENCHMARKS}#speed")
def _speed(results: dict[str, Any]) -> str:
    plays, single = results["c"]["programs"], results["a"]["programs"]
    problem = results["c"]["problem"]

    def rate(programs: dict[str, Any], name: str) -> float:
        return float(median(programs[name]["rounds_per_s"]))

    play, pair, peer = rate(plays, "NestedOFUL"), rate(single, "NestedOFUL"), rate(single, "river")
    return (
        f"With {problem['n_actions']} actions in dimension {problem['dim']}, `NestedOFUL` plays a round in "
        f"{1e6 / play:.1f} µs, and takes {1e6 / pair:.1f} µs for a `choose` and an `update` from Python; river, the "
        f"fastest peer with confidence bounds, takes {1e6 / peer:.0f} µs "
        f"({results['machine']['processor']}, one thread)."
    )


@says(f"{BENCHMARKS}#tables")
def _tables(results: dict[str, Any]) -> str:
    return str(_benchmark("report").generated(results))


@says(f"{LEARNING}#table")
def _learning(results: dict[str, Any]) -> str:
    return str(_benchmark("learning").table(results))


@says(f"{RLSVI}#table")
def _rlsvi(results: dict[str, Any]) -> str:
    return str(_benchmark("rlsvi").table(results))


@says(f"{LAKE}#table")
def _lake(results: dict[str, Any]) -> str:
    return str(_benchmark("lake").table(results))


@says(f"{LATE}#table")
def _late(results: dict[str, Any]) -> str:
    return str(_benchmark("late").table(results))


@says(f"{STAR}#table")
def _star(results: dict[str, Any]) -> str:
    return str(_benchmark("star_lsvi").table(results))


@says(f"{STAR}#peers")
def _star_peers(results: dict[str, Any]) -> str:
    return str(_benchmark("star_peers").table(results))


@says(f"{SERVE}#measured")
def _serve(results: dict[str, Any]) -> str:
    stores = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
    loaded = {key: name for key, name in stores.items() if f"throughput {key}" in results}
    rows = ["| | constant answer | the service | a deployment in memory |", "|---|---|---|---|"]
    for key, name in loaded.items():
        found = results[f"throughput {key}"]
        for what, words in (("decide", "decisions"), ("reward", "rewards")):
            parts = [found["constant"], found[f"service {what}"], found[f"memory {what}"]]
            rows.append(f"| {words}, {name} | " + " | ".join(f"{each:,.0f}" for each in parts) + " |")
    batches = ", ".join(
        f"{results[f'throughput {key}']['batch decide']:,.0f} with {name}" for key, name in loaded.items()
    )

    def times(found: list[float]) -> str:
        return f"{found[0]:.1f} and {found[1]:.1f} ms"

    late = [
        f"{name} {times(results[f'latency {key}'][key])} (constant {times(results[f'latency {key}']['constant'])}, "
        f"bare append and fdatasync {times(results[f'latency {key}']['append + fdatasync'])})"
        for key, name in stores.items()
    ]
    starts, kept = results["starts"], results["snapshots"]
    nothing, snapshot = starts["nothing"]["processor seconds"], starts["snapshot"]["seconds"]
    return "\n".join((
        "Requests per processor second of the server, 64 connections, server and load on one core; beside it uvicorn "
        "and FastAPI with a constant answer, and FastAPI around a `Deployment` in memory, which loses all in a crash:",
        "",
        *rows,
        "",
        f"Batches of 100: {batches} decisions per processor second. At 200 decisions a second the answer takes, in the "
        f"median and at 99 %: {'; '.join(late)}. A log of a million events is read from nothing in {nothing:.0f} s of "
        f"processor time, and from a snapshot the service is ready after {snapshot:.1f} s. While a snapshot is kept "
        f"with {kept['waiting']:,} decisions waiting, the longest answer takes {kept['during'][2]:.0f} ms (after it "
        f"{kept['after'][2]:.0f} ms).",
    ))  # fmt: skip


@says(f"{MANY}#speed")
def _many_speed(results: dict[str, Any]) -> str:
    return str(_benchmark("many_seeds").speed_words(results))


@says(f"{MANY}#validity")
def _many_validity(results: dict[str, Any]) -> str:
    return str(_benchmark("many_seeds").valid_words(results))


@says(f"{REWARD}#goals")
def _reward_goals(results: dict[str, Any]) -> str:
    return "\n".join(_benchmark("reward").goals(results["reward"]))


@says(f"{REWARD}#tables")
def _reward_tables(results: dict[str, Any]) -> str:
    return "\n".join(_benchmark("reward").lines(results["reward"])).strip()


def _benchmark(name: str) -> Any:
    import importlib

    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@says(f"{PICTURE}#picture")
def _picture(found: dict[str, Any]) -> str:
    certificate = found["certificate"]
    ruled_out = [k for k, value in enumerate(certificate, 1) if value == 0]
    late = sorted(certificate[len(certificate) // 2 :])
    proven, most = (
        sum(value == 0 for value in late) / len(late),
        math.ceil(100 * late[len(late) * 9 // 10]) / 100,
    )
    none = "None" if not found["broken"] else f"{found['broken']:,}"
    return (
        f"A run: {len(certificate):,} requests go to one of three models, chosen by `NestedOFUL` from {found['dim']} "
        f"features; rewards are between 0 and 1 on average. {none} of the decisions lost more than was promised. In "
        f"the second half nine of ten certificates are below {most:.2f}. From "
        f"decision {ruled_out[0]:,} on, every other model is ruled out for more and more requests, {proven:.0%} of "
        "those in the second half: there the choice is proven to be the best."
    )


@says(f"{FIRST}#first")
def _first(found: dict[str, Any]) -> str:
    first, later = found["first"]["processor"], found["later"]["processor"]
    return (
        f"That needs `pip install .` and no extra. After a fresh installation the first decision takes {first:.0f} s "
        f"of processor time, of which {first - later:.0f} s compile, once: kernels are kept, and in later processes it "
        f"takes {later:.1f} s ({found['processor']}). `NUMBA_CACHE_DIR` names the folder where package and home "
        "directory cannot be written."
    )


@says(f"{IDEA}#guarantees")
def _guarantees(found: dict[str, Any]) -> str:
    data = found["1-guarantees"]
    last = {name: max(data[name]["round"]) for name in ("regret", "uniform-PAC")}
    return (
        f"PAC is `LinGapE` with ε = 0.3, whose answer is then played for ever; it may name the second arm, and does "
        f"in {data['that name the second']} of {data['searches']} runs, of which this is one. The other two are "
        f"`OFUL` and `NestedOFUL`; most of the time only the best arm is offered. Within 10¹⁸ rounds, the last "
        f"mistake of `OFUL` is in round {_power(last['regret'])}, that of `NestedOFUL` in round "
        f"{_power(last['uniform-PAC'])}."
    )


def _power(value: float) -> str:
    mantissa, exponent = f"{value:.0e}".split("e")
    power = "10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if mantissa == "1" else f"{mantissa} · {power}"


@says(f"{IDEA}#comes-back")
def _comes_back(found: dict[str, Any]) -> str:
    data = found["2-comes-back"]
    taken = {name: run["taken"] for name, run in data.items()}
    return (
        f"Here `OFUL` pulls the bad arm {len(taken['OFUL'])} times in 10¹⁸ rounds, the last time in round "
        f"{_power(taken['OFUL'][-1])}; `NestedOFUL` {len(taken['NestedOFUL'])} times, the last time in round "
        f"{taken['NestedOFUL'][-1]:,}."
    )


@says(f"{IDEA}#nested")
def _nested(found: dict[str, Any]) -> str:
    data = found["5-nested"]
    ends = {name: data[name]["regret"][-1] for name in ("NestedOFUL", "OFUL", "UPACOFUL")}
    return (
        f"After {data['round'][-1]:,} rounds, on average over {data['runs']} runs, `NestedOFUL` has lost "
        f"{ends['NestedOFUL']:.1f} in all, `OFUL` with the same kind of radius {ends['OFUL']:.1f}, `UPACOFUL` with it "
        f"{ends['UPACOFUL']:.1f}."
    )


@says(f"{IDEA}#certificates")
def _certificates(found: dict[str, Any]) -> str:
    data = found["6-certificates"]
    began = ", ".join(f"{run['useful from']:,} ({name})" for name, run in data.items())
    broken = sum(run["broken"] for run in data.values())
    none = "No decision" if not broken else f"{broken} decisions"
    return (
        f"The last vacuous certificate comes just before round {began}. {none} lost more than was promised."
    )


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """What the blocks of a page are from, and what they say now."""
    for found in BLOCK.finditer(text):
        yield found[2], found[0]


def written(text: str) -> str:
    """A page with all blocks renewed; a ``LookupError`` for a block that nobody knows how to write."""

    def renew(found: re.Match[str]) -> str:
        source = found[2]
        if source not in SAID:
            raise LookupError(f"no block is from {source}; there are {', '.join(SAID)}")
        run = json.loads((ROOT / source.partition("#")[0]).read_text(encoding="utf-8"))
        return f"{found[1]}\n{wrapped(SAID[source](run))}\n\n{found[3]}"

    return BLOCK.sub(renew, text)


def wrapped(text: str) -> str:
    """Paragraphs within the width of a page; tables and headings as they are."""
    filler = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    parts = [part for part in text.strip("\n").split("\n\n") if part]
    return "\n\n".join(part if part.startswith(("|", "#")) else filler.fill(part) for part in parts)


def pages() -> dict[Path, str]:
    """README.md and the pages of docs/ that have blocks, with what belongs into them."""
    found = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            found[path] = written(text)
    return found


def main() -> int:
    """Write what has changed, or only look."""
    look_only = sys.argv[1:] == ["--check"]
    changed = [(path, text) for path, text in pages().items() if path.read_text(encoding="utf-8") != text]
    for path, text in changed:
        print(f"{'differs' if look_only else 'written'}: {path.relative_to(ROOT)}")
        if not look_only:
            path.write_text(text, encoding="utf-8")
    return int(look_only and bool(changed))


if __name__ == "__main__":
    sys.exit(main())

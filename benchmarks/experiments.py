"""The runner's overhead, and how it copes with many cells.

python benchmarks/experiments.py [--cells 10000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from unipac import experiments
from unipac.experiments import playing
from unipac.experiments.reading import parse
from unipac.experiments.store import Store

TABLES = {
    "rounds": 600_000,
    "agents": {"nested": {"agent": "NestedOFUL"}},
    "instances": {"sphere": {"instance": "sphere", "dim": 5, "n_actions": 10}},
}


def overhead(seeds: int) -> None:
    """Time of a run in workers against the time that the cells themselves took."""
    spec = parse({**TABLES, "seeds": seeds}, name="overhead")
    for engine in ("serial", "processes", "dask"):
        for workers in (1, 2) if engine != "serial" else (1,):
            with tempfile.TemporaryDirectory() as folder:
                began, done = [], []

                def watch(progress, began=began, done=done):
                    if progress.latest is not None:
                        computed = progress.latest[2]
                        done.append((time.perf_counter(), computed.seconds))
                        began.append(time.perf_counter() - computed.seconds)

                experiments.run([(spec, Path(folder))], engine=engine, workers=workers, watch=watch)
                # Worker start and compilation lie before the first cell of each worker ends.
                later = done[workers:]
                spent = later[-1][0] - max(moment for moment, _ in done[:workers])
                work = sum(seconds for _, seconds in later) / workers
                mean = work * workers / len(later)
                print(
                    f"{engine}, {workers} workers: {len(later)} cells of {mean:.2f} s in {spent:.2f} s, "
                    f"work alone {work:.2f} s: overhead {spent / work - 1:+.1%}"
                )


def many(count: int) -> None:
    """List and resume many finished cells; report on them."""
    tables = {
        "rounds": 20_000,
        "agents": {f"agent {i}": {"agent": "NestedOFUL", "delta": 0.01 * (i + 1)} for i in range(5)},
        "instances": {
            "sphere": {"instance": "sphere", "n_actions": 10, "sweep": {"dim": [2, 3]}},
        },
    }
    spec = parse({**tables, "seeds": count // 10}, name="many")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        played = {}
        begin = time.perf_counter()
        with store.alone():
            store.open(spec)
            for cell in spec.cells():
                # One run for all seeds of a pair: playing is not what is measured.
                key = (cell.instance.label, cell.agent.label)
                if key not in played:
                    played[key] = playing.compute(cell)
                store.commit(cell, _with_seed(played[key].parquet, cell.seed))
        print(f"{count:,} cells written in {time.perf_counter() - begin:.1f} s")
        begin = time.perf_counter()
        outcome = experiments.run([(spec, Path(folder))], engine="processes")
        print(f"listed and resumed: {time.perf_counter() - begin:.2f} s ({outcome.finished:,} finished)")
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "unipac", "report", folder], check=True)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"report: {time.perf_counter() - begin:.1f} s, at most {memory:.2f} GiB")


def _with_seed(parquet: bytes, seed: int) -> bytes:
    import io

    import polars as pl

    file = io.BytesIO()
    frame = pl.read_parquet(parquet).with_columns(seed=pl.lit(seed, dtype=pl.Int64))
    frame.write_parquet(file, compression="zstd", statistics=False)
    return file.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=10_000, help="how many finished cells")
    parser.add_argument("--seeds", type=int, default=20, help="cells for the overhead")
    arguments = parser.parse_args()
    many(arguments.cells)
    overhead(arguments.seeds)


if __name__ == "__main__":
    main()

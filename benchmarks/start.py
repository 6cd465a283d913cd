"""How long one waits: for ``import unipac``, and for the first decision of an agent.

    python benchmarks/start.py [--repetitions 7]

Each time is that of a fresh process, from its first line on, so that the start of Python itself is left out;
kernels are compiled before, into a cache of their own. Processor time beside the time on the clock, which
counts what other processes took as well: median and range in seconds, and the goal on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

PROGRAMS = {
    "import unipac": ("import unipac", 0.15),
    "first agent made": ("import unipac; unipac.NestedOFUL(20)", 1.0),
    "first decision and reward": (
        "import unipac; agent = unipac.NestedOFUL(2);"
        "agent.update(agent.choose([[1.0, 0.0], [0.0, 1.0]]), reward=0.5)",
        1.0,
    ),
    "first episode": (
        "import unipac; mdp = unipac.envs.river_swim(6, 20);"
        "unipac.NestedFLUTE(mdp.features, horizon=20).play(mdp, episodes=1)",
        None,
    ),
}

TIMED = """
import time
begin, spent = time.perf_counter(), time.process_time()
{program}
print(time.perf_counter() - begin, time.process_time() - spent)
"""


def seconds(program: str, cache: str) -> list[float]:
    """Of a program in a fresh process: on the clock, and of the processor."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", TIMED.format(program=program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    print(f"{'':28}{'processor':^24}{'clock':^24}{'goal':>8}")
    with tempfile.TemporaryDirectory() as cache:
        for name, (program, goal) in PROGRAMS.items():
            seconds(program, cache)  # compiles
            times = [seconds(program, cache) for _ in range(options.repetitions)]
            clock, processor = zip(*times, strict=True)
            row = "".join(
                f"{statistics.median(kind):8.3f} ({min(kind):.3f}-{max(kind):.3f})"
                for kind in (processor, clock)
            )
            print(f"{name:28}{row}" + (f"{goal:8.2f}" if goal else ""))


if __name__ == "__main__":
    main()

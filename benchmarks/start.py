"""How long one waits: for ``import unipac``, and for the first decision of an agent.

    python benchmarks/start.py [--repetitions 7]

Each time is that of a fresh process, from its first line on, so that the start of Python itself is left out;
kernels are compiled before, into a cache of their own. The median and the range, in seconds, beside the goal.
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
begin = time.perf_counter()
{program}
print(time.perf_counter() - begin)
"""


def seconds(program: str, cache: str) -> float:
    """Of a program in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", TIMED.format(program=program)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    print(f"{'':28}{'median':>8}{'least':>8}{'most':>8}{'goal':>8}   seconds")
    with tempfile.TemporaryDirectory() as cache:
        for name, (program, goal) in PROGRAMS.items():
            seconds(program, cache)  # compiles
            times = [seconds(program, cache) for _ in range(options.repetitions)]
            row = [statistics.median(times), min(times), max(times)]
            print(f"{name:28}" + "".join(f"{value:8.3f}" for value in row) + (f"{goal:8.2f}" if goal else ""))


if __name__ == "__main__":
    main()

"""How long one waits: for ``import unipac``, for the first decision of an agent, and for what must be compiled.

    python benchmarks/start.py [--repetitions 7] [--against FOLDER]

Each time is that of a fresh process, from its first line on, so that the start of Python itself is left out.
Processor time beside the time on the clock, which counts what other processes took as well: median and range in
seconds, and the goal on an idle machine. In the first table kernels are compiled before, into a cache of their own. In
the second nothing was compiled before; with ``--against``, the src folder of another version takes turns with this
one, and the last column is the ratio of the least processor times.
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

COLD = {
    "Deployment(Guarded(LinUCB)): decide, reward": (
        "import numpy as np; from unipac import Deployment, Guarded, LinUCB;"
        "d = Deployment(Guarded(LinUCB(4), noise=0.5, norm=2.0, reward_range=(0, 1)));"
        "d.decide(None, np.eye(4)[:2], id=0); d.reward(0, 1.0)"
    ),
    "CertVI: play": (
        "import unipac; mdp = unipac.envs.river_swim(6, 20);"
        "unipac.CertVI(6, 2, horizon=20).play(mdp, episodes=1)"
    ),
}
"""What is timed with nothing compiled."""

TIMED = """
import time
begin, spent = time.perf_counter(), time.process_time()
{program}
print(time.perf_counter() - begin, time.process_time() - spent)
"""


def seconds(program: str, cache: str, source: Path = SOURCE) -> list[float]:
    """Of a program in a fresh process: on the clock, and of the processor."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", TIMED.format(program=program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def show_cold(repetitions: int, sources: list[Path]) -> None:
    """Time programs with nothing compiled, in turn for each version."""
    for name, program in COLD.items():
        spent: list[list[float]] = [[] for _ in sources]
        for _ in range(repetitions):
            for source, times in zip(sources, spent, strict=True):
                with tempfile.TemporaryDirectory() as cache:
                    times.append(seconds(program, cache, source)[1])
        row = "".join(
            f"{statistics.median(times):8.2f} ({min(times):.2f}-{max(times):.2f})" for times in spent
        )
        ratio = f"{min(spent[0]) / min(spent[1]):8.2f}" if len(spent) > 1 else ""
        print(f"{name:46}{row}{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    parser.add_argument("--cold", action="store_true", help="only what is timed with nothing compiled")
    options = parser.parse_args()
    if not options.cold:
        show_warm(options.repetitions)
    others = [] if options.against is None else [options.against.resolve()]
    print(f"\nnothing compiled: processor time{', the other version, ratio of the least' if others else ''}")
    show_cold(options.repetitions, [SOURCE, *others])


def show_warm(repetitions: int) -> None:
    """Time programs whose kernels are compiled."""
    print(f"{'':28}{'processor':^24}{'clock':^24}{'goal':>8}")
    with tempfile.TemporaryDirectory() as cache:
        for name, (program, goal) in PROGRAMS.items():
            seconds(program, cache)  # compiles
            times = [seconds(program, cache) for _ in range(repetitions)]
            clock, processor = zip(*times, strict=True)
            row = "".join(
                f"{statistics.median(kind):8.3f} ({min(kind):.3f}-{max(kind):.3f})"
                for kind in (processor, clock)
            )
            print(f"{name:28}{row}" + (f"{goal:8.2f}" if goal else ""))


if __name__ == "__main__":
    main()

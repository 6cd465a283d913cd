"""Instructions per round of two kernels, counted by valgrind: the same on a busy machine as on an idle one.

    python benchmarks/instructions.py [--update]

Each kernel runs twice in a process of its own, for few and for many rounds on the same seeded problem; the
difference, divided by the rounds in between, knows nothing of start-up and compilation. Kernels are compiled
for one fixed processor, into a cache of their own, before anything is counted. The counts are compared with
``instructions.json``: more than 3 % above, and the exit status is 1. ``--update`` renews that file, after a
deliberate change or with another version of Numba.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
REFERENCE = HERE / "instructions.json"
TOLERANCE = 0.03

BANDIT = """
import sys, numpy as np, unipac
drawn = unipac.envs.sphere(20, 10).rounds(0, 3000, seed=0)
agent = unipac.NestedOFUL(20)
rounds = int(sys.argv[1])
agent.play(drawn.actions[:rounds], drawn.rewards[:rounds])
"""
EPISODES = """
import sys, unipac
mdp = unipac.envs.river_swim(n_states=5, horizon=6)
agent = unipac.FLUTE(mdp.features, horizon=6)
agent.play(mdp, episodes=int(sys.argv[1]), seed=0)
"""
KERNELS = {
    "NestedOFUL.play, d = 20, n = 10, per round": (BANDIT, 1000, 3000),
    "FLUTE.play, 10 pairs, H = 6, per episode": (EPISODES, 500, 1500),
}


def environment(cache: str) -> dict[str, str]:
    """One thread, one kind of processor without AVX-512, which valgrind does not know, no randomness."""
    return {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "+sse,+sse2",
        "NUMBA_CACHE_DIR": cache,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
    }


def count(program: str, rounds: int, settings: dict[str, str]) -> int:
    """All instructions of a process."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        sys.executable,
        "-c",
        program,
    ]
    done = subprocess.run([*command, str(rounds)], env=settings, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise SystemExit(f"valgrind failed:\n{done.stderr[-2000:]}")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="take these counts for the reference")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind must be installed (on Debian the package valgrind)")
    counts: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        settings = environment(cache)
        for name, (program, few, many) in KERNELS.items():
            subprocess.run([sys.executable, "-c", program, "10"], env=settings, check=True)  # compiles
            less, more = (count(program, rounds, settings) for rounds in (few, many))
            counts[name] = (more - less) / (many - few)
            print(f"{name}: {counts[name]:,.0f} instructions")
    versions = {package: importlib.metadata.version(package) for package in ("numba", "numpy")}
    if options.update:
        rounded = {name: round(value) for name, value in counts.items()}
        REFERENCE.write_text(json.dumps({"versions": versions, "counts": rounded}, indent=1) + "\n")
        return
    reference = json.loads(REFERENCE.read_text())
    if reference["versions"] != versions:
        print(f"the reference was made with {reference['versions']}, this is {versions}")
    worse = [name for name, value in counts.items() if value > reference["counts"][name] * (1 + TOLERANCE)]
    for name, value in counts.items():
        change = value / reference["counts"][name] - 1
        print(f"{name}: {100 * change:+.2f} % against {reference['counts'][name]:,}")
    if worse:
        raise SystemExit(f"more than {100 * TOLERANCE:.0f} % above the reference: {'; '.join(worse)}")


if __name__ == "__main__":
    main()

"""This tree against an earlier commit, side by side in one run, as ratios of processor time.

    python benchmarks/house.py [--commit 6713bee] [--repetitions 5] [--only NAME]

The earlier tree is checked out into a temporary folder. Each measurement is a process of its own, with one
BLAS thread and the public interface alone, and repeats its work until it took half a second of processor
time. The two sides alternate; a ratio is taken within a repetition: the speed of this tree relative to the
earlier one. The table has the median and the range. A goal that the median misses makes the exit status 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

PREPARE = """
import inspect, sys, time
import numpy as np
import unipac

def without_sets(agent):
    # The sets behind certificates, which the earlier tree does not have.
    return {"tight": False} if "tight" in inspect.signature(agent).parameters else {}

OLD, GUARDED = without_sets(unipac.NestedOFUL), without_sets(unipac.Guarded)

def unit(rng, *shape):
    X = rng.standard_normal(shape)
    return X / np.linalg.norm(X, axis=-1, keepdims=True)

rng = np.random.default_rng(0)

def rounds(d):
    X = unit(rng, 2000, 10, d)
    return X, X[:, :, 0] + 0.5 * rng.standard_normal((2000, 1))
"""

MEASURE = """
work()  # compiles
passes, spent = 0, 0.0
while spent < 0.5:
    begin = time.process_time()
    work()
    spent += time.process_time() - begin
    passes += 1
print(spent / passes)
"""

WORKLOADS: dict[str, tuple[str, float]] = {
    "NestedOFUL.play, d = 20, n = 10": (
        """
X, rewards = rounds(20)

def work():
    unipac.NestedOFUL(20, noise=0.5, **OLD).play(X, rewards)
""",
        0.97,
    ),
    "choose + update, d = 20, n = 10": (
        """
X, rewards = rounds(20)
sets, rewards = list(X), rewards.tolist()

def work():
    agent = unipac.NestedOFUL(20, noise=0.5, **OLD)
    for actions, reward in zip(sets, rewards):
        decision = agent.choose(actions)
        agent.update(decision, reward[decision.index])
""",
        0.97,
    ),
    "Guarded.play, d = 20, n = 10": (
        """
X, rewards = rounds(20)

def work():
    unipac.Guarded(unipac.LinUCB(20), noise=0.5, **GUARDED).play(X, rewards)
""",
        0.97,
    ),
    "fixed_actions play, n = 1,000, d = 50": (
        """
X = unit(rng, 1000, 50)
rewards = X[:, 0] + 0.5 * rng.standard_normal((500, 1))

def work():
    unipac.NestedOFUL(50, noise=0.5, fixed_actions=X, **OLD).play(X, rewards)
""",
        0.97,
    ),
    "NestedFLUTE.play, RiverSwim 6 x 20": (
        """
mdp = unipac.envs.river_swim(n_states=6, horizon=20)

def work():
    unipac.NestedFLUTE(mdp.features, horizon=20).play(mdp, episodes=1000, seed=0)
""",
        0.97,
    ),
    "CertVI.play, RiverSwim 6 x 20": (
        """
mdp = unipac.envs.river_swim(n_states=6, horizon=20)

def work():
    unipac.CertVI.made_for(mdp).play(mdp, episodes=2000, seed=0)
""",
        0.97,
    ),
    "play(sphere(5, 20))": (
        """
instance = unipac.envs.sphere(5, 20)

def work():
    unipac.NestedOFUL(5, **OLD).play(instance, rounds=20_000, seed=0)
""",
        0.97,
    ),
    "tight: NestedOFUL.play, d = 20, n = 10": (
        """
X, rewards = rounds(20)

def work():
    unipac.NestedOFUL(20, noise=0.5).play(X, rewards)
""",
        1 / 3,
    ),
    "tight: OFUL.play, d = 20, n = 10": (
        """
X, rewards = rounds(20)

def work():
    unipac.OFUL(20, noise=0.5).play(X, rewards)
""",
        1 / 3,
    ),
    "tight: Guarded.play, d = 20, n = 10": (
        """
X, rewards = rounds(20)

def work():
    unipac.Guarded(unipac.LinUCB(20), noise=0.5).play(X, rewards)
""",
        0.5,
    ),
    "tight: Guarded.play, d = 5, n = 10": (
        """
X, rewards = rounds(5)

def work():
    unipac.Guarded(unipac.LinUCB(5), noise=0.5).play(X, rewards)
""",
        0.5,
    ),
    "tight: choose + update, d = 20, n = 10": (
        """
X, rewards = rounds(20)
sets, rewards = list(X), rewards.tolist()

def work():
    agent = unipac.NestedOFUL(20, noise=0.5)
    for actions, reward in zip(sets, rewards):
        decision = agent.choose(actions)
        agent.update(decision, reward[decision.index])
""",
        2 / 3,
    ),
}
"""Name: program, and the least ratio of speeds. Rows "tight" have the sets that the earlier tree does not have."""


def seconds(program: str, source: Path, cache: Path) -> float:
    """Processor time of one pass over the work, in a fresh process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(cache),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + program + MEASURE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"with {source}:\n{done.stderr}")
    return float(done.stdout)


def compare(earlier: Path, folder: Path, options: argparse.Namespace) -> bool:
    """Print the table; whether all goals are reached."""
    trees = {"now": ROOT / "src", "earlier": earlier / "src"}
    reached = True
    print(f"{'':40}{'earlier':>10}{'now':>10}   now/earlier (speed)        goal")
    for name, (program, goal) in WORKLOADS.items():
        if options.only and options.only not in name:
            continue
        times: dict[str, list[float]] = {side: [] for side in trees}
        for side, source in trees.items():
            seconds(program, source, folder / side)  # compiles
        for repetition in range(options.repetitions):
            for side in sorted(trees, reverse=repetition % 2 == 0):
                times[side].append(seconds(program, trees[side], folder / side))
        ratios = [before / now for before, now in zip(times["earlier"], times["now"], strict=True)]
        ratio = statistics.median(ratios)
        good = ratio >= goal
        reached &= good
        milliseconds = [1000 * statistics.median(times[side]) for side in ("earlier", "now")]
        print(
            f"{name:40}{milliseconds[0]:8.1f}ms{milliseconds[1]:8.1f}ms"
            f"   {ratio:5.2f} ({min(ratios):.2f} to {max(ratios):.2f})   >= {goal:.2f}"
            f"{'' if good else '  MISSED'}",
            flush=True,
        )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="6713bee", help="the earlier tree")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the earlier tree is removed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        earlier = folder / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), options.commit], check=True)
        try:
            reached = compare(earlier, folder, options)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()

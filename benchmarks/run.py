"""Every program on the same seeded problems, in one run, alternating; ratios with their spread.

    python benchmarks/run.py [--quick] [--only a,b,h] [--out FILE]

``make bench`` installs the peers first, one environment each under ``.venv-peers``. A peer that does not
install or fails is named, and the run goes on. Results go to ``benchmarks/results.json``, from which
``report.py`` makes the figure of ``docs/results/benchmarks.md``, `make numbers` its tables.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import reward
import workloads
from rich.console import Console

import report
import unipac

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".venv-peers"
BANDIT_PEERS = (
    "mabwiser",
    "river",
    "vowpalwabbit",
    "coba",
    "contextualbandits",
    "bayesianbandits",
)
PEERS = (*BANDIT_PEERS, "rlberry-scool")
ALSO = {"coba": ("vowpalwabbit",)}
"""What a peer needs beside itself: coba's direct method is learned by Vowpal Wabbit."""

console = Console(stderr=True, highlight=False)


# -- peers ---------------------------------------------------------------------------------------------


class Peer:
    """A peer in its own environment, as a process that answers requests."""

    def __init__(self, name: str, kind: str = "peer") -> None:
        script = HERE / "peers" / f"{kind}_{name.replace('-', '_')}.py"
        self.name = name
        self.process = subprocess.Popen(
            [str(python_of(name)), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.versions: dict[str, str] = self._read()["versions"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer, which has an ``error`` if something went wrong."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            return self._read()
        except (OSError, ValueError):
            return {"error": "the process has ended"}

    def close(self) -> None:
        """No more requests."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply


def python_of(name: str) -> Path:
    return ENVIRONMENTS / name / "bin" / "python"


def install(name: str) -> str:
    """Make the environment of a peer unless it is there; returns why it failed, or nothing."""
    done = ENVIRONMENTS / name / ".installed"
    if done.exists():
        return ""
    console.print(f"installing {name} ...")
    base = sys._base_executable  # type: ignore[attr-defined]
    steps = (
        [base, "-m", "venv", str(ENVIRONMENTS / name)],
        [str(python_of(name)), "-m", "pip", "install", "--quiet", name, "numpy", *ALSO.get(name, ())],
    )
    for step in steps:
        outcome = subprocess.run(step, capture_output=True, text=True, check=False)
        if outcome.returncode != 0:
            lines = [line for line in outcome.stderr.splitlines() if line.startswith("ERROR")]
            return (lines or ["pip failed"])[0][:200]
    done.touch()
    return ""


def start_peers(names: list[str]) -> tuple[dict[str, Peer], dict[str, dict[str, Any]]]:
    """The peers that run, and what became of each."""
    peers: dict[str, Peer] = {}
    status: dict[str, dict[str, Any]] = {}
    for name in names:
        problem = install(name)
        if not problem:
            try:
                peers[name] = Peer(name)
            except (OSError, ValueError):
                problem = "installed, but does not start"
        status[name] = {"problem": problem} if problem else {"versions": peers[name].versions}
        if problem:
            console.print(f"[bold]{name}[/bold] is left out: {problem}")
    return peers, status


# -- measuring -----------------------------------------------------------------------------------------

Program = Callable[[], dict[str, Any]]


def alternate(programs: dict[str, Program], repetitions: int) -> dict[str, dict[str, Any]]:
    """Run all programs in turn, ``repetitions`` times after a first round that is not counted."""
    outcome: dict[str, dict[str, Any]] = {name: {"rounds_per_s": []} for name in programs}
    for repetition in range(repetitions + 1):
        for name, program in programs.items():
            if "error" in outcome[name]:
                continue
            reply = program()
            if "error" in reply:
                outcome[name] = {"error": reply["error"]}
                console.print(f"  {name}: {reply['error']}")
            elif repetition > 0:
                outcome[name]["rounds_per_s"].append(reply["rounds"] / reply["seconds"])
                outcome[name]["rounds"] = int(reply["rounds"])
                if "reward" in reply:
                    outcome[name]["mean_reward"] = round(float(reply["reward"]), 4)
        console.print(f"  repetition {repetition} of {repetitions}")
    return outcome


def spread(values: list[float]) -> dict[str, float]:
    return {"median": median(values), "low": min(values), "high": max(values)}


def bandits(
    peers: dict[str, Peer],
    folder: str,
    rounds: int,
    limit: float,
    repetitions: int,
    size: dict[str, int],
) -> dict[str, Any]:
    """(a) and (b): choose and update, one round at a time."""
    problem = workloads.sphere(rounds, **size)
    path = os.path.join(folder, f"sphere-{size['dim']}-{size['n_actions']}.npz")
    np.savez(path, **problem)
    d = size["dim"]
    programs: dict[str, Program] = {
        **{
            name: lambda agent=agent: workloads.one_by_one(agent(d), problem, limit)
            for name, agent in workloads.OURS.items()
        },
        "NumPy": lambda: workloads.numpy_oful(problem, limit),
    }
    request = {"problem": path, "rounds": rounds, "seconds": limit}
    for name in BANDIT_PEERS:
        if name in peers:
            programs[name] = lambda peer=peers[name]: peer.ask(**request)
    if "vowpalwabbit" in peers:
        programs["vowpalwabbit, text prepared"] = lambda: peers["vowpalwabbit"].ask(**request, prepared=True)
    return {"problem": {**size, "rounds": rounds}, "programs": alternate(programs, repetitions)}


def whole_runs(
    peers: dict[str, Peer], folder: str, rounds: int, limit: float, repetitions: int
) -> dict[str, Any]:
    """(c): ``play``, and the peers one round at a time on the first rounds of the same problem."""
    problem = workloads.sphere(rounds, **workloads.SMALL)
    path = os.path.join(folder, "whole.npz")
    np.savez(path, actions=problem["actions"][:20_000], rewards=problem["rewards"][:20_000])
    programs: dict[str, Program] = {
        name: lambda agent=agent: workloads.whole_run(agent, problem)
        for name, agent in {**workloads.OURS, "UPACOFUL": unipac.UPACOFUL}.items()
    }
    request = {"problem": path, "rounds": 20_000, "seconds": limit}
    for name in ("river", "coba", "vowpalwabbit"):
        if name in peers:
            programs[name] = lambda peer=peers[name]: peer.ask(**request)
    return {
        "problem": {**workloads.SMALL, "rounds": rounds},
        "programs": alternate(programs, repetitions),
    }


def fixed(rounds: int, repetitions: int) -> dict[str, Any]:
    work = workloads.fixed_arms(rounds)
    times: dict[str, list[float]] = {name: [] for name in work}
    for repetition in range(repetitions + 1):
        for name, run in work.items():
            spent = run()
            if repetition > 0:
                times[name].append(spent)
    share = {name: rounds // 5 if name.startswith("loop") else rounds for name in work}
    micro = {name: 1e6 * median(values) / share[name] for name, values in times.items()}
    ratios = {
        name: spread([a / b for a, b in zip(times[f"{name} free"], times[f"{name} fixed"], strict=True)])
        for name in (*workloads.OURS, "UPACOFUL", "loop")
    }
    problem = {**workloads.LARGE, "rounds": rounds}
    return {"problem": problem, "microseconds_per_round": micro, "ratios": ratios}


def exponent(counts: list[int], times: list[float]) -> float:
    """The slope of log time against log count."""
    return float(np.polyfit(np.log(counts), np.log(times), 1)[0])


def lsvi(peers: dict[str, Peer], folder: str, repetitions: int, longest: int) -> dict[str, Any]:
    """(e): LSVI-UCB on the same MDP, each with draws of its own."""
    path = os.path.join(folder, "mdp.npz")
    np.savez(path, **workloads.mdp_arrays(workloads.small_mdp()))
    counts = [20, 40, 80, 160]
    more = [10**3, 10**4, 10**5] if longest >= 10**5 else [10**3]
    times: dict[str, dict[int, list[float]]] = {"unipac": {K: [] for K in counts + more}}
    peer = peers.get("rlberry-scool")
    if peer is not None:
        times["rlberry-scool"] = {K: [] for K in counts}
    for repetition in range(repetitions + 1):
        for K in counts:
            spent = workloads.lsvi_ucb(K)
            if repetition > 0:
                times["unipac"][K].append(spent)
            if peer is not None and (repetition > 0 or counts[0] == K):
                reply = peer.ask(problem=path, episodes=K, seed=repetition)
                if "error" in reply:
                    console.print(f"  rlberry-scool: {reply['error']}")
                    times.pop("rlberry-scool")
                    peer = None
                elif repetition > 0:
                    times["rlberry-scool"][K].append(reply["seconds"])
        for K in more:
            spent = workloads.lsvi_ucb(K)
            if repetition > 0:
                times["unipac"][K].append(spent)
        console.print(f"  repetition {repetition} of {repetitions}")
    result: dict[str, Any] = {
        "problem": {**workloads.MDP, "instance": "river_swim"},
        "seconds": {name: {str(K): spread(v) for K, v in per.items()} for name, per in times.items()},
        "exponent": {
            name: spread([exponent(counts, [per[K][r] for K in counts]) for r in range(repetitions)])
            for name, per in times.items()
        },
    }
    result["exponent"]["unipac, long runs"] = spread(
        [exponent(more, [times["unipac"][K][r] for K in more]) for r in range(repetitions)]
        if len(more) > 1
        else [float("nan")]
    )
    if "rlberry-scool" in times:
        result["ratio"] = {
            str(K): spread(
                [a / b for a, b in zip(times["rlberry-scool"][K], times["unipac"][K], strict=True)]
            )
            for K in counts
        }
    return result


def ucbvi(peers: dict[str, Peer], folder: str, episodes: int, repetitions: int) -> dict[str, Any]:
    """(i): UCBVI and CertVI on the same MDP, each with draws of its own."""
    path = os.path.join(folder, "swim.npz")
    np.savez(path, **workloads.mdp_arrays(unipac.envs.river_swim(**workloads.SWIM)))
    programs: dict[str, Program] = {
        "UCBVI": lambda: workloads.ucbvi("UCBVI", episodes, workloads.SEED),
        "CertVI": lambda: workloads.ucbvi("CertVI", episodes, workloads.SEED),
    }
    if "rlberry-scool" in peers:
        peer, request = peers["rlberry-scool"], {"problem": path, "episodes": episodes, "agent": "UCBVI"}
        programs["rlberry-scool"] = lambda: peer.ask(**request, seed=workloads.SEED)
    best = float(unipac.envs.river_swim(**workloads.SWIM).optimal_value()[0])
    problem = {**workloads.SWIM, "instance": "river_swim", "episodes": episodes, "optimal_value": best}
    return {"problem": problem, "programs": alternate(programs, repetitions)}


def flute(repetitions: int, longest: int) -> dict[str, Any]:
    """(f): cost of an episode of the agents that count, against the episodes before it."""
    checkpoints = [
        k for k in (100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6) if k <= longest
    ]
    result: dict[str, Any] = {"problem": {**workloads.MDP, "instance": "river_swim"}}
    for kind in ("FLUTE", "NestedFLUTE"):
        list(workloads.flute_growth(kind, checkpoints[:2]))
        runs = [list(workloads.flute_growth(kind, checkpoints)) for _ in range(repetitions)]
        result[kind] = [
            {
                "episodes": at[0]["episodes"],
                "levels": at[0]["levels"],
                "microseconds_per_episode": spread([1e6 * row["per_episode"] for row in at]),
                "microseconds_per_episode_and_level": spread(
                    [1e6 * row["per_episode"] / row["levels"] for row in at]
                ),
            }
            for at in zip(*runs, strict=True)
        ]
        console.print(f"  {kind}")
    return result


def against_blas(work: dict[str, Any], ours: str, repetitions: int) -> dict[str, float]:
    """Our time over that of the products, repetition by repetition."""
    work[ours]()
    work["blas"]()
    pairs = [(workloads.seconds(work[ours]), workloads.seconds(work["blas"])) for _ in range(repetitions)]
    return spread([a / b for a, b in pairs])


def stored(episodes: int, repetitions: int) -> dict[str, Any]:
    work = workloads.stored_plan(episodes)
    ratio = against_blas(work, "plan", repetitions)
    problem = {"levels": work["levels"], "transitions": work["transitions"], "episodes": episodes}
    return {"problem": {**problem, "dim": 40, "n_actions": 5, "horizon": 4}, "ratio": ratio}


def choice(repetitions: int) -> dict[str, Any]:
    usual, without_sets = workloads.OURS["NestedOFUL"], workloads.OURS["NestedOFUL, tight=False"]
    return {
        "problem": {"dim": 128, "n_actions": 1000, "levels": 6},
        "tight": against_blas(workloads.large_choice(usual, worst=False), "choose", repetitions),
        "ratio": against_blas(workloads.large_choice(without_sets, worst=False), "choose", repetitions),
        "worst": against_blas(workloads.large_choice(without_sets, worst=True), "choose", repetitions),
    }


# -- the run -------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """What the figures depend on; no names of machines or folders."""
    model = platform.processor() or "unknown"
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    versions = {name: importlib.metadata.version(name) for name in ("unipac", "numpy", "numba", "scipy")}
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
        "load_before": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two repetitions of smaller problems")
    parser.add_argument("--only", default="a,b,c,d,e,f,g,h,i,start,reward", help="workloads, such as a,b,h")
    parser.add_argument("--out", type=Path, help="where to write; benchmarks/results.json by default")
    options = parser.parse_args()
    quick = options.quick
    wanted = options.only.split(",")
    partial = quick or options.only != parser.get_default("only")
    out = options.out or HERE / ("results-partial.json" if partial else "results.json")
    few, many = (2, 2) if quick else (5, 9)

    failed: list[str] = []
    results: dict[str, Any] = {
        "machine": machine(),
        "seed": workloads.SEED,
        "clock": "processor time of one thread",
        "quick": quick,
    }
    bandit, mdp = {"a", "b", "c"} & set(wanted), {"e", "i"} & set(wanted)
    needed = [p for p in PEERS if (bandit if p in BANDIT_PEERS else mdp)]
    if "reward" in wanted:
        needed = [p for p in PEERS if p in needed or p in (*reward.PEERS, "coba")]
    peers, results["peers"] = start_peers(needed)
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Callable[[], Any]] = {
            "a": lambda: bandits(peers, folder, 5000, 0.5, many, workloads.SMALL),
            "b": lambda: bandits(peers, folder, 200 if quick else 400, 1.0, few, workloads.LARGE),
            "c": lambda: whole_runs(peers, folder, 10**4 if quick else 10**5, 0.5, many),
            "d": lambda: fixed(500 if quick else 3000, many),
            "e": lambda: lsvi(peers, folder, 1 if quick else few, 10**3 if quick else 10**5),
            "f": lambda: flute(1 if quick else 3, 10**4 if quick else 10**6),
            "g": lambda: stored(200 if quick else 1000, many),
            "h": lambda: choice(many),
            "i": lambda: ucbvi(peers, folder, 300 if quick else 1000, 1 if quick else 3),
            "start": workloads.start,
            "reward": lambda: reward.measure(
                peers, Peer("coba", "ope") if "coba" in peers else None, Path(folder), quick, console.print
            ),
        }
        for name in wanted:
            console.print(f"[bold]{name}[/bold]: {report.TITLES[name]}")
            try:
                results[name] = runs[name]()
            except Exception:  # the others took their time; this one is left out, and the exit status says so
                console.print_exception()
                failed.append(name)
    for peer in peers.values():
        peer.close()
    whole = out if partial or not failed else HERE / "results-partial.json"
    whole.write_text(json.dumps(results, indent=1, default=float) + "\n")
    report.print_tables(results)
    console.print(f"written to {whole.name}; `make numbers` and report.py renew docs/results/benchmarks.md")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

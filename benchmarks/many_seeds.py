"""Many seeds on one GPU and on the cores beside it: equality, speed, validity at scale; writes ``many.json``.

python benchmarks/many_seeds.py [check target cores twenty agents valid]

It needs an NVIDIA GPU and the extra ``cuda`` (`make bench-many`). Seconds are those of the kernel, compiled before,
with arrays on the GPU; ``call_seconds`` are those of the whole of `play_many`. Parts that are not run keep what
they had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from unipac import envs

ROOT = Path(__file__).parents[1]
WRITTEN = Path(__file__).with_suffix(".json")
NAMES = "mistakes", "last_mistake", "level", "left", "undercut", "refuted"
SPHERE = envs.sphere(5, 20, noise=0.1)
CONTROL = 5.0
"""The controls are told a fifth of the noise."""
WILD = 20.0
"""The noise of the control of UPACOFUL, whose own radius does not depend on R: 20 times the largest it is made for."""


def nested(dim: int = 5, **changes: Any) -> Any:
    return unipac.NestedOFUL(dim, **{"noise": 0.1, "tight": False, **changes})


def guarded(dim: int = 5, **changes: Any) -> Any:
    return unipac.Guarded(unipac.LinUCB(dim), **{"noise": 0.1, "tight": False, **changes})


def machine() -> dict[str, Any]:
    from numba import cuda as gpu

    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    driver = (
        subprocess.run(asked, capture_output=True, text=True, check=True)
        .stdout.splitlines()[0]
        .split(", ")[1]
    )
    name = gpu.get_current_device().name
    return {
        "gpu": name.decode() if isinstance(name, bytes) else str(name),
        "driver": driver,
        "cores": len(os.sched_getaffinity(0)),
        "numpy": np.__version__,
    }


def kernel_seconds(agent: Any, instance: Any, rounds: int, seeds: int, repeats: int = 2) -> float:
    """Of one launch, the least of some."""
    from numba import cuda as gpu

    from unipac.many import cuda, record, settings
    from unipac.many.run import EPS

    player = settings.player_of(agent)
    world = settings.world_of(instance, player.dim, player.action_norm)
    asked = record.Asked(rounds, np.array([rounds]), np.array(EPS))
    fixed, numbers = cuda.constants(player, world, asked, settings.capacity(player, world, rounds))
    kernel = cuda.kernel_for(fixed)
    given = [gpu.to_device(array) for array in (world.theta, world.sets, world.runs)]
    grids = [gpu.to_device(array) for array in (asked.checkpoints, asked.eps)]
    arrays = [gpu.to_device(array) for array in record.room(asked, seeds)]

    def seconds(length: int) -> float:
        begin = time.perf_counter()
        kernel[cuda.blocks_for(seeds), cuda.BLOCK](0, *numbers, *given, length, *grids, *arrays)
        gpu.synchronize()
        return time.perf_counter() - begin

    seconds(2)  # compiles
    return min(seconds(rounds) for _ in range(repeats))


def equal(a: Any, b: Any) -> dict[str, float]:
    """In which share of the seeds two devices tell the same."""
    regret = (np.abs(a.regret - b.regret) < 1e-6).all(axis=1).mean()
    same = {name: getattr(a, name) == getattr(b, name) for name in NAMES}
    return {"regret": float(regret)} | {
        name: float(found.reshape(len(found), -1).all(axis=1).mean()) for name, found in same.items()
    }


def settings_now() -> dict[str, Any]:
    from unipac.many import cuda

    return {
        "registers": cuda.REGISTERS, "block": cuda.BLOCK, "at_a_time": cuda.AT_A_TIME, "paced": cuda.PACED
    }  # fmt: skip


def check() -> list[dict[str, Any]]:
    """Every agent of the tests on the GPU and the cores."""
    sys.path.insert(0, str(ROOT / "tests"))
    from many.simulated import CASES  # type: ignore[import-not-found]

    found = []
    for name, (make, instance) in CASES.items():
        given: dict[str, Any] = {"rounds": 300, "seeds": 512, "checkpoints": [10, 300]}
        runs = [unipac.play_many(make(), instance, device=device, **given) for device in ("cuda", "cpu")]
        found.append({"case": name, "seeds": 512, "rounds": 300, "equal": equal(*runs)})
    return found


def target() -> dict[str, Any]:
    """10^5 seeds of 20,000 rounds; 2,000 of them on the cores as well."""
    from scipy import stats

    rounds, seeds, fewer = 20_000, 100_000, 2_000
    seconds = kernel_seconds(nested(), SPHERE, rounds, seeds)
    begin = time.perf_counter()
    runs = unipac.play_many(nested(), SPHERE, rounds=rounds, seeds=seeds, device="cuda")
    call = time.perf_counter() - begin
    rest = runs.regret[fewer:, 0]
    begin = time.perf_counter()
    cores = unipac.play_many(nested(), SPHERE, rounds=rounds, seeds=fewer)
    cores_seconds = time.perf_counter() - begin
    some = unipac.play_many(nested(), SPHERE, rounds=rounds, seeds=fewer, device="cuda")
    return {
        "seeds": seeds,
        "rounds": rounds,
        "seconds": seconds,
        "call_seconds": call,
        "settings": settings_now(),
        "cores_seeds": fewer,
        "cores_seconds": cores_seconds,
        "equal": equal(some, cores),
        "ks": float(stats.ks_2samp(cores.regret[:, 0], rest).pvalue),
    }


def cores() -> dict[str, Any]:
    """Microseconds a round of NestedOFUL on one core, two and all; of `play`, and of drawing alone."""
    from unipac.many import settings, worlds

    found = {}
    for rounds, d, n in ((20_000, 5, 20), (5_000, 20, 10)):
        instance = envs.sphere(d, n, noise=0.1)
        unipac.play_many(nested(d), instance, rounds=100, seeds=4)
        row: dict[str, Any] = {"n": n, "rounds": rounds, "many": {}}
        for workers in (1, 2, len(os.sched_getaffinity(0))):
            begin = time.perf_counter()
            unipac.play_many(nested(d), instance, rounds=rounds, seeds=8 * workers, workers=workers)
            row["many"][str(workers)] = (time.perf_counter() - begin) / (8 * workers * rounds) * 1e6
        given = instance.rounds(0, rounds, seed=0)
        nested(d).play(given.actions[:5], given.rewards[:5])
        begin = time.perf_counter()
        nested(d).play(given.actions, given.rewards)
        row["play"] = (time.perf_counter() - begin) / rounds * 1e6
        world = settings.world_of(instance, d, 1.0)
        X, noise = np.empty((2_000, n, d)), np.empty(2_000)
        worlds.write_rounds(world, 0, 0, X[:2], noise[:2])
        begin = time.perf_counter()
        worlds.write_rounds(world, 0, 0, X, noise)
        row["drawing"] = (time.perf_counter() - begin) / 2_000 * 1e6
        found[str(d)] = row
    return found


def twenty() -> dict[str, Any]:
    """D = 20, 10 actions."""
    return {
        "seeds": 50_000,
        "rounds": 2_000,
        "settings": settings_now(),
        "seconds": kernel_seconds(nested(20), envs.sphere(20, 10, noise=0.1), 2_000, 50_000),
    }


def agents() -> dict[str, Any]:
    """The other agents: 10^5 seeds of 2,000 rounds."""
    cases = {
        "UPACOFUL": (unipac.UPACOFUL(5, noise=0.1), SPHERE),
        "OFUL": (unipac.OFUL(5, noise=0.1, tight=False), SPHERE),
        "LinUCB": (unipac.LinUCB(5), SPHERE),
        "Guarded": (guarded(), SPHERE),
        "Guarded gate=1": (guarded(gate=1.0), SPHERE),
        "NestedOFUL soare": (nested(), envs.soare(5, noise=0.1)),
        "NestedOFUL killer": (nested(2), envs.killer(500)),
    }
    found = {
        name: kernel_seconds(agent, instance, 2_000, 100_000) for name, (agent, instance) in cases.items()
    }
    return {"seeds": 100_000, "rounds": 2_000, "seconds": found}


def valid() -> list[dict[str, Any]]:
    """10^6 runs of 1,000 rounds, d = 3, 5 actions, noise 0.5; 10^5 of the controls."""
    warnings.simplefilter("ignore")  # the controls refute what they are told
    made: dict[str, Callable[..., Any]] = {
        "NestedOFUL": lambda **told: nested(3, **told),
        "UPACOFUL": lambda **told: unipac.UPACOFUL(3, **told),
        "UPACOFUL mixture": lambda **told: unipac.UPACOFUL(3, radius="mixture", **told),
        "Guarded": lambda **told: guarded(3, gate=1.0, **told),
    }
    found = []
    for delta in (0.05, 1e-3):
        for name, make in made.items():
            for told, seeds in ((0.5, 1_000_000), (0.5 / CONTROL, 100_000)):
                wild = name == "UPACOFUL" and told < 0.5
                instance = envs.sphere(3, 5, noise=WILD if wild else 0.5)
                agent = make(noise=told, delta=delta)
                begin = time.perf_counter()
                runs = unipac.play_many(agent, instance, rounds=1_000, seeds=seeds, device="cuda")
                seconds = time.perf_counter() - begin
                row = {"agent": name, "delta": delta, "told": told, "true": instance.noise}
                row |= {"seeds": seeds, "rounds": 1_000, "seconds": seconds}
                row |= {what: int(getattr(runs, what).sum()) for what in ("left", "undercut", "refuted")}
                found.append(row | {"left_high": float(runs.rate("left").high)})
    return found


def speed_words(results: dict[str, Any]) -> str:
    """What the page says of speed."""
    m, goal, twenty = results["machine"], results["target"], results["twenty"]
    rounds = goal["seeds"] * goal["rounds"]
    on_cores = goal["cores_seeds"] * goal["rounds"] / goal["cores_seconds"]
    fast = twenty["seeds"] * twenty["rounds"] / twenty["seconds"]
    five, large = results["cores"]["5"], results["cores"]["20"]
    least = min(min(row["equal"].values()) for row in results["check"])
    words = [
        f"One {m['gpu']} and the {m['cores']} cores beside it, in one run. NestedOFUL on `sphere(5, 20)`, "
        f"{goal['seeds']:,} seeds of {goal['rounds']:,} rounds: {goal['seconds']:.2f} s, "
        f"{rounds / goal['seconds'] / 1e6:.0f} million rounds a second ({goal['call_seconds']:.2f} s with all "
        f"transfers); the cores play {on_cores / 1e6:.1f} million a second together. {goal['cores_seeds']:,} of "
        f"these seeds were played on the cores as well: the regret is the same in "
        f"{100 * goal['equal']['regret']:.1f} % of them, mistakes and levels in "
        f"{100 * min(goal['equal']['mistakes'], goal['equal']['level']):.1f} %, and the law of the regret of the "
        f"other seeds does not differ visibly (Kolmogorov–Smirnov, p = {goal['ks']:.2f}). In "
        f"{len(results['check'])} further cases, {results['check'][0]['seeds']} seeds each, at least "
        f"{100 * least:.1f} % of the seeds tell the same.",
        f"In d = 20 with 10 actions the GPU plays {fast / 1e6:.0f} million rounds a second, "
        f"{fast * large['many']['1'] / 1e6:.0f} times one core (blocks of {twenty['settings']['block']} threads).",
        "| µs a round on cores | one core | two | all | `play`, one core | drawing alone |\n|---|---|---|---|---|---|\n"
        + "\n".join(
            f"| d = {d}, {row['n']} actions | "
            + " | ".join(f"{us:.2f}" for us in (*row["many"].values(), row["play"], row["drawing"]))
            + " |"
            for d, row in (("5", five), ("20", large))
        ),
        f"`play` is given its rounds and knows no truth; with the same drawing it would play "
        f"{five['many']['1'] / (five['play'] + five['drawing']):.1f} and "
        f"{large['many']['1'] / (large['play'] + large['drawing']):.1f} times as fast as `play_many` on one core, "
        "which also looks whether a set was left and a certificate undercut.",
    ]
    a = results["agents"]
    rates = {name: a["seeds"] * a["rounds"] / seconds for name, seconds in a["seconds"].items()}
    listed = ", ".join(f"{name} {rate / 1e6:,.0f}" for name, rate in rates.items())
    words.append(
        f"Others, in millions of rounds a second on the GPU ({a['seeds']:,} seeds of {a['rounds']:,} rounds, "
        f"`sphere(5, 20)` unless another instance is named): {listed}."
    )
    return "\n\n".join(words)


def valid_words(results: dict[str, Any]) -> str:
    """What the page says of validity."""
    lines = [
        "| agent | δ | told R, true | runs | left a set | at most, 97.5 % | undercut | refuted |",
        "|" + "---|" * 8,
    ]
    for row in results["valid"]:
        lines.append(
            f"| {row['agent']} | {row['delta']:g} | {row['told']:g}, {row['true']:g} | {row['seeds']:,} | "
            f"{row['left']:,} | {row['left_high']:.3g} | {row['undercut']:,} | {row['refuted']:,} |"
        )
    return "\n".join(lines)


PARTS = {"check": check, "target": target, "cores": cores, "twenty": twenty, "agents": agents, "valid": valid}


def main() -> None:
    """Run some parts, by default all."""
    from unipac.many import run

    problem = run.missing()
    if problem:
        sys.exit(problem)
    results = json.loads(WRITTEN.read_text()) if WRITTEN.exists() else {}
    results["machine"] = machine()
    for name in sys.argv[1:] or PARTS:
        results[name] = PARTS[name]()
        print(name, json.dumps(results[name], indent=1), flush=True)
        WRITTEN.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

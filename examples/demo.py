"""Runs the agents side by side, prints what happened and draws it.

python examples/demo.py [--rounds 20000] [--seeds 10] [--out results]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import altair as alt
import numpy as np

import unipac
from unipac import metrics, theory

DELTA = 0.05
NOISE = 0.5
DIM = 3
EPS = 2.0 ** -np.arange(0, 9)
FORCED = [10**k for k in range(2, 19)]

AGENTS = {
    "NestedOFUL": lambda d: unipac.NestedOFUL(d, delta=DELTA, noise=NOISE),
    "OFUL (mixture)": lambda d: unipac.OFUL(d, delta=DELTA, noise=NOISE, radius="mixture"),
    "UPACOFUL (mixture)": lambda d: unipac.UPACOFUL(d, delta=DELTA, noise=NOISE, radius="mixture"),
    "UPACOFUL (as printed)": lambda d: unipac.UPACOFUL(d, delta=DELTA, noise=NOISE),
    "LinUCB": lambda d: unipac.LinUCB(d),
}
COLORS = alt.Scale(
    domain=["NestedOFUL", "OFUL (mixture)", "UPACOFUL (mixture)", "bound for NestedOFUL"],
    range=["#0072b2", "#d55e00", "#56b4e9", "#000000"],
)


def contexts(rounds: int, seeds: int) -> dict[str, list[unipac.Trace]]:
    """Random contexts: 10 actions on the unit sphere in each round."""
    traces: dict[str, list[unipac.Trace]] = {name: [] for name in AGENTS}
    for seed in range(seeds):
        instance = unipac.envs.sphere(DIM, 10, noise=NOISE, seed=seed)
        for name, make in AGENTS.items():
            traces[name].append(make(DIM).play(instance, rounds=rounds, seed=seed))
        progress(f"seed {seed + 1} of {seeds}")
    progress("")
    return traces


def progress(text: str) -> None:
    """Show where we are, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def table(traces: dict[str, list[unipac.Trace]]) -> None:
    """Regret, mistakes and certificates, averaged over the seeds."""
    rounds = len(traces["NestedOFUL"][0])
    print(
        f"\nRandom contexts: d = {DIM}, 10 actions, noise {NOISE}, {rounds:,} rounds, "
        f"mean over {len(traces['NestedOFUL'])} seeds"
    )
    print(f"{'':24}{'regret':>9}{'gap > 0.1':>11}{'last certificate':>18}{'certificate < gap':>19}")
    for name, runs in traces.items():
        regret = np.mean([metrics.regret(run.gap)[-1] for run in runs])
        mistakes = np.mean([metrics.mistakes(run.gap, 0.1) for run in runs])
        certificate = np.mean([run.certificate[-1] for run in runs])
        broken = sum(metrics.certificate_violations(run.certificate, run.gap).sum() for run in runs)
        claims = (
            ("none", "makes none") if np.isnan(certificate) else (f"{certificate:.3f}", f"{broken} rounds")
        )
        print(f"{name:24}{regret:9.1f}{mistakes:11.1f}{claims[0]:>18}{claims[1]:>19}")
    print(
        "A certificate bounds the gap of its round; the last column counts the rounds in which it failed to."
    )


def bad_pulls(agent: unipac.OFUL, forced: int) -> int:
    """Pulls of a bad arm after so many rounds that offered only the good one."""
    agent.update(agent.choose([[1.0, 0.0]]), 0.5, times=forced)
    return int((agent.play(unipac.envs.killer(forced), rounds=3000).gap > 0.49).sum())


def killer() -> list[dict[str, object]]:
    """The two-armed instance on which OFUL does not converge."""
    rows = []
    print(f"\nPulls of a bad arm (gap 1/2) after K rounds without a choice; noise = {NOISE}, delta = {DELTA}")
    shown = [10**3, 10**6, 10**9, 10**12, 10**18]
    print(f"{'K':24}" + "".join(f"{k:>9.0e}" for k in shown))
    for name in ("OFUL (mixture)", "NestedOFUL", "UPACOFUL (mixture)", "LinUCB"):
        pulls = {forced: bad_pulls(AGENTS[name](2), forced) for forced in FORCED}
        if name in COLORS["domain"]:
            rows += [{"agent": name, "K": float(k), "pulls": n} for k, n in pulls.items()]
        print(f"{name:24}" + "".join(f"{pulls[k]:9}" for k in shown))
    return rows


def chart(traces: dict[str, list[unipac.Trace]], pulls: list[dict[str, object]]) -> alt.HConcatChart:
    """Left: mistakes on the killer against K. Right: N_ε against ε on random contexts, under its bound."""
    log10 = alt.Scale(type="log", nice=False)
    powers = alt.Axis(format="~e", values=[10.0**k for k in range(3, 19, 3)], title="forced rounds K before")
    left = (
        alt.Chart(
            alt.Data(values=pulls),
            title="After a longer past OFUL tries the bad arm more often",
            width=340,
            height=280,
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("K:Q", scale=log10, axis=powers),
            y=alt.Y("pulls:Q", title="pulls of the bad arm"),
            color=alt.Color("agent:N", scale=COLORS, title=None),
        )
    )
    counts = []
    for name in ("NestedOFUL", "OFUL (mixture)", "UPACOFUL (mixture)"):
        mean = np.mean([metrics.mistakes(run.gap, EPS) for run in traces[name]], axis=0)
        counts += [
            {"agent": name, "eps": e, "n": n}
            for e, n in zip(EPS.tolist(), mean.tolist(), strict=True)
            if n > 0
        ]
    for e in EPS.tolist():
        bound = theory.mistake_bound(e, DIM, DELTA, noise=NOISE, nested=True, all_data=True)
        counts.append({"agent": "bound for NestedOFUL", "eps": e, "n": bound})
    right = (
        alt.Chart(
            alt.Data(values=counts),
            title="Mistakes for every ε at once, under the bound",
            width=340,
            height=280,
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("eps:Q", scale=log10, title="ε", axis=alt.Axis(values=EPS.tolist()[::2], format=".3~f")),
            y=alt.Y(
                "n:Q",
                scale=alt.Scale(type="log"),
                title="rounds with a gap above ε",
                axis=alt.Axis(format="~e"),
            ),
            color=alt.Color("agent:N", scale=COLORS, title=None),
        )
    )
    return (left | right).configure_legend(orient="bottom", columns=4).configure_axis(grid=False)


def main() -> None:
    """Run, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20_000, help="rounds of each run on random contexts")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each agent")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for the pictures")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    traces = contexts(arguments.rounds, arguments.seeds)
    table(traces)
    pulls = killer()
    picture = chart(traces, pulls)
    arguments.out.mkdir(parents=True, exist_ok=True)
    picture.save(arguments.out / "demo.png", scale_factor=2)
    picture.save(arguments.out / "demo.html", inline=True)
    print(f"\nPicture: {arguments.out}/demo.png, interactive: {arguments.out}/demo.html", end="")
    print(f" ({time.perf_counter() - begin:.0f} s)")


if __name__ == "__main__":
    main()

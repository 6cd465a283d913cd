"""A deployment with a log on disk: time and memory of many decisions, snapshots, opening, replay, bytes per decision.

python benchmarks/deployment_log.py [DECISIONS] [memory | second | never | always]
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import unipac
from unipac import features

IDS = ["tiny", "small", "code", "long", "large"]
WINDOW = 1000


class Clock:
    """A second for each decision."""

    now = 0.0

    def __call__(self):
        """What it says."""
        return self.now


def resident():
    """Megabytes of memory that the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def deployed(log=None, sync="second"):
    phi = features.Blocks(IDS, features.Numbers(5))
    agent = unipac.Guarded(unipac.LinUCB(phi.dim, alpha=0.5), noise=0.15, norm=2.0)
    told = {} if log is None else {"log": log, "sync": sync}
    return unipac.Deployment(agent, phi, window=float(WINDOW), default=None, clock=Clock(), **told)


def run(d, decisions, marks=()):
    """Processor time of each block of 1,000 decisions and their rewards, and the longest calls."""
    rng = np.random.default_rng(0)
    contexts, rewards = rng.uniform(-1, 1, (997, 5)), rng.uniform(0, 1, 991).tolist()
    clock, blocks, walls = d._uptime.clock, [], np.empty(min(decisions, 10**6))
    begin = time.thread_time()
    for k in range(decisions):
        clock.now += 1.0
        start = time.perf_counter()
        d.decide(contexts[k % 997], IDS, id=k)
        d.reward(k, rewards[k % 991])
        walls[k % len(walls)] = time.perf_counter() - start
        if k % 1000 == 999:
            now = time.thread_time()
            blocks.append((now - begin) * 1e3)
            begin = now
        if k + 1 in marks:
            us = np.median(blocks[-50:])
            print(f"{k + 1:>9,} decisions: {us:.1f} µs (median of blocks), {resident():.0f} MB", flush=True)
    return np.array(blocks), walls


def main():
    decisions = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000
    sync = sys.argv[2] if len(sys.argv) > 2 else "second"
    marks = {1000, 10_000, 10**5, 3 * 10**5, 10**6}
    with tempfile.TemporaryDirectory(dir=os.environ.get("WHERE")) as place:
        folder = Path(place) / "log"
        d = deployed(None if sync == "memory" else folder, sync)
        blocks, walls = run(d, decisions, marks)
        q = np.quantile(walls, [0.5, 0.99, 0.999]) * 1e6
        print(f"{sync}: {np.median(blocks):.1f} µs of processor time (least {blocks.min():.1f}); "
              f"wall p50 {q[0]:.0f}, p99 {q[1]:.0f}, p99.9 {q[2]:.0f} µs")  # fmt: skip
        if sync == "memory":
            return
        size = sum(p.stat().st_size for p in folder.glob("*.log"))
        index = (folder / "index.sqlite").stat().st_size
        print(
            f"disk: {size / decisions:.0f} bytes a decision in segments, {index / decisions:.0f} in the index"
        )
        begin = time.perf_counter()
        d.checkpoint()
        print(f"checkpoint {time.perf_counter() - begin:.2f} s")
        d.shut()
        begin = time.perf_counter(), time.process_time()
        d = unipac.Deployment.open(folder)
        print(f"open from a snapshot {time.perf_counter() - begin[0]:.2f} s")
        digest = d.digest()
        d.shut()
        for snapshot in folder.glob("snapshot-*"):
            snapshot.unlink()
        begin = time.process_time()
        d = unipac.Deployment.open(folder)
        took, events = time.process_time() - begin, d._seq
        print(f"replayed {events:,} events in {took:.1f} s of processor time: {took / events * 1e6:.1f} µs an event; "
              f"{'equal' if d.digest() == digest else 'DIFFERENT'}")  # fmt: skip


if __name__ == "__main__":
    main()

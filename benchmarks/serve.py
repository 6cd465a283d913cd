"""Speed of the service beside FastAPI, latency at a fixed rate, and how long a start takes.

    make bench-serve                          all of it, about 10 minutes
    make bench-serve ARGS='--only throughput --seconds 3 --repetitions 2'

It needs wrk, hey and taskset (Debian's packages wrk, hey, util-linux) and installs FastAPI beside the service. Server
and client share one core. Throughput is told as requests per processor second of the server: so other work on the
machine matters less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.serving import Server, free_port, postgresql
from unipac.serve import tokens

MODELS = ("tiny", "small", "code", "long", "large")
TABLE = {
    "window": 3600,
    "default": 0.0,
    "max_pending": 1_000_000,
    "agent": {
        "agent": "Guarded", "noise": 0.15, "norm": 2.0, "reward_range": [-0.5, 1.0],
        "heuristic": {"agent": "LinUCB", "alpha": 0.5},
    },
    "features": {
        "kind": "Blocks", "ids": list(MODELS),
        "of": {
            "kind": "Columns", "ranges": {"tokens": [0, 8000]}, "booleans": ["urgent"],
            "categories": {"kind": ["chat", "code", "summary"]}, "missing": "error", "unknown": "error",
        },
    },
}  # fmt: skip
CONTEXT = {"tokens": 812, "kind": "chat", "urgent": False}
PEER = """
import os, sys, uuid
from fastapi import FastAPI
from pydantic import BaseModel
import uvicorn
app = FastAPI()
@app.post("/constant")
async def constant():
    return {"id": "r1", "action": "large", "mean": 0.52, "lcb": 0.31, "ucb": 0.68, "certificate": 0.2,
            "certified": True, "propensity": 0.99, "holdout": False, "seq": 18}
if len(sys.argv) > 2:
    import json
    from unipac import Deployment
    from unipac.serve import specs
    spec = specs.made(json.loads(sys.argv[2]), modules=False)
    deployment = Deployment(spec.agent, spec.features, **spec.settings)
    class Decide(BaseModel):
        id: str | None = None
        context: dict
        actions: list[str]
        exclude: list[str] = []
    class Reward(BaseModel):
        id: str
        value: float
    @app.post("/decisions")
    async def decide(told: Decide):
        d = deployment.decide(told.context, told.actions, told.id or str(uuid.uuid4()), told.exclude)
        return {"id": d.id, "action": d.label, "mean": d.mean, "lcb": d.lcb, "ucb": d.ucb, "certificate": d.certificate,
                "certified": d.certified, "propensity": d.propensity, "holdout": d.holdout, "seq": d.seq}
    @app.post("/fill/{run}/{count}")
    async def fill(run: str, count: int):
        for k in range(1, count + 1):
            deployment.decide({"tokens": 812, "kind": "chat", "urgent": False},
                              ["tiny", "small", "code", "long", "large"], f"{run}-{k}")
    @app.post("/rewards")
    async def reward(told: Reward):
        return {"new": deployment.reward(told.id, told.value)}
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False, loop="uvloop", http="httptools")
"""
LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %(token)s"
local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, string.format('%(body)s', n))
end
"""
FILLED = 15_000
"""Decisions that wait for rewards, per second of load; each is rewarded once, so they must not run out."""
MANY_WAIT = 150_000
"""Decisions that wait while a snapshot is kept."""
ONE_CORE = ["taskset", "-c", "0"]


class Peer:
    """FastAPI with a constant route, or around a deployment in memory."""

    def __init__(self, folder, *more):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        path = folder / "peer.py"
        path.write_text(PEER)
        self.process = subprocess.Popen([*ONE_CORE, sys.executable, str(path), str(self.port), *more])
        end = time.monotonic() + 60
        while subprocess.run(["curl", "-s", "-o", os.devnull, self.address]).returncode:
            assert time.monotonic() < end
            time.sleep(0.1)

    def stop(self):
        """End it."""
        self.process.terminate()
        self.process.wait()


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(folder, pid, url, body, token, seconds, connections=64):
    """Requests per processor second of the server, and per second of the clock; none may be refused."""
    script = folder / "load.lua"
    script.write_text(LUA % {"token": token, "body": body})
    before = processor_seconds(pid)
    told = subprocess.run(
        [*ONE_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    used = processor_seconds(pid) - before
    count = int(re.search(r"(\d+) requests in", told)[1])
    assert "Non-2xx" not in told, told  # refusals are cheaper than answers
    return count / used, float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1])


def decisions(client, prefix, count):
    """Make decisions in batches of 100."""
    for start in range(0, count, 100):
        client.batch(
            {"decide": {"id": f"{prefix}-{k}", "context": CONTEXT, "actions": MODELS}}
            for k in range(start + 1, start + 101)
        )


def throughput(folder, store, name, repetitions, seconds):
    secret, kept = tokens.made("bench", tokens.SCOPES)
    tokens.add(folder / "tokens", kept)
    constant, memory = Peer(folder), Peer(folder, json.dumps(TABLE))
    server = Server(folder, {"router": TABLE}, store, tokens="tokens", name=name)
    server.start(before=ONE_CORE)
    path = f"{server.address}/v1/deployments/router"
    question = (
        '{"id":"%(run)s-%%d","context":' + json.dumps(CONTEXT) + ',"actions":' + json.dumps(MODELS) + "}"
    )
    answer = '{"id":"%(run)s-%%d","value":0.5}'
    rows, client = [], server.client(secret).deployment("router")
    for run in range(repetitions):
        row = {
            "constant": load(folder, constant.process.pid, f"{constant.address}/constant", "{}", "", seconds)
        }
        for what, pid, url in (
            ("service", server.process.pid, path), ("memory", memory.process.pid, memory.address)
        ):  # fmt: skip
            key = {"run": f"{what}{run}"}
            row[f"{what} decide"] = load(folder, pid, f"{url}/decisions", question % key, secret, seconds)
            if what == "service":
                decisions(client, f"r{what}{run}", FILLED * seconds)
            else:
                subprocess.run(
                    ["curl", "-s", "-X", "POST", f"{url}/fill/r{what}{run}/{FILLED * seconds}"], check=True
                )
            key = {"run": f"r{what}{run}"}
            row[f"{what} reward"] = load(folder, pid, f"{url}/rewards", answer % key, secret, seconds)
        before = processor_seconds(server.process.pid)
        decisions(client, f"batch{run}", 3000)
        row["batch decide"] = 3000 / (processor_seconds(server.process.pid) - before), 0.0
        rows.append(row)
        print(json.dumps({key: [round(one) for one in value] for key, value in row.items()}), flush=True)
    for peer in (constant, memory):
        peer.stop()
    server.stop()
    found = {key: statistics.median(row[key][0] for row in rows) for key in rows[0]}
    for what in ("decide", "reward"):
        for beside in ("constant", f"memory {what}"):
            ratio = statistics.median(row[f"service {what}"][0] / row[beside][0] for row in rows)
            print(f"{name} {what}: {ratio:.2f} of {beside}")
            found[f"{what} / {beside.split()[0]}"] = ratio
    print(f"{name} batches of 100: {found['batch decide']:,.0f} decisions per processor second")
    return found


def asked(url, secret, body, seconds):
    """Milliseconds of the answers at 200 requests a second: the median, the 99th percentile, the longest."""
    told = subprocess.run(
        ["hey", "-z", f"{seconds}s", "-c", "10", "-q", "20", "-m", "POST", "-T", "application/json", "-H",
         f"Authorization: Bearer {secret}", "-d", body, "-o", "csv", url],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    times = sorted(1000 * float(line.split(",")[0]) for line in told.splitlines()[1:])
    return [times[len(times) // 2], times[int(0.99 * len(times))], times[-1]]


def latency(folder, store, name, repetitions, seconds):
    secret, kept = tokens.made("bench", tokens.SCOPES)
    tokens.add(folder / "tokens", kept)
    constant = Peer(folder)
    server = Server(folder, {"router": TABLE}, store, tokens="tokens", name=f"{name}-latency")
    server.start()
    body = json.dumps({"context": CONTEXT, "actions": MODELS})
    rows = []
    for _ in range(repetitions):
        row = {}
        for what, url in (
            (name, f"{server.address}/v1/deployments/router/decisions"), ("constant", f"{constant.address}/constant")
        ):  # fmt: skip
            row[what] = asked(url, secret, body, seconds)[:2]
        times = []
        with open(folder / "bare", "ab") as file:
            for _ in range(50 * seconds):
                begin = time.perf_counter()
                os.write(file.fileno(), bytes(500))
                os.fdatasync(file.fileno())
                times.append(time.perf_counter() - begin)
                time.sleep(0.005)
        times.sort()
        row["append + fdatasync"] = [1000 * times[len(times) // 2], 1000 * times[int(0.99 * len(times))]]
        rows.append(row)
        print(json.dumps({key: [round(one, 2) for one in value] for key, value in row.items()}), flush=True)
    constant.stop()
    server.stop()
    return {key: [statistics.median(row[key][k] for row in rows) for k in (0, 1)] for key in rows[0]}


def snapshots(folder):
    """How long answers take, at 200 requests a second, while a snapshot of many decisions that wait is kept."""
    server = Server(folder, {"router": TABLE}, name="snapshots", snapshot_every=MANY_WAIT)
    server.start()
    decisions(server.client().deployment("router"), "waits", MANY_WAIT - 1000)
    url, body = (
        f"{server.address}/v1/deployments/router/decisions",
        json.dumps({"context": CONTEXT, "actions": MODELS}),
    )
    found = {"waiting": MANY_WAIT}
    for when in ("during", "after"):
        found[when] = asked(url, "", body, 8)
        found[f"snapshots {when}"] = [
            line["seconds"] for line in server.journal() if line["event"] == "snapshot"
        ]
    server.stop()
    assert len(found["snapshots during"]) == len(found["snapshots after"]) == 1
    print(json.dumps(found), flush=True)
    return found


def starts(folder, events):
    """Seconds of processor time and of the clock until a service is ready, from nothing and from a snapshot."""
    import sqlite3

    table = {key: value for key, value in TABLE.items() if key != "window"}
    server = Server(folder, {"router": table}, name="starts", snapshot_every=10**9)
    server.start()
    client = server.client().deployment("router")
    for start in range(0, events // 2, 500):
        ids = [f"s-{k}" for k in range(start, start + 500)]
        client.batch({"decide": {"id": one, "context": {**CONTEXT, "tokens": 7 * k % 8000}, "actions": MODELS}}
                     for k, one in enumerate(ids))  # fmt: skip
        client.batch({"reward": {"id": one, "value": 0.5}} for one in ids)
    assert server.stop() == 0
    found = {"bytes per pair": (folder / "log.sqlite").stat().st_size / (events / 2)}
    for how in ("snapshot", "nothing"):
        if how == "nothing":
            with sqlite3.connect(folder / "log.sqlite") as db:
                db.execute("delete from snapshot")
            db.close()
        server.said.unlink()
        begin = time.perf_counter()
        server.start(wait=False)
        server.wait_until("ready", 600)
        found[how] = {
            "seconds": time.perf_counter() - begin, "processor seconds": processor_seconds(server.process.pid),
            "opening": next(line["seconds"] for line in server.journal() if line["event"] == "open"),
        }  # fmt: skip
        server.kill()
    print(json.dumps(found), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["throughput", "latency", "snapshots", "starts"])
    parser.add_argument("--store", choices=["sqlite", "postgres"])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    told = parser.parse_args()
    lacking = [name for name in ("wrk", "hey", "taskset", "curl") if shutil.which(name) is None]
    if lacking:
        sys.exit(f"{', '.join(lacking)} must be installed: apt-get install wrk hey util-linux curl")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "fastapi"], check=True)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for store in ("sqlite", "postgres"):
            if told.store not in (None, store):
                continue
            folder = Path(name) / store
            folder.mkdir()
            if store == "sqlite":
                _measure(found, folder, store, lambda which: f"sqlite:{which}.sqlite", told)
            else:
                with postgresql() as server:
                    _measure(found, folder, store, server.new, told)
        if told.only in (None, "snapshots"):
            (Path(name) / "snapshots").mkdir()
            found["snapshots"] = snapshots(Path(name) / "snapshots")
        if told.only in (None, "starts"):
            found["starts"] = starts(Path(name), told.events)
    if told.json:  # with --only, the rest stays
        before = json.loads(told.json.read_text()) if told.json.is_file() else {}
        told.json.write_text(json.dumps({**before, **found}, indent=1) + "\n")


def _measure(found, folder, store, new, told):
    if told.only in (None, "throughput"):
        found[f"throughput {store}"] = throughput(folder, new("one"), store, told.repetitions, told.seconds)
    if told.only in (None, "latency"):
        found[f"latency {store}"] = latency(folder, new("two"), store, told.repetitions, told.seconds)


if __name__ == "__main__":
    main()

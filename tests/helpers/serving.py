"""A service in a process of its own, PostgreSQL in a temporary folder, and clients that retry while it is killed."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from unipac.serve import app, config
from unipac.serve.client import Client
from unipac.serve.service import Service, opened

MODELS = ("tiny", "small", "large")
TABLE = {
    "window": 0.2,
    "default": 0.0,
    "agent": {
        "agent": "Guarded", "noise": 0.15, "norm": 2.0, "reward_range": [-0.5, 1.0],
        "heuristic": {"agent": "LinUCB", "alpha": 0.5},
    },
    "features": {
        "kind": "Blocks", "ids": list(MODELS),
        "of": {"kind": "Columns", "ranges": {"tokens": [0, 8000]}, "missing": "error"},
    },
}  # fmt: skip
ROUTER = {**TABLE, "window": 3600, "max_pending": 60}
PLAIN = {"agent": {"agent": "OFUL", "dim": 2, "noise": 0.1}}

START = """
import sys
from pathlib import Path
{patch}
from unipac.serve.main import run
sys.exit(run(Path(sys.argv[1])))
"""


def toml(value):
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@contextmanager
def running(folder, deployments, **more):
    """A client of a service in this process."""
    told = {"store": "sqlite:log.sqlite", "deployments": deployments, **more}
    made = config.made(told, folder)
    service = Service(made, opened(made))
    service.open_all()
    with TestClient(app.made(service), base_url="http://localhost") as client:
        client.service = service
        yield client


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """``unipac serve`` in a folder; ``patch`` is Python that runs in the process before it begins."""

    def __init__(
        self, folder, deployments, store="sqlite:log.sqlite", patch="", port=None, name="", **settings
    ):
        self.folder, self.patch, self.port = Path(folder), patch, port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        settings = {"listen": f"127.0.0.1:{self.port}", "store": store, **settings}
        lines = [f"{key} = {toml(value)}" for key, value in settings.items()]
        for deployment, table in deployments.items():
            lines += [f"[deployments.{deployment}]", *(f"{key} = {toml(one)}" for key, one in table.items())]
        self.config = self.folder / f"config{name}.toml"
        self.config.write_text("\n".join(lines))
        self.said = self.folder / f"said{name}"
        self.process = None

    def start(self, wait=True, before=()):
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-c", START.format(patch=self.patch), str(self.config)],
                stdout=said, stderr=said, cwd=self.folder,
            )  # fmt: skip
        if wait:
            self.wait_until("ready" if wait is True else wait)
        return self

    def wait_until(self, event, seconds=60.0, count=None):
        """Until the journal has an event, ``count`` times in all, by default once more than when it started."""
        end = time.monotonic() + seconds
        while self.events(event) < (count or 1) or not self.answers():
            if self.process.poll() is not None:
                raise AssertionError(
                    f"the service ended with {self.process.returncode}: {self.said.read_text()}"
                )
            assert time.monotonic() < end, self.said.read_text()
            time.sleep(0.02)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.5).close()
        except OSError:
            return False
        return True

    def journal(self):
        return [json.loads(line) for line in self.said.read_text().splitlines() if line.startswith("{")]

    def events(self, event):
        return sum(line["event"] == event for line in self.journal())

    def client(self, token=None, **more):
        return Client(self.address, token, **more)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.kill()


# -- PostgreSQL ----------------------------------------------------------------------------------------------


def postgres_binaries():
    """The folder of initdb and postgres; Debian keeps them out of the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    known = shutil.which("initdb")
    assert known, "PostgreSQL is missing; Debian's package is postgresql: apt-get install postgresql"
    return Path(os.path.realpath(known)).parent


class PostgreSQL:
    """A server in a temporary folder, reached by its socket alone."""

    def __init__(self):
        self.binaries = postgres_binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="unipac-pg-", dir="/tmp"))
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.preexec = None
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            names = [one.pw_name for one in pwd.getpwall()]
            self.user = "postgres" if "postgres" in names else "nobody"
            other = pwd.getpwnam(self.user)
            os.chown(self.folder, other.pw_uid, other.pw_gid)

            def drop():
                os.setgid(other.pw_gid)
                os.setuid(other.pw_uid)

            self.preexec = drop
        os.chmod(self.folder, 0o755)
        self._do(
            "initdb", "-D", self.data, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U", "unipac", "-N"
        )
        self.process = None
        self.start()

    @property
    def data(self):
        return self.folder / "data"

    def _do(self, name, *arguments):
        subprocess.run(
            [self.binaries / name, *map(str, arguments)], check=True, preexec_fn=self.preexec, cwd=self.folder,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self):
        with open("/dev/null", "wb") as null:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses="],
                preexec_fn=self.preexec, cwd=self.folder, stdout=null, stderr=null,
            )  # fmt: skip
        import psycopg

        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end, "PostgreSQL does not start"
                time.sleep(0.05)

    def url(self, database):
        return f"postgresql://unipac@/{database}?host={self.folder}"

    def new(self, database):
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {database}")
        return self.url(database)

    def kill(self):
        """All of it, at once, as if the machine had failed."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def remove(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def postgresql():
    server = PostgreSQL()
    try:
        yield server
    finally:
        server.remove()


# -- clients that retry and repeat ------------------------------------------------------------------------------


class Told:
    """What was acknowledged."""

    def __init__(self):
        self.decided, self.rewarded, self.wrong = {}, {}, []
        self.retries = 0

    @property
    def count(self):
        return len(self.decided) + len(self.rewarded)


async def _call(port, path, body, told):
    data = json.dumps(body).encode()
    while True:
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 2)
            try:
                head = (
                    f"POST /v1/deployments/router/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                )
                head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
                writer.write(head.encode() + data)
                answer = await asyncio.wait_for(reader.read(), 5)
                head, _, text = answer.partition(b"\r\n\r\n")
                status = int(head[9:12])
                json.loads(text)  # a torn answer is none
                if status not in (503, 429):
                    return status, text
            finally:
                writer.close()
        except (OSError, TimeoutError, ValueError):
            pass
        told.retries += 1
        await asyncio.sleep(0.1)


async def _client(k, port, told, going):
    rng, n = random.Random(k), 0
    while going():
        n += 1
        id_ = f"{k}-{n}"
        body = {"id": id_, "context": {"tokens": rng.uniform(0, 8000)}, "actions": list(MODELS)}
        status, text = await _call(port, "decisions", body, told)
        if status not in (200, 201):
            told.wrong.append((status, text))
        told.decided[id_] = text
        await asyncio.sleep(rng.random() * 0.25)
        reward = {"id": id_, "value": round(rng.random(), 4)}
        status, text = await _call(port, "rewards", reward, told)
        if status in (200, 201):
            told.rewarded[id_] = reward["value"]
        elif status != 410:
            told.wrong.append((status, text))
        if rng.random() < 0.2:
            status, again = await _call(port, "decisions", body, told)
            if again != told.decided[id_]:
                told.wrong.append((status, again))
            if id_ in told.rewarded:
                status, text = await _call(port, "rewards", reward, told)
                if status != 200:
                    told.wrong.append((status, text))


async def _storm(server, kills, seed, clients, told):
    chance, busy = random.Random(seed), [True]
    tasks = [asyncio.create_task(_client(k, server.port, told, lambda: busy[0])) for k in range(clients)]
    for _ in range(kills):
        before = told.count
        while told.count < before + 30:  # a kill before any acknowledgement shows nothing
            await asyncio.sleep(0.002)
            if server.process.poll() is not None:
                raise AssertionError(f"the service ended by itself: {server.said.read_text()}")
        await asyncio.sleep(chance.random() * 0.3)
        server.kill()
        server.start(wait=False)
    busy[0] = False
    await asyncio.gather(*tasks)


def storm(server, kills, seed=0, clients=32):
    """Kill the service at random moments while clients use it; what they were told."""
    told = Told()
    asyncio.run(_storm(server, kills, seed, clients, told))
    return told


def losses(told, events):
    """What of the acknowledged is not in the log, or other than it was told: (lost, changed, doubled, gaps)."""
    answers = {e["id"]: e for e in events if e["kind"] == "decide"}
    values = {e["id"]: e["value"] for e in events if e["kind"] == "reward"}
    lost = sum(id_ not in answers for id_ in told.decided) + sum(id_ not in values for id_ in told.rewarded)
    changed = sum(id_ in values and values[id_] != value for id_, value in told.rewarded.items())
    for id_, text in told.decided.items():
        if id_ in answers:
            said, event = json.loads(text), answers[id_]
            known = event["answer"]
            changed += (said["action"], said["seq"], said["mean"], said["ucb"]) != (
                known["label"], event["seq"], known["mean"], known["ucb"]
            )  # fmt: skip
    names = [(e["kind"], e["id"]) for e in events if "id" in e]
    gaps = sum(event["seq"] != k for k, event in enumerate(events))
    return lost, changed, len(names) - len(set(names)), gaps

"""The guide: its file, commands and programs run beside a real service."""

import doctest
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import programs
from helpers.serving import free_port
from unipac.serve import bodies
from unipac.serve.client import Client, Refused

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "serve.md").read_text(encoding="utf-8")
PORT = "8080"


def blocks(language):
    """The blocks of the guide in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, flags=re.M | re.S)


class Running:
    """The service of the guide, on a free port."""

    def __init__(self, folder):
        self.folder, self.port = folder, str(free_port())
        (folder / "config.toml").write_text(self.here(blocks("toml")[0]))
        self.token = self.unipac("token", "shop", "read,decide,reward,admin").strip()
        self.environment = {**os.environ, "UNIPAC_TOKEN": self.token}
        self.start()

    def start(self):
        words = [sys.executable, "-m", "unipac", "serve", "config.toml"]
        with open(self.folder / "said", "ab") as said:
            self.process = subprocess.Popen(words, cwd=self.folder, stdout=said, stderr=said)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)

    def here(self, text):
        """A text of the guide with the port of this service."""
        return text.replace(PORT, self.port)

    def run(self, *words, **more):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, **more)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def unipac(self, *words, **more):
        return self.run(sys.executable, "-m", "unipac", *words, **more)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("guide"))
    try:
        with Client(f"http://127.0.0.1:{running.port}", running.token, patience=60) as client:
            client.deployments()
        yield running
    finally:
        assert running.stop() == 0


def test_curl(service):
    programs.needed("curl")
    text = service.here(blocks("bash")[0])
    first, second = (
        json.loads(service.run("bash", "-c", part, env=service.environment)) for part in text.split("\n\n")
    )
    assert first.keys() >= {"id", "action", "certificate", "certified", "propensity", "seq"}
    assert second["seq"] > first["seq"]


def test_python(service, monkeypatch):
    monkeypatch.setenv("UNIPAC_TOKEN", service.token)
    text = service.here("\n".join(blocks("python")))
    test = doctest.DocTestParser().get_doctest(text, {}, "serve.md", "serve.md", 0)
    assert len(test.examples) >= 10
    assert doctest.DocTestRunner().run(test).failed == 0


def test_javascript(service):
    programs.needed("node")
    script = service.folder / "ask.mjs"
    script.write_text(service.here(blocks("js")[0]))
    assert service.run("node", str(script), env=service.environment).strip() in ("small", "large")


def test_commands(service):
    """Those that need no other place, in their order."""
    shown = re.findall(r"^\$ (.*)$", "\n".join(blocks("console")), flags=re.M)
    assert len(shown) == 8
    for line in shown:
        words = line.split()
        if (
            (words[0] == "unipac" and words[1] in ("backup", "log"))
            or "dashboard" in words
            or "trainer" in words
        ):
            assert service.unipac(*words[1:], env=service.environment)
        elif words[0] == "kill":
            assert words[1:] == ["-HUP", "PID"]
            service.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 30
    while '"event":"tokens","count":3' not in (service.folder / "said").read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert (service.folder / "copy.sqlite").stat().st_size > 0


def test_restore(tmp_path):
    """As the guide says it: what came after the copy is unknown, what came before is there, whole."""
    running = Running(tmp_path)
    client = Client(f"http://127.0.0.1:{running.port}", running.token, patience=60)
    router = client.deployment("router")
    asked = {"context": {"tokens": 812}, "actions": ["small", "large"]}
    before = router.decide(**asked, id="before")
    running.unipac("backup", "config.toml", "copy.sqlite", env=running.environment)
    router.decide(**asked, id="after")
    assert running.stop() == 0
    for name in ("decisions.sqlite", "decisions.sqlite-wal"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.sqlite").rename(tmp_path / "decisions.sqlite")
    running.start()
    try:
        assert router.decide(**asked, id="before") == before
        with pytest.raises(Refused, match="404"):
            router.reward("after", 0.8)
    finally:
        client.close()
        assert running.stop() == 0
    assert "2 events are whole" in running.unipac("log", "sqlite:decisions.sqlite", "--verify")


def test_what_fits_into_a_request():
    most, value = 2**20, -0.1234567890123456
    ids = [secrets.token_urlsafe(16)] * 1000
    context = {f"column{k}": value for k in range(10)}
    batch = [{"decide": {"id": one, "context": context, "actions": ["action"] * 5}} for one in ids]
    vectors = [{"id": f"action-{k}", "vector": [value] * 45} for k in range(1000)]
    wide = [{"id": f"action-{k}", "vector": [value] * 1000} for k in range(45)]
    known = [{"id": f"action-{k}", "features": {f"name{i}": value for i in range(30)}} for k in range(1000)]
    for body in (
        batch,
        {"actions": ["x" * 256] * 1000},
        {"actions": vectors},
        {"actions": wide},
        {"actions": known},
    ):
        assert 0.2 * most < len(json.dumps(body)) <= most
    assert len(json.dumps({"actions": [{"id": "x", "vector": [value] * 50}] * 1000})) > most  # the control
    assert bodies.MOST_ACTIONS == 1000

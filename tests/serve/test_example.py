"""The example of a service: its files fit, and its load script does what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.serving import free_port
from unipac.serve import config

FOLDER = Path(__file__).parents[2] / "examples" / "router_service"
FILES = ("config.toml", "service.toml", "standby.toml")


def test_all_files_have_the_same_deployment():
    told = [config.read(FOLDER / name) for name in FILES]
    assert {name: spec.text for name, spec in told[0].deployments.items()}.keys() == {"router"}
    assert len({one.deployments["router"].text for one in told}) == 1
    assert [one.store.partition(":")[0] for one in told] == ["sqlite", "postgresql", "postgresql"]
    assert told[1].address != told[2].address
    assert told[0].deployments["router"].features.dim == 12  # a column may be called kind


def wrong(services):
    """What does not fit in a file of containers, in words."""
    found = []
    if set(services) != {"service", "standby", "postgres"}:
        found.append("services")
    for name in ("service", "standby"):
        told = services.get(name, {})
        if told.get("command") != ["unipac", "serve", f"/etc/unipac/{name}.toml"]:
            found.append(f"{name} command")
        if told.get("restart") != "always":
            found.append(f"{name} restart")
        if "postgres" not in told.get("depends_on", {}):
            found.append(f"{name} depends_on")
    ports = [port for told in services.values() for port in told.get("ports", [])]
    if len({port.rpartition(":")[0] for port in ports}) < len(ports):
        found.append("ports")
    return found


def test_compose():
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert wrong(told["services"]) == []
    assert set(told["volumes"]) == {"data"}
    del told["services"]["standby"]["restart"]
    told["services"]["standby"]["ports"] = told["services"]["service"]["ports"]
    assert wrong(told["services"]) == ["standby restart", "ports"]  # it can tell


def test_compose_has_the_files_of_the_folder():
    named = re.findall(r"/etc/unipac/(\S+?)\"", (FOLDER / "compose.yaml").read_text())
    assert sorted(named) == ["service.toml", "standby.toml"]
    assert all((FOLDER / name).is_file() for name in named)


def test_load(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "here")
    port = free_port()
    file = folder / "config.toml"
    file.write_text(file.read_text().replace("8080", str(port)).replace("window = 1 ", "window = 0.05 "))

    def run(*words, **more):
        environment = {**os.environ, **more}
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    token = run("-m", "unipac", "token", "shop", "read,decide,reward").strip()
    with open(folder / "said", "wb") as said:
        service = subprocess.Popen(
            [sys.executable, "-m", "unipac", "serve", "config.toml"], cwd=folder, stdout=said, stderr=said
        )
    try:
        arguments = ("load.py", "--address", f"http://127.0.0.1:{port}", "--requests", "600", "--rate", "0")
        text = run(*arguments, UNIPAC_TOKEN=token)
    finally:
        service.terminate()
        assert service.wait(60) == 0, (folder / "said").read_text()
    lines = text.splitlines()
    assert [int(line.split()[0]) for line in lines[1:6]] == [120, 240, 360, 480, 600]
    answers = {
        int(status): int(count.replace(",", "")) for status, count in re.findall(r"(\d+): ([\d,]+)", lines[6])
    }
    assert answers[201] == 1200
    assert set(answers) <= {200, 201}
    assert lines[7] == "asked twice, answered in two ways: 0; lost more than the certificate: 0"

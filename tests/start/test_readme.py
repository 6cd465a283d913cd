"""The README: its length, its picture, code that needs nothing but the core, and a service that starts."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import programs
from helpers.serving import free_port

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
BARE = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras!r}:
            raise ImportError("not in the core: " + name)
sys.meta_path.insert(0, Nothing())
{code}
"""
EXTRAS = ("pandas", "polars", "pyarrow", "altair", "sklearn", "typer", "rich", "jinja2", "starlette")


def code(text):
    """All code of a page, as a program."""
    found = "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S))
    return "\n".join(line[4:] for line in found.splitlines() if line.startswith((">>> ", "... ")))


def bare(program):
    """What a program says where no extra is installed."""
    command = [sys.executable, "-c", BARE.format(extras=EXTRAS, code=program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_is_short():
    assert len(README.splitlines()) <= 150


def test_its_code_needs_the_core_alone():
    assert code(README).count("import") >= 3
    done = bare(code(README))
    assert done.returncode == 0, done.stderr
    assert "not in the core: pandas" in bare("import pandas").stderr  # the control


def test_the_first_code_is_timed_up_to_its_first_decision(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    first = importlib.import_module("first").first_code(README)
    assert first.splitlines()[0] == "import numpy as np"
    assert first.splitlines()[-1].strip() == "break"
    assert "decision.certificate" not in first


SERVED = """
unipac() { exec "$PYTHON" -m unipac "$@"; }
BEGIN
pid=$!
until curl -sf http://127.0.0.1:PORT/readyz > ready; do sleep 0.2; kill -0 $pid || exit 1; done
ASK
kill $pid
wait $pid
"""
"""The commands of the README, with this Python and on another port; ends as the service does."""


def test_the_three_commands_start_a_service_that_answers(tmp_path):
    programs.needed("curl")
    folder, port = tmp_path / "examples" / "router_service", str(free_port())
    folder.mkdir(parents=True)
    text = (ROOT / "examples" / "router_service" / "config.toml").read_text(encoding="utf-8")
    (folder / "config.toml").write_text(text.replace("8080", port), encoding="utf-8")
    begin, ask = re.findall(r"^```sh\n(.*?)^```", README, flags=re.M | re.S)
    install, *commands = begin.splitlines()
    assert install == 'pip install ".[serve]"'
    assert len(commands) == 2
    script = SERVED.replace("BEGIN", "\n".join(commands)).replace("ASK", ask.replace("8080", port))
    done = subprocess.run(
        ["timeout", "120", "bash", "-c", script.replace("PORT", port)],
        cwd=tmp_path, env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (answer,) = [line for line in done.stdout.splitlines() if '"certificate"' in line]
    found, _ = json.JSONDecoder().raw_decode(answer[answer.index('{"') :])
    assert found["id"] == "r1"
    assert found["certified"] is True


# -- the picture -----------------------------------------------------------------------------------


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    yield importlib.import_module("draw_certificate"), importlib.import_module("draw_idea")
    for name in ("draw_certificate", "draw_idea", "idea_runs"):
        sys.modules.pop(name, None)


def test_the_picture_is_drawn_from_its_numbers(drawing):
    draw, shared = drawing
    found = json.loads(draw.NUMBERS.read_text(encoding="utf-8"))
    for theme in draw.PAPER:
        svg = draw.path(theme).read_text(encoding="utf-8")
        again = draw.picture(found, theme)
        assert shared.skeleton(again) == shared.skeleton(svg), "run `make pictures`"
        dots = svg.count("<use ")
        assert again.count("<use ") == dots > len(found["certificate"])
        assert f'srcset="docs/figures/{draw.path(theme).name}"' in README or theme == "light"
    never = {**found, "certificate": [value or 0.1 for value in found["certificate"]]}
    assert shared.skeleton(draw.picture(never, "light")) != shared.skeleton(svg)


def test_the_picture_is_of_a_run(drawing):
    draw, _ = drawing
    found = json.loads(draw.NUMBERS.read_text(encoding="utf-8"))
    again = draw.routing.play(decisions=200)
    assert again["certificate"] == pytest.approx(found["certificate"][:200], rel=2e-3)
    assert again["lost"] == pytest.approx(found["lost"][:200], rel=2e-3, abs=1e-9)

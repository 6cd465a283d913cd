"""The command ``unipac`` where something is missing, closed, full or hostile."""

import inspect
import os
import signal
import sqlite3
import subprocess
import sys
import types

import pytest

import unipac
from helpers import own_agents
from helpers.commands import command, toml
from unipac._text import control_character, printable
from unipac.cli import main as _command
from unipac.registry import AGENTS

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
RUN = "from unipac.cli.main import main; main()"


def program(*arguments, code=RUN, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.mark.parametrize("name", _command.NEEDED)
def test_without_the_extra_it_says_what_to_install(name):
    result = program("list", code=f"import sys; sys.modules[{name!r}] = None; {RUN}")
    assert result.returncode == 2
    assert result.stderr == f'unipac: {name} is missing; pip install "unipac[experiments]"\n'


WITHOUT = f"import sys; sys.modules.update(altair=None, polars=None); {RUN}"
"""As after ``pip install "unipac[serve]"``."""


@pytest.mark.parametrize("arguments", [["--help"], [], ["log", "--help"]])
def test_the_extra_of_the_service_is_enough_for_help(arguments):
    result = program(*arguments, code=WITHOUT)
    assert "unipac" in result.stdout, result.stderr
    assert "is missing" not in result.stderr


def test_a_log_is_verified_without_the_extra_of_experiments(tmp_path):
    with sqlite3.connect(tmp_path / "log.sqlite"):
        pass  # an empty file is a database
    result = program("log", f"sqlite:{tmp_path}/log.sqlite", "--verify", code=WITHOUT)
    assert (result.returncode, result.stdout.strip()) == (0, "there are no deployments"), result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--verify"], "file that exists"), (["--export", "x.parquet"], "export must be")],
)
def test_a_store_that_is_not_there_is_refused_and_not_made(arguments, words, tmp_path):
    result = program("log", f"sqlite:{tmp_path}/none.sqlite", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_missing_module_is_no_matter_of_extras():
    result = program("--help", code=f"import sys; sys.modules['unipac.cli.app'] = None; {RUN}")
    assert "ModuleNotFoundError" in result.stderr


@posix
def test_a_reader_that_leaves_early_is_no_error():
    """As in ``unipac list | head -1``."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=120)
    assert errors == ""


@posix
@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["bound", "--dim", "3"]])
def test_a_full_disk_is_told_in_a_sentence(arguments):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert result.returncode == 2
    assert result.stderr == "unipac: cannot write the output: No space left on device\n"


@posix
def test_closed_streams():
    shell = f"{sys.executable} -c '{RUN}' list >&- 2>&-"
    assert subprocess.run(shell, shell=True, timeout=120).returncode == 0


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_modules_are_imported(name, code):
    hook = (
        "import os, signal, sys\n"
        "class Hook:\n"
        "    def find_spec(self, module, path=None, target=None):\n"
        "        if module == 'typer':\n"
        f"            os.kill(os.getpid(), signal.{name})\n"
        "sys.meta_path.insert(0, Hook())\n"
    )
    result = program("list", code=hook + RUN)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr in ("unipac: interrupted\n", "unipac: terminated\n")


@posix
def test_an_ignored_signal_stays_ignored():
    program_text = (
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "from unipac.cli import app as cli\n@cli.app.command()\ndef ask():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n    print('still here')\n"
    )
    assert program("ask", code=program_text + RUN).stdout == "still here\n"


def test_the_list_has_every_agent_with_what_is_proven(monkeypatch):
    text = command("list").output
    assert all(name in text for name in AGENTS)
    monkeypatch.setattr(AGENTS["OFUL"], "theorem", "regret", raising=False)
    lines = [line.split() for line in command("list").output.splitlines()]
    assert ["OFUL", "regret"] in [line[:2] for line in lines]
    assert text.index("Agents for bandits") < text.index("NestedOFUL") < text.index("Agents for MDPs")
    assert text.index("Agents for MDPs") < text.index("LSVIUCB")


def test_warm_says_where_the_kernels_are(monkeypatch):
    warmed = []
    module = types.ModuleType("unipac._warm")
    said = "Compiled kernels are kept in /somewhere [x]"
    module.warm = lambda names, progress: warmed.append((list(names), progress)) or said
    monkeypatch.setitem(sys.modules, "unipac._warm", module)
    monkeypatch.setattr(unipac, "_warm", module, raising=False)
    assert command("warm").output == "Compiled kernels are kept in /somewhere [x]\n"
    command("warm", "Guarded", "LinUCB")
    assert warmed == [([], True), (["Guarded", "LinUCB"], True)]


def test_warm_names_an_agent_that_is_near():
    done = command("warm", "NestedOfUL")
    assert done.exit_code == 2
    assert (
        "agent must be one of the registered ones, got 'NestedOfUL'; did you mean NestedOFUL" in done.output
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("bell\x07 and c1 \x9b2J", r"bell\x07 and c1 \x9b2J"),
        ("reversed \u202eabc", r"reversed \u202eabc"),
        ("lone \udcff", r"lone \udcff"),
        ("ε = 1/8, ≤ 10⁶, 日本語, e\u0301, \U0001f600", "ε = 1/8, ≤ 10⁶, 日本語, e\u0301, \U0001f600"),
        ("two\n\tlines", "two\n\tlines"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
    assert control_character(printable(text), allowed="\n\t") is None


def test_what_an_agent_raises_cannot_control_the_terminal(tmp_path):
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    file = toml(tmp_path, "own_agents:Escapes")
    result = program("run", file, "--engine", "serial", "--out", tmp_path / "out")
    assert result.returncode == 1
    assert r"RuntimeError: \x1b[2J\x1b]0;owned\x07" in result.stderr
    written = (tmp_path / "out" / "failures.txt").read_text()
    assert r"RuntimeError: \x1b[2J" in written
    assert control_character(result.stdout + result.stderr + written, allowed="\n\t") is None


def test_an_error_with_an_odd_name_in_it_cannot_either(tmp_path):
    result = program("run", "\x1b[2Jodd.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "unipac: \\x1b[2Jodd.toml: no such file\n"


def test_exit_codes_are_documented():
    text = " ".join(command("--help").output.split())
    assert "130 interrupted" in text
    assert "143 terminated" in text
    assert {number + 128 for number in (signal.SIGINT, signal.SIGTERM)} == {130, 143}

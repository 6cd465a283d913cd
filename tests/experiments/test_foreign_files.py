"""What `unipac run` and `unipac report` do to files that are not theirs: nothing."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import own_agents
from helpers.commands import command, toml
from unipac.experiments import Store, StoreError, parse, run
from unipac.experiments.results import load
from unipac.report import build, sections

TABLES = {
    "seeds": 2,
    "rounds": 20,
    "agents": {"nested": {"agent": "NestedOFUL"}},
    "instances": {"sphere": {"instance": "sphere", "dim": 2, "n_actions": 3}},
}
FOREIGN = b'{"thesis": "three years of work"}\n'
posix = pytest.mark.skipif(os.name != "posix", reason="signals and links")


def spec(**changes):
    return parse({**TABLES, **changes}, name="small")


def snapshot(folder):
    """Everything below a folder: bytes of files, targets of links."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
    return found


def refuse(out, name):
    """A run into this folder is refused by the name of the file, and nothing changes."""
    before = snapshot(out.parent)
    with pytest.raises(StoreError) as caught:
        run([(spec(), out)])
    assert str(out / name) in str(caught.value)
    assert "--out" in str(caught.value) or "move it" in str(caught.value)
    after = snapshot(out.parent)
    assert {name: after.get(name) for name in before} == before
    assert [name for name in after if name.endswith((".parquet", "jsonl")) and name not in before] == []


NAMES = [
    "spec.json",
    "machine.jsonl",
    "cells/nested.sphere.00000.json",
    "cells/notes.json",
    "cells/nested.sphere.00001.parquet",
    "cells/notes.parquet",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_file_is_refused_and_stays(tmp_path, name):
    file = tmp_path / "out" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(FOREIGN)
    refuse(tmp_path / "out", name)


@posix
@pytest.mark.parametrize("name", [*NAMES, "cells"])
@pytest.mark.parametrize("target", ["foreign", "missing", "of another run"])
def test_nothing_is_written_through_a_link(tmp_path, name, target):
    elsewhere = tmp_path / "elsewhere"
    if target == "foreign":
        elsewhere.mkdir() if name == "cells" else elsewhere.write_bytes(FOREIGN)
    elif target == "of another run":
        run([(spec(), tmp_path / "other")])
        elsewhere = tmp_path / "other" / name
        if not elsewhere.exists():  # the other run has no notes
            elsewhere = tmp_path / "other" / "spec.json"
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    refuse(tmp_path / "out", name)


@pytest.mark.parametrize("name", ["spec.json", "machine.jsonl", "cells/nested.sphere.00000.parquet"])
def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path, name):
    (tmp_path / "out" / name).mkdir(parents=True)
    refuse(tmp_path / "out", name)


def test_foreign_files_between_the_cells_of_a_run_stay(tmp_path):
    run([(spec(seeds=1), tmp_path)])
    (tmp_path / "cells" / "nested.sphere.00001.json").write_bytes(FOREIGN)
    before = snapshot(tmp_path)
    with pytest.raises(StoreError, match=r"nested\.sphere\.00001\.json: damaged, or not written by unipac"):
        run([(spec(), tmp_path)])
    assert snapshot(tmp_path) == before


def test_files_with_other_names_are_nobodys_business(tmp_path):
    others = ["thesis.tex", "cells/thesis.unfinished", "cells/.x.json.1.2.unfinished", "cells/readme.txt"]
    (tmp_path / "cells").mkdir()
    for name in others:
        (tmp_path / name).write_bytes(FOREIGN)
    assert run([(spec(), tmp_path)]).computed == 2
    assert all((tmp_path / name).read_bytes() == FOREIGN for name in others)
    assert len(load(tmp_path).curves["seed"].unique()) == 2


@posix
def test_the_whole_folder_may_be_a_link(tmp_path):
    (tmp_path / "large disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "large disk")
    assert run([(spec(), tmp_path / "out")]).computed == 2
    assert (tmp_path / "large disk" / "spec.json").exists()


def test_our_own_leftovers_are_cleared(tmp_path):
    """A run that was killed before it finished a cell leaves nothing that stands in the way of another."""
    run([(spec(), tmp_path)])
    for file in tmp_path.glob("cells/*.parquet"):
        file.unlink()
    unfinished = tmp_path / "cells" / ".nested.sphere.00000.parquet.1.2.unipac-unfinished"
    unfinished.write_bytes(b"PAR1")
    around = tmp_path / ".spec.json.1.2.unipac-unfinished"
    around.write_bytes(b"{")
    other = spec(rounds=10, agents={"oful": {"agent": "OFUL"}})
    assert run([(other, tmp_path)]).computed == 2
    assert sorted(path.name for path in tmp_path.glob("cells/*")) == [
        f"oful.sphere.0000{seed}.{suffix}" for seed in (0, 1) for suffix in ("json", "parquet")
    ]
    assert not around.exists()


def test_a_machine_file_cut_short_by_a_full_disk_is_ours(tmp_path):
    for content in (b"", b'{"_uni', b'{"_unipac": 1, "run": {'):
        (tmp_path / "machine.jsonl").write_bytes(content)
        assert run([(spec(), tmp_path)]).failures == []


# -- failures, reports and figures --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_foreign_file_on_failures_stays_and_nothing_is_computed(tmp_path, kind):
    file = tmp_path / "out" / "failures.txt"
    file.parent.mkdir()
    (tmp_path / "mine.txt").write_bytes(FOREIGN)
    file.symlink_to(tmp_path / "mine.txt") if kind == "link" else file.write_bytes(FOREIGN)
    with pytest.raises(StoreError, match=r"failures\.txt: "):
        command("run", toml(tmp_path), "--engine", "serial", "--out", tmp_path / "out")
    assert file.read_bytes() == FOREIGN
    assert list((tmp_path / "out").iterdir()) == [file]


def test_our_own_file_on_failures_goes_when_all_is_well(tmp_path):
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    out = tmp_path / "out"
    failing = toml(tmp_path, "own_agents:Escapes")
    assert command("run", failing, "--engine", "serial", "--out", out).exit_code == 1
    assert "RuntimeError" in (out / "failures.txt").read_text()
    assert command("run", toml(tmp_path), "--engine", "serial", "--out", out).exit_code == 0
    assert not (out / "failures.txt").exists()


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    run([(spec(rounds=200), folder)])
    return sections(folder)


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
@pytest.mark.parametrize(("name", "form"), [("report.html", "html"), ("figures/regret-sphere.svg", "svg")])
def test_a_report_does_not_replace_what_is_not_ours(tmp_path, played, name, form, kind):
    file = tmp_path / "out" / name
    file.parent.mkdir(parents=True)
    (tmp_path / "mine").write_bytes(FOREIGN)
    if kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "mine") if kind == "link" else file.write_bytes(FOREIGN)
    before = snapshot(tmp_path)
    with pytest.raises(StoreError, match=file.name):
        build(played, tmp_path / "out", form)
    assert snapshot(tmp_path) == before


@posix
def test_pictures_are_not_written_through_a_link(tmp_path, played):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="figures: is a symbolic link"):
        build(played, tmp_path, "png")
    assert list((tmp_path / "elsewhere").iterdir()) == []


SLOW_FORMS = [pytest.param(form, marks=pytest.mark.slow) for form in ("png", "pdf")]


@pytest.mark.parametrize("form", ["html", "svg", *SLOW_FORMS])
def test_our_own_reports_are_replaced(tmp_path, played, form):
    first = build(played, tmp_path, form)
    kept = {path: path.read_bytes() for path in first}
    assert build(played, tmp_path, form) == first
    assert set(kept) == {path for path in tmp_path.rglob("*") if path.is_file()}


# -- the lock -----------------------------------------------------------------------------------

HOLD = (
    "import sys, time; from unipac.experiments import Store\n"
    "with Store(sys.argv[1]).alone():\n    print('held', flush=True)\n    time.sleep(600)\n"
)


@posix
def test_a_lock_goes_with_its_process_however_it_ends(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="another run is writing there"):
            run([(spec(), tmp_path)])
        assert not (tmp_path / "spec.json").exists()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        holder.stdout.close()
    assert run([(spec(), tmp_path)]).computed == 2
    assert not list(tmp_path.glob(".*lock*"))


@posix
def test_a_lock_file_that_is_not_ours_stays(tmp_path):
    lock = tmp_path / ".unipac.lock"
    lock.write_bytes(FOREIGN)
    assert run([(spec(), tmp_path)]).computed == 2
    assert lock.read_bytes() == FOREIGN
    lock.unlink()
    (tmp_path / "mine").touch()
    lock.symlink_to(tmp_path / "mine")
    with pytest.raises(StoreError, match=r"\.unipac\.lock: cannot lock it"):
        run([(spec(), tmp_path)])


# -- damaged and crafted files -------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000


def test_deeply_nested_json_is_refused_in_words(tmp_path):
    run([(spec(), tmp_path)])
    good = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("spec.json", "cells/nested.sphere.00000.json"):
        file = tmp_path / name
        file.write_bytes(b'{\n  "_unipac": 1,\n  "x": ' + DEEP + b"}")
        for attempt in (load, lambda folder: run([(spec(), folder)])):
            with pytest.raises(StoreError, match=f"{file.name}: damaged"):
                attempt(tmp_path)
        file.write_bytes(good[file])
    with open(tmp_path / "machine.jsonl", "ab") as stream:
        stream.write(DEEP + b"\n")
    assert len(load(tmp_path).times) > 0


@pytest.mark.parametrize("key", ["title", "label", "agent"])
def test_control_characters_in_a_crafted_folder_are_refused(tmp_path, key):
    run([(spec(), tmp_path)])
    file = tmp_path / "spec.json"
    data = json.loads(file.read_text())
    (data if key == "title" else data["agents"][0])[key] = "\x1b[2Jnested"
    file.write_text(json.dumps(data, indent=2, sort_keys=True))
    with pytest.raises(StoreError, match=r"spec\.json: damaged"):
        sections(tmp_path)


def test_a_table_with_other_labels_is_refused(tmp_path):
    """A digest proves that a table was not damaged, not that it is of this experiment."""
    run([(spec(), tmp_path)])
    file = tmp_path / "spec.json"
    file.write_text(file.read_text().replace("nested", "oful"))
    with pytest.raises(StoreError, match="a table of another form"):
        load(tmp_path)


@posix
def test_a_folder_whose_name_is_not_utf_8_is_refused_before_the_work(tmp_path):
    out = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with pytest.raises(StoreError, match=r"\\udcff: the name of a folder must be UTF-8"):
        Store(out)
    result = subprocess.run(
        [sys.executable, "-m", "unipac", "run", str(toml(tmp_path)), "--out", os.fsencode(out)],
        capture_output=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert b"must be UTF-8" in result.stderr
    assert b"Traceback" not in result.stderr
    assert not os.path.exists(out)


@posix
def test_a_working_folder_whose_name_is_not_utf_8_is_no_matter(tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(odd)
    result = subprocess.run(
        [sys.executable, "-m", "unipac", "run", str(toml(tmp_path)), "--engine", "serial", "--out", "o"],
        cwd=odd,
        capture_output=True,
        timeout=120,
    )
    assert result.returncode == 0, result
    assert b"1 of 1 cells finished" in result.stdout


# -- signals ------------------------------------------------------------------------------------


def children(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(number) for number in listed.stdout.split()]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@posix
@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_sigterm_is_answered_and_finished_cells_are_kept(tmp_path, engine):
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    (tmp_path / "long.toml").write_text(
        "rounds = 20\nseeds = 1\n[agents.quick]\nagent = 'NestedOFUL'\n"
        "[agents.long]\nagent = 'own_agents:Sleeps'\n[instances.s]\ninstance = 'sphere'\n"
    )
    arguments = ["run", "long.toml", "--out", "out", "--engine", engine, "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unipac", *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    finished = tmp_path / "out" / "cells" / "quick.s.00000.parquet"
    while process.poll() is None and not finished.exists():
        time.sleep(0.05)
    workers = children(process.pid)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "terminated; finished cells are kept" in errors
    assert "Traceback" not in errors
    assert finished.exists()
    assert not (tmp_path / "out" / ".unipac.lock").exists()
    deadline = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in workers if is_running(pid)] == []

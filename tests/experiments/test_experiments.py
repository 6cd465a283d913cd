"""Experiments: specs, cells, the store, the engines and the command line."""

import contextlib
import errno
import inspect
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import unipac
from helpers import own_agents
from unipac import experiments, metrics
from unipac.cli import app as cli
from unipac.experiments import engines, files, making, playing, store
from unipac.experiments.reading import parse
from unipac.experiments.results import load

HERE = Path(__file__).parent

SMALL = {
    "seeds": 2,
    "rounds": 300,
    "agents": {
        "nested": {"agent": "NestedOFUL", "regularization": 4.0},
        "ball": {"agent": "BallOFUL"},
        "flute": {"agent": "NestedFLUTE", "radius": "mixture"},
    },
    "instances": {
        "sphere": {"instance": "sphere", "dim": 2, "n_actions": 3, "noise": 0.3},
        "river": {"instance": "river_swim", "n_states": 3, "horizon": 2},
    },
}


def small(**changes):
    return parse({**SMALL, **changes}, name="small", folder=str(HERE))


def run(spec, folder, **options):
    return experiments.run([(spec, Path(folder))], **options)


def contents(folder):
    """The bytes of all files within the promise."""
    root = Path(folder)
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.suffix in (".json", ".parquet")
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    assert run(small(), folder).failures == []
    return contents(folder)


# -- specs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("rounds = 'x'\n", ["rounds: must be an integer", "'x'"]),
        ("round = 5\n", ["round: no such key", "rounds"]),
        ("rounds = 5\nseeds = 0\n", ["seeds: must be an integer from 1", "0"]),
        ("rounds = 5\n", ["[agents]", "at least one table"]),
        ("rounds = 5\n[agents.a]\nx = 1\n", ["[agents.a]: agent must be given"]),
        ("rounds = 5\n[agents.a]\nagent = 'NestedOFULL'\n", ["[agents.a] agent", "did you mean NestedOFUL"]),
        (
            "rounds = 5\n[agents.a]\nagent = 'no_such:Thing'\n",
            ["[agents.a]", "no_such", "cannot be imported"],
        ),
        ("rounds = 5\n[agents.a]\nagent = 'unipac:Thing'\n", ["[agents.a]", "unipac has no Thing"]),
        ("rounds = 5\n[agents.a]\nagent = 'antigravity_:x'\n", ["[agents.a]", "ModuleNotFoundError"]),
        (f"rounds = 5\n[agents.{'a' * 101}]\nagent = 'OFUL'\n", ["at most 100 characters"]),
        (f"rounds = {'9' * 5000}\n", ["not valid TOML"]),
        (
            "rounds = 5\n[agents.a]\nagent = 'builtins:exit'\n[instances.s]\ninstance = 'sphere'\n",
            ["[agents.a]", "must be a class or a function in Python, got Quitter; it was not called"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'helpers.own_agents:exits'\n[instances.s]\ninstance = 'sphere'\n",
            ["[agents.a]", "SystemExit"],
        ),
        ("rounds = 5\n[agents.a]\nagent = 'OFUL'\ndleta = 0.1\n", ["[agents.a] dleta", "did you mean delta"]),
        ("rounds = 5\n[agents.a]\nagent = 'OFUL'\ndim = 3\n", ["[agents.a] dim", "from the instance"]),
        ("rounds = 5\n[agents.a]\nagent = 'OFUL'\ndelta = nan\n", ["[agents.a] delta", "finite"]),
        (
            "rounds = 5\n[agents.a]\nagent = 'OFUL'\ndelta = 2.0\n[instances.s]\ninstance = 'sphere'\n",
            ["[agents.a]", "delta must be strictly between 0 and 1, got 2.0"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'OFUL'\n[instances.s]\ninstance = 'sphere'\ndim = 0\n",
            ["[instances.s]", "dim must be an integer >= 1, got 0"],
        ),
        (
            "[agents.a]\nagent = 'OFUL'\n[instances.s]\ninstance = 'sphere'\n",
            ["[instances.s]: rounds must be given"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'OFUL'\n[instances.s]\ninstance = 'river_swim'\n",
            ["[agents.a]", "OFUL is for bandits"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'OFUL'\n[instances.s]\ninstance = 'sphere'\nagents = ['b']\n",
            ["[instances.s] agents", "'b' is no label"],
        ),
        (
            "rounds = 5\n[agents.'a b']\nagent = 'OFUL'\n[agents.'a-b']\nagent = 'OFUL'\n"
            "[instances.s]\ninstance = 'sphere'\n",
            ["[agents]", "the same file name"],
        ),
        (
            "rounds = 5\neps = [0.5, -1]\n[agents.a]\nagent = 'OFUL'\n[instances.s]\ninstance = 'sphere'\n",
            ["eps: must be a list of distinct numbers from 1e-50"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'OFUL'\nsweep.delta = 3\n[instances.s]\ninstance = 'sphere'\n",
            ["[agents.a] sweep", "list of values"],
        ),
        (
            "rounds = 5\n[agents.a]\nagent = 'helpers.own_agents:Uniform'\n[instances.k]\ninstance = 'killer'\n",
            ["[agents.a] on k", "forced rounds in one step"],
        ),
        ("rounds = [\n", ["not valid TOML"]),
    ],
)
def test_a_wrong_spec_is_refused_by_file_table_and_key(tmp_path, text, fragments):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(experiments.SpecError) as caught:
        experiments.read(file)
    for fragment in [str(file), *fragments]:
        assert fragment in str(caught.value)


def test_a_file_and_its_sweeps(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        "rounds = 5\nseeds = 3\n[agents.a]\nagent = 'OFUL'\n[agents.a.sweep]\ndelta = [0.1, 0.2]\n"
        "[agents.f]\nagent = 'FLUTE'\n[instances.k]\ninstance = 'killer'\n"
        "[instances.k.sweep]\nforced = [10, 100000]\n[instances.r]\ninstance = 'river_swim'\nrounds = 2\n"
    )
    spec = experiments.read(file)
    pairs = {(cell.agent.label, cell.instance.label, cell.instance.rounds) for cell in spec.cells()}
    assert pairs == {
        *((f"a delta={d}", f"k forced={k}", 5) for d in ("0.1", "0.2") for k in ("10", "1e5")),
        ("f", "r", 2),
    }
    assert {cell.instance.family for cell in spec.cells()} == {"k", "r"}
    assert len(list(spec.cells())) == 3 * 5


# -- cells -------------------------------------------------------------------------------------


def table(spec, **wanted):
    cell = next(
        cell for cell in spec.cells() if (cell.agent.label, cell.instance.label) == tuple(wanted.values())
    )
    return cell, pl.read_parquet(playing.compute(cell, spec.folder).parquet)


def test_a_bandit_cell_counts_what_the_trace_shows():
    spec = small()
    cell, frame = table(spec, agent="nested", instance="sphere")
    seeds = np.random.SeedSequence(cell.seed).spawn(3)
    instance = unipac.envs.sphere(2, 3, noise=0.3, seed=int(seeds[0].generate_state(1, np.uint64)[0]))
    agent = unipac.NestedOFUL(2, noise=0.3, norm=1.0, regularization=4.0)
    trace = agent.play(instance, rounds=300, seed=seeds[2])
    assert frame["round"].to_list() == playing.checkpoints(300)
    for row in frame.iter_rows(named=True):
        part = trace.part(0, row["round"])
        assert row["regret"] == pytest.approx(part.gap.sum(), rel=1e-12)
        assert row["reward"] == pytest.approx(part.reward.sum(), rel=1e-12)
        assert row["certified_regret"] == pytest.approx(part.certificate.sum(), rel=1e-12)
        assert row["mistakes"] == [int((part.gap > eps).sum()) for eps in row["eps"]]
        assert row["certificates_above"] == [int((part.certificate > eps).sum()) for eps in row["eps"]]
        assert row["bounds"] == [agent.mistake_bound(eps) for eps in row["eps"]]
    last = frame.row(-1, named=True)
    assert last["sizes"] == [level.size for level in agent.levels()]
    assert last["size_bounds"] == [level.bound for level in agent.levels()]
    assert (last["certified"], last["consistent"], last["violations"]) == (True, True, 0)


def test_an_mdp_cell_counts_what_the_trace_shows():
    spec = small(
        agents={"flute": {"agent": "FLUTE", "radius": "finite"}},
        instances={"river": SMALL["instances"]["river"]},
    )
    cell, frame = table(spec, agent="flute", instance="river")
    mdp = unipac.envs.river_swim(3, 2)
    agent = unipac.FLUTE(mdp.features, horizon=2, radius="finite")
    trace = agent.play(mdp, episodes=300, seed=np.random.SeedSequence(cell.seed).spawn(3)[2])
    certified = metrics.aggregate_certificate(trace.bound, trace.reward, horizon=2, delta=0.05)
    for row in frame.iter_rows(named=True):
        k = row["round"]
        assert row["regret"] == pytest.approx(trace.gap[:k].sum(), rel=1e-12)
        assert row["certified_regret"] == pytest.approx(certified[k - 1], rel=1e-9)
        assert row["plans"] == trace.replanned[:k].sum()
        assert row["mistakes"] == [int((trace.gap[:k] > eps).sum()) for eps in row["eps"]]
    assert frame.row(-1, named=True)["sizes"] == [level.size for level in agent.levels()]


@pytest.mark.parametrize("name", ["killer", "appendix_a", "killer_phases"])
def test_forced_rounds_in_one_step_are_the_rounds_one_by_one(name):
    parameters = {"forced": [70, 30], "choices": 40} if name == "killer_phases" else {"forced": 100}
    spec = parse(
        {
            "rounds": 90,
            "seeds": 1,
            "agents": {"nested": {"agent": "NestedOFUL", "noise": 1.0, "regularization": 2.0}},
            "instances": {"k": {"instance": name, **parameters}},
        },
        name="k",
    )
    _, frame = table(spec, agent="nested", instance="k")
    trace = unipac.NestedOFUL(2, regularization=2.0).play(unipac.envs.BANDITS[name](**parameters), rounds=190)
    last = frame.row(-1, named=True)
    assert (last["round"], last["free"]) == (190, 90)
    assert last["mistakes"] == [int((trace.gap > eps).sum()) for eps in last["eps"]]
    assert last["reward"] == pytest.approx(trace.reward.sum())


def test_coverage_is_counted_and_a_tiny_radius_loses_it():
    spec = parse(
        {
            "rounds": 400,
            "seeds": 1,
            "coverage": True,
            "agents": {"a": {"agent": "OFUL"}, "tiny": {"agent": "OFUL", "noise": 0.05, "norm": 0.05}},
            "instances": {"s": {"instance": "sphere", "dim": 3}},
        },
        name="coverage",
    )
    assert table(spec, agent="a", instance="s")[1]["uncovered"][-1] == 0
    assert table(spec, agent="tiny", instance="s")[1]["uncovered"][-1] > 0


@pytest.mark.parametrize(
    ("noise", "norm", "certified"), [(0.3, 1.0, True), (0.2, 1.0, False), (0.3, 0.9, False)]
)
def test_an_agent_told_too_little_is_not_certified(noise, norm, certified):
    spec = small(
        agents={"told": {"agent": "NestedOFUL", "noise": noise, "norm": norm}},
        instances={"sphere": SMALL["instances"]["sphere"]},
    )
    _, frame = table(spec, agent="told", instance="sphere")
    last = frame.row(-1, named=True)
    assert last["certified"] is certified
    assert (last["bounds"][0] < np.inf) is certified
    assert (last["certified_regret"] is not None) is certified


def test_an_agent_of_the_users_own():
    spec = small(
        agents={"mine": {"agent": "helpers.own_agents:Uniform"}},
        instances={"sphere": SMALL["instances"]["sphere"]},
    )
    _, frame = table(spec, agent="mine", instance="sphere")
    last = frame.row(-1, named=True)
    assert last["regret"] > 10
    assert (last["certified"], last["certified_regret"], last["bounds"][0]) == (False, None, np.inf)


def test_stored_transitions_have_no_gap():
    spec = small(
        rounds=5,
        agents={"stored": {"agent": "NestedFLUTE", "stored": True, "radius": "mixture"}},
        instances={"river": SMALL["instances"]["river"]},
    )
    _, frame = table(spec, agent="stored", instance="river")
    assert frame["regret"].null_count() == len(frame)
    assert frame["round"][-1] == 5


def test_agents_meet_the_same_instance():
    first, second = (cell for cell in small().cells() if cell.seed == 0 and cell.instance.label == "sphere")
    seeds = [np.random.SeedSequence(cell.seed).spawn(3) for cell in (first, second)]
    made = [
        making.make_instance(cell.instance, seed[0])
        for cell, seed in zip((first, second), seeds, strict=True)
    ]
    assert (made[0].theta == made[1].theta).all()


@pytest.mark.parametrize("rounds", [1, 2, 7, 10, 99, 1000, 123_456])
def test_checkpoints(rounds):
    numbers = playing.checkpoints(rounds)
    assert numbers[0] == 1
    assert numbers[-1] == rounds
    assert numbers == sorted(set(numbers))


# -- the store ---------------------------------------------------------------------------------


def test_a_finished_cell_is_not_computed_again_and_more_seeds_extend(tmp_path, reference):
    log = tmp_path / "log"
    agents = {"mine": {"agent": "helpers.own_agents:Uniform", "log": str(log)}}
    one = {"sphere": SMALL["instances"]["sphere"]}
    folder = tmp_path / "out"
    log.touch()
    assert run(small(agents=agents, instances=one, seeds=2), folder).computed == 2
    made = len(log.read_text().split())
    before = contents(folder)
    outcome = run(small(agents=agents, instances=one, seeds=3), folder)
    assert (outcome.cells, outcome.computed) == (3, 1)
    after = contents(folder)
    assert {name: after[name] for name in before if name != "spec.json"} == {
        name: data for name, data in before.items() if name != "spec.json"
    }
    assert len(log.read_text().split()) == made + 2  # one to check the spec, one for the new seed
    fewer = run(small(agents=agents, instances=one, seeds=1), folder)
    assert (fewer.cells, fewer.computed) == (1, 0)
    assert contents(folder) == after


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": 301}, "rounds = 300, not 301"),
        ({"eps": [0.5]}, "eps"),
        ({"agents": {**SMALL["agents"], "new": {"agent": "LinUCB"}}}, "'new' is new"),
        ({"agents": {**SMALL["agents"], "ball": {"agent": "OFUL"}}}, "'ball' has agent = BallOFUL, not OFUL"),
    ],
)
def test_results_of_another_spec_are_refused(tmp_path, change, words):
    run(small(seeds=1), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(experiments.StoreError, match=words) as caught:
        run(small(**change), tmp_path)
    assert str(tmp_path / "spec.json") in str(caught.value)
    assert contents(tmp_path) == before


def damage(folder):
    return next(iter(sorted((folder / "cells").glob("*.parquet"))))


@pytest.mark.parametrize("kind", ["cut", "flipped", "no json", "foreign json", "foreign parquet", "bad spec"])
def test_a_damaged_or_foreign_file_is_named_and_nothing_is_lost(tmp_path, kind):
    run(small(), tmp_path)
    file = damage(tmp_path)
    if kind == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    elif kind == "flipped":
        data = bytearray(file.read_bytes())
        data[200] ^= 1
        file.write_bytes(data)
    elif kind == "no json":
        file.with_suffix(".json").unlink()
        file = file.with_suffix(".json")
    elif kind == "bad spec":
        file = tmp_path / "spec.json"
        file.write_text("{")
    else:
        file = tmp_path / "cells" / f"other.{kind.split()[1]}"
        file.write_bytes(b"PAR1")
    before = contents(tmp_path)
    with pytest.raises(experiments.StoreError) as caught:
        run(small(), tmp_path)
    assert str(file) in str(caught.value)
    assert "run again" in str(caught.value)
    assert contents(tmp_path) == before
    if kind != "foreign json":
        with pytest.raises(experiments.StoreError):
            load(tmp_path)


def test_a_damaged_cell_is_computed_anew_after_it_was_deleted(tmp_path, reference):
    run(small(), tmp_path)
    damage(tmp_path).unlink()
    assert run(small(), tmp_path).computed == 1
    assert contents(tmp_path) == reference


def test_disk_full(tmp_path, monkeypatch):
    write, calls = files.write_atomically, []

    def full(target, content, suffix=""):
        calls.append(target)
        if len(calls) == 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(target, content, suffix)

    monkeypatch.setattr(files, "write_atomically", full)
    with pytest.raises(experiments.StoreError, match=r"No space left.*free some space.*finished is kept"):
        run(small(), tmp_path)
    kept = {path.name for path in (tmp_path / "cells").glob("*.parquet")}
    assert len(kept) == 2
    assert run(small(), tmp_path).computed == 4


@pytest.mark.parametrize("what", ["pathlib.Path.mkdir", "unipac.experiments.files.write_atomically"])
def test_an_unwritable_folder(tmp_path, monkeypatch, what):
    """The refusal of the system is imitated: a real folder would not refuse root."""

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(what, refuse)
    with pytest.raises(experiments.StoreError, match=r"out.*Permission denied.*choose another folder"):
        run(small(), tmp_path / "out")


def test_a_file_in_the_way_of_the_folder(tmp_path):
    (tmp_path / "out").write_text("I was here")
    with pytest.raises(experiments.StoreError, match=r"out.*choose another folder"):
        run(small(), tmp_path / "out")


def test_two_runs_do_not_share_a_folder(tmp_path):
    run(small(seeds=1), tmp_path)
    with store.Store(tmp_path).alone(), pytest.raises(experiments.StoreError, match="another run"):
        run(small(), tmp_path)


# -- engines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"engine": "processes", "workers": 1}, marks=pytest.mark.slow),
        {"engine": "processes", "workers": 2},
        {"engine": "dask", "workers": 2},
    ],
    ids=str,
)
def test_every_engine_writes_the_same_bytes(tmp_path, reference, options):
    assert run(small(), tmp_path, **options).failures == []
    assert contents(tmp_path) == reference


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_killed_worker_is_replaced(tmp_path, engine):
    """The cell that was under way is run again, and the bytes are those of an undisturbed run."""
    mark = tmp_path / "mark"
    spec = small(
        agents={
            "nested": SMALL["agents"]["nested"],
            "k": {"agent": "helpers.own_agents:KillsOnce", "mark": str(mark)},
        },
        instances={"sphere": SMALL["instances"]["sphere"]},
    )
    outcome = run(spec, tmp_path / "disturbed", engine=engine, workers=1)
    assert (outcome.finished, outcome.failures) == (4, [])
    assert mark.exists()  # so that nobody kills this process
    run(spec, tmp_path / "calm")
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "calm")


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_cell_that_kills_its_worker_twice_is_reported(tmp_path, engine):
    bad = {"agent": "helpers.own_agents:KillsOnce", "mark": str(tmp_path / "mark"), "always": True}
    spec = small(
        seeds=1,
        agents={"nested": SMALL["agents"]["nested"], "bad": bad},
        instances={"sphere": SMALL["instances"]["sphere"]},
    )
    outcome = run(spec, tmp_path / "out", engine=engine, workers=1)
    assert [(failure.cell.agent.label, failure.reason[:28]) for failure in outcome.failures] == [
        ("bad", "killed its worker 2 times (o")
    ]
    assert outcome.finished == 1


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_cell_that_raises_is_reported_while_the_others_finish(tmp_path, engine):
    spec = small(
        seeds=4,
        agents={"nested": SMALL["agents"]["nested"], "bad": {"agent": "helpers.own_agents:Raises"}},
        instances={"sphere": SMALL["instances"]["sphere"]},
    )
    outcome = run(spec, tmp_path, engine=engine, workers=2)
    assert {failure.cell.agent.label for failure in outcome.failures} == {"bad"}
    assert outcome.finished == 8 - len(outcome.failures)
    assert "RuntimeError: no luck" in outcome.failures[0].reason
    assert "own_agents.py" in outcome.failures[0].details


def test_an_unknown_engine():
    with pytest.raises(engines.EngineError, match=r"serial, processes, dask.*'threads'"):
        engines.start("threads")
    with pytest.raises(engines.EngineError, match="at least 1"):
        engines.start("processes", 0)


# -- kill -9 -----------------------------------------------------------------------------------

SLOW = """
rounds = 2000
seeds = {seeds}
[agents.nested]
agent = "NestedOFUL"
[agents.slow]
agent = "own_agents:Uniform"
seconds = 0.05
[instances.sphere]
instance = "sphere"
dim = 2
"""


def start_run(folder, out, workers):
    command = [sys.executable, "-m", "unipac", "run", "slow.toml", "--out", str(out)]
    command += ["--engine", "processes", "--workers", str(workers)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(number) for number in listed.stdout.split()]


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize(("seeds", "workers"), [(4, 1), pytest.param(12, 2, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(seeds, workers, tmp_path):
    """The whole program is killed again and again: same bytes, no finished cell written twice, no orphans."""
    (tmp_path / "slow.toml").write_text(SLOW.format(seeds=seeds))
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    calm = tmp_path / "calm"
    assert start_run(tmp_path, calm, workers).wait(timeout=120) == 0
    moments = random.Random(1)
    out = tmp_path / "out"
    finished: dict[str, int] = {}
    started: set[int] = set()
    kills = 0
    while True:
        process = start_run(tmp_path, out, workers)
        # Some kills come while the program starts, the others when a few more cells are finished.
        more = moments.choice([0, 1, 1, 2, 3])
        while process.poll() is None and len(list((out / "cells").glob("*.parquet"))) < len(finished) + more:
            started.update(children(process.pid))
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        code = process.wait(timeout=60)
        now = {file.name: file.stat().st_mtime_ns for file in (out / "cells").glob("*.parquet")}
        assert {name: now[name] for name in finished} == finished
        finished = now
        if code == 0:
            break
        kills += 1
        if len(finished) == 2 * seeds:
            assert start_run(tmp_path, out, workers).wait(timeout=120) == 0
            break
    assert kills >= 3
    assert contents(out) == contents(calm)
    deadline = time.monotonic() + 10
    while started and time.monotonic() < deadline:
        for pid in list(started):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 0)
                continue
            started.remove(pid)
        time.sleep(0.1)
    assert not started


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c(tmp_path):
    """Heard at once, in the middle of a long cell; what is finished stays."""
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    (tmp_path / "long.toml").write_text(
        "rounds = 20\nseeds = 1\n[agents.quick]\nagent = 'NestedOFUL'\n"
        "[agents.long]\nagent = 'own_agents:Sleeps'\n[instances.s]\ninstance = 'sphere'\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "unipac", "run", "long.toml", "--out", "out", "--workers", "1"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    finished = tmp_path / "out" / "cells" / "quick.s.00000.parquet"
    while process.poll() is None and not finished.exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; finished cells are kept" in errors
    assert "Traceback" not in errors
    assert finished.exists()


def test_the_example(tmp_path):
    spec = experiments.read(HERE.parents[1] / "examples" / "mine.toml").with_changes(seeds=1, rounds=200)
    outcome = run(spec, tmp_path)
    assert (outcome.cells, outcome.finished) == (8, 8)
    ends = load(tmp_path).curves.filter(pl.col("round") == 200)
    certified = dict(ends.group_by("agent").agg(pl.col("certified").all()).iter_rows())
    assert certified == {
        "NestedOFUL noise=0.25": False,  # the noise is 0.5
        "NestedOFUL noise=0.5": True,
        "NestedOFUL noise=1": True,
        "ε-greedy": False,
    }


# -- results -----------------------------------------------------------------------------------


def test_results_are_tidy(tmp_path):
    run(small(), tmp_path)
    results = load(tmp_path)
    assert results.curves["agent"].unique(maintain_order=True).to_list() == ["nested", "ball", "flute"]
    eps = len(small().eps)
    assert len(results.mistakes) == eps * len(results.curves)
    last = results.mistakes.filter(pl.col("round") == 300, pl.col("agent") == "nested", pl.col("seed") == 1)
    assert last["eps"].to_list() == list(small().eps)
    assert last["mistakes"].is_sorted()
    assert set(results.levels["stage"].unique()) == {1, 2}
    assert len(results.times) == len(results.curves)


def test_no_results(tmp_path):
    with pytest.raises(experiments.StoreError, match=r"spec\.json"):
        load(tmp_path)


# -- the command line --------------------------------------------------------------------------


def command(*arguments, code=0):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def program(*arguments, folder):
    """As a user calls it, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "unipac", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_list():
    text = command("list")
    for name in [*experiments.EXPERIMENTS, *unipac.AGENTS, *unipac.envs.BANDITS, *unipac.envs.MDPS]:
        assert name in text


def test_bound():
    text = command("bound", "--dim", 5, "--delta", 0.05, "--eps", 0.1, "--rounds", 1000)
    expected = unipac.theory.mistake_bound(0.1, 5, 0.05, nested=True, all_data=True)
    assert f"{expected:,}" in text
    regret = unipac.theory.regret_bound(1000, 5, 0.05, nested=True, all_data=True)
    assert f"{regret:,.0f}" in text
    assert "delta must be" in command("bound", "--dim", 5, "--delta", 2, code=2)


def test_an_error_has_no_traceback_and_code_2(tmp_path):
    result = program("run", "missing.toml", folder=tmp_path)
    assert result.returncode == 2, result
    assert "missing.toml: no such file" in " ".join(result.stderr.split()), result
    assert "Traceback" not in result.stdout + result.stderr


def test_errors_are_sentences(tmp_path, monkeypatch):
    """``main`` prints what the command raises, and exits with code 2: see above."""
    monkeypatch.chdir(tmp_path)
    for arguments, words in [
        (["run", "quikstart"], "did you mean quickstart"),
        (["run", "quickstart", "--engine", "cloud"], "engine must be serial"),
        (["run", "quickstart", "--engine", "many"], "some cells cannot be played at once"),
        (["run", "quickstart", "--seeds", "0"], "seeds: must be an integer from 1"),
        (["report", "nowhere"], "nowhere"),
        (["run", "quickstart", "--rounds", "many"], "--rounds"),
    ]:
        result = CliRunner().invoke(cli.app, arguments)
        assert result.exit_code != 0
        assert words in " ".join(f"{result.output} {result.exception}".split())


def test_a_run_a_failure_and_what_is_printed(tmp_path):
    (tmp_path / "own_agents.py").write_text(inspect.getsource(own_agents))
    (tmp_path / "mine.toml").write_text(
        "rounds = 200\nseeds = 4\n[agents.nested]\nagent = 'NestedOFUL'\n"
        "[agents.bad]\nagent = 'own_agents:Raises'\n[instances.s]\ninstance = 'sphere'\n"
    )
    result = program("run", "mine.toml", "--engine", "serial", folder=tmp_path)
    assert result.returncode == 1
    assert "cells failed" in result.stderr
    assert "RuntimeError: no luck with <this> [seed]" in result.stderr
    failures = (tmp_path / "results" / "mine" / "failures.txt").read_text()
    assert "Traceback" in failures
    assert '"agent": "own_agents:Raises"' in failures
    assert "nested" in result.stdout
    assert program("report", "results/mine", folder=tmp_path).returncode == 0
    page = (tmp_path / "results" / "mine" / "report.html").read_text()
    assert "because they failed or were not run: 4 of bad." in page
    again = program("run", "mine.toml", "--engine", "serial", folder=tmp_path)
    assert "before" in again.stdout


def test_changed_code_is_another_experiment(tmp_path, monkeypatch):
    """Cells of the old code are neither shown as those of the new nor mixed with them."""
    folder = tmp_path / "results"
    code = inspect.getsource(own_agents)
    (tmp_path / "mine.toml").write_text(
        "rounds = 20\nseeds = 1\n[agents.mine]\nagent = 'changing_agents:Uniform'\n"
        "[agents.nested]\nagent = 'NestedOFUL'\n[instances.s]\ninstance = 'sphere'\n"
    )

    def run(text, seeds=1):
        (tmp_path / "changing_agents.py").write_text(text)
        monkeypatch.delitem(sys.modules, "changing_agents", raising=False)
        spec = experiments.read(tmp_path / "mine.toml").with_changes(seeds=seeds)
        return experiments.run([(spec, folder)])

    assert run(code).computed == 2
    assert run(code, seeds=2).computed == 2
    with pytest.raises(store.StoreError, match=r"the code of 'mine' was another when it was run.*--out"):
        run(code + "\n# changed\n", seeds=2)
    described = json.loads((folder / "spec.json").read_text())
    for agent in described["agents"]:
        agent.pop("source", None)  # as an older version wrote it
    (folder / "spec.json").write_text(json.dumps(described, indent=2, sort_keys=True))
    cells = list((folder / "cells").glob("mine*.json"))
    assert len(cells) == 2
    for cell in cells:
        data = json.loads(cell.read_text())
        del data["cell"]["agent"]["source"]
        cell.write_text(json.dumps(data, indent=2, sort_keys=True))
    assert run(code, seeds=2).computed == 0


def test_the_machine_file_tells_the_command(tmp_path):
    (tmp_path / "mine.toml").write_text(
        "rounds = 50\nseeds = 1\n[agents.nested]\nagent = 'NestedOFUL'\n[instances.s]\ninstance = 'sphere'\n"
    )
    assert program("run", "mine.toml", "--engine", "serial", folder=tmp_path).returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "results/mine/machine.jsonl").read_text().splitlines()]
    assert lines[0]["run"]["command"] == "unipac run mine.toml --engine serial"
    assert lines[1]["cell"] == "nested.s.00000"

"""The engines "many" and "cuda": all seeds of an agent on an instance at once."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import unipac
from unipac import experiments
from unipac.cli.app import app
from unipac.experiments.engines import EngineError
from unipac.experiments.results import load
from unipac.experiments.store import StoreError

TABLES = {
    "rounds": 60,
    "seeds": 3,
    "coverage": True,
    "agents": {
        "nested": {"agent": "NestedOFUL", "tight": False, "delta": 0.1},
        "guarded": {"agent": "Guarded", "tight": False},
        "linucb": {"agent": "LinUCB"},
    },
    "instances": {
        "sphere": {"instance": "sphere", "dim": 3, "n_actions": 4, "noise": 0.2, "seed": 5},
        "soare": {"instance": "soare", "dim": 2, "noise": 0.1},
    },
}


def played(tmp_path, tables=TABLES, engine="many", **changes):
    spec = experiments.parse(tables, name="mine").with_changes(**changes)
    outcome = experiments.run([(spec, tmp_path)], engine=engine)
    assert outcome.failures == []
    return outcome, load(tmp_path)


def test_the_tables_have_what_play_many_tells(tmp_path):
    outcome, results = played(tmp_path)
    assert outcome.finished == outcome.computed == 18
    instance = unipac.envs.sphere(3, 4, noise=0.2, seed=5)
    agent = unipac.NestedOFUL.made_for(instance, tight=False, delta=0.1)
    eps = sorted(results.mistakes["eps"].unique().to_list())
    runs = unipac.play_many(agent, instance, rounds=60, seeds=3, checkpoints=[10, 60], eps=eps)
    of = (pl.col("agent") == "nested") & (pl.col("instance") == "sphere")
    for column, stop in enumerate((10, 60)):
        regret = results.curves.filter(of & (pl.col("round") == stop)).sort("seed")["regret"]
        assert regret.to_list() == runs.regret[:, column].tolist()
    last = results.curves.filter(of & (pl.col("round") == 60)).sort("seed")
    assert last["levels"].to_list() == runs.level.tolist()
    assert last["uncovered"].to_list() == runs.left.astype(int).tolist()
    assert last["certified"].all()
    assert last["violations"].to_list() == runs.undercut.astype(int).tolist()
    assert last["certified_regret"].null_count() == last["reward"].null_count() == 3
    counted = results.mistakes.filter(of & (pl.col("round") == 60)).sort("seed", "eps")["mistakes"]
    assert np.array_equal(counted.to_numpy().reshape(3, -1), runs.mistakes)
    assert runs.mistakes.any()
    free = results.curves.filter((pl.col("agent") == "linucb") & (pl.col("round") == 60))
    assert not free["certified"].any()
    assert free["violations"].null_count() == len(free)  # nothing is certified, so nothing can be undercut


def test_more_seeds_extend_a_run(tmp_path):
    played(tmp_path / "a", seeds=2)
    outcome, results = played(tmp_path / "a", seeds=4)
    assert outcome.computed == 12
    assert results.curves.equals(played(tmp_path / "b", seeds=4)[1].curves)


def test_a_folder_has_rounds_of_one_kind(tmp_path):
    played(tmp_path)
    with pytest.raises(StoreError, match="draws rounds in another way"):
        played(tmp_path, engine="serial")


def test_there_is_a_report(tmp_path):
    played(tmp_path)
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert "nested" in page


def changed(part, label, **parameters):
    entries = TABLES[part]
    return {**TABLES, part: {**entries, label: {**entries.get(label, {}), **parameters}}}


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (changed("agents", "nested", tight=True), "nested on .*: agent must be one with tight=False"),
        (changed("agents", "other", agent="LinTS"), "other on .*: agent must be a fresh UPACOFUL"),
        (changed("instances", "drawn", instance="sphere"), "nested on drawn: .*give it a seed of its own"),
        (changed("instances", "forced", instance="killer"), "nested on forced: its forced rounds"),
    ],
)
def test_cells_that_cannot_be_played_at_once_are_named(tmp_path, tables, words):
    with pytest.raises(EngineError, match=f"some cells cannot be played at once: {words}"):
        played(tmp_path, tables)
    assert not any(tmp_path.iterdir())


def test_mdps_are_refused(tmp_path):
    tables = {
        "rounds": 5,
        "seeds": 1,
        "agents": {"vi": {"agent": "CertVI"}},
        "instances": {"m": {"instance": "river_swim"}},
    }
    with pytest.raises(EngineError, match="only bandit agents"):
        played(tmp_path, tables)


def test_without_a_gpu_one_sentence_says_so(tmp_path):
    if unipac.many.run.missing() == "":
        pytest.skip("there is a GPU")
    with pytest.raises(EngineError, match='device="cuda" needs'):
        played(tmp_path, engine="cuda")


def test_a_simulated_gpu_writes_the_same_tables(tmp_path):
    program = (
        "import pathlib, sys; from unipac import experiments; from test_at_once import TABLES;"
        "spec = experiments.parse({**TABLES, 'rounds': 15, 'seeds': 2}, name='mine');"
        "experiments.run([(spec, pathlib.Path(sys.argv[1]))], engine='cuda')"
    )
    environment = {
        "NUMBA_ENABLE_CUDASIM": "1",
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.path.dirname(__file__),
    }
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "gpu")], env=os.environ | environment, check=True
    )
    expected = played(tmp_path / "cores", seeds=2, rounds=15)[1].curves
    found = load(tmp_path / "gpu").curves
    assert found.drop("regret").equals(expected.drop("regret"))
    assert np.allclose(found["regret"], expected["regret"], rtol=0, atol=1e-9)

"""Predictions that a file states: read with errors that name the key, judged run by run, each instance by itself."""

import io
import json
import math
import re
import tomllib
from pathlib import Path

import numba
import polars as pl
import pytest
from rich.console import Console

import unipac
from unipac import _jit, report
from unipac.cli import screen as screens
from unipac.experiments import EXPERIMENTS, SpecError, engines, parse, playing, run, runner
from unipac.experiments.judging import judge, measured
from unipac.experiments.options import FIGURES
from unipac.experiments.quickstart import conclusion
from unipac.experiments.reading import restored
from unipac.experiments.results import Results, load
from unipac.experiments.spec import meets
from unipac.experiments.stated import MEASURES, Prediction

TABLES = {
    "seeds": 2,
    "rounds": 60,
    "agents": {"a": {"agent": "NestedOFUL"}, "b": {"agent": "LinUCB"}, "m": {"agent": "QLearning"}},
    "instances": {
        "s": {"instance": "sphere", "n_actions": 3, "sweep": {"dim": [2, 3]}},
        "r": {"instance": "river_swim", "n_states": 3, "horizon": 2},
    },
}
SOUND = {"measure": "regret", "agent": "a", "at_most": 2.0, "times": "b"}


def spec(**predictions):
    return parse({**TABLES, "predictions": predictions}, name="mine")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mesure": "regret"}, "[predictions.p] mesure: no such key; did you mean measure"),
        (
            {"measure": "regrets"},
            "[predictions.p] measure: must be a known name, got 'regrets'; did you mean regret",
        ),
        ({"measure": None}, "[predictions.p]: measure must be given"),
        ({"agent": "c"}, "[predictions.p] agent: must be a known name, got 'c'; there are a, b, m"),
        ({"times": 3}, "[predictions.p] times: must be a known name, got 3"),
        ({"instance": "t"}, "[predictions.p] instance: must be a known name, got 't'"),
        ({"instance": "r"}, "[predictions.p] agent: a does not play r"),
        ({"times": "m"}, "[predictions.p] times: a and m play no instance in common"),
        ({"times": "m", "instance": "s"}, "[predictions.p] times: m does not play s dim=2"),
        (
            {"at_least": 1.0},
            "[predictions.p]: one of at_least and at_most must be given, got at_least and at_most",
        ),
        ({"at_most": None}, "[predictions.p]: one of at_least and at_most must be given, got none"),
        ({"at_most": math.nan}, "[predictions.p] at_most: must be a finite number, got nan"),
        ({"at_most": True}, "[predictions.p] at_most: must be a finite number, got True"),
        ({"eps": 0.5}, "[predictions.p] eps: must be given for measure"),
        ({"measure": "mistakes"}, "[predictions.p] eps: must be given for measure"),
        ({"measure": "mistakes", "eps": 0.3}, "[predictions.p] eps: must be one of the grid"),
        ({"says": "\x1b[2J"}, "[predictions.p] says: must be text without control characters"),
    ],
)
def test_a_wrong_prediction_is_refused_by_its_key(change, words):
    table = {key: value for key, value in {**SOUND, **change}.items() if value is not None}
    with pytest.raises(SpecError) as caught:
        spec(p=table)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"predictions": 3}, "[predictions]: must hold tables"),
        ({"predictions": {"p": 3}}, "[predictions.p]: must be a table, got 3"),
        ({"report": 3}, "[report]: must be a table, got 3"),
        ({"report": {"regert": {}}}, "[report] regert: no such key; did you mean"),
        ({"report": {"title": "x"}}, "[report] title: no such key"),
        ({"report": {"y": "cubic"}}, "[report] y: must be 'linear' or 'log', got 'cubic'"),
        ({"report": {"regret": {"instances": ["x"]}}}, "[report] regret.instances: must be a known name"),
        ({"report": {"labels": {"x": "y"}}}, "[report] labels: must be a known name, got 'x'"),
    ],
)
def test_a_wrong_table_is_refused(tables, words):
    with pytest.raises(SpecError) as caught:
        parse({**TABLES, **tables}, name="mine")
    assert words in str(caught.value)


def test_what_is_stated_survives_the_file():
    told = spec(second=SOUND, first={**SOUND, "says": "Twice at most.", "instance": "s"})
    kept = restored(json.loads(json.dumps(told.as_dict(), sort_keys=True)))
    assert kept.predictions == told.predictions
    assert [stated.name for stated in kept.predictions] == ["second", "first"]
    shown = parse({**TABLES, "report": {"lines": "mean", "regret": {"y": "linear"}}}, name="mine")
    assert restored(json.loads(json.dumps(shown.as_dict()))).report == shown.report
    assert "predictions" not in parse(TABLES, name="mine").as_dict()
    assert "report" not in parse(TABLES, name="mine").as_dict()


def test_sentences():
    assert Prediction("p", **SOUND).sentence == "Regret at the end, a: at most 2 times that of b."
    counted = Prediction("p", "mistakes", "a", instance="s", at_least=3, eps=0.5)
    assert counted.sentence == "Rounds with a gap above eps = 0.5, a on s: at least 3."


PAGE = Path(__file__).parents[2] / "docs" / "results" / "experiments.md"


def test_every_table_on_the_page_of_experiments_is_read():
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)
    found = [parse(tomllib.loads(block), name="page") for block in blocks[1:]]
    assert [len(spec.predictions) for spec in found] == [0, 2, 0, 0]
    assert found[2].report.of("regret").title == "What was lost"
    assert set(MEASURES) == set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.M)) & set(MEASURES)
    assert all(f"`{name}`" in PAGE.read_text() for name in FIGURES)


# -- judging --------------------------------------------------------------------------------------------


def world(**values):
    """Results of agents on instances: ``a_x=[1, 2]`` is the regret of agent a on instance x by seed."""
    cells = [
        {"agent": key[0], "instance": key[2:], "family": key[2:], "seed": seed, "round": t, "free": t}
        | {"regret": value * t / 100, "claimed": value * t / 100, "reward": -value * t / 100, "explored": 7}
        for key, several in values.items()
        for seed, value in enumerate(several)
        for t in (50, 80, 100)
    ]
    curves = pl.DataFrame(cells)
    mistakes = curves.select("agent", "instance", "family", "seed", "round", eps=0.5, mistakes="round")
    return Results(curves, mistakes, pl.DataFrame(), pl.DataFrame())


@pytest.mark.parametrize(
    ("ours", "theirs", "seen"),
    [
        ([10, 11, 12], [20, 21, 22], True),
        ([30, 31, 32], [10, 11, 12], False),
        ([20, 24, 16], [10, 10, 10], None),  # the mean is the threshold, but for chance
        ([20, 20, 20], [10, 10, 10], True),  # nothing varies: at most means at most
        ([20.1, 20.1], [10, 10], False),
        ([10], [20], None),  # one run
        ([10, math.nan], [20, 20], None),
        ([19, 29, 39], [10, 15, 20], True),  # by pairs of runs the difference is 1 in each
    ],
)
def test_a_verdict_is_beyond_chance(ours, theirs, seen):
    found = judge(Prediction("p", **SOUND), ["x"], world(a_x=ours, b_x=theirs))
    assert found.seen is seen
    if seen is not None:
        assert "against" in found.observation


def test_student_t_decides():
    """Differences 1, 3, 5: mean 3, error 2/√3, t = 4.303 with two degrees: the interval is 3 ± 4.97."""
    one = Prediction("p", "regret", "a", at_least=0.0)
    assert judge(one, ["x"], world(a_x=[1, 3, 5])).seen is None
    assert judge(one, ["x"], world(a_x=[3.0, 5, 7])).seen is True  # 5 ± 4.97
    assert judge(one, ["x"], world(a_x=[2.9, 4.9, 6.9])).seen is None  # 4.9 ± 4.97


def test_each_instance_is_judged_by_itself():
    results = world(a_x=[1, 1.1], b_x=[10, 10.1], a_y=[30, 30.1], b_y=[10, 10.1])
    stated = Prediction("p", **SOUND)
    assert judge(stated, ["x"], results).seen is True
    both = judge(stated, ["x", "y"], results)
    assert both.seen is False  # though the pooled mean would be below twice the other
    assert "x: 1.05 against 10.05, ratio 0.1045" in both.observation
    assert "y: 30.05 against 10.05" in both.observation


def test_measures():
    results = world(a_x=[10, 20])
    found = {
        name: measured(results, name, "a", "x", 0.5 if name == "mistakes" else None) for name in MEASURES
    }
    assert found["regret"] == {0: 10, 1: 20}
    assert found["reward"] == {0: pytest.approx(-0.1), 1: pytest.approx(-0.2)}
    assert found["gap"] == found["certificate"] == {0: pytest.approx(0.1), 1: pytest.approx(0.2)}
    assert found["mistakes"] == found["pulls"] == {0: 100, 1: 100}
    assert found["explored"] == {0: 7, 1: 7}


# -- what a cell keeps of certificates that nothing proves here, and of a guard ------------------------


def test_certificates_are_kept_where_they_are_not_proven():
    guarded = {"agent": "Guarded", "gate": 1.0, "noise": 0.1, "tight": False}  # sets would refute the noise
    told = {"guarded": guarded, "free": {"agent": "LinUCB"}}
    tables = {**TABLES, "rounds": 300, "seeds": 1, "agents": told}
    tables["instances"] = {"s": {"instance": "sphere", "dim": 2, "n_actions": 3, "noise": 0.5, "seed": 1}}
    cells = {cell.agent.label: cell for cell in parse(tables, name="x").cells()}
    last = pl.read_parquet(playing.compute(cells["guarded"]).parquet).row(-1, named=True)
    assert last["certified"] is False  # told too little noise
    assert last["certified_regret"] is None
    assert last["claimed"] > 0
    assert last["explored"] == sum(last["sizes"]) > 0
    free = pl.read_parquet(playing.compute(cells["free"]).parquet).row(-1, named=True)
    assert (free["claimed"], free["explored"]) == (None, None)


def test_environments_of_gymnasium():
    lake = {
        "instance": "gymnasium",
        "environment": "FrozenLake-v1",
        "horizon": 6,
        "options": {"is_slippery": False},
    }
    tables = {
        **TABLES,
        "agents": {"c": {"agent": "CertVI", "homogeneous": True}},
        "instances": {"lake": lake},
    }
    (cell, _) = parse(tables, name="x").cells()
    row = pl.read_parquet(playing.compute(cell).parquet).row(-1, named=True)
    assert row["kind"] == "mdp"
    assert 0 < row["regret"] <= 60
    assert row["claimed"] >= row["regret"]


# -- compiling ------------------------------------------------------------------------------------------


def compiles():
    before = _jit.seconds()
    numba.njit(lambda x: x + 1)(1)
    return _jit.seconds() - before


def test_a_worker_tells_that_it_compiles():
    engine = engines.Processes(1)
    try:
        compiling = engine.submit(compiles)
        assert 0 < compiling.result(timeout=120) < 100
        assert compiling.compiling
        warm = engine.submit(_jit.seconds)
        assert warm.result(timeout=120) > 0
        assert not warm.compiling
    finally:
        engine.close()


def test_the_screen_tells_compiling_from_playing(monkeypatch):
    screen_text = io.StringIO()
    monkeypatch.setattr(screens, "out", Console(file=screen_text, width=200))
    screen = screens.Screen(2)
    first, second = list(spec().cells())[:2]
    started = runner.Progress(2, 0, 120, 0, None, compiling=True)
    for _ in range(3):  # it is said once
        screen.watch(started)
    slow = playing.Computed(b"", 70.5, [1], [0.0], compiling=70.0)
    screen.watch(runner.Progress(2, 1, 120, 60, ("mine", first, slow)))
    screen.watch(runner.Progress(2, 2, 120, 120, ("mine", second, slow._replace(seconds=0.5, compiling=0.0))))
    assert screen_text.getvalue().splitlines() == [
        "[0/2] compiling kernels, once per installation ...",
        "[1/2] a on s dim=2, seed 0: 60 rounds in 0.5 s, after 70 s of compiling",
        "[2/2] b on s dim=2, seed 0: 60 rounds in 0.5 s",
    ]


def test_kinds_come_in_turn():
    jobs = [runner._Job(None, None, cell) for cell in spec().cells()]
    kinds = [(job.cell.seed, job.cell.agent.kind) for job in runner._kinds_in_turn(jobs)]
    assert kinds[:3] == [(0, "bandit"), (0, "mdp"), (0, "bandit")]
    assert [seed for seed, _ in kinds] == sorted(seed for seed, _ in kinds)


# -- the demo -------------------------------------------------------------------------------------------


def demo(**scale):
    """A world in which every measure of an agent is 100 times the factor of its first letters."""
    (quickstart,) = EXPERIMENTS["quickstart"]
    made = quickstart.spec()
    rows = []
    for instance in made.instances:
        for agent in made.agents:
            if meets(agent, instance):
                value = 100.0 * next((v for key, v in scale.items() if agent.label.startswith(key)), 1.0)
                for seed in (0, 1):
                    for t in (50, 100):
                        rows.append(
                            {"agent": agent.label, "instance": instance.label, "family": instance.family}
                            | {"seed": seed, "round": t, "free": t, "regret": value * t, "reward": value * t}
                            | {"claimed": 0.25 * t, "explored": 3}
                        )
    curves = pl.DataFrame(rows)
    mistakes = curves.select("agent", "instance", "family", "seed", "round", eps=0.25, mistakes="regret")
    results = Results(curves, mistakes, pl.DataFrame(), pl.DataFrame())
    places = [
        [i.label for i in made.instances if p.instance in (i.label, i.family)] for p in made.predictions
    ]
    found = {p.name: judge(p, where, results).seen for p, where in zip(made.predictions, places, strict=True)}
    return found, conclusion(results)


def test_predictions_of_the_demo_can_be_seen_and_can_fail():
    good, words = demo(CertVI=0.01, Nested=0.1, Guarded=1.0, LinUCB=1.0, OFUL=3.0)
    assert all(good.values())
    assert "CertVI loses least." in " ".join(words)
    bad, words = demo(CertVI=5.0, Nested=9.0, Guarded=0.9, OFUL=1.0)
    assert not any(bad.values())
    assert "QLearning loses least, not CertVI." in " ".join(words)
    assert "90.0% of what LinUCB earns" in " ".join(words)


def test_the_demo_has_at_most_eight_figures(tmp_path):
    (quickstart,) = EXPERIMENTS["quickstart"]
    small = quickstart.spec().with_changes(seeds=2, rounds=40)
    assert run([(small, tmp_path)]).failures == []
    (section,) = report.sections(tmp_path)
    drawn = [panel for figure in section.figures for panel in figure.drawn.panels]
    assert 6 <= len(drawn) <= 8
    assert len(section.conclusion) == 4
    assert load(tmp_path).curves["claimed"].drop_nulls().len() > 0
    assert unipac.__version__ in section.made["versions"]

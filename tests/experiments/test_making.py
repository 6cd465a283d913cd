"""What is made from a spec: agents of every kind, instances once, never too many."""

import hashlib
import inspect
import math
import os
import signal
from pathlib import Path

import polars as pl
import pytest

import unipac
from helpers import own_agents
from unipac import report
from unipac.experiments import SpecError, making, parse, playing, registry, run
from unipac.experiments.engines import Processes
from unipac.experiments.results import load
from unipac.report import searches as report_searches

HERE = Path(__file__).parent
SPHERE = {"instance": "sphere", "dim": 2, "n_actions": 3}
ARMS = {"instance": "soare", "dim": 2}


def made(agents, instances=None, **others):
    tables = {"rounds": 40, "seeds": 1, "agents": agents, "instances": instances or {"s": SPHERE}, **others}
    return parse(tables, name="made", folder=str(HERE))


def table(spec):
    (cell,) = spec.cells()
    return pl.read_parquet(playing.compute(cell, spec.folder).parquet)


# -- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x00", "\x7f", "\x9b", "a\nb", "\u2028", "\u202e", "\ufffe"])
@pytest.mark.parametrize("where", ["agent", "instance", "sweep", "title", "description"])
def test_control_characters_are_refused_where_they_would_be_shown(bad, where):
    agent, label = {"agent": "helpers.own_agents:Uniform"}, f"x{bad}"
    others = {where: label} if where in ("title", "description") else {}
    if where == "sweep":
        agent["sweep"] = {"log": [label]}
    agents = {label if where == "agent" else "a": agent}
    instances = {label if where == "instance" else "s": SPHERE}
    if where == "description" and bad == "a\nb":
        assert made(agents, instances, **others).description == label
        return
    with pytest.raises(SpecError, match="must not hold control characters") as caught:
        made(agents, instances, **others)
    assert bad not in str(caught.value)


def test_labels_of_all_languages_stay():
    spec = made({"ε-greedy 日本語 \U0001f600": {"agent": "OFUL"}}, title="Größe ≤ 1")
    assert spec.agents[0].label == "ε-greedy 日本語 \U0001f600"


# -- how many -----------------------------------------------------------------------------------


def test_a_sweep_without_end_is_refused_before_anything_is_made(tmp_path):
    log = tmp_path / "log"
    values = [i / 1000 for i in range(300)]
    agents = {
        "a": {"agent": "helpers.own_agents:Uniform", "sweep": {"seconds": values, "seed": list(range(300))}}
    }
    instances = {"s": {"instance": "helpers.own_agents:noted_sphere", "log": str(log)}}
    with pytest.raises(SpecError, match=r"\[agents\.a\] sweep: it makes 90,000 agents.*10,000"):
        made(agents, instances)
    many = {
        "instance": "helpers.own_agents:noted_sphere",
        "log": str(log),
        "sweep": {"seed": list(range(9000))},
    }
    with pytest.raises(SpecError, match=r"\[instances\.t\] sweep: it makes 9,000 instances"):
        made({"a": {"agent": "OFUL"}}, {"s": many, "t": many})
    with pytest.raises(SpecError, match=r"1 agents × 9,000 instances × 1,000 seeds are more than 1,000,000"):
        made({"a": {"agent": "OFUL"}}, {"s": many}, seeds=1000)
    assert not log.exists()


def test_more_seeds_are_limited_as_well():
    spec = made({"a": {"agent": "OFUL"}, "b": {"agent": "LinUCB"}})
    assert spec.with_changes(seeds=500_000).seeds == 500_000
    with pytest.raises(SpecError, match="2 agents × 1 instances × 500,001 seeds"):
        spec.with_changes(seeds=500_001)


# -- instances ----------------------------------------------------------------------------------


def test_an_instance_is_made_once_to_check_it_and_once_for_a_cell(tmp_path):
    log = tmp_path / "log"
    instances = {"s": {"instance": "helpers.own_agents:noted_sphere", "log": str(log)}}
    spec = made({name: {"agent": name} for name in ("OFUL", "LinUCB", "NestedOFUL")}, instances)
    assert len(log.read_text().split()) == 1
    run([(spec, tmp_path / "out")])
    assert len(log.read_text().split()) == 1 + 3  # one of the user's own may change, so it is not shared


def test_an_instance_of_the_library_is_made_once_per_seed(tmp_path, monkeypatch):
    calls = []

    def counted(*arguments, **parameters):
        calls.append(parameters)
        return unipac.envs.sphere(*arguments, **parameters)

    counted.__signature__ = inspect.signature(unipac.envs.sphere)
    monkeypatch.setattr(registry, "INSTANCES", {**registry.INSTANCES, "sphere": counted})
    making._made_by_us.cache_clear()
    spec = made({name: {"agent": name} for name in ("OFUL", "LinUCB", "NestedOFUL")}, seeds=2)
    assert len(calls) == 1
    run([(spec, tmp_path)])
    assert len(calls) == 1 + 2
    making._made_by_us.cache_clear()


def test_a_shared_instance_gives_the_bytes_of_a_new_one():
    spec = made({"a": {"agent": "NestedOFUL"}, "b": {"agent": "OFUL"}}, seeds=2)
    shared = [playing.compute(cell).parquet for cell in spec.cells()]
    for cell, parquet in zip(spec.cells(), shared, strict=True):
        making._made_by_us.cache_clear()
        assert playing.compute(cell).parquet == parquet


# -- agents -------------------------------------------------------------------------------------


def test_a_class_may_say_itself_how_it_is_made():
    spec = made({"a": {"agent": "helpers.own_agents:Declared", "step": 2.0}})
    agent = making.make_agent(spec.agents[0], unipac.envs.sphere(2, 3), 40, seed=5)
    assert (agent.dim, agent.step, agent.made_with) == (2, 2.0, {"rounds": 40, "seed": 5})
    assert table(spec)["delta"].to_list()[-1] == 0.25  # read from the agent, nobody gave it


def test_parameters_are_the_fields_of_a_dataclass():
    with pytest.raises(SpecError, match=r"\[agents\.a\] stepp: no such argument; did you mean step"):
        made({"a": {"agent": "helpers.own_agents:Declared", "stepp": 2.0}})
    with pytest.raises(SpecError, match=r"made_with: no such argument"):
        made({"a": {"agent": "helpers.own_agents:Declared", "made_with": 2.0}})
    swept = made({"a": {"agent": "helpers.own_agents:Declared", "sweep": {"step": [1.0, 2.0]}}})
    assert [agent.label for agent in swept.agents] == ["a step=1", "a step=2"]


def test_forced_rounds_need_an_agent_that_counts_many():
    killer = {"k": {"instance": "killer", "forced": 100}}
    with pytest.raises(SpecError, match="takes its forced rounds in one step"):
        made({"a": {"agent": "helpers.own_agents:Declared"}}, killer)
    assert made({"a": {"agent": "helpers.own_agents:Counting"}}, killer).agents[0].kind == "bandit"


def test_a_kind_that_there_is_not(monkeypatch):
    monkeypatch.setattr(own_agents.Uniform, "kind", "oracle", raising=False)
    with pytest.raises(
        SpecError, match=r'\[agents\.a\] agent must have a kind of "bandit", "mdp" or "search"'
    ):
        made({"a": {"agent": "helpers.own_agents:Uniform"}})


def test_agents_are_those_of_the_library_and_each_has_a_kind():
    assert registry.AGENTS is unipac.registry.AGENTS
    kinds = {name: registry.agent_kind(agent) for name, agent in registry.AGENTS.items()}
    assert kinds["NestedOFUL"] == "bandit"
    assert kinds["NestedFLUTE"] == "mdp"
    assert set(kinds.values()) <= {"bandit", "mdp", "search"}


def test_the_registry_of_finite_mdps():
    assert issubclass(unipac.envs.LinearMDP, unipac.envs.FiniteMDP)
    assert registry.instance_kind(unipac.envs.river_swim(3, 3)) == "mdp"
    with pytest.raises(
        SpecError, match="must make a BanditInstance, a FiniteMDP or a DiscountedMDP, got int"
    ):
        registry.instance_kind(3)


@pytest.mark.parametrize(("instance", "alike"), [("river_swim", True), ("random_simplex", False)])
def test_pooled_agents_are_certified_only_where_stages_are_alike(instance, alike):
    told = {"r": {"instance": instance, "n_states": 3, "horizon": 2}}
    pooled = made({"a": {"agent": "CertVI", "homogeneous": True}}, told, rounds=5)
    assert set(table(pooled)["certified"]) == {alike}
    plain = made({"a": {"agent": "CertVI"}}, told, rounds=5)
    assert set(table(plain)["certified"]) == {True}


# -- searches -----------------------------------------------------------------------------------


def test_a_search_is_one_row():
    spec = made({"a": {"agent": "helpers.own_agents:EqualPulls", "share": 0.5}}, {"arms": ARMS}, rounds=9000)
    (row,) = table(spec).to_dicts()
    assert (row["kind"], row["round"], row["free"], row["certified"]) == ("search", 4500, 1, True)
    assert (row["regret"], row["delta"], row["violations"], row["mistakes"]) == (0.0, 0.1, 0, None)
    # 2 radii of 1,500 pulls: 2 sqrt(2 log(2 * 3 / 0.1) / 1500) = 0.1478
    assert row["certified_regret"] == pytest.approx(2 * math.sqrt(2 * math.log(60) / 1500))


def test_a_wrong_search_is_found_out():
    spec = made({"a": {"agent": "helpers.own_agents:EqualPulls", "wrong": True}}, {"arms": ARMS})
    (row,) = table(spec).to_dicts()
    instance = unipac.envs.soare(2)
    means = instance.actions @ instance.theta
    assert row["regret"] == pytest.approx(means.max() - means.min())
    assert (row["certified_regret"], row["violations"]) == (0.0, 1)


def test_a_search_needs_arms_that_stay():
    with pytest.raises(
        SpecError, match=r"\[agents\.a\] on s: helpers\.own_agents:EqualPulls searches among fixed arms"
    ):
        made({"a": {"agent": "helpers.own_agents:EqualPulls"}})
    with pytest.raises(SpecError, match="is for bandits with fixed arms"):
        made({"a": {"agent": "helpers.own_agents:EqualPulls"}}, {"r": {"instance": "river_swim"}})


@pytest.mark.parametrize("company", [{}, {"nested": {"agent": "NestedOFUL"}}], ids=["alone", "among others"])
def test_searches_are_in_the_table_of_a_report(tmp_path, company):
    agents = {"search": {"agent": "helpers.own_agents:EqualPulls"}, **company}
    run([(made(agents, {"arms": ARMS}, rounds=600, seeds=3), tmp_path)])
    (section,) = report.sections(tmp_path)
    told = report.summary(section.results).filter(pl.col("agent") == "search").to_dicts()
    assert [row["guarantee"] for row in told] == ["certified"]
    assert told[0]["certificate below gap"] == "0 of 3"
    assert told[0]["rounds or pulls" if company else "pulls"] == "600"
    for form in ("html", "svg"):
        report.build([section], tmp_path, form)
    drawn = {agent for figure in section.figures for agent in figure.agents}
    assert "search" not in drawn  # it never stops by itself


def searches(**round_of):
    """Rows as of a run of searches on one instance, three seeds each."""
    rows = [
        {"agent": agent, "instance": "arms", "round": pulls, "certified_regret": 0.0, "least_pulls": 100.0}
        | {"delta": 0.05, "certified": True, "violations": 0}
        for agent, several in round_of.items()
        for pulls in several
    ]
    return pl.DataFrame(rows)


def test_pulls_are_held_against_the_lower_bound():
    curves = searches(fast=[150, 200, 250], slow=[1000, 2000, 3000])
    (panel,) = report_searches.pulls(curves).panels
    mean = panel.rows.filter(pl.col("line") == "mean pulls").select("agent", "x", "y").rows()
    assert mean == [("fast", 100.0, 200.0), ("slow", 100.0, 2000.0)]
    finding = report_searches.finding(curves)
    assert finding.seen
    assert "fast 2, slow 20" in finding.observation
    assert report_searches.finding(searches(magic=[10, 11, 12])).seen is False
    wrong = curves.with_columns(violations=pl.lit(1))
    assert report_searches.finding(wrong).seen is False


def test_a_search_that_did_not_stop_has_no_mean():
    early = searches(early=[10, 11, 12]).with_columns(certified_regret=pl.lit(0.3))
    assert report_searches.pulls(early).panels == []
    assert report_searches.finding(early).seen


def test_the_lower_bound_of_a_search_is_in_its_row():
    (row,) = table(made({"a": {"agent": "RAGE"}}, {"arms": ARMS}, rounds=10**6)).to_dicts()
    instance = unipac.envs.soare(2)
    least = unipac.theory.identification_time(instance.actions, instance.theta, 0.05, tolerance=0.01)
    assert row["least_pulls"] == least.pulls > 0
    for words in ({"eps": 0.1}, {"targets": [[1.0, 0.0], [0.0, 1.0]]}):
        (row,) = table(made({"a": {"agent": "RAGE", **words}}, {"arms": ARMS}, rounds=10**6)).to_dicts()
        assert row["least_pulls"] is None


# -- workers ------------------------------------------------------------------------------------


def test_a_worker_that_leaves_without_an_error_is_noticed(tmp_path):
    agents = {
        "leaves": {"agent": "helpers.own_agents:Leaves"},
        "stays": {"agent": "helpers.own_agents:Uniform"},
    }
    outcome = run([(made(agents), tmp_path)], engine="processes", workers=1)
    assert [failure.cell.agent.label for failure in outcome.failures] == ["leaves"]
    assert "killed its worker 2 times" in outcome.failures[0].reason
    assert outcome.finished == 1


def test_a_worker_that_died_while_idle_is_replaced():
    engine = Processes(1)
    try:
        first = engine.submit(os.getpid).result(timeout=60)
        os.kill(first, signal.SIGKILL)
        engine._workers[0].process.join()
        assert engine.submit(os.getpid).result(timeout=60) != first
    finally:
        engine.close()


def test_results_know_searches(tmp_path):
    run([(made({"a": {"agent": "helpers.own_agents:EqualPulls"}}, {"arms": ARMS}), tmp_path)])
    results = load(tmp_path)
    assert results.curves["kind"].to_list() == ["search"]
    assert len(results.mistakes) == 0


def test_results_without_a_lower_bound_are_read(tmp_path):
    """Those of a version that did not write the column."""
    run([(made({"a": {"agent": "helpers.own_agents:EqualPulls"}}, {"arms": ARMS}), tmp_path)])
    (file,) = (tmp_path / "cells").glob("*.parquet")
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    pl.read_parquet(file).drop("least_pulls").write_parquet(file)
    after = hashlib.sha256(file.read_bytes()).hexdigest()
    words = file.with_suffix(".json")
    words.write_text(words.read_text().replace(before, after))
    assert load(tmp_path).curves["least_pulls"].to_list() == [None]


# -- own agents get what they ask for, by name ---------------------------------------------------


class AsksByName:
    """Its first argument is no dimension."""

    def __init__(self, epsilon=0.1, *, n_actions, norm, seed=0):
        self.told = {"epsilon": epsilon, "n_actions": n_actions, "norm": norm}

    def choose(self, actions):
        return 0

    def update(self, index, reward):
        pass


class AsksTooMuch(AsksByName):
    def __init__(self, weight, dim):
        pass


def made_by(make, **parameters):
    instance = unipac.envs.sphere(dim=2, n_actions=3)
    return making._made_by_arguments(make, "bandit", instance, 40, 7, parameters)


def test_an_own_agent_gets_by_name_what_it_asks_for():
    assert made_by(AsksByName).told == {"epsilon": 0.1, "n_actions": 3, "norm": 1.0}
    assert made_by(AsksByName, epsilon=0.5, norm=2.0).told == {"epsilon": 0.5, "n_actions": 3, "norm": 2.0}


def test_what_nobody_gives_is_named():
    with pytest.raises(
        ValueError, match=r"AsksTooMuch asks for weight, which neither .* dim, n_actions, noise"
    ):
        made_by(AsksTooMuch)


# -- what is looked up is looked at before it is called -------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os:system", "must be a class or a function in Python, got builtin_function_or_method"),
        ("os:getcwd", "must be a class or a function in Python, got builtin_function_or_method"),
        ("os:path", "must be a class or a function in Python, got module"),
        ("builtins:open", "must be a class or a function in Python"),
        ("shutil:rmtree", "must be a class or a function in Python|a function of yours, got one of Python's"),
        ("subprocess:run", "must be a class or a function of yours, got one of Python's module subprocess"),
        ("subprocess:Popen", "must be a class or a function of yours, got one of Python's module subprocess"),
        ("helpers.own_agents:touching_list", "got list"),
        ("helpers.own_agents:touching_none", "got NoneType"),
        ("helpers.own_agents:Touching", "got Touching"),
    ],
)
@pytest.mark.parametrize("what", ["instance", "agent"])
def test_what_can_be_neither_agent_nor_instance_is_not_called(what, name, message, tmp_path, monkeypatch):
    mark = tmp_path / "called"
    monkeypatch.setattr("subprocess.Popen.__init__", lambda self, *_, **__: mark.touch())
    arguments = {"mark": str(mark)} if "own_agents" in name else {}
    agents, instances = {"a": {"agent": "OFUL"}}, {"i": {"instance": "sphere"}}
    if what == "agent":
        agents = {"a": {"agent": name, **arguments}}
    else:
        instances = {"i": {"instance": name, **arguments}}
    with pytest.raises(SpecError, match=rf"{what} = '{name}' (must be )?.*({message}).*it was not called"):
        made(agents, instances)
    assert not mark.exists()


def test_what_is_said_to_make_an_instance_or_an_agent_is_called(monkeypatch):
    """By its annotation, as a class, as a method of one, with arguments filled in, or without a word."""
    for name in ("said_sphere", "unsaid_sphere", "Spheres.small", "filled_sphere"):
        assert made({"a": {"agent": "OFUL"}}, {"i": {"instance": f"helpers.own_agents:{name}"}})
    for name in ("Uniform", "said_uniform"):
        assert made({"a": {"agent": f"helpers.own_agents:{name}"}})

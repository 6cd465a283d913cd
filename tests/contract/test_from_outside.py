"""An agent of each kind, written outside the package, is as good as one of the library: its file, and one line."""

import copy
import inspect
import sys

import pytest
from typer.testing import CliRunner

import unipac
from helpers import registry_cases as cases, toys
from helpers.any_checks import by_file
from unipac import experiments, registry
from unipac.cli import app as cli

KINDS = {cls.kind: cls for cls in toys.RIGHT}
HOMES = {
    "bandit": "unipac.bandits.toy_bandit",
    "mdp": "unipac.mdp.toy_mdp",
    "search": "unipac.pac.toy_search",
}
OWN = {"bandit": "boldness", "mdp": "bonus", "search": "each"}
"""The parameter that the algorithm adds."""


def played(agent, instance, seed=0):
    """Some rounds, episodes or batches, and what came of them."""
    if agent.kind == "bandit":
        return agent.play(instance, rounds=50, seed=seed).index.tolist()
    if agent.kind == "mdp":
        return agent.play(instance, episodes=30, seed=seed).reward.tolist()
    return [
        part.tolist() if hasattr(part, "tolist") else part
        for part in agent.run(instance, seed=seed, max_pulls=200)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_subclass_play_save_load_copy(kind, tmp_path):
    case = cases.MAKERS[kind](KINDS[kind])[0]
    agent = case.make(**{OWN[kind]: 3})
    played(agent, case.instance)
    agent.save(tmp_path / "mine.npz")
    with pytest.raises(ValueError, match=type(agent).__name__):
        unipac.load(tmp_path / "mine.npz")  # nobody told it where to find the class
    with pytest.raises(ValueError, match="agent="):
        unipac.load(tmp_path / "mine.npz", agent=unipac.OFUL)
    others = [unipac.load(tmp_path / "mine.npz", agent=type(agent)), copy.copy(agent)]
    expected = played(agent, case.instance, 1)
    for other in others:
        assert getattr(other, OWN[kind]) == 3
        assert type(other) is type(agent)
        assert played(other, case.instance, 1) == expected


@pytest.mark.parametrize("name", unipac.AGENTS)
def test_a_subclass_of_ours_saves_and_is_loaded(name, tmp_path):
    cls = unipac.AGENTS[name]
    mine = type("Mine", (cls,), {"__doc__": "A class of a user's own."})
    case = cases.MAKERS[cls.kind](mine)[0]
    agent = case.make()
    played(agent, case.instance)
    other = by_file(agent, tmp_path / "mine.npz")
    assert type(other) is mine
    assert played(other, case.instance, 1) == played(agent, case.instance, 1)
    with pytest.raises(ValueError, match="Mine"):
        unipac.load(tmp_path / "mine.npz")
    with pytest.raises(ValueError, match="agent="):
        unipac.load(tmp_path / "mine.npz", agent=cls)


INSTANCES = {
    "bandit": 'instance = "sphere"\ndim = 2\nn_actions = 3\n',
    "mdp": 'instance = "river_swim"\nn_states = 3\nhorizon = 3\n',
    "search": 'instance = "soare"\ndim = 2\nangle = 0.8\n',
}


def described(name, kind):
    values = "[2, 5]" if kind == "search" else "[0.5, 2.0]"
    return (
        f'seeds = 2\nrounds = 60\n[agents.mine]\nagent = "{name}"\n'
        f"[agents.mine.sweep]\n{OWN[kind]} = {values}\n[instances.here]\n{INSTANCES[kind]}"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_over_its_own_parameter(kind, tmp_path):
    """Named as ``module:object``; the module lies beside the file."""
    source = inspect.getsource(toys)
    module = f"agents_of_mine_{kind}"
    (tmp_path / f"{module}.py").write_text(source)
    file = tmp_path / "mine.toml"
    file.write_text(described(f"{module}:{KINDS[kind].__name__}", kind))
    spec = experiments.read(file)
    assert [agent.parameters[OWN[kind]] for agent in spec.agents] == (
        [2, 5] if kind == "search" else [0.5, 2.0]
    )
    result = CliRunner().invoke(
        cli.app, ["run", str(file), "--out", str(tmp_path / "out"), "--workers", "1"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert len([*(tmp_path / "out" / "cells").glob("*.parquet")]) == 4
    sys.modules.pop(module, None)


@pytest.fixture
def one_line(monkeypatch):
    """The lines in the registry that the toys would need, each in its file."""
    for kind, cls in KINDS.items():
        monkeypatch.setitem(sys.modules, HOMES[kind], toys)
        monkeypatch.setitem(registry._MODULES, cls.__name__, HOMES[kind])
    yield
    for cls in KINDS.values():
        for package in (unipac, unipac.bandits, unipac.mdp, unipac.pac):
            vars(package).pop(cls.__name__, None)


@pytest.mark.usefixtures("one_line")
@pytest.mark.parametrize("kind", KINDS)
def test_one_line_in_the_registry_is_enough(kind, tmp_path):
    cls = KINDS[kind]
    name = cls.__name__
    assert getattr(unipac, name) is cls
    assert unipac.AGENTS[name] is cls
    assert name in dir(unipac)
    case = cases.MAKERS[kind](cls)[0]
    agent = case.make()
    played(agent, case.instance)
    agent.save(tmp_path / "a.npz")
    assert played(unipac.load(tmp_path / "a.npz"), case.instance, 1) == played(agent, case.instance, 1)
    listed = CliRunner().invoke(cli.app, ["list"], catch_exceptions=False).output
    (line,) = [line for line in listed.splitlines() if line.strip().startswith(name)]
    assert cls.__doc__.splitlines()[0] in line
    assert cls.theorem in line
    file = tmp_path / "mine.toml"
    file.write_text(described(name, kind))
    assert len(experiments.read(file).agents) == 2
    assert name in cases.names(kind)  # and so it is tested

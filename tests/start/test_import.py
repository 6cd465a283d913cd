"""``import unipac`` loads nothing, and all names are there."""

import sys
import types

import pytest

import unipac
from helpers.processes import run
from unipac import registry


def test_import_loads_nothing_heavy():
    """Negative control: the first agent loads Numba and NumPy."""
    program = (
        "import sys, unipac; dir(unipac); len(unipac.AGENTS);"
        "print(*sorted({name.split('.')[0] for name in sys.modules}));"
        "unipac.NestedOFUL;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    before, after = (set(line.split()) for line in run(program).splitlines())
    assert not before & {"numba", "gymnasium", "scipy", "polars", "numpy", "altair", "typer", "rich"}
    assert {"numba", "numpy"} <= after
    assert not after & {"polars", "altair", "typer", "rich", "sklearn"}


def test_theory_and_metrics_need_no_numba():
    program = (
        "import sys, unipac; unipac.theory.level_size(2, 1); unipac.metrics.regret([0.5]);"
        "print('numba' in sys.modules, 'gymnasium' in sys.modules)"
    )
    assert run(program).split() == ["False", "False"]


def test_every_name_is_there():
    program = """
import unipac
from unipac import *
for name in unipac.__all__:
    assert getattr(unipac, name) is globals()[name], name
    assert name in dir(unipac), name
for package in (unipac.bandits, unipac.mdp, unipac.pac):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
assert set(unipac.AGENTS) <= set(unipac.__all__)
found = {name for package in (unipac.bandits, unipac.mdp, unipac.pac) for name in package.__all__}
assert set(unipac.AGENTS) <= found
"""
    run(program)


def test_unknown_names_are_refused():
    for package in (unipac, unipac.bandits, unipac.mdp):
        with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'Nothing'"):
            package.Nothing  # noqa: B018
        assert not hasattr(package, "__nothing__")
    with pytest.raises(ImportError, match="Nothing"):
        from unipac import Nothing  # noqa: F401
    with pytest.raises(AttributeError):
        unipac.bandits.NestedFLUTE  # noqa: B018  # of another package


@pytest.mark.parametrize("package", [unipac.bandits, unipac.mdp])
def test_one_line_of_the_registry_is_enough(monkeypatch, package):
    """An agent that is only in the registry is found under ``unipac`` and under its own package."""
    module = types.ModuleType(f"{package.__name__}.mine")
    module.Mine = type("Mine", (), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry._MODULES, "Mine", module.__name__)
    try:
        assert unipac.Mine is module.Mine is package.Mine
        assert "Mine" in dir(unipac)
        assert "Mine" in dir(package)
        assert "Mine" in unipac.AGENTS
        other = unipac.mdp if package is unipac.bandits else unipac.bandits
        assert not hasattr(other, "Mine")
    finally:
        for holder in (unipac, package):
            vars(holder).pop("Mine", None)

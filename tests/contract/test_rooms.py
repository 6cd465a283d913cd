"""The rules of the house that a machine can check: users of a file, children of a class, signposts, lengths."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import unipac
from unipac import _jit

SOURCE = Path(unipac.__file__).parent
PROTOCOLS = {  # users derive from these in files of their own, so one child in the package is enough
    "unipac.bandits.protocol.agent.BanditAgent",
    "unipac.mdp.protocol.agent.EpisodicAgent",
    "unipac.mdp.protocol.finite.FiniteAgent",
    "unipac.pac.protocol.search.Search",
    "unipac.envs.bandits.rounds._Arrays",  # a named tuple cannot override __new__, its child can
    "unipac.bandits.protocol.records._Chosen",  # a named tuple has nothing beside its entries, its child can
}
LONGEST_ALGORITHM, LONGEST_SOURCE = 150, 400
ALGORITHMS = {name: Path(inspect.getsourcefile(cls) or "") for name, cls in unipac.AGENTS.items()}


def modules() -> list[Any]:
    """Every module of the package."""
    found = pkgutil.walk_packages(unipac.__path__, "unipac.")
    return [importlib.import_module(info.name) for info in found if not info.name.endswith("__main__")]


def reached(start: Path) -> set[Path]:
    """The sources that a source imports, one through the other."""
    found: set[Path] = set()
    waiting = {start}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= _jit._imported(path) - found
    return found - {start}


def shared_rooms(algorithms: set[Path]) -> list[Path]:
    """The folders below bandits, mdp and pac that hold no algorithm: what is in them is shared.

    A folder inside the room of one algorithm is a part of that room.
    """
    rooms = {path.parent for kind in ("bandits", "mdp", "pac") for path in (SOURCE / kind).rglob("*.py")}
    homes = [path.parent for path in algorithms]
    own = {home for home in homes if homes.count(home) == 1}
    return sorted(room for room in rooms - set(homes) if room.parent not in own)


def lonely(users: dict[Path, set[str]], rooms: list[Path]) -> list[str]:
    """Files of shared rooms with fewer than two users."""
    files = [path for room in rooms for path in sorted(room.glob("*.py")) if path.name != "__init__.py"]
    return [str(path.relative_to(SOURCE)) for path in files if len(users[path]) < 2]


def test_a_file_in_a_shared_room_has_two_users():
    users: dict[Path, set[str]] = defaultdict(set)
    for name, path in ALGORITHMS.items():
        for other in reached(path):
            users[other].add(name)
    rooms = shared_rooms(set(ALGORITHMS.values()))
    assert len(rooms) > 5
    assert lonely(users, rooms) == []
    alone = {path: {"Guarded"} for path in users}
    assert lonely(defaultdict(set, alone), rooms)  # the control


def only_children(classes: list[type[Any]], made: set[str]) -> list[str]:
    """Classes that are never made and have exactly one child."""
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in classes}
    children: dict[str, set[str]] = defaultdict(set)
    for cls in classes:
        for base in cls.__bases__:
            children[f"{base.__module__}.{base.__qualname__}"].add(cls.__qualname__)
    return sorted(
        name for name in names - PROTOCOLS if len(children[name]) == 1 and name.rpartition(".")[2] not in made
    )


def called() -> set[str]:
    """The names that some source of the package calls."""
    found = set(unipac.AGENTS)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                found.add(getattr(node.func, "id", getattr(node.func, "attr", "")))
    return found


def test_no_class_is_there_for_one_child_alone():
    classes = {
        thing
        for module in modules()
        for thing in vars(module).values()
        if inspect.isclass(thing) and thing.__module__.startswith("unipac.")
    }
    assert only_children(list(classes), called()) == []

    class Parent: ...

    class Child(Parent): ...

    assert len(only_children([Parent, Child], set())) == 1  # the control


def signposts(docstring: str) -> list[str]:
    """The names in the column "here" of an algorithm's table: those with a dot, and private ones."""
    found, column = [], None
    for line in docstring.splitlines():
        if column is None:
            heading = re.search(r"\S {2,}here$", line)
            column = heading.end() - len("here") if heading else None
        elif line[column - 2 : column] == "  ":
            found += re.findall(r"(?<![\w/.])(?:[A-Za-z_]\w*(?:\.\w+)+|_\w+)", line[column:])
    return found


def resolves(name: str, home: Any) -> bool:
    """Whether a name leads somewhere: below ``unipac``, in the module of an agent, or in its class."""
    first, *rest = name.split(".")
    starts = [unipac, inspect.getmodule(home), home]
    thing: Any = next((getattr(start, first) for start in starts if hasattr(start, first)), None)
    for part in rest:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            try:
                thing = importlib.import_module(f"{thing.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
    return thing is not None


def test_signposts_lead_somewhere():
    lost, count = [], 0
    for name, cls in unipac.AGENTS.items():
        posts = signposts(inspect.getdoc(inspect.getmodule(cls)) or "")
        count += len(posts)
        lost += [f"{name}: {post}" for post in posts if not resolves(post, cls)]
    assert lost == []
    assert count > 100
    assert not resolves("linalg.optimism.select", unipac.OFUL)  # the control


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_source_is_too_long(path):
    most = LONGEST_ALGORITHM if path in ALGORITHMS.values() else LONGEST_SOURCE
    assert len(path.read_text().splitlines()) <= most


def tricks(text: str) -> list[int]:
    """The lines that write attributes behind the back of a class."""
    found = re.compile(r"vars\(self\)\.update|self\.__dict__\[[^\]]*\] *=|self\.__dict__\.update")
    return [k for k, line in enumerate(text.splitlines(), 1) if found.search(line)]


def test_no_agent_writes_its_dictionary():
    assert {
        str(path): tricks(path.read_text()) for path in SOURCE.rglob("*.py") if tricks(path.read_text())
    } == {}
    assert tricks("vars(self).update(a=1)\nself.__dict__['b'] = 2") == [1, 2]  # the control


def test_few_ancestors():
    counts = {
        name: len([base for base in cls.__mro__[1:] if base.__module__.startswith("unipac.")])
        for name, cls in unipac.AGENTS.items()
    }
    assert sum(counts.values()) <= 3.5 * len(counts), counts
    assert max(counts.values()) <= 5, counts


def test_no_room_is_called_base_and_none_is_crowded():
    assert [str(path) for path in SOURCE.rglob("base")] == []
    for room in (SOURCE / "mdp" / "linear").iterdir():
        if room.is_dir():
            assert len([path for path in room.glob("*.py") if path.name != "__init__.py"]) <= 8, room

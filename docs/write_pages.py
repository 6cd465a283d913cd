"""Write what follows from the code: the reference, the list of agents, the menu in mkdocs.yml, the stubs of packages.

python docs/write_pages.py [--check]

``--check`` writes nothing and exits with 1 if something would change.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import itertools
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unipac import _lazy, registry
from unipac.bandits import BanditAgent
from unipac.features import Encoder, Features
from unipac.mdp import EpisodicAgent
from unipac.pac import Search

DOCS = Path(__file__).parent
PACKAGES = (
    "bandits",
    "mdp",
    "pac",
    "envs",
    "features",
    "deployment",
    "logs",
    "weights",
    "many",
    "data",
    "theory",
    "metrics",
    "experiments",
    "report",
)
"""The packages of the reference, in its order; `unipac` itself comes first."""

KINDS = {
    "unipac.bandits": "Bandits",
    "unipac.mdp.tabular": "MDPs: tables",
    "unipac.mdp.linear": "MDPs: linear features",
    "unipac.mdp.mixture": "MDPs: mixtures",
    "unipac.pac": "Searches",
}
"""The menu of agents: what lies below which package."""

WHOLE = (BanditAgent, EpisodicAgent, Search, Encoder, Features)
"""The bases that users know: the reference describes all that they have, whichever class brings it."""

BEGIN, END = "  # the agents: written by docs/write_pages.py", "  # end of the agents"


def public(package: str) -> list[str]:
    """The names of a package."""
    return sorted(importlib.import_module(package).__all__, key=lambda name: (name.lower(), name))


def assigned(module: str, name: str) -> str:
    """The string below the assignment of a name in a module."""
    spec = importlib.util.find_spec(module)
    body = ast.parse(Path(str(spec and spec.origin)).read_text(encoding="utf-8")).body
    for statement, below in itertools.pairwise([*body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            return str(below.value.value) if told else ""
    raise LookupError(f"{module} does not assign {name}")


def documented(value: Any) -> bool:
    """Whether Python keeps the docstring of such a value: a module, a class or a function, not a constant."""
    return isinstance(value, types.ModuleType | type | types.FunctionType)


def described(package: str, name: str) -> tuple[str, str]:
    """Where a public name is written, as a dotted path, and its docstring."""
    value = getattr(importlib.import_module(package), name)
    if inspect.ismodule(value):
        return value.__name__, inspect.getdoc(value) or ""
    if documented(value):
        return f"{value.__module__}.{value.__qualname__}", inspect.getdoc(value) or ""
    module = _lazy.homes(package)[name]
    return f"{module}.{name}", inspect.cleandoc(assigned(module, name))


def home(path: str) -> str:
    """The page of the reference that describes what is written at a path, if any but the first."""
    package = path.split(".")[1] if "." in path else ""
    return package if package in PACKAGES else ""


def first_line(text: str) -> str:
    """The first line of a docstring, fit for a cell of a table."""
    return text.partition("\n")[0].replace("|", "\\|")


def fenced(text: str) -> str:
    """The text with each run of doctests, up to the next empty line, between fences."""
    lines: list[str] = []
    inside = False
    indent = ""
    for line in text.splitlines():
        if not inside and (prompt := re.match(r"( *)>>> ", line)):
            inside, indent = True, prompt[1]
            lines += ["", f"{indent}```pycon"]
        elif inside and not line.strip():
            inside = False
            lines.append(f"{indent}```")
        lines.append(line)
    return "\n".join([*lines, *([f"{indent}```"] if inside else [])])


def directive(path: str, value: Any) -> list[str]:
    """What has a value described; of some bases, also what they have from the classes that they are made of."""
    whole = ["    options:", "      inherited_members: true"] if value in WHOLE else []
    return [f"::: {path}", *whole]


def reference(package: str) -> str:
    """The page of a package: every public name, once."""
    full = f"unipac.{package}" if package else "unipac"
    doc = inspect.getdoc(importlib.import_module(full)) or ""
    lines = [f"# `{full}`", "", first_line(doc), ""]
    described_here = []
    elsewhere = []
    for name in public(full):
        path, text = described(full, name)
        value = getattr(importlib.import_module(full), name)
        page = home(path)
        if inspect.ismodule(value) and page and path == f"unipac.{page}":
            elsewhere.append((name, f"{page}.md", text))
        elif page and page != package and name in public(f"unipac.{page}"):
            elsewhere.append((name, f"{page}.md#{name}", text))
        else:
            told = directive(path, value) if documented(value) else [f"`{path}`", "", fenced(text)]
            described_here.append((name, told))
    if elsewhere:
        lines += ["| name | what it is |", "|---|---|"]
        lines += [f"| [`{name}`]({link}) | {first_line(text)} |" for name, link, text in elsewhere]
        lines += [""]
    for name, told in described_here:
        lines += [f"## {name} {{ #{name} }}", "", *told, ""]
    return "\n".join(lines)


def contents() -> str:
    """The first page of the reference."""
    lines = [
        "# Reference",
        "",
        "Every public name, from its docstring.",
        "",
        "| package | what it has |",
        "|---|---|",
    ]
    for package in ("", *PACKAGES):
        full = f"unipac.{package}" if package else "unipac"
        doc = inspect.getdoc(importlib.import_module(full)) or ""
        lines += [f"| [`{full}`]({package or 'unipac'}.md) | {first_line(doc)} |"]
    return "\n".join([*lines, ""])


def proven(agent: type[Any]) -> str:
    """The theorem of an algorithm, which some of its parameters may lose."""
    theorem = getattr(agent, "theorem", None)
    return theorem if isinstance(theorem, str) else ""


def agents() -> Iterator[tuple[str, list[tuple[str, str, str, str]]]]:
    """The agents by kind: name, page, what is proven of it, and what it is."""
    for package, kind in KINDS.items():
        found = [
            (name, cls.__module__.rpartition(".")[2], proven(cls), first_line(inspect.getdoc(cls) or ""))
            for name in _lazy.agents(package)
            for cls in [registry.AGENTS[name]]
        ]
        yield kind, found


def list_of_agents() -> str:
    """The first page of the agents."""
    lines = [
        "# Agents",
        "",
        "One page per algorithm: pseudo-code, where it differs from its paper, guarantee, what was measured.",
        "The theorem is the best that the algorithm has; `agent.guarantee` says what holds with your parameters.",
        "Which to take: [Which agent?](../guide/which_agent.md). The words: [Glossary](../glossary.md).",
    ]
    for kind, found in agents():
        lines += ["", f"## {kind}", "", "| agent | theorem | what it is |", "|---|---|---|"]
        lines += [f"| [`{name}`]({page}.md) | {theorem} | {line} |" for name, page, theorem, line in found]
    return "\n".join([*lines, ""])


def menu() -> str:
    """The part of mkdocs.yml that lists the agents."""
    lines = ["  - Agents:", "      - agents/index.md"]
    for kind, found in agents():
        lines += [f'      - "{kind}":']
        lines += ["          - Searches for the best arm: agents/best_arm.md"] * (kind == "Searches")
        lines += [f"          - {name}: agents/{page}.md" for name, page, _, _ in found]
    return "\n".join([*lines, "      - agents/not_here.md"])


def folded(words: str) -> list[str]:
    """Indented lines of words."""
    return textwrap.wrap(words, 110, initial_indent="    ", subsequent_indent="    ")


def stub(package: str) -> str:
    """The names of a package for type checkers: its ``__init__.pyi``."""
    lines = ["# Written by `make pages` from the names in __init__.py and the agents in registry.py.", ""]
    homes = sorted(_lazy.homes(package).items(), key=lambda entry: (entry[1], entry[0]))
    for home, entries in itertools.groupby(homes, key=lambda entry: entry[1]):
        names = ", ".join(name for name, _ in entries)
        short = len(f"from {home} import {names}") <= 110
        lines += [f"from {home} import {names}"] if short else [f"from {home} import (", *folded(names), ")"]
    lines += ["", *["__version__: str"] * (package == "unipac"), "__all__ = ["]
    lines += folded(", ".join(f'"{name}"' for name in sorted(_lazy.homes(package))))
    return "\n".join([*lines, "]", ""])


def pages() -> dict[Path, str]:
    """All files that this script writes, with what belongs into them."""
    written = {
        DOCS / "reference" / f"{package or 'unipac'}.md": reference(package) for package in ("", *PACKAGES)
    }
    written[DOCS / "reference" / "index.md"] = contents()
    written[DOCS / "agents" / "index.md"] = list_of_agents()
    for package in ("unipac", *(f"unipac.{package}" for package in PACKAGES)):
        module = importlib.import_module(package)
        written[Path(str(module.__file__)).with_suffix(".pyi")] = stub(package)
    config = DOCS.parent / "mkdocs.yml"
    before, _, rest = config.read_text(encoding="utf-8").partition(BEGIN)
    written[config] = f"{before}{BEGIN}\n{menu()}\n{END}{rest.partition(END)[2]}"
    return written


def main() -> int:
    """Write what has changed, or only look."""
    look_only = sys.argv[1:] == ["--check"]
    changed = [
        (path, text)
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in changed:
        print(f"{'differs' if look_only else 'written'}: {path.relative_to(DOCS.parent)}")
        if not look_only:
            path.write_text(text, encoding="utf-8")
    return int(look_only and bool(changed))


if __name__ == "__main__":
    sys.exit(main())

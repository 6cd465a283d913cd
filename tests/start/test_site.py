"""The pages of docs/ as a site: lines, links, the menu, and what is written from the code."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import FunctionType

import pytest

from unipac import registry

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LONGEST = 120


def writer():
    spec = importlib.util.spec_from_file_location("write_pages", DOCS / "write_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def too_long(text):
    """Numbers of long lines; rows of tables are exempt, as Markdown cannot break them."""
    return [
        n
        for n, line in enumerate(text.splitlines(), 1)
        if len(line) > LONGEST and not line.lstrip().startswith("|")
    ]


def prose(text):
    """A page without its blocks and spans of code."""
    return re.sub(r"`[^`\n]*`", "code", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))


def anchors(text):
    """What a link may name behind #: the headings, as Python-Markdown spells them, and ids that are given."""
    found = set(re.findall(r"\{ #(\S+) \}", text))
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M):
        plain = re.sub(r"[`*]|\{ #.*\}", "", heading)
        ascii_only = plain.encode("ascii", "ignore").decode()  # the slugs of Python-Markdown are ASCII
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower()))
    return found


def broken(text, folder):
    """The links of a page, which lies in a folder, that do not lead to a page or picture of the site."""
    text = prose(text)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    links += re.findall(r"^\[[^\]]+\]: (\S+)$", text, flags=re.M)
    wrong = []
    for link in links:
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (folder / path).resolve() if path else None
        if target is None:
            fine = not anchor or anchor in anchors(text)
        elif target.suffix == ".md":
            fine = target in PAGES and (not anchor or anchor in anchors(target.read_text(encoding="utf-8")))
        else:
            fine = target.suffix in (".png", ".svg") and target.is_file() and DOCS in target.parents
        wrong += [] if fine else [link]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page(page):
    text = page.read_text(encoding="utf-8")
    assert not too_long(text)
    assert not broken(text, page.parent)


def test_readme_has_no_long_line():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > LONGEST] == []


def test_links_of_the_readme_lead_somewhere():
    text = prose((ROOT / "README.md").read_text(encoding="utf-8"))
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")]
    assert len(links) > 20
    for link in links:
        path, _, anchor = link.partition("#")
        assert (ROOT / path).is_file(), link
        assert not anchor or anchor in anchors((ROOT / path).read_text(encoding="utf-8")), link


def test_the_checks_can_fail():
    assert too_long("x" * 120 + "\n" + "x" * 121 + "\n| " + "x" * 121) == [2]
    bad = ["../src/unipac/cli/app.py", "agents/", "agents/none.md", "index.md#none", "results/none.png"]
    good = ["index.md", "agents/oful.md", "agents/upac_oful.md#late-rewards", "reference/bandits.md#OFUL"]
    text = (
        " ".join(f"[a]({link})" for link in [*bad, *good]) + " `[a](in/code.md)`\n```\n[a](in/code.md)\n```\n"
    )
    assert broken(text, DOCS) == bad


def test_menu_has_every_page_once():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"(\S+\.md)$", menu, flags=re.M)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_nothing_is_asked_of_other_hosts():
    """By the settings; a theme without `font: false` and the plugin `offline` fetch fonts and a script."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "\n  font: false\n" in settings
    assert not re.search(r"^ +- offline", settings, flags=re.M)
    assert "http" not in re.sub(r"#.*", "", settings)


def test_what_is_written_from_the_code_is_up_to_date():
    differ = [
        path.relative_to(ROOT).as_posix()
        for path, text in writer().pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not differ, "run `make pages`"


def test_every_public_name_has_a_docstring_and_a_place():
    pages = writer()
    bare, missing = [], []
    for package in ("", *pages.PACKAGES):
        full = f"unipac.{package}".rstrip(".")
        text = (DOCS / "reference" / f"{package or 'unipac'}.md").read_text(encoding="utf-8")
        for name in pages.public(full):
            if not pages.described(full, name)[1]:
                bare.append(f"{full}.{name}")
            value = getattr(importlib.import_module(full), name)
            members = vars(value) if inspect.isclass(value) else {}
            bare += [
                f"{full}.{name}.{member}"
                for member, kept in members.items()
                if isinstance(kept, FunctionType | property | classmethod | staticmethod)
                and not member.startswith("_")
                and not inspect.getdoc(getattr(value, member))
            ]
            if f"{{ #{name} }}" not in text and f"[`{name}`](" not in text:
                missing.append(f"{full}.{name}")
    assert not bare
    assert not missing


def all_names():
    """Every public name, once: where it is written, its value and its docstring."""
    pages = writer()
    found = {}
    for full in ("unipac", *(f"unipac.{package}" for package in pages.PACKAGES)):
        for name in pages.public(full):
            path, text = pages.described(full, name)
            found[path] = (getattr(importlib.import_module(full), name), text)
    return found


def test_every_public_name_has_an_example():
    """Those of functions, classes and modules are run by pytest where they stand; of constants, below."""
    names = all_names()
    assert len(names) > 200
    assert [path for path, (_, text) in names.items() if ">>> " not in text] == []


def untold(cls):
    """Public attributes of a class that neither a string below them nor its docstring tells of."""
    tree = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    (body,) = [
        node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    ]
    told = set(re.findall(r"^\s+(\w+):", inspect.getdoc(cls) or "", flags=re.M))
    told |= {
        name for base in cls.__mro__[1:] for name in (*vars(base), *getattr(base, "__annotations__", {}))
    }
    found = []
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            by_words = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "parameter"
            by_string = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            told |= {node.target.id} if by_words or by_string else set()
            found.append(node.target.id)
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            found += [
                target.attr
                for target in ast.walk(node)
                if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
            ]
    return [
        name for name in found if not name.startswith("_") and name not in told and not hasattr(object, name)
    ]


class Poor:
    """A class of which little is told.

    Attributes:
        width: told.
    """

    size: int
    length: int
    """Told."""

    def __init__(self):
        self.width, self.height = 1, 2


def test_every_attribute_is_told():
    assert untold(Poor) == ["size", "height"]
    classes = {value for value, _ in all_names().values() if inspect.isclass(value)}
    assert len(classes) > 80
    bare = {
        cls.__name__: left
        for cls in classes
        if (left := [n for n in untold(cls) if not told_as_property(cls, n)])
    }
    assert bare == {}


def told_as_property(cls, name):
    return isinstance(getattr(cls, name, None), property)


def test_examples_below_constants_run():
    """Pytest does not see them: Python keeps no docstring for a constant."""
    pages = writer()
    tried = 0
    for full in ("unipac", *(f"unipac.{package}" for package in pages.PACKAGES)):
        for name in pages.public(full):
            path, text = pages.described(full, name)
            if pages.documented(getattr(importlib.import_module(full), name)) or ">>>" not in text:
                continue
            names = vars(importlib.import_module(path.rpartition(".")[0])).copy()
            test = doctest.DocTestParser().get_doctest(text, names, path, None, None)
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
            assert result.failed == 0, path
            tried += result.attempted
    assert tried >= 3


def test_every_agent_is_in_the_list():
    text = (DOCS / "agents" / "index.md").read_text(encoding="utf-8")
    assert [name for name in registry.AGENTS if f"[`{name}`](" not in text] == []

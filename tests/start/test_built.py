"""The site as readers get it: formulas, links, nothing from other hosts, search without a server."""

import html
import importlib.util
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest

from helpers import chromium
from helpers.browser import Browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TYPESET = sorted([*(DOCS / "agents").glob("*.md"), *(DOCS / "theory").glob("*.md")])
"""The pages whose formulas are TeX."""


def finisher():
    pytest.importorskip("latex2mathml")
    spec = importlib.util.spec_from_file_location("finish_site", DOCS / "finish_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- the sources ---------------------------------------------------------------------------------


def prose(text):
    """A page without code, without what is written from runs, and without addresses."""
    text = re.sub(r"^ *```.*?^ *```$|<!-- from.*?<!-- end -->", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)|\w+\.md", " ", text)


def formulas(text):
    """The formulas of a page, as (TeX, whether displayed)."""
    text = prose(text)
    shown = re.findall(r"^\$\$\n(.*?)\n\$\$$", text, flags=re.M | re.S)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"^\$\$\n.*?\n\$\$$", "", text, flags=re.M | re.S))
    return [(tex, True) for tex in shown] + [(tex, False) for tex in inline]


def unset(text):
    """What looks like a formula but is not TeX: roots, norms, sub- and superscripts, stars of V*."""
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " ", prose(text), flags=re.S)
    signs = r"\S*(?:[√‖⟨∈ᵀ]|[A-Za-zα-ω]_[{a-zA-Z0-9]|\^[-{(a-z]|[A-Za-zα-ω]\\\*)\S*"
    return re.findall(signs, text)


def unsafe(tex):
    """What Markdown, here or elsewhere, would take apart: escaped punctuation, spaces at the ends, dollars, bars."""
    return re.findall(r"\\[^a-zA-Z\s]|^\s|\s$|\\[|]|\$", tex)


@pytest.mark.parametrize("page", TYPESET, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_formulas_of_a_page_are_tex(page):
    text = page.read_text(encoding="utf-8")
    assert unset(text) == []
    convert = finisher().mathml
    for tex, display in formulas(text):
        assert not unsafe(tex), tex
        assert "<math" in convert(tex, display)
    assert not re.search(r"^#.*\$", text, flags=re.M)  # headings are also in the list of contents, as text
    rows = [line for line in prose(text).splitlines() if line.startswith("|")]
    assert [
        row for row in rows if re.search(r"\$[^$|]*(?<!\\)\|[^$]*\$ \|", row) and row.count("$") % 2
    ] == []


def test_most_pages_have_formulas():
    with_some = [page for page in TYPESET if formulas(page.read_text(encoding="utf-8"))]
    assert len(with_some) > 45


def test_the_checks_of_sources_can_fail():
    assert unset("a ‖x‖ b $\\lVert x \\rVert$ `‖x‖` V\\* and β_l, 2^-l") == ["‖x‖", "V\\*", "β_l,", "2^-l"]
    assert formulas("a $x$ `$y$`\n\n$$\nz\n$$\n") == [("z", True), ("x", False)]
    assert unsafe(r"a \, b") == [r"\,"]
    assert unsafe(r"\lbrace a \rbrace") == []
    with pytest.raises(ValueError, match="not understood"):
        finisher().mathml(r"\nosuchcommand x", False)


def proofs():
    """The pages of single results."""
    return [page for page in (DOCS / "theory").glob("*.md") if page.stem not in ("index", "tools")]


def named_tests(text):
    """The tests that a page names, as (file, function); `::name` alone belongs to the file before it."""
    found, file = [], ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", text):
        file = path or file
        found.append((file, name))
    return found


def missing_tests(text):
    return [
        (file, name)
        for file, name in named_tests(text)
        if not (ROOT / file).is_file() or f"\ndef {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("page", proofs(), ids=lambda page: page.stem)
def test_a_result_has_a_proof_and_tests_that_exist(page):
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("∎", text)) >= 1
    assert {"Checked by", "Open"} <= set(re.findall(r"^## (.*)$", text, flags=re.M))
    assert len(named_tests(text)) >= 4
    assert missing_tests(text) == []


def test_missing_tests_are_found():
    here = "tests/start/test_built.py"
    text = f"`{here}::test_missing_tests_are_found`, `::test_no_such`, `tests/none.py::test_a`"
    assert missing_tests(text) == [(here, "test_no_such"), ("tests/none.py", "test_a")]


# -- the paper -----------------------------------------------------------------------------------


def paper():
    spec = importlib.util.spec_from_file_location("write_paper", DOCS / "write_paper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_paper_has_every_page_and_its_links_lead_somewhere():
    writer = paper()
    assert sorted(writer.pages()) == sorted((DOCS / "theory").glob("*.md"))
    text = "\n\n".join(map(writer.prepared, writer.pages()))
    places = re.findall(r"\{#([^}\s]+)\}$", text, flags=re.M)
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert len(places) == len(set(places))
    assert len(links) > 20
    assert links <= set(places)
    assert not re.search(r"\]\((?!#|https://)", text)


def test_the_paper_says_which_programs_are_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert paper().main(tmp_path / "paper.pdf") == 1
    assert "not found: pandoc, xelatex. On Debian: apt-get install pandoc" in capsys.readouterr().err


# -- the built pages -----------------------------------------------------------------------------


def from_elsewhere(text):
    """What a page would fetch from other hosts: scripts, styles, pictures, fonts; links to follow are none."""
    fetched = re.findall(r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)", text)
    fetched += re.findall(
        r"<link\b(?=[^>]*stylesheet|[^>]*icon|[^>]*preload|[^>]*preconnect)[^>]*href=[\"']?([^\"'\s>]+)", text
    )
    fetched += re.findall(r"url\([\"']?([^\"')]+)", text)
    fetched += re.findall(r"@import\s+[\"']([^\"']+)", text)
    return [address for address in fetched if re.match(r"(https?:)?//", address)]


def garbled(text):
    """Emphasis that swallowed a part of a formula: brackets that do not match, or a start with `_`, `,` or `)`."""
    found = []
    for inner in re.findall(r"<(?:em|strong)>(.*?)</(?:em|strong)>", text, flags=re.S):
        words = re.sub(r"<math.*?</math>", "x", inner, flags=re.S)
        words = html.unescape(re.sub(r"<[^>]*>", "", words))
        open_ = any(words.count(a) != words.count(b) for a, b in ("()", "[]", "{}", "⟨⟩"))
        if open_ or words.count("‖") % 2 or re.match(r"[\s_,)]", words):
            found.append(words)
    return found


def left_as_tex(text):
    """TeX that a reader would see."""
    seen = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.S)
    seen = re.sub(r"<[^>]*>", "", seen)
    return re.findall(r"\\\(|\\\[|\$\$|\\(?:lVert|sum|sqrt|frac|langle|hat)\b", seen)


def names(text):
    """What a link may name behind #."""
    return set(re.findall(r"\b(?:id|name)=[\"']?([^\"'\s>]+)", text))


def broken(site):
    """Links inside of a built site that lead nowhere, by page."""
    read = {page.resolve(): page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    known = {page: names(text) for page, text in read.items()}
    wrong = {}
    for page, text in read.items():
        if page.name == "404.html":  # served from any address
            continue
        for link in re.findall(r"<(?:a|img|link|script)\b[^>]*\b(?:href|src)=[\"']?([^\"'\s>]+)", text):
            address = html.unescape(link)
            if re.match(r"[a-z]+:|//", address):
                continue
            path, _, place = address.partition("#")
            target = (page.parent / urllib.parse.unquote(path.partition("?")[0])).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            missing = place and target in known and urllib.parse.unquote(place) not in known[target]
            if not target.exists() or missing:
                wrong.setdefault(page.relative_to(site.resolve()).as_posix(), []).append(address)
    return wrong


def test_what_comes_from_elsewhere_is_found():
    ours = (
        '<script src="assets/a.js"></script><link rel="stylesheet" href="b.css"><a href="https://x.org">x</a>'
    )
    theirs = '<img src="https://x.org/a.png"><link href=//x.org/b.css rel=stylesheet>'
    assert from_elsewhere(ours) == []
    assert from_elsewhere(ours + theirs) == ["https://x.org/a.png", "//x.org/b.css"]
    assert from_elsewhere('@import "https://x.org/c.css"; a {b: url(//x.org/d.woff)}') == [
        "//x.org/d.woff",
        "https://x.org/c.css",
    ]


def test_what_is_garbled_is_found():
    assert garbled("<em>fine</em> <em>(fine)</em> <strong>Theorem.</strong>") == []
    bad = ["_h(s) ≥ V", ", and", ") is", "(s, a", "x‖ ≤ 1", "[0, 1"]
    assert garbled("".join(f"<em>{words}</em>" for words in bad)) == bad
    assert left_as_tex(r"<p><math><mi>x</mi></math></p><code>\sum</code>") == []
    assert left_as_tex(r"<p>\(x\) and \sum x</p>") == [r"\(", r"\sum"]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<h2 id="there">b</h2>', encoding="utf-8")
    links = ["b.html#there", "b.html", "#here", "https://x.org", "b.html#gone", "c.html", "#nowhere", "d.css"]
    page = '<p id="here">' + "".join(f'<a href="{link}">x</a>' for link in links[:-1])
    (tmp_path / "a.html").write_text(f'{page}<link href="{links[-1]}">', encoding="utf-8")
    assert broken(tmp_path) == {"a.html": ["b.html#gone", "c.html", "#nowhere", "d.css"]}


def test_a_page_is_finished():
    page = (
        '<p><span class="arithmatex">\\(a &lt; b\\)</span></p><div class="arithmatex">\\[\\sqrt{d}\\]</div>'
    )
    done = finisher().finished(page)
    assert done.count("<math") == 2
    assert left_as_tex(done) == []
    assert 'display="block"' in done


def built(builder, folder):
    """The site, made in a copy of docs/ by one of the two programs that can."""
    program = shutil.which(builder)
    if program is None:
        pytest.skip(f"{builder} is not installed; the extra docs has it")
    place = folder / "copy"
    shutil.copytree(DOCS, place / "docs")
    (place / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "mkdocs.yml", place)
    commands = [program, "build", "--strict"], [sys.executable, "docs/finish_site.py", "site"]
    for command in commands:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return place / "site"


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["zensical", "mkdocs"])
def test_the_site_is_built_and_asks_nothing_of_others(builder, tmp_path):
    """Every page by what it names, some by what Chromium says of them while no host can be reached."""
    site = built(builder, tmp_path)
    pages = {page.relative_to(site).as_posix(): page.read_text("utf-8") for page in site.rglob("*.html")}
    assert len(pages) > len(PAGES)
    for check in (from_elsewhere, garbled, left_as_tex):
        assert {name: found for name, text in pages.items() if (found := check(text))} == {}, check.__name__
    assert {css.name for css in site.rglob("*.css") if from_elsewhere(css.read_text("utf-8"))} == set()
    assert broken(site) == {}
    for page in TYPESET:
        has = formulas(page.read_text(encoding="utf-8"))
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert pages[name].count("<math") == len(has), name
    for name, text in pages.items():  # attributes are told by us, not by their types
        assert not (
            name.startswith("reference/") and re.search("Alias for field|Convert a string or number", text)
        ), name
    for name in (
        "index",
        "start",
        "idea",
        "agents/index",
        "theory/star_lsvi",
        "reference/theory",
        "glossary",
    ):
        document, console = chromium.show(site / f"{name}.html", tmp_path / "profile")
        assert "unipac" in document
        assert console == []
    if builder == "zensical":
        searched(site, tmp_path)
        fits(site, tmp_path)


DIALOGUE = "[...document.querySelectorAll('*')].map(one => one.shadowRoot).find(Boolean)"


def searched(site, folder):
    """Search finds a word in pages that were opened from a folder."""
    with Browser(folder / "searching") as browser:
        browser.open((site / "theory" / "index.html").absolute().as_uri())
        browser.until("typeof __index === 'object'")
        browser.run("document.querySelector('.md-search__button').click()")
        browser.until(f"{DIALOGUE}.querySelector('input') !== null")
        browser.run(f"{DIALOGUE}.querySelector('input').focus()")
        browser.type("supermartingale", enter=False)
        browser.until(f"{DIALOGUE}.querySelectorAll('a').length > 2")
        assert browser.console == []
        assert all(address.startswith(("file:", "data:", "about:")) for address in browser.requests)


def fits(site, folder):
    """No page scrolls sideways on a phone, and on 1,280 pixels no code does inside of its box."""
    sizes = """[document.documentElement.scrollWidth - document.documentElement.clientWidth,
        [...document.querySelectorAll("pre > code")].filter(code => code.scrollWidth > code.clientWidth + 1).length]"""
    with Browser(folder / "sizes") as browser:
        for width in (390, 1280):
            browser.look(width, 900)
            for page in sorted(site.rglob("*.html")):
                if page.name == "404.html":
                    continue
                browser.open(page.absolute().as_uri())
                browser.until(f"document.readyState === 'complete' && location.href.endsWith('{page.name}')")
                page_over, code_over = browser.run(sizes)
                assert page_over <= 0, (width, page)
                assert width < 1280 or code_over == 0, page

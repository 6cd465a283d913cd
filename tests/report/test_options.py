"""What a report is asked to look like, by file, Python and command line; what it draws, lists and says of itself."""

import csv
import io
import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from helpers.reports import made, rows, searched, sweep
from unipac.cli import app as cli
from unipac.experiments import Finding, SpecError, parse, run
from unipac.experiments.spec import digest
from unipac.experiments.store import Store, StoreError
from unipac.report import (
    Options,
    Section,
    build,
    figures,
    findings,
    html,
    panels,
    predictions,
    searches,
    sections as sections_in,
    style,
)
from unipac.report.lines import draw

TWO = ("arms 1", "arms 2")


def shown(options=None, results=None, **others):
    return Section("x", "X", "", results or made(), options=options or Options(), **others)


def tables_of(page):
    """Heads and rows of every table of a page."""
    found = []
    for table in re.findall(r"<table.*?</table>", page.split("<script>")[0], re.S):
        heads = re.findall(r'<th scope="col">(.*?)</th>', table)
        body = re.findall(r"<tr.*?</tr>", table.split("<tbody>")[1], re.S)
        found.append((heads, [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body]))
    return found


# -- options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lines": "average"}, "lines: must be 'median' or 'mean', got 'average'"),
        ({"x": "cubic"}, "x: must be 'linear' or 'log'"),
        ({"width": 10}, "width: must be an integer from 100 to 4,000, got 10"),
        ({"height": True}, "height: must be an integer"),
        ({"figures": ("regert",)}, "figures: must be a known name, got 'regert'; did you mean regret"),
        ({"figures": ("regret", "regret")}, "figures: must not name one twice"),
        ({"order": "nested"}, "order: must be a list of names"),
        ({"labels": {"a": "\x1b[2J"}}, "labels.a: must be text"),
        ({"labels": {"a": ""}}, "labels.a: must be text"),
        ({"each": {"regret": {"y": "cubic"}}}, "regret.y: must be 'linear' or 'log'"),
        ({"each": {"regret": {"color": "red"}}}, "regret.color: no such key"),
        ({"each": {"regert": {}}}, "each: must be a known name"),
    ],
)
def test_wrong_options_are_refused_by_name(options, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        Options(**options)


def test_options_of_one_figure_and_of_two_sources():
    file = Options(lines="mean", y="log", each={"regret": {"y": "linear", "title": "Lost"}})
    assert (file.of("regret").y, file.of("regret").title, file.of("times").y) == ("linear", "Lost", "log")
    typed = Options(y="log", width=300)
    both = typed.over(file)
    assert (both.lines, both.width, both.of("regret").y, both.of("regret").title) == (
        "mean",
        300,
        "log",
        "Lost",
    )
    assert Options().over(file) == file
    assert file.over(Options()) == file


def test_mean_and_error_or_median_and_band():
    mean = rows(figures.regret(made().curves, Options(lines="mean")), "area")
    end = next(row for row in mean if row["x"] == 10_000)
    error = (500 / 3) ** 0.5 / 2  # of 100, 110, 120, 130
    assert (end["low"], end["high"]) == (
        pytest.approx(115 - error, abs=0.1),
        pytest.approx(115 + error, abs=0.1),
    )
    assert "± one standard error" in panels.regret(made().curves, options=Options(lines="mean")).caption
    assert "holds 80 %" in panels.regret(made().curves).caption


def test_axes_size_and_title():
    options = Options(x="linear", y="linear", width=300, height=200, title="What was lost")
    chart = figures.regret(made().curves, options).to_dict()
    assert (chart["width"], chart["height"], chart["title"]["text"]) == (300, 200, "What was lost")
    line = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "line")
    assert all("type" not in line["encoding"][axis]["scale"] for axis in "xy")
    usual = figures.regret(made().curves).to_dict()["layer"][0]["encoding"]
    assert [usual[axis]["scale"]["type"] for axis in "xy"] == ["log", "log"]
    counts = figures.mistakes(made().mistakes, Options(y="linear")).to_dict()["layer"]
    assert "type" not in counts[-1]["encoding"]["y"]["scale"]
    zero = made().curves.with_columns(regret=pl.lit(0.0))
    assert {row["y"] for row in rows(figures.regret(zero, Options(y="linear")), "line")} == {0.0}


def test_order_labels_figures_and_instances():
    asked = Options(
        figures=("mistakes", "regret"),
        order=("heuristic",),
        labels={"nested": "NestedOFUL, δ = 0.05", "arms 2": "second"},
        each={"regret": {"instances": ["arms 2"]}},
    )
    section = shown(asked, made(instances=TWO))
    assert [figure.name for figure in section.figures] == ["mistakes", "regret"]
    regret = section.figures[1].drawn.panels
    assert [panel.title for panel in regret] == ["second"]
    assert regret[0].agents == ["heuristic", "NestedOFUL, δ = 0.05", "free"]
    heads, body = tables_of(html.render([section], "", title="t"))[0]
    assert heads[:2] == ["agent", "instance"]
    assert [row[0] for row in body[:3]] == ["heuristic", "NestedOFUL, δ = 0.05", "free"]
    assert [row[1] for row in body] == ["arms 1"] * 3 + ["second"] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(order=("nobody",)), "order: must be a known name, got 'nobody'"),
        (Options(labels={"nested": "free"}), "labels: 'free' is the label of another"),
        (Options(labels={"nested": "a", "free": "a"}), "labels: must differ"),
        (Options(each={"regret": {"instances": ["legs"]}}), "regret.instances: must be a known name"),
    ],
)
def test_labels_that_there_are_not(options, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        _ = shown(options).figures


# -- what is drawn ---------------------------------------------------------------------------------------


def test_a_legend_only_for_what_is_drawn():
    results = made()
    none = results.mistakes.with_columns(bound=pl.lit(float("inf")))
    (panel,) = panels.mistakes(none).panels
    assert panel.drawn == ["measured"]
    assert draw(panel).to_dict()["layer"][-2]["encoding"]["strokeDash"]["legend"] is None
    (with_bound,) = panels.mistakes(results.mistakes).panels
    assert with_bound.drawn == ["measured", "proven bound"]
    assert draw(with_bound).to_dict()["layer"][-2]["encoding"]["strokeDash"]["legend"] is not None
    section = shown(Options(figures=("mistakes",)), results._replace(mistakes=none))
    assert section.figures[0].lines == []
    legend = html.render([section], "", title="t").split('<ul class="agents small"')[1].split("</ul>")[0]
    assert "proven bound" not in legend
    two = shown(Options(figures=("mistakes",)), results).figures[0]
    assert two.lines == [("measured", False), ("proven bound", True)]


def stopped(instances=("a", "b")):
    cells = [
        {"agent": agent, "instance": name, "round": 200 * (i + 1), "certified_regret": 0.0, "seed": seed}
        | {"delta": 0.05, "certified": True, "violations": 0, "least_pulls": 100.0 * (i + 1)}
        for agent in ("fast", "slow")
        for i, name in enumerate(instances)
        for seed in range(3)
    ]
    return pl.DataFrame(cells)


@pytest.mark.parametrize("instances", [("a", "b"), ("a",)])
def test_the_lower_bound_is_one_line_without_symbols(instances):
    (panel,) = searches.pulls(stopped(instances)).panels
    chart = draw(panel).to_dict()
    lines = [layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    texts = [
        chart["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
        for layer in lines
    ]
    (reference,) = [text for text in texts if "lower bound" in text]
    assert [float(row["y"]) for row in csv.DictReader(io.StringIO(reference))] == (
        [100.0, 200.0] if len(instances) == 2 else [50.0, 200.0]
    )
    assert {row["line"] for row in rows(draw(panel), "point")} == {"mean pulls"}
    assert panel.drawn == ["mean pulls", "lower bound"]


def test_an_agent_has_the_same_look_on_every_page():
    alone = style.looks(["NestedOFUL"])["NestedOFUL"]
    many = style.looks(["mine", "LinUCB", "OFUL (mixture)", "NestedOFUL", "other"])
    assert many["NestedOFUL"] == alone == style.HOMES["NestedOFUL"]
    assert many["OFUL (mixture)"] == style.HOMES["OFUL"]
    assert len(set(many.values())) == 5
    assert len({look.color for look in many.values()}) == 5
    named = style.looks(["a", "b", "c"], {"a": "OFUL", "b": "NestedOFUL", "c": "NestedOFUL"})
    assert named["b"] == alone
    assert named["c"] != alone
    assert len(set(style.HOMES.values())) == len(style.HOMES)


def test_reward_promises_and_explored():
    curves = made(seeds=1).curves.with_columns(
        free=pl.col("round"),
        claimed=pl.col("certified_regret"),
        explored=pl.when(pl.col("agent") == "nested").then(pl.col("round") // 100),
    )
    assert {row["y"] for row in rows(figures.reward(curves), "line")} == {0.5}
    late = rows(figures.promises(curves), "line")
    end = {row["line"]: row["y"] for row in late if row["x"] == 10_000 and row["agent"] == "nested"}
    assert end["gap"] == pytest.approx((100 - 8000**0.5) / 2000, rel=1e-3)
    assert end["certificate"] == pytest.approx(5 * (100 - 8000**0.5) / 2000, rel=1e-3)
    assert {row["agent"] for row in late} == {"nested", "free"}
    found = rows(figures.explored(curves), "line")
    assert {row["agent"] for row in found} == {"nested"}
    assert max(row["y"] for row in found) == 100


def test_a_search_has_its_mean_pulls_in_the_table():
    results = searched()
    curves = results.curves.with_columns(round=pl.col("round") + 10 * pl.col("seed"))
    row = html.summary(results._replace(curves=curves)).row(0, named=True)
    assert (row["pulls"], row["pulls / lower bound"]) == ("410", "4.1")


# -- tables ----------------------------------------------------------------------------------------------


def test_no_row_and_no_column_is_hidden():
    names = [f"arms {i}" for i in range(40)]
    section = shown(results=made(instances=names, seeds=2, kind="mdp"))
    page = html.render([section], "", title="t")
    assert "max-height" not in page.split("</style>")[0]
    tables = tables_of(page)
    assert all(len(body) == 120 for _, body in tables)
    heads = {head for found, _ in tables for head in found}
    assert heads == set(html.summary(section.results).columns)
    assert all(found[:2] == ["agent", "instance"] for found, _ in tables)
    assert page.count("scroll it sideways") == len(tables)


def test_ratios_are_told_for_each_instance():
    curves = made(instances=TWO).curves
    far = pl.when(pl.col("instance") == "arms 2").then(100.0).otherwise(1.0)
    curves = curves.with_columns(certified_regret=pl.col("certified_regret") * far)
    told = predictions.certificates(curves).observation
    assert "nested on arms 1 4.4" in told
    assert "nested on arms 2 436" in told
    table = html.summary(made(instances=TWO)._replace(curves=curves))
    ratios = dict(
        table.filter(pl.col("agent") == "nested").select("instance", "certified regret / regret").rows()
    )
    assert ratios == {"arms 1": "4.36", "arms 2": "436"}


# -- own experiments -------------------------------------------------------------------------------------

OWN = {
    "title": "Mine",
    "seeds": 3,
    "rounds": 400,
    "agents": {"nested": {"agent": "NestedOFUL"}, "mine": {"agent": "LinUCB"}},
    "instances": {"s": {"instance": "sphere", "dim": 2, "n_actions": 3, "noise": 0.3}},
    "predictions": {"absurd": {"measure": "regret", "agent": "mine", "at_least": 1e6}},
    "report": {"lines": "mean", "figures": ["regret"], "labels": {"mine": "LinUCB, α = 1"}},
}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    run([(parse(OWN, name="own"), folder)], command="unipac run own.toml")
    return folder


def test_own_experiments_are_judged_by_what_they_state_and_what_is_proven(own):
    (section,) = sections_in(own)
    told = {finding.prediction: finding.seen for finding in findings(section)}
    assert told.pop("Regret at the end, mine: at least 1e+06.") is False
    assert told
    assert all(words.startswith(("With probability 1 − δ", "No level")) for words in told)
    assert [figure.name for figure in section.figures] == ["regret"]
    assert section.figures[0].finding is None
    page = build([section], own)[0].read_text()
    assert "sublinearly" not in page
    assert "No level ever holds more" in page


def test_the_page_says_how_it_was_made(own):
    (section,) = sections_in(own)
    page = build([section], own, command="unipac report own", details={"written": "2026-01-01"})[
        0
    ].read_text()
    spec = Store(own).spec()
    for words in (
        "unipac run own.toml",
        "unipac report own",
        "2026-01-01",
        f"sha256:{digest(spec)}",
        "numba ",
    ):
        assert words in page
    assert re.search(r"<dt>computed</dt><dd>20\d\d-\d\d-\d\dT", page)
    assert re.search(r"<dt>machine</dt><dd>[^<]+</dd>", page)


def test_the_digest_is_of_what_determines_the_results():
    plain = digest(parse(OWN, name="own").as_dict())
    words = {**OWN, "title": "Other", "report": {}, "predictions": {}}
    assert digest(parse(words, name="other").as_dict()) == plain
    assert digest(parse({**OWN, "rounds": 401}, name="own").as_dict()) != plain


def test_options_of_the_command_line_come_first(own):
    def page(*options, code=0):
        result = CliRunner().invoke(cli.app, ["report", str(own), *options])
        if isinstance(result.exception, Exception):
            raise result.exception
        assert result.exit_code == code, result.output
        return (own / "report.html").read_text()

    assert "± one standard error." in page()
    assert "LinUCB, α = 1" in page()
    text = page("--lines", "median", "--figure", "mistakes", "--order", "mine", "--label", "nested=first")
    assert "holds 80 % of them" in text
    assert "Mistakes for every ε at once" in text
    assert [row[0] for row in tables_of(text)[0][1]] == ["LinUCB, α = 1", "first"]
    with pytest.raises(SpecError, match="lines: must be"):
        page("--lines", "average")
    with pytest.raises(SpecError, match="--label: must be OLD=NEW"):
        page("--label", "nested")
    page("--strict", code=3)


def test_options_for_several_experiments_need_a_label_in_one_of_them(tmp_path):
    for name, agent in (("one", "OFUL"), ("two", "LinUCB")):
        spec = parse({**OWN, "agents": {agent: {"agent": agent}}, "predictions": {}, "report": {}}, name=name)
        run([(spec.with_changes(seeds=1, rounds=20), tmp_path / name)])
    both = sections_in(tmp_path, Options(order=("LinUCB",), labels={"OFUL": "optimist"}))
    assert [panel.agents for part in both for panel in part.figures[0].drawn.panels] == [
        ["optimist"],
        ["LinUCB"],
    ]
    with pytest.raises(SpecError, match="order: must be a known name, got 'nobody'"):
        sections_in(tmp_path, Options(order=("nobody",)))


def test_a_crafted_spec_is_refused_in_words(own, tmp_path):
    for key, value in (("report", {"lines": "x"}), ("predictions", [{"name": "a"}]), ("predictions", 3)):
        spec = Store(own).spec() | {key: value}
        (tmp_path / "cells").mkdir(exist_ok=True)
        (tmp_path / "spec.json").write_text(json.dumps(spec, indent=2, sort_keys=True))
        with pytest.raises(StoreError, match="of another form"):
            sections_in(tmp_path)


def test_a_conclusion_stands_at_the_top():
    section = shown(conclusion=("It came out <well>.",), findings=(Finding("p", True, "o"),))
    page = html.render([section], "", title="t")
    top = page[page.index("<header>") : page.index("</header>")]
    assert "It came out &lt;well&gt;." in top
    assert "In short" in top
    assert "In short" not in html.render([shown()], "", title="t")


def test_nothing_is_drawn_for_findings_alone(monkeypatch):
    def never(*arguments):
        raise AssertionError("drawn")

    monkeypatch.setattr(panels, "mistakes", never)
    monkeypatch.setattr(panels, "regret", never)
    section = shown(results=sweep({"nested": lambda k: 20}), general=False)
    assert len(findings(section)) >= 2

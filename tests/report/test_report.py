"""The report: figures of known numbers, sentences that flip with the data, a page that works offline."""

import base64
import hashlib
import json
import math
import re
import zlib

import altair as alt
import polars as pl
import pytest

from helpers import chromium
from helpers.reports import AGENTS, EPS, ROUNDS, made, rows, searched, sweep
from unipac.experiments import Finding, StoreError, parse, run
from unipac.experiments.results import Results
from unipac.report import (
    Section,
    build,
    figures,
    findings,
    html,
    panels,
    predictions,
    sections as sections_in,
    style,
    summary,
    tables,
)
from unipac.report.frames import split
from unipac.report.lines import draw

NASTY = """</script><script>alert("1")</script> <b> & 'x'"""
STYLES = (figures.regret, figures.mistakes, figures.mistakes_over_time, figures.levels, figures.certificates)


# figures


def test_regret_draws_the_median_with_a_band():
    points = rows(figures.regret(made().curves), "line")
    assert {point["agent"] for point in points} == set(AGENTS)
    last = next(point for point in points if point["x"] == 10_000)
    assert last["y"] == pytest.approx(115)  # the median of 100, 110, 120, 130
    band = rows(figures.regret(made().curves), "area")
    end = next(row for row in band if row["x"] == 10_000)
    assert (end["low"], end["high"]) == (pytest.approx(103), pytest.approx(127))


def test_one_seed_has_no_band_and_zeros_are_left_out_with_a_word():
    curves = made(seeds=1).curves
    assert rows(figures.regret(curves), "area") == []
    zero = pl.when(pl.col("agent") == "free").then(0.0).otherwise(pl.col("regret"))
    drawn = panels.regret(curves.with_columns(regret=zero))
    assert "Zeros are not drawn" in drawn.caption
    assert "Without a line (regret unknown or zero throughout): free." in drawn.caption
    unknown = curves.with_columns(regret=pl.lit(None, dtype=pl.Float64))
    assert panels.regret(unknown).panels == []
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.regret(unknown)


def test_mistakes_draws_counts_and_finite_bounds_only():
    points = rows(figures.mistakes(made().mistakes), "line")
    bounds = {(point["agent"], point["x"]): point["y"] for point in points if point["line"] == "proven bound"}
    assert bounds == {("nested", eps): 10 / eps for eps in EPS}
    counts = {point["x"]: point["y"] for point in points if point["line"] == "measured"}
    assert counts == {1.0: 1, 0.5: 2, 0.25: 4, 0.125: 8}


def test_mistakes_show_zero_where_there_are_none():
    none = made().mistakes.with_columns(mistakes=pl.lit(0))
    assert {point["y"] for point in rows(figures.mistakes(none), "line") if point["line"] == "measured"} == {
        0
    }
    assert panels.mistakes_over_time(none).panels == []


def test_mistakes_over_time_along_checkpoints_or_along_runs_of_growing_length():
    points = rows(figures.mistakes_over_time(made().mistakes, eps=0.125), "line")
    assert [point["x"] for point in points if point["agent"] == "nested"] == list(ROUNDS)
    grown = sweep({"nested": lambda k: 20, "free": lambda k: 10 * k})
    drawn = panels.mistakes_over_time(grown.mistakes)
    assert [panel.title for panel in drawn.panels] == ["killer, ε = 1"]
    points = rows(figures.mistakes_over_time(grown.mistakes), "line")
    assert {point["x"]: point["y"] for point in points if point["agent"] == "free"} == {
        10.0**k: 10 * k for k in range(2, 19, 2)
    }
    with pytest.raises(ValueError, match=r"eps must be one of \[1.0, 0.5, 0.25, 0.125\], got 0.3"):
        figures.mistakes_over_time(made().mistakes, eps=0.3)


def test_levels_and_certificates_and_times():
    points = rows(figures.levels(made().levels), "line")
    assert {(p["line"], p["x"]): p["y"] for p in points if p["agent"] == "nested"} == {
        ("largest size", 1): 3,
        ("largest size", 2): 12,
        ("proven bound", 1): 8,
        ("proven bound", 2): 32,
    }
    points = rows(figures.certificates(made(seeds=1).curves), "line")
    assert {point["agent"] for point in points} == {"nested", "free"}
    assert {p["line"]: p["y"] for p in points if p["x"] == 10_000} == {"gap": 0.01, "certificate": 0.05}
    assert "(nothing certified): heuristic" in panels.certificates(made().curves).caption
    assert [panel.y.title for panel in panels.times(made().times).panels] == ["seconds"]
    assert [panel.y.title for panel in panels.times(made(kind="mdp").times).panels] == [
        "seconds",
        "times planned",
    ]
    assert [panel.x.title for panel in panels.times(made(kind="mdp").times).panels] == ["episodes"] * 2


@pytest.mark.parametrize("draw_figure", [*STYLES, figures.times])
def test_a_missing_column_is_named(draw_figure):
    with pytest.raises(ValueError, match="missing: agent"):
        draw_figure(made().curves.drop("agent"))


@pytest.mark.parametrize("labels", ["String", "Enum"])
def test_labels_may_be_categories(labels):
    results = made(kind="mdp")
    if labels == "Enum":
        results = Results(
            *(
                frame.with_columns(
                    pl.col(column).cast(pl.Enum(frame[column].unique(maintain_order=True)))
                    for column in ("agent", "family", "instance", "kind")
                    if column in frame.columns
                )
                for frame in results
            )
        )
    page = html.render([Section("x", "X", "", results)], "", title="t")
    assert page == html.render([Section("x", "X", "", made(kind="mdp"))], "", title="t")


def test_twelve_agents_have_twelve_looks_and_keep_them():
    agents = [f"agent {i} with a label that is far too long for any legend on any screen" for i in range(12)]
    chosen = style.looks(agents)
    assert len(set(chosen.values())) == 12
    results = made(agents)
    drawn = panels.regret(results.curves, chosen).panels[0]
    assert rows(draw(drawn), "area") == []  # twelve bands would blend to grey
    legend = draw(drawn).to_dict()["layer"][0]["encoding"]["color"]
    assert legend["scale"] == {"domain": agents, "range": [chosen[agent].color for agent in agents]}
    few = panels.regret(made(agents[5:7]).curves, chosen).panels[0]
    scale = draw(few).to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert scale["range"] == [chosen[agent].color for agent in agents[5:7]]


def test_one_eps_needs_no_figure_but_keeps_its_sentence():
    results = made()
    results = results._replace(mistakes=results.mistakes.filter(pl.col("eps") == 0.25))
    assert panels.mistakes(results.mistakes).panels == []
    page = html.render([Section("x", "X", "", results)], "", title="t")
    assert "There is one ε only: see the table." in page
    assert any(finding == predictions.mistakes(results.mistakes) for finding in findings_of(results))


def findings_of(results):
    return findings(Section("x", "X", "", results, (Finding("p", True, "o"),)))


def test_findings_of_a_section_end_with_its_own():
    assert findings_of(made())[-1] == Finding("p", True, "o")
    assert len(findings_of(made())) == 7


def test_many_instances_are_thinned_with_a_word():
    names = [f"sphere dim={i}" for i in range(50)]
    drawn = panels.regret(made(("nested",), names, "sphere", seeds=1).curves)
    titles = [panel.title for panel in drawn.panels]
    assert len(titles) == 8
    assert (titles[0], titles[-1]) == (names[0], names[-1])
    assert "8 of 50 instances are drawn; the table has all." in drawn.caption
    two = pl.concat([made(instances=names, family="sphere").curves, made().curves])
    assert "arms" in split(two, join_growing=True).shown


def test_ticks_reach_a_trillion_millions():
    assert style.log_ticks(1.0, 1e18)[1][-1] == "10¹⁶"
    assert all(len(style.log_ticks(10.0**-k, 10.0**k)[0]) <= style.MOST_TICKS for k in range(1, 19))
    for low in (1.0, 3.0, 4.9, 9.9):
        assert len(style.log_ticks(low, low * 2.5)[0]) >= 1


def test_mistakes_of_few_seeds_are_drawn_though_the_median_is_zero():
    mistakes = made(seeds=4).mistakes
    rare = mistakes.with_columns(mistakes=pl.when(pl.col("seed") == 0).then(pl.col("mistakes")).otherwise(0))
    chart = figures.mistakes_over_time(rare)
    assert {row["y"] for row in rows(chart, "line")} == {0.0}


# findings


def doctored(frame, agent="nested", **columns):
    """The frame with other values for one agent."""
    return frame.with_columns(
        pl.when(pl.col("agent") == agent).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in columns.items()
    )


def test_regret_flips():
    curves = made().curves
    finding = predictions.regret(curves)
    assert finding.seen is True
    assert "falls for 2 of 2 pairs" in finding.observation  # the heuristic is not asked
    assert predictions.regret(doctored(curves, regret=pl.col("round").cast(pl.Float64) ** 2)).seen is False
    assert predictions.regret(doctored(curves, regret=pl.col("round").cast(pl.Float64))).seen is None
    vacuous = doctored(curves, regret=pl.col("round") ** 2.0, certified_regret=pl.col("round") ** 2.5)
    assert predictions.regret(vacuous).seen is None
    assert predictions.regret(doctored(curves, "heuristic", regret=pl.col("round") * 1.0)).seen is True


def test_regret_is_not_decided_without_guarantee_or_gaps_or_regret():
    curves = made().curves
    assert predictions.regret(curves.with_columns(certified=pl.lit(False))).seen is None
    assert predictions.regret(curves.with_columns(regret=pl.lit(None, dtype=pl.Float64))).seen is None
    assert predictions.regret(curves.with_columns(regret=pl.lit(0.0))).seen is None
    assert predictions.regret(curves.filter(pl.col("round").is_in([1, 10_000]))).seen is None


def test_regret_of_runs_of_growing_length_and_of_one_seed_is_not_asked():
    curves = sweep({"nested": lambda k: 20}).curves
    growing = pl.col("round").cast(pl.Float64) ** 1.5
    assert predictions.regret(curves.with_columns(regret=growing)).seen is None
    single = made(seeds=1).curves
    assert predictions.regret(doctored(single, regret=pl.col("round") ** 2.0)).seen is None


def test_mistakes_flip_only_if_chance_cannot_explain_it():
    mistakes = made(seeds=20).mistakes
    finding = predictions.mistakes(mistakes)
    assert finding.seen is True
    assert "0 of 20 runs broke a bound" in finding.observation
    assert "N_ε = 8 of at most 80 at ε = 1/8 (0.1)" in finding.observation
    over = pl.col("eps") == 0.25
    for failures, seen in ((2, True), (6, False), (20, False)):
        failed = pl.when(over & (pl.col("seed") < failures)).then(41).otherwise(pl.col("mistakes"))
        finding = predictions.mistakes(doctored(mistakes, mistakes=failed))
        assert finding.seen is seen
        assert f"{failures} of 20 runs broke a bound" in finding.observation
    assert predictions.mistakes(mistakes.with_columns(bound=pl.lit(math.inf))).seen is None
    none = doctored(mistakes, mistakes=0, bound=0.0)  # no mistake where none is allowed
    assert predictions.mistakes(none).seen
    assert predictions.mistakes(doctored(mistakes, mistakes=1, bound=0.0)).seen is False
    beyond = mistakes.with_columns(bound=pl.lit(1e5))
    assert predictions.mistakes(beyond).seen is None  # no run is as long


def test_mistakes_that_fail_on_one_instance_of_many_are_found():
    mistakes = made(instances=[f"arms {i}" for i in range(30)], seeds=6).mistakes
    failed = pl.when(pl.col("instance") == "arms 7").then(1000).otherwise(pl.col("mistakes"))
    finding = predictions.mistakes(doctored(mistakes, mistakes=failed))
    assert finding.seen is False
    assert "nested on arms 7, 6 of 6" in finding.observation


def test_mistakes_over_time_flip():
    def seen(nested, free, bound=30.0):
        return predictions.mistakes_over_time(sweep({"nested": nested, "free": free}, bound).mistakes)

    finding = seen(lambda k: 20, lambda k: 10 * k)
    assert finding.seen is True
    assert "free 10 (no bound), nested 0" in finding.observation
    assert seen(lambda k: 10 * k, lambda k: 20).seen is False  # 180 mistakes, at most 30 proven
    assert seen(lambda k: 10 * k, lambda k: 20, bound=200).seen is None  # allowed, if not stopped
    assert seen(lambda k: 20, lambda k: 20).seen is True


def test_mistakes_over_time_need_range_mistakes_and_a_bound():
    mistakes = made().mistakes
    assert predictions.mistakes_over_time(mistakes.filter(pl.col("round") >= 1000)).seen is None
    assert predictions.mistakes_over_time(mistakes.with_columns(mistakes=pl.lit(0))).seen is None
    assert predictions.mistakes_over_time(mistakes.with_columns(bound=pl.lit(math.inf))).seen is None
    stopped = doctored(mistakes, mistakes=pl.min_horizontal("round", pl.lit(9)))
    assert predictions.mistakes_over_time(stopped).seen is True


def test_levels_flip_with_one_vector_too_many():
    levels = made().levels
    finding = predictions.levels(levels)
    assert finding.seen is True
    assert "level 1 of nested on arms, 3 of at most 8 (0.38)" in finding.observation or (
        "12 of at most 32" in finding.observation
    )
    one = (pl.col("seed") == 2) & (pl.col("level") == 1)
    over = doctored(levels, size=pl.when(one).then(9).otherwise(pl.col("size")))
    assert predictions.levels(over).seen is False
    assert "1 of 8 levels exceed" in predictions.levels(over).observation
    assert predictions.levels(levels.with_columns(bound=pl.lit(math.inf))).seen is None
    assert predictions.levels(levels.clear()).seen is None


def test_certificates_flip():
    curves, mistakes = made(seeds=10).curves, made(seeds=10).mistakes
    finding = predictions.certificates(curves, mistakes)
    assert finding.seen is True
    assert "0 of 20 runs" in finding.observation
    assert "nested on arms 3.5" in finding.observation  # 5 over the median 1.45 of 1 to 1.9
    one = pl.when(pl.col("seed") == 3).then(1).otherwise(0)
    assert predictions.certificates(doctored(curves, violations=one), mistakes).seen is True
    assert predictions.certificates(doctored(curves, violations=pl.lit(1)), mistakes).seen is False
    many = doctored(mistakes, certificates_above=pl.lit(11))
    assert predictions.certificates(curves, many).seen is False
    assert "in 10 of 40 counts" in predictions.certificates(curves, many).observation


def test_certified_regret_below_the_regret_is_a_failure_for_mdps_too():
    curves = made(kind="mdp").curves.with_columns(violations=pl.lit(None, dtype=pl.Int64))
    assert predictions.certificates(curves).seen is True
    low = curves.with_columns(certified_regret=pl.col("regret") / 2)
    assert predictions.certificates(low.filter(pl.col("certified"))).seen is False
    nothing = curves.with_columns(certified_regret=pl.lit(None, dtype=pl.Float64))
    assert predictions.certificates(nothing).seen is None


def test_times_flip():
    times = made(kind="mdp").times
    finding = predictions.times(times)
    assert finding.seen is True
    assert "Largest exponent over the last decade: 1.00" in finding.observation
    assert "Of plans: " in finding.observation
    assert predictions.times(doctored(times, seconds=pl.col("round") ** 2 * 1e-6)).seen is False
    often = doctored(times, plans=pl.col("round") // 3)
    assert predictions.times(often).seen is None  # too short to tell
    assert predictions.times(often.with_columns(pl.col("round") * 10)).seen is False
    slow = doctored(times, plans=pl.col("round"), seconds=pl.col("round") ** 2 * 1e-6)
    assert predictions.times(slow).seen is True  # nor is it asked to be fast
    always = predictions.times(doctored(times, plans=pl.col("round")))
    assert always.seen is True  # who plans in every episode is not lazy
    assert predictions.times(times.clear()).seen is None
    assert predictions.times(times.with_columns(seconds=pl.col("seconds") * 1e-3)).seen is None


# tables and pictures


def test_table_has_means_bounds_and_failures():
    table = tables.numbers(made(kind="mdp"), [0.25])
    row = table.filter(pl.col("agent") == "nested").row(0, named=True)
    assert row["regret"] == pytest.approx(115)
    assert row["regret_error"] == pytest.approx(math.sqrt(500 / 3) / 2)
    assert (row["runs"], row["rounds"], row["mistakes_0.25"], row["bound_0.25"]) == (4, 10_000, 4, 40)
    assert row["certificate"] == pytest.approx(0.05)
    assert row["seconds"] == pytest.approx(1e-5)
    texts = tables.summary(made()).to_dicts()
    assert len(texts) == 3
    assert "plans" not in texts[0]
    assert [line["guarantee"] for line in texts] == ["certified", "certified", "not certified"]
    assert texts[0]["regret"] == "115 ± 6.5"
    assert texts[0]["certificate below gap"] == "0 of 4"
    assert texts[0]["N at ε = 1/8"] == "8 ≤ 80"
    assert texts[2]["average certificate"] == "–"


def coloured(path):
    """Number of different bytes in a PNG."""
    data, place, pixels = path.read_bytes(), 8, b""
    while place < len(data):
        length = int.from_bytes(data[place : place + 4])
        if data[place + 4 : place + 8] == b"IDAT":
            pixels += data[place + 8 : place + 8 + length]
        place += 12 + length
    return len(set(zlib.decompress(pixels)))


def test_pictures_are_made_and_not_blank(tmp_path):
    section = Section("arms", "Arms", "", made(seeds=2))
    for suffix, check in {
        "png": lambda path: path.read_bytes()[:4] == b"\x89PNG" and coloured(path) > 30,
        "svg": lambda path: path.read_text().count("<path") > 10,
        "pdf": lambda path: path.read_bytes()[:4] == b"%PDF" and path.stat().st_size > 4000,
    }.items():
        paths = build([section], tmp_path / suffix, suffix, "")
        assert sorted(path.name for path in paths) == [
            f"{name}-arms.{suffix}"
            for name in (
                "certificates-and-gaps",
                "levels",
                "mistakes",
                "mistakes-over-time",
                "regret",
                "time",
            )
        ]
        assert all(check(path) for path in paths)
        assert sorted((tmp_path / suffix / "figures").iterdir()) == sorted(
            paths
        )  # nothing unfinished is left


def test_sections_are_read_from_the_folders_of_a_run(tmp_path):
    spec = parse(
        {
            "title": "Small",
            "seeds": 2,
            "rounds": 200,
            "agents": {"mine": {"agent": "NestedOFUL", "noise": 0.5}},
            "instances": {"sphere": {"instance": "sphere", "dim": 2, "n_actions": 3, "noise": 0.5}},
        },
        name="small",
    )
    run([(spec, tmp_path / "small")], command="unipac run small.toml")
    (part,) = sections_in(tmp_path)
    assert (part.title, part.command) == ("Small", "unipac run small.toml")
    assert part.parameters["mine"] == "NestedOFUL(noise=0.5)"
    assert summary(part.results)["runs"].to_list() == ["2"]
    page = build([part], tmp_path, "html", "unipac report")[0].read_text()
    assert "unipac run small.toml" in page
    with pytest.raises(StoreError, match="holds no run"):
        sections_in(tmp_path / "small" / "cells")


@pytest.mark.parametrize("form", ["html", "svg"])
def test_figures_are_computed_once(tmp_path, monkeypatch, form):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return regret(*arguments)

    regret = panels.regret
    monkeypatch.setattr(panels, "regret", counted)
    parts = [Section("a", "A", "", made(seeds=2)), Section("b", "B", "", made(("free",), seeds=2))]
    build(parts, tmp_path, form)
    assert [len(findings(part)) for part in parts] == [6, 6]
    assert len(calls) == 2


def test_an_agent_has_one_look_in_all_sections():
    parts = [Section("a", "A", "", made(seeds=2)), Section("b", "B", "", made(("free",), seeds=2))]
    chosen = style.looks(AGENTS)
    for part in parts:
        for figure in part.figures:
            assert all(panel.looks == chosen for panel in figure.with_looks(chosen).drawn.panels)
    page = html.render(parts, "", title="t")
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.S)[1])
    colours = {
        tuple(zip(scale["domain"], scale["range"], strict=True))
        for spec in specs
        for scale in [spec["layer"][0]["encoding"]["color"]["scale"]]
    }
    assert {colour for pairs in colours for agent, colour in pairs if agent == "free"} == {
        chosen["free"].color
    }


def test_build_refuses_what_it_cannot_write(tmp_path):
    with pytest.raises(ValueError, match="at least one"):
        build([], tmp_path, "html", "")
    with pytest.raises(ValueError, match="format must be html, png, svg or pdf, got 'gif'"):
        build([Section("a", "A", "", made())], tmp_path, "gif", "")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    section = Section("arms", "Arms", "", made())
    (page,) = build([section], tmp_path, "html", "first")
    before = page.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(StoreError, match="disk"):
        build([section], tmp_path, "html", "second")
    assert page.read_bytes() == before
    assert list(tmp_path.iterdir()) == [page]


# the page


@pytest.fixture(scope="module")
def sections():
    """Several kinds of experiment, with labels that try to break the page."""
    further = Finding(f"Prediction {NASTY}", False, f"Observation {NASTY}")
    return [
        Section(
            "arms", "Arms", "Three agents.", made(instances=("arms 1", "arms 2")), (further,), {"dim": 2}
        ),
        Section("killer", "Killer", "Long runs.", sweep({"nested": lambda k: 20, "free": lambda k: 9 * k})),
        Section(NASTY, NASTY, NASTY, made((NASTY, "nested"), (NASTY,), NASTY, 1, "mdp"), (), {NASTY: NASTY}),
        Section("search", "Search", "Arms are sought.", searched()),
    ]


@pytest.fixture(scope="module")
def page(sections, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return build(sections, folder, "html", f"unipac report {NASTY}", details={"version": "1.2.3"})[0]


def test_the_page_is_one_file_that_asks_for_nothing(page):
    text = page.read_text()
    assert not re.search(
        r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", re.sub(r"<script.*?</script>", "", text, flags=re.S)
    )
    assert "<link" not in text
    assert not re.search(r"<script[^>]*src", text)
    assert text.count("<script>") == 2  # the library once, and the drawing
    assert '<meta name="viewport"' in text
    assert "@media print" in text
    assert len(text) < 3_000_000


def test_the_same_input_gives_the_same_bytes(sections, page, tmp_path):
    again = build(sections, tmp_path, "html", f"unipac report {NASTY}", details={"version": "1.2.3"})[0]
    assert again.read_bytes() == page.read_bytes()


def test_the_page_says_everything(page):
    text = page.read_text()
    for words in ("not certified", "1.2.3", "Three agents.", "predictions seen", "✗ NOT seen", "aria-label"):
        assert words in text
    assert "<b> &" not in text
    assert "&lt;b&gt; &amp;" in text


def test_charts_are_json(page):
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page.read_text(), re.S)[1])
    for spec in specs:
        assert alt.Chart.from_dict(spec) is not None
        assert spec["width"] == "container"


def test_the_page_asks_for_nothing_and_a_page_that_does_is_caught(page, tmp_path):
    assert chromium.requests(page, tmp_path / "ours") == set()
    worldly = tmp_path / "worldly.html"
    worldly.write_text(
        '<img src="http://images.example/x.png"><script src="https://scripts.example/x.js"></script>'
        '<script>fetch("https://api.example/x").catch(() => 0)</script>'
    )
    found = chromium.requests(worldly, tmp_path / "theirs")
    assert found == {"http://images.example/x.png", "https://scripts.example/x.js", "https://api.example/x"}


def test_chromium_draws_every_chart_without_a_word(page, tmp_path):
    document, console = chromium.show(page, tmp_path)
    assert console == []
    places = document.split("data-chart=")[1:]
    assert len(places) == page.read_text().count('data-chart="')
    assert len(places) >= 15
    for place in places:
        drawn = place[: place.index("</figure>")]
        lines = int(re.search(r'data-lines="(\d+)"', drawn)[1])
        assert '<svg xmlns="http://www.w3.org/2000/svg"' in drawn
        assert len(re.findall(r'class="mark-line[^"]*"[^>]*><path', drawn)) == lines
        assert len(re.findall(r'class="mark-symbol role-mark[^"]*"[^>]*><path', drawn)) == 1
    assert "could not be drawn" not in re.sub(r"<script.*?</script>", "", document, flags=re.S)


def test_the_page_may_run_its_own_scripts_and_nothing_else(page, tmp_path):
    """Whatever else gets into the page neither runs nor loads; without the policy (control) it does both."""
    text = page.read_text()
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{one}'" for one in hashes),
        "style-src": "'unsafe-inline'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(hashes) == 2
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")
    intruder = (
        '<script>document.body.append("script " + "ran")</script>'
        "<img src='http://images.example/x.png' onerror='document.body.append(\"handler \" + \"ran\")'>"
        "</body></html>"
    )
    ours, open_page = tmp_path / "ours.html", tmp_path / "open.html"
    intruded = text[: text.rindex("</body>")] + intruder
    ours.write_text(intruded)
    open_page.write_text(intruded.replace(policy[0], ""))
    document, console = chromium.show(ours, tmp_path / "first")
    assert "script ran" not in document
    assert "handler ran" not in document
    assert document.count("<svg xmlns=") >= 15
    assert any("Content Security Policy" in line for line in console)
    document, _ = chromium.show(open_page, tmp_path / "second")
    assert "script ran" in document
    assert "handler ran" in document
    assert chromium.requests(ours, tmp_path / "third") == set()

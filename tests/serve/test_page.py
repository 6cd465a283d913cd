"""The page in Chromium, without any other host: what it draws is the series, and it says what is wrong."""

import http.server
import json
import math
import random
import re
import threading
import time

import pytest

from helpers import chromium
from helpers.browser import Browser
from helpers.serving import Server
from unipac.serve import app, tokens

MODELS = ["small", "large"]
TABLE = {
    "window": 0.05, "default": 0.0, "holdout": 0.05,
    "agent": {"agent": "NestedOFUL", "noise": 0.15, "norm": 2.0},
    "features": {
        "kind": "Blocks", "ids": MODELS,
        "of": {"kind": "Columns", "ranges": {"tokens": [0, 8000]}, "missing": "error"},
    },
}  # fmt: skip
DECISIONS = 800
MOST_POINTS = 80


@pytest.fixture(scope="module", autouse=True)
def _chromium():
    chromium.find()


def filled(server):
    """A deployment with decisions, rewards of most of them, a verdict and a restart."""
    client, rng = server.client(), random.Random(0)
    router = client.deployment("router")
    asked = {"context": {"tokens": 400}, "actions": MODELS, "eps": 0.6}
    client.request("PUT", "/v1/deployments/router/watches/short", asked)
    client.request("PUT", "/v1/deployments/router/watches/%3Cb%3Ebold", asked)
    for first in range(0, DECISIONS, 10):
        rows = [{"id": f"r{k}", "context": {"tokens": rng.randrange(8000)}, "actions": MODELS}
                for k in range(first, first + 10)]  # fmt: skip
        answers = router.batch({"decide": row} for row in rows)
        assert all(answer["status"] == 201 for answer in answers)
        values = [
            (0.7 - 0.6 * row["context"]["tokens"] / 8000 if answer["body"]["action"] == "small" else 0.4)
            + rng.gauss(0, 0.1)
            for row, answer in zip(rows, answers, strict=True)
        ]
        told = [
            {"reward": {"id": row["id"], "value": value}} for row, value in zip(rows, values, strict=True)
        ]
        router.batch(told[: 9 if first else 0])
        if first == 700:
            settled(router)  # so that the alarm has tested: the first time it can is after 400 rounds
            client.request("POST", "/v1/deployments/router/restart")
    settled(router)
    client.close()


def settled(router):
    """Wait until all windows are closed."""
    while router.state()["pending"]:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("service"), {"router": TABLE}) as server:
        filled(server)
        yield server


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(browser):
    """The browser, with nothing collected so far; wide and light."""
    browser.look(1400, 1000)
    browser.forget()
    return browser


def series_of(server):
    with server.client() as client:
        return client.request("GET", "/v1/deployments/router/series")


def show(page, address):
    page.open(address)
    page.until("document.querySelectorAll('svg.chart .line').length === 5")


# -- what is drawn -----------------------------------------------------------------------------------------


def judged(series):
    """The points of a page, in plain loops."""
    bins, restarts = series["bins"], [mark["seq"] for mark in series["marks"] if mark["kind"] == "restart"]
    size, found, done, drift, before = max(1, -(-len(bins) // MOST_POINTS)), [], 0, (None, None), -1
    for first in range(0, len(bins), size):
        part = bins[first : first + size]
        total = {
            name: sum(one[name] for one in part) for name in part[0] if name not in ("drift", "threshold")
        }
        done += total["decisions"]
        tests = [(one["drift"], one["threshold"]) for one in part if one["drift"] is not None]
        if tests:
            drift = tests[-1]
        elif any(before < seq <= part[-1]["seq"] for seq in restarts):
            drift = (None, None)
        before = part[-1]["seq"]
        found.append({
            "to": done,
            "reward": total["reward"] / total["rewards"] if total["rewards"] else None,
            "certificate": total["certificates"] / total["certified"] if total["certified"] else None,
            "explored": total["explored"] / total["decisions"],
            "pending": part[-1]["pending"], "drift": drift[0], "threshold": drift[1],
        })  # fmt: skip
    return found


def number(text):
    text = text.replace("−", "-").replace(",", "")
    return float(text.removesuffix(" %")) / 100 if text.endswith(" %") else float(text)


def drawn(page, chart, what):
    """The places of a line or of dots, turned into numbers by the ticks of both axes, as a person reads them."""
    ticks = page.run(f"""(() => {{
        const read = (text) => [text.textContent, +text.getAttribute("x"), +text.getAttribute("y")];
        const all = [...document.querySelectorAll('svg[data-chart="{chart}"] .tick')];
        const split = (name) => all.filter((one) => one.classList.contains(name)).map(read);
        return [split("end"), split("middle")];
    }})()""")
    logarithmic = "logarithmic" in page.run(
        f"""document.querySelector('svg[data-chart="{chart}"]').textContent"""
    )
    shape, back = (math.log, math.exp) if logarithmic else ((lambda one: one), (lambda one: one))
    height = reading([(place - 4, shape(number(text))) for text, _, place in ticks[0]])
    along = reading([(place, number(text)) for text, place, _ in ticks[1]])
    found = page.run(f"""(() => {{
        const parts = [...document.querySelectorAll('svg[data-chart="{chart}"] {what}')];
        if (parts[0].tagName === "path") return parts[0].getAttribute("d").match(/[ML][^MLVHZ]+/g).map((one) =>
            one.slice(1).split(",").map(Number));
        return parts.map((one) => [+one.getAttribute("cx"), +one.getAttribute("cy")]);
    }})()""")
    return {round(along(x)): back(height(y)) for x, y in found}


def reading(pairs):
    """The line through the first and the last tick; the others must be on it."""
    (a, low), (b, high) = pairs[0], pairs[-1]
    assert len(pairs) > 1
    assert all(
        abs(low + (high - low) * (at - a) / (b - a) - value) <= 0.01 * abs(high - low) for at, value in pairs
    )
    return lambda at: low + (high - low) * (at - a) / (b - a)


def test_charts_have_the_numbers_of_the_series(service, page):
    show(page, f"{service.address}/ui")
    points = judged(series_of(service))
    assert points[-1]["to"] == DECISIONS
    for chart, what in (("reward", ".dot"), ("certificate", ".line"), ("explored", ".dot"), ("drift", ".line"),
                        ("drift", ".limit"), ("pending", ".line")):  # fmt: skip
        key = "threshold" if what == ".limit" else chart
        expected = {point["to"]: point[key] for point in points if point[key] is not None}
        assert len(expected) > 5, chart
        found = drawn(page, chart, what)
        assert found.keys() == expected.keys()
        if chart == "certificate":  # a logarithmic scale puts 0 at its bottom
            found, expected = (
                {at: one[at] for at in expected if expected[at] > 0} for one in (found, expected)
            )
        span = max(0, *expected.values()) - min(0, *expected.values())
        slack = 0.02 * span if chart != "certificate" else None
        assert found == pytest.approx(expected, abs=slack, rel=0.05 if slack is None else None), (chart, what)
        wrong = {place: value + 0.1 * span for place, value in expected.items()}
        assert found != pytest.approx(wrong, abs=slack, rel=0.05 if slack is None else None)  # it can tell
    assert page.run("document.querySelectorAll('svg[data-chart=marks] .sign.restart').length") == 1
    verdicts = page.run(
        "[...document.querySelectorAll('.happened .verdict .what')].map((one) => one.textContent)"
    )
    assert len(verdicts) >= 2
    assert any(text.startswith("<b>bold") for text in verdicts)  # a name is text, not HTML


def test_the_table_has_them_too(service, page):
    show(page, f"{service.address}/ui")
    page.run("document.querySelector('#numbers summary').click()")
    rows = page.until(
        "[...document.querySelectorAll('#table tbody tr')].map((row) => row.innerText.split('\\t'))"
    )
    points = judged(series_of(service))
    assert len(rows) == len(points)
    for row, point in zip(rows[::-1], points, strict=True):
        assert number(row[0].split("–")[1]) == point["to"]
        for column, key in ((2, "reward"), (4, "certificate"), (6, "explored"), (7, "pending"), (8, "drift")):
            told = None if row[column] == "–" else number(row[column])
            assert told == (None if point[key] is None else pytest.approx(point[key], rel=0.01, abs=0.006))


def test_nothing_is_asked_of_others_and_the_console_is_silent(service, page):
    show(page, f"{service.address}/ui")
    page.run("document.querySelector('input[value=time]').click()")
    page.until("document.querySelector('svg[data-chart=reward]').textContent.includes('time')")
    page.until(
        "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/series')).length > 1"
    )
    assert len(page.requests) > 8
    assert [url for url in page.requests if not url.startswith(f"{service.address}/")] == []
    assert page.console == []
    page.run("""(() => {
        document.body.append(Object.assign(document.createElement("img"), { src: "http://example.org/a.png" }));
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = 1" }));
    })()""")
    page.run("new Promise((done) => setTimeout(done, 200))")
    assert page.run("window.ran") is None
    assert (
        sum("Content Security Policy" in line for line in page.console) == 2
    )  # the control: both are noticed


def test_keys_read_the_charts(service, page):
    show(page, f"{service.address}/ui")
    points = judged(series_of(service))
    page.run("document.querySelector('svg[data-chart=reward]').focus()")
    text = "document.querySelector('svg[data-chart=reward]').getAttribute('aria-valuetext')"
    page.press("Home")
    assert re.fullmatch(rf"Decisions 1 to {points[0]['to']}: mean reward –", page.run(text))  # none had come
    page.press("End")
    page.press("ArrowLeft")
    told = re.fullmatch(r"Decisions [\d,]+ to ([\d,]+): mean reward (\S+)", page.run(text))
    assert number(told[1]) == points[-2]["to"]
    assert number(told[2]) == pytest.approx(points[-2]["reward"], rel=0.01)
    assert page.run("document.querySelectorAll('.cursor .guide').length") == 5  # all charts show the place


def test_it_fits_a_phone_and_follows_the_scheme(service, page):
    page.look(390, 844)
    show(page, f"{service.address}/ui")
    assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.run("document.documentElement.clientWidth") <= 390
    assert (
        page.run("getComputedStyle(document.querySelector('.charts')).gridTemplateColumns.split(' ').length")
        == 1
    )
    light = page.run("getComputedStyle(document.body).backgroundColor")
    page.look(390, 844, dark=True)
    assert page.run("getComputedStyle(document.body).backgroundColor") != light


# -- what is wrong -------------------------------------------------------------------------------------------


def test_tokens(tmp_path, page):
    good, kept = tokens.made("reader", ["read"])
    tokens.add(tmp_path / "tokens", kept)
    one, kept = tokens.made("one", ["read"], "router")
    tokens.add(tmp_path / "tokens", kept)
    with Server(tmp_path, {"router": TABLE}, tokens="tokens") as server:
        page.open(f"{server.address}/ui")
        page.until("document.activeElement.id === 'answer'")
        page.type("wrong")
        page.until("document.getElementById('ask-wrong').textContent.includes('does not know this token')")
        assert page.run("sessionStorage.length") == 0
        page.type(good)
        page.until("document.getElementById('name').textContent === 'router'")
        page.until("document.querySelector('.none').textContent === 'No reward has come yet'")
        assert page.run("document.getElementById('ask').hidden")
        page.run("document.getElementById('leave').click()")
        page.until("document.activeElement.id === 'answer'")
        page.type(one)  # it cannot list
        page.until("document.getElementById('ask-title').textContent === 'Which deployment?'")
        page.type("other")
        page.until("document.getElementById('notice-text').textContent.includes('refused this token')")
        page.run("location.hash = 'router'")
        page.until("!document.getElementById('board').hidden")


def test_a_service_that_is_gone(tmp_path, page):
    with Server(tmp_path, {"router": TABLE}) as server:
        page.open(f"{server.address}/ui")
        page.until("!document.getElementById('board').hidden")
        assert page.run("document.getElementById('pulse').dataset.state") == "live"
        server.kill()
        page.until(
            "document.getElementById('notice-text').textContent.includes('The service does not answer')"
        )
        assert not page.run("document.getElementById('board').hidden")  # what was known stays
        server.start()
        page.run("document.getElementById('again').click()")
        page.until("document.getElementById('pulse').dataset.state === 'live'")
        assert page.run("document.getElementById('notice').hidden")


@pytest.mark.postgres
def test_a_standby_names_the_writer_and_draws_when_it_has_taken_over(tmp_path, postgres, page):
    store, tables = postgres.new("page"), {"router": TABLE}
    with (
        Server(tmp_path, tables, store, name="1", lease=1.0) as first,
        Server(tmp_path, tables, store, name="2", lease=1.0) as second,
    ):
        page.open(f"{second.address}/ui")
        text = page.until("document.getElementById('notice-text').textContent")
        assert text == f"Another instance writes router: {first.address}"
        assert page.run("document.getElementById('notice-link').href") == f"{first.address}/ui#router"
        first.kill()
        page.until("!document.getElementById('board').hidden")
        assert page.run("document.getElementById('notice').hidden")


class Stub(http.server.ThreadingHTTPServer):
    """The files of the page, and answers that a test gives."""

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.address = answers, f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = app.PAGE / {"/ui": "index.html"}.get(self.path, self.path.removeprefix("/ui/"))
        if self.path in self.server.answers:
            status, told = self.server.answers[self.path]
            kind, data = "application/json", json.dumps(told).encode()
        else:
            kinds = {
                ".js": "text/javascript",
                ".css": "text/css",
                ".html": "text/html",
                ".svg": "image/svg+xml",
            }
            status, kind, data = 200, kinds[path.suffix], path.read_bytes()
        self.send_response(status)
        for name, value in {**app.HEADERS, "content-type": kind, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


LISTED = (200, [{"name": "router", "address": "http://other:80", "ours": False}])


@pytest.mark.parametrize(
    ("answers", "said", "link"),
    [
        ({"": LISTED, "/router/series": (421, {"address": "http://other:80", "detail": "x"})},
         "Another instance writes router: http://other:80", "http://other/ui#router"),
        ({"": LISTED, "/router/series": (421, {"address": "javascript:alert(1)", "detail": "x"})},
         "Another instance writes router: javascript:alert(1)", None),
        ({"": LISTED, "/router/series": (503, {"detail": "the database does not answer"})},
         "The service cannot answer now: the database does not answer.", None),
        ({"": LISTED, "/router/series": (404, {})}, "There is no such deployment", None),
        ({"": (500, {})}, "The service cannot answer now: the service answered 500.", None),
        ({"": (200, [])}, "There is no deployment yet.", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(page, answers, said, link):
    stub = Stub({f"/v1/deployments{path}": answer for path, answer in answers.items()})
    try:
        page.open(f"{stub.address}/ui")
        text = page.until("document.getElementById('notice-text').textContent")
        assert text.startswith(said)
        assert page.run("document.getElementById('board').hidden")
        place = "document.getElementById('notice-link').hidden ? null : document.getElementById('notice-link').href"
        assert page.run(place) == link
    finally:
        stub.shutdown()
        stub.server_close()

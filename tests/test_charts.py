"""What pictures show is what happened; and there is something to see, whatever is not known."""

import copy
import json

import altair
import numpy as np
import pytest

import unipac
from unipac import _charts
from unipac.bandits.protocol.records import Trace
from unipac.mdp.protocol.records import EpisodeTrace, LearningTrace

LENGTHS = (0, 1, 2, 40, 3000)


def bandit_trace(rounds, *, certified=True, gaps=True):
    """A trace with certificates above gaps, and rounds that belong to no level."""
    rng = np.random.default_rng(rounds)
    gap = np.where(rng.random(rounds) < 0.3, rng.exponential(0.2, rounds), 0.0)
    certificate = gap + 1 / np.sqrt(1 + np.arange(rounds)) if certified else np.full(rounds, np.nan)
    level = rng.integers(0, 4, rounds)
    return Trace(level, level, certificate, rng.standard_normal(rounds), gap if gaps else None)


def episode_trace(episodes, *, certified=True):
    trace = bandit_trace(episodes, certified=certified)
    rng = np.random.default_rng(1)
    planned, explored = rng.random((2, episodes)) < 0.2
    return EpisodeTrace(
        trace.gap,
        rng.integers(0, 4, (episodes, 3)),
        trace.reward,
        np.full(episodes, 3.0),
        trace.certificate,
        planned,
        explored,
    )


def panels(chart):
    """The panels of a chart as Vega-Lite has them; it must be valid, and JSON."""
    told = chart.to_dict()
    json.dumps(told, allow_nan=False)
    return told.get("vconcat", [told])


def rows(panel):
    return panel["data"]["values"]


def note(panel):
    """The sentence in the place of a chart; None if there is a chart."""
    mark = panel.get("mark", {})
    return mark["text"] if mark.get("type") == "text" else None


@pytest.mark.parametrize("rounds", LENGTHS)
@pytest.mark.parametrize("what", ["overview", "gaps", "levels"])
def test_every_trace_has_a_picture(rounds, what):
    traces = [
        bandit_trace(rounds),
        bandit_trace(rounds, certified=False),
        bandit_trace(rounds, gaps=False),
        episode_trace(rounds),
        episode_trace(rounds, certified=False),
    ]
    for trace in traces:
        for panel in panels(trace.plot(what)):
            assert panel["title"]["text"]
            shown = note(panel)
            if shown is None:
                parts = panel.get("layer", [panel])
                assert all(len(rows(part)) > 0 for part in parts)
            else:
                assert shown.startswith("no ")


def test_a_name_that_is_no_picture():
    for trace in (bandit_trace(3), episode_trace(3)):
        with pytest.raises(ValueError, match='what must be "overview", "gaps" or "levels", got'):
            trace.plot("gap")


def test_points_are_means():
    trace = bandit_trace(3000)
    reward, loss, share = panels(trace.plot())
    assert len(rows(reward)) == _charts.MOST_POINTS
    means = trace.reward.reshape(_charts.MOST_POINTS, -1).mean(axis=1)
    np.testing.assert_allclose([row["value"] for row in rows(reward)], means)
    assert not np.allclose(
        means, trace.reward[:: 3000 // _charts.MOST_POINTS]
    )  # the control: not single rounds
    gap = [row["value"] for row in rows(loss) if row["line"] == "gap"]
    np.testing.assert_allclose(gap, trace.gap.reshape(_charts.MOST_POINTS, -1).mean(axis=1))
    np.testing.assert_allclose(np.mean([row["value"] for row in rows(share)]), (trace.level > 0).mean())


def test_the_axis_of_a_constant_is_right():
    """Without a range the only tick of 0.5 would be called 1."""
    trace = bandit_trace(40)
    trace.reward[:] = 0.5
    assert panels(trace.plot())[0]["encoding"]["y"]["scale"]["domain"] == [0.0, 1.0]
    trace.reward[0] = 0.25
    assert "domain" not in panels(trace.plot())[0]["encoding"]["y"]["scale"]


def test_few_points_are_seen_as_points():
    for rounds, seen in ((1, True), (_charts.FEW_POINTS, True), (3000, False)):
        assert bool(panels(bandit_trace(rounds).plot())[0]["mark"]["point"]) == seen


def test_what_is_not_known_is_said():
    _, loss, _ = panels(bandit_trace(40, certified=False).plot())
    assert loss["title"]["subtitle"] == "no certificate is known"
    assert {row["line"] for row in rows(loss)} == {"gap"}
    assert "subtitle" not in panels(bandit_trace(40).plot())[1]["title"]  # the control
    unknown = bandit_trace(40, certified=False, gaps=False)
    assert note(panels(unknown.plot())[1]) == "no certificate is known"
    assert note(panels(unknown.plot("gaps"))[0]) == "no gap is known"
    assert note(panels(bandit_trace(40, certified=False).plot("gaps"))[0]) == "no certificate is known"


@pytest.mark.parametrize("broken", [0, 3, 1000])
def test_broken_promises_are_seen(broken):
    """Thinning never hides them: all that are broken are counted, and some of them drawn."""
    trace = bandit_trace(20_000)
    where = np.random.default_rng(0).choice(20_000, broken, replace=False)
    trace.certificate[where] = trace.gap[where] / 2 - 0.01
    (panel,) = panels(trace.plot("gaps"))
    assert f"in {broken:,} of 20,000 rounds" in panel["title"]["subtitle"]
    dots = rows(panel["layer"][1])
    drawn = {row["round"] for row in dots if row["broken"]}
    assert len(drawn) == broken if broken <= 3 else 100 < len(drawn) <= _charts.MOST_DOTS
    assert drawn <= set(where.tolist())
    assert 300 < len(dots) <= 2 * _charts.MOST_DOTS


def test_levels_are_those_of_the_agent():
    agent = unipac.NestedOFUL(2, noise=0.1)
    trace = agent.play(unipac.envs.sphere(2, 4, noise=0.1), rounds=2500, seed=0)
    (panel,) = panels(trace.plot("levels"))
    last = {row["level"]: row["size"] for row in rows(panel)}
    assert last == {level.level: level.size for level in agent.levels()}
    middle = {row["level"]: row["size"] for row in rows(panel) if row["round"] <= 1000}
    assert middle != last
    episodes = episode_trace(500)
    (panel,) = panels(episodes.plot("levels"))
    last = {row["level"]: row["size"] for row in rows(panel)}
    assert last == {k: int((episodes.level == k).sum()) for k in (1, 2, 3)}


def test_episodes_in_an_environment():
    rng = np.random.default_rng(0)
    ended = rng.random(200) < 0.5
    trace = LearningTrace(9, rng.random(200), rng.integers(1, 9, 200), ended, ~ended)
    returns, steps, share = panels(trace.plot())
    np.testing.assert_allclose(np.mean([row["value"] for row in rows(returns)]), trace.returns.mean())
    np.testing.assert_allclose(np.mean([row["value"] for row in rows(steps)]), trace.lengths.mean())
    assert {row["line"] for row in rows(share)} == {"terminated", "truncated"}
    assert all(note(panel) for panel in panels(trace[:0].plot()))


def test_a_search_is_as_it_was():
    """The certificates drawn are those that the search had; drawing changes nothing."""
    instance = unipac.envs.soare(dim=3, angle=0.5)
    for kind in (unipac.LinGapE, unipac.RAGE):
        search = kind.made_for(instance, delta=0.05)
        above, below = panels(search.plot())
        assert len(rows(above)) == 1
        assert note(below) == "no arm was pulled"
        seen = [(search.pulls, search.answer.certificate)]
        while not search.done and search.pulls < 60:
            batch = search.ask()
            search.tell(instance.pulls(*batch, batch=len(seen), seed=0))
            seen.append((search.pulls, search.answer.certificate))
        before = search.digest()
        above, below = panels(search.plot())
        assert search.digest() == before
        assert [(row["pulls"], row["certificate"]) for row in rows(above)] == seen
        assert [row["pulls"] for row in rows(below)] == search.answer.counts.tolist()
        assert len({certificate for _, certificate in seen}) > 1  # the control: there is something to compare
        search.run(instance)
        assert rows(panels(search.plot())[0])[-1]["pulls"] == search.pulls


def test_other_searches():
    mdp = unipac.envs.DiscountedMDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, 0], [0, 1.0]], discount=0.5)
    search = unipac.CertifiedPlanning.made_for(mdp, eps=0.2)
    found = search.run(mdp, seed=0)
    above, below = panels(search.plot())
    assert rows(above)[-1]["certificate"] == found.certificate
    assert below["title"]["text"] == "pulls of each pair"
    many = _charts.search("many arms", np.array([0, 50]), [1.0, np.nan], np.arange(100), "rewards")
    bars = panels(many)[1]
    assert [row["arm"] for row in rows(bars)] == list(range(70, 100))
    assert bars["title"]["subtitle"] == "the 30 that were pulled most, of 100"


def test_files(tmp_path):
    """SVG and PNG, without any other host."""
    for name, chart in (
        ("overview", bandit_trace(300).plot()),
        ("gaps", bandit_trace(300).plot("gaps")),
        ("levels", episode_trace(300).plot("levels")),
        ("nothing", bandit_trace(0).plot()),
    ):
        chart.save(tmp_path / f"{name}.svg")
        chart.save(tmp_path / f"{name}.png", scale_factor=2)
        svg = (tmp_path / f"{name}.svg").read_text()
        assert svg.startswith("<svg")
        assert "http" not in svg.replace("http://www.w3.org/", "")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "certificate" in (tmp_path / "overview.svg").read_text()
    assert "no reward is known" in (tmp_path / "nothing.svg").read_text()


def test_notebooks_show_a_picture():
    """What a notebook is given asks nothing of other hosts, as what altair gives by default does (the control)."""
    chart = bandit_trace(300).plot("gaps")
    shown = chart._repr_mimebundle_(include=None, exclude=None)
    assert list(shown) == ["image/svg+xml"]
    assert "http" not in shown["image/svg+xml"].replace("http://www.w3.org/", "")
    assert "https://" in str(altair.LayerChart.from_dict(chart.to_dict())._repr_mimebundle_())
    with altair.renderers.enable("json"):  # chosen by the user
        assert "image/svg+xml" not in chart._repr_mimebundle_()
    assert isinstance(chart, altair.LayerChart)
    assert copy.deepcopy(chart).properties(width=100).to_dict()["width"] == 100

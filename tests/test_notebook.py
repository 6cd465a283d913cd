"""How agents, decisions, bounds and traces are shown, and what they turn into."""

import json
import math

import altair
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import unipac
from unipac import _charts, _notebook
from unipac.mdp.protocol.records import LearningTrace


def played(rounds=2500):
    agent = unipac.NestedOFUL(2, noise=0.1)
    return agent, agent.play(unipac.envs.sphere(2, 4, noise=0.1), rounds=rounds, seed=0, truth=[0.6, 0.8])


def test_frames_and_slices():
    _, trace = played()
    frame = trace.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["round", "index", "level", "certificate", "reward", "gap", "covered"]
    np.testing.assert_array_equal(frame["certificate"], trace.certificate)
    part = trace[100:200]
    assert len(part) == 100
    assert part.reward.base is not None  # a view
    assert_frame_equal(part.to_frame().drop("round"), frame[100:200].drop("round"))
    assert len(trace[:]) == len(trace) == 2500
    learned = LearningTrace(3, *np.zeros((4, 25)).astype(np.int64)).to_frame()
    assert learned.columns == ["episode", "returns", "lengths", "terminated", "truncated"]
    with pytest.raises(ValueError, match="slice"):
        trace[3]


def test_charts():
    _, trace = played()
    chart = trace.plot()
    assert isinstance(chart, altair.VConcatChart)
    told = chart.to_dict()
    rewards, losses = (panel["data"]["values"] for panel in told["vconcat"])
    assert len(losses) <= 2 * _charts.MOST_POINTS
    assert {row["line"] for row in losses} == {"certificate", "gap"}
    assert {row["line"] for row in rewards} == {"reward"}
    json.dumps(told, allow_nan=False)
    guarded = unipac.Guarded(unipac.LinUCB(2), noise=0.1).play(
        unipac.envs.sphere(2, 5, noise=0.1), rounds=300
    )
    shares = guarded.plot().to_dict()["vconcat"][2]["data"]["values"]
    assert all(0.0 <= row["value"] <= 1.0 for row in shares)
    np.testing.assert_allclose(np.mean([row["value"] for row in shares]), (guarded.level > 0).mean())


def test_html():
    agent, trace = played(300)
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)
    flute = unipac.NestedFLUTE(mdp.features, horizon=3)
    episodes = flute.play(mdp, episodes=30, seed=0)
    learned = LearningTrace(3, *np.zeros((4, 25)).astype(np.int64))
    search = unipac.LinGapE([[1.0, 0.0], [0.0, 1.0]])
    deployment = unipac.Deployment(agent)
    decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
    for shown, words in (
        (agent, ["<td>rounds</td><td>300</td>", "<td>pending</td><td>1</td>", "consistent", "Levels"]),
        (decision, ["certificate", "<td>certified</td><td>True</td>"]),
        (agent.bounds([[1.0, 0.0]]), ["<th>ucb</th>"]),
        (trace, ["300 rounds", "<th>gap</th>", "<td>19</td>"]),
        (flute, ["<td>episodes</td><td>30</td>", "<th>stage</th>"]),
        (episodes, ["30 episodes", "<th>replanned</th>", "<td>19</td>"]),
        (learned, ["25 episodes", "<th>returns</th>", "<td>19</td>"]),
        (search, ["<td>done</td><td>False</td>", "<td>pulls</td><td>0</td>"]),
        (deployment, ["<td>decisions</td><td>0</td>", "<td>drift alarm</td><td>False</td>", "Levels"]),
    ):
        text = shown._repr_html_()
        assert text.startswith("<table>")
        assert text.endswith("</table>")
        for word in words:
            assert word in text, text
    assert "<b>" not in _notebook.table("<b>", ("<b>",), [("<b>",)])


def test_dicts_are_json():
    agent = unipac.LinUCB(2)
    told = agent.choose([[1.0, 0.0], [0.6, 0.8]]).to_dict()
    assert told["certificate"] is None  # NaN
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    phased = unipac.PhasedElimination([[1.0, 0.0], [0.0, 1.0]]).choose().to_dict()
    assert phased["width"] == "inf"
    assert math.isinf(_notebook.from_json(phased["width"]))
    json.dumps(phased, allow_nan=False)


def test_reprs_are_short():
    agent, trace = played(10)
    assert all(len(repr(shown)) < 250 for shown in (agent, trace, unipac.Deployment(agent)))
    assert "seq" not in repr(agent.choose([[1.0, 0.0]]))  # what says nothing here


def test_what_is_missing_is_named(monkeypatch):
    _, trace = played(10)
    monkeypatch.setattr("importlib.import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(ImportError, match=r'polars: pip install "unipac\[experiments\]"'):
        trace.to_frame()
    with pytest.raises(ImportError, match=r'altair: pip install "unipac\[experiments\]"'):
        _charts.bandit(trace, "overview")

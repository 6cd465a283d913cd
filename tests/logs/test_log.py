"""Logs: what they hold, how they are read, and what is said of broken ones."""

import json

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from unipac import features, logs
from unipac.envs import sphere
from unipac.logs import Log

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def some_log(rounds=40, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=rounds)
    sets = [rng.uniform(-0.5, 0.5, (n, 2)) for n in sizes]
    index = (rng.random(rounds) * sizes).astype(int)
    names = [f"d{t}" for t in range(rounds)]
    return Log(sets, index, rng.random(rounds), 1.0 / sizes, ids=names, times=np.arange(rounds) * 1.5)


def assert_same(a, b):
    assert len(a) == len(b)
    for t in range(len(a)):
        np.testing.assert_array_equal(a.offered(t), b.offered(t))
    for name in ("index", "rewards", "propensities", "times", "holdout"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None), name
        if x is not None:
            np.testing.assert_array_equal(x, y)
    assert a.ids == b.ids


def test_three_forms_of_sets_are_one_log():
    index, rewards = [0, 2, 1, 1], [0.1, 0.2, 0.3, 0.4]
    fixed = Log(ARMS, index, rewards)
    assert_same(fixed, Log(np.broadcast_to(ARMS, (4, 3, 2)), index, rewards))
    assert_same(fixed, Log([ARMS] * 4, index, rewards))
    np.testing.assert_array_equal(fixed.actions, ARMS[index])
    assert fixed.vectors.shape == (3, 2)


def test_parts():
    log = some_log()
    part = log[10:20]
    assert part.ids == log.ids[10:20]
    turned = log[np.arange(39, -1, -1)]
    np.testing.assert_array_equal(turned.actions, log.actions[::-1])
    np.testing.assert_array_equal(turned.offered(3), log.offered(36))
    assert repr(log[:0]) == "<Log: 0 rounds in dimension 2>"
    assert "1 to 3 actions" in repr(log)


def test_no_rounds_and_one_action():
    assert len(Log(ARMS, [], [])) == 0
    assert len(Log([], [], [])) == 0
    assert Log([[[0.5]]], [0], [1.0], [1.0]).is_uniform


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Log(ARMS, [3], [0.0]), r"index\[0\] must be from 0 to 2, got 3"),
        (lambda: Log(ARMS, [0, -1], [0.0, 1.0]), r"index\[1\] must be from 0 to 2, got -1"),
        (lambda: Log(ARMS, [0.5], [0.0]), "index must be an array of integers"),
        (lambda: Log(ARMS, [0], [0.0, 1.0]), r"index must be of shape \(2,\)"),
        (lambda: Log(ARMS, [0], [np.nan]), "rewards must be finite"),
        (lambda: Log(ARMS, [0], [[1.0]]), r"rewards must be of shape \(T,\)"),
        (lambda: Log([[[np.inf, 0.0]]], [0], [0.0]), "sets must be finite"),
        (lambda: Log([ARMS, ARMS[:, :1]], [0, 0], [0.0, 1.0]), r"sets\[1\] must be of shape \(n, 2\)"),
        (lambda: Log([ARMS], [0, 0], [0.0, 1.0]), "sets must be 2 sets, one per reward, got 1"),
        (lambda: Log("abc", [0], [0.0]), "sets must be .* got 'abc'"),
        (lambda: Log(ARMS, [0], [0.0], [0.5, 0.5]), r"propensities must be of shape \(1,\)"),
        (lambda: Log(ARMS, [0], [0.0], [np.nan]), "propensities must be finite"),
        (lambda: Log(ARMS, [0], [0.0], ids=["a", "b"]), "ids must be 1, one per reward, got 2"),
        (lambda: Log(ARMS, [0], [0.0], holdout=[1]), "holdout must be booleans"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_uniform_log_of_an_instance():
    instance = sphere(3, 5, noise=0.1)
    log = logs.uniform(instance, 300, seed=4)
    drawn = instance.rounds(0, 300, seed=4)
    np.testing.assert_array_equal(log.offered(7), drawn.actions[7])
    np.testing.assert_array_equal(log.rewards, drawn.rewards[np.arange(300), log.index])
    assert log.is_uniform
    assert set(log.index.tolist()) == set(range(5))


# -- files ---------------------------------------------------------------------------------------------


def decide(seq, id_, index, vectors=ARMS, **more):
    told = None if vectors is None else np.asarray(vectors).tolist()
    event = {"seq": seq, "kind": "decide", "id": id_, "at": float(seq), "wall": 0.0, "context": None}
    event |= {"actions": ["a", "b", "c"], "vectors": told, "index": index, "x": None, "level": 1}
    return event | {"propensity": 1.0, "holdout": False, "answer": {}} | more


def reward(seq, id_, value):
    return {"seq": seq, "kind": "reward", "id": id_, "value": value, "at": float(seq)}


def spec(**more):
    return {
        "seq": 0,
        "kind": "spec",
        "window": None,
        "default": 0.0,
        "holdout": 0.1,
        "features": None,
        **more,
    }


def written(tmp_path, events):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def test_events_with_a_window(tmp_path):
    """The early click of a decision that is not released is not in the log, whatever came after it."""
    events = [
        spec(window=60.0),
        decide(1, "a", 0, propensity=0.9),
        decide(2, "b", 2, holdout=True, propensity=0.1),
        decide(3, "c", 1),
        decide(4, "d", 1),
        reward(5, "d", 1.0),
        reward(6, "b", 0.5),
        {"seq": 7, "kind": "forget", "id": "c"},
        {"seq": 8, "kind": "release", "through": 3, "at": 70.0},
        {"seq": 9, "kind": "restart"},
        decide(10, "e", 0),
    ]
    log = logs.read(written(tmp_path, events))
    assert log.ids == ("a", "b")
    assert log.rewards.tolist() == [0.0, 0.5]
    assert log.index.tolist() == [0, 2]
    assert log.propensities.tolist() == [0.9, 0.1]
    assert log.holdout.tolist() == [False, True]
    assert log.times.tolist() == [1.0, 2.0]
    assert log.holdout_share == 0.1
    np.testing.assert_array_equal(log.actions, ARMS[[0, 2]])


def test_events_without_default_are_left_out():
    events = [spec(window=1.0, default=None), decide(1, "a", 0), decide(2, "b", 0), reward(3, "b", 0.7)]
    log = logs.from_events([*events, {"seq": 4, "kind": "release", "through": 2}])
    assert log.ids == ("b",)


def test_events_without_a_window_keep_the_order_of_decisions():
    events = [spec(), decide(1, "a", 0), decide(2, "b", 1, propensity=None), decide(3, "c", 2)]
    log = logs.from_events([*events, reward(4, "b", 0.2), reward(5, "a", 0.1)])
    assert log.ids == ("a", "b")
    assert log.rewards.tolist() == [0.1, 0.2]
    assert log.propensities is None  # unknown for one of them


def test_events_without_vectors_need_their_features():
    events = [spec(), decide(1, "a", 1, vectors=None, context={"x": 0.5}), reward(2, "a", 1.0)]
    with pytest.raises(ValueError, match="features must be given, as decision 'a' has context and ids"):
        logs.from_events(events)
    log = logs.from_events(events, features=lambda context, ids: context["x"] * np.eye(len(ids)))
    np.testing.assert_array_equal(log.actions, [[0.0, 0.5, 0.0]])


def test_events_with_features_of_ours():
    """The specification tells the features; they are made again."""
    blocks = features.Blocks(["a", "b", "c"])
    events = [
        spec(features=blocks.to_json()),
        decide(1, "a", 1, vectors=None, context={}),
        reward(2, "a", 1.0),
    ]
    log = logs.from_events(events)
    np.testing.assert_array_equal(log.offered(0), blocks({}, ["a", "b", "c"]).vectors)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "events must begin with the specification, got None"),
        ([decide(1, "a", 0)], "events must begin with the specification, got 'decide'"),
        ([spec(), {"kind": "click"}], "event 2: kind must be one of those of a deployment, got 'click'"),
        (
            [spec(), {"kind": "reward", "id": "a"}],
            "event 2: id must be that of an open decision, got 'a'",
        ),
        ([spec(), decide(1, "a", 0), {"kind": "reward", "id": "a"}], "event 3: 'value' is missing"),
        ([spec(), decide(1, "a", 0), decide(2, "a", 0)], "event 3: id must be new, got 'a'"),
        ([spec(), decide(1, "a", 7), reward(2, "a", 1.0)], "event 2: index must be from 0 to 2, got 7"),
    ],
)
def test_broken_events(events, message):
    with pytest.raises(ValueError, match=message):
        logs.from_events(events)


def test_broken_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"kind": "spec"}\n{"kind": "dec\n')
    with pytest.raises(ValueError, match="line 2 must be a JSON object"):
        logs.read(path)
    with pytest.raises(ValueError, match=r"path must be one of .jsonl, .ndjson or .parquet"):
        logs.read(tmp_path / "log.csv")


def test_frames_and_parquet(tmp_path):
    log = some_log()
    columns = log.to_dict()
    assert_same(log, logs.from_frame(columns))
    frame = polars.DataFrame(columns)
    assert_same(log, logs.from_frame(frame))
    frame.write_parquet(tmp_path / "log.parquet")
    assert_same(log, logs.read(tmp_path / "log.parquet"))
    assert_same(log, logs.from_frame(pandas.DataFrame(columns)))
    assert_same(log, logs.from_frame(pyarrow.table(columns)))
    with pytest.raises(ValueError, match="frame must be a table with a column 'reward'"):
        logs.from_frame({"vectors": [], "index": []})
    with pytest.raises(ValueError, match="frame must be a frame or a mapping of columns"):
        logs.from_frame(3)

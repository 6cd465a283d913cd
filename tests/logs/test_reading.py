"""Files of logs that are damaged, cut or wrong: what is refused, and where the error is said to be."""

import json

import numpy as np
import pandas
import polars
import pytest

from unipac import OFUL, Deployment, logs
from unipac.deployment import entries
from unipac.logs import events as reading_events

ARMS = [[1.0, 0.0], [0.0, 1.0]]
SPEC = {"seq": 0, "kind": "spec", "window": None, "default": 0.0, "holdout": 0.1, "features": None}


def decide(seq, id_, **more):
    event = {"seq": seq, "kind": "decide", "id": id_, "at": 1.0, "vectors": ARMS, "index": 1}
    return event | {"propensity": 1.0, "holdout": False} | more


def reward(seq, id_, value=0.5):
    return {"seq": seq, "kind": "reward", "id": id_, "value": value}


def lines(path, events, end="\n"):
    path.write_text("\n".join(json.dumps(event) for event in events) + end)
    return path


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"index": 0.5}, "index must be an integer >= 0, got 0.5"),
        ({"index": True}, "index must be an integer >= 0, got True"),
        ({"index": None}, "index must be an integer >= 0, got None"),
        ({"index": -1}, "index must be an integer >= 0, got -1"),
        (
            {"index": 2**70},
            "index must be an integer >= 0 and <= 4611686018427387904, got 1180591620717411303424",
        ),
        ({"holdout": "x"}, "holdout must be True or False, got 'x'"),
        ({"holdout": 1}, "holdout must be True or False, got 1"),
        ({"propensity": "high"}, "propensity must be a finite number, got 'high'"),
        ({"at": [1.0]}, r"at must be a finite number, got \[1.0\]"),
        ({"seq": 1.5}, "seq must be an integer >= 0, got 1.5"),
        ({"id": ["a"]}, r"id must be text or an integer, got \['a'\]"),
        ({"vectors": [[1.0], [1.0, 2.0]]}, "vectors must be an array of real numbers"),
        ({"vectors": "xy"}, "vectors must be an array of real numbers, got str 'xy'"),
        ({"vectors": [[1e300, 0.0], [0.0, 1.0]]}, r"vectors must have norms of at most 1e\+50"),
        ({"vectors": []}, r"vectors must be of shape \(n, d\), not empty"),
        ({"vectors": None}, "features must be given"),
        ({"kind": ["decide"]}, r"kind must be one of those of a deployment, got \['decide'\]"),
    ],
)
def test_a_bad_event_is_refused_with_its_place(changed, message, tmp_path):
    """The blank line counts as a line, and not as an event."""
    events = [SPEC, decide(1, "a"), reward(2, "a"), decide(3, "b") | changed, reward(4, "b")]
    with pytest.raises(ValueError, match=f"^event 4: {message}"):
        logs.from_events(events)
    path = lines(tmp_path / "log.jsonl", events)
    path.write_text(path.read_text().replace("\n", "\n\n", 1))
    with pytest.raises(ValueError, match=f"log.jsonl: line 5: {message}"):
        logs.read(path)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (5, "events must be a list of dicts, got 5"),
        ([5], "events must begin with the specification, got 5"),
        ([SPEC, 5], "event 2: event must be a dict, got 5"),
        ([SPEC | {"default": "none"}], "event 1: default must be a finite number"),
        ([SPEC | {"window": [1]}], "event 1: window must be a finite number"),
        ([SPEC, {"id": 3}], "event 2: 'kind' is missing"),
        ([SPEC, decide(1, "a"), reward(2, "a", "x")], "event 3: value must be a finite number, got 'x'"),
        ([SPEC, decide(1, "a"), reward(2, "a", 10**400)], "event 3: value must be a finite number"),
        ([SPEC, {"kind": "reward", "id": [1], "value": 1}], "event 2: id must be text or an integer"),
        ([SPEC, {"kind": "release", "through": "all"}], "event 2: through must be an integer"),
        ([SPEC, {"kind": "forget", "id": "a"}], "event 2: id must be that of an open decision"),
        ([SPEC | {"features": "[[["}], "text must be written by to_json"),
        (
            [SPEC, decide(1, "a"), reward(2, "a"), decide(3, "b", vectors=[[1.0]], index=0), reward(4, "b")],
            "event 4: vectors must have length 2, as in event 2, got 1",
        ),
        (
            [SPEC | {"window": 9.0}, decide(1, "a"), reward(2, "a"), reward(3, "a")],
            "event 4: id must be that of a decision without a reward, got 'a'",
        ),
    ],
)
def test_bad_logs(events, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        logs.from_events(events)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5000, "Exceeds the limit"),
        ("[1, 2]", r"got \[1, 2\]"),
        ('{"kind": } ', "Expecting value"),
        ('{"kind" 3', "Expecting ':'"),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_bad_line_is_refused_with_its_number(line, message, end, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(SPEC) + "\n" + line + end)
    with pytest.raises(ValueError, match=rf"log.jsonl: line 2 must be a JSON object.*{message}"):
        logs.read(path)
    path.write_bytes(json.dumps(SPEC).encode() + b'\n{"a": "\xff\xff"}\n')
    with pytest.raises(ValueError, match=r"line 2 must be a JSON object.*utf-8"):
        logs.read(path)


def test_a_last_line_that_was_cut_anywhere_is_left_out_with_a_warning(tmp_path):
    """As after a crash: whatever the place of the cut, also within a character, a number, an escape."""
    nasty = {
        "context": {"é": [1.5e-30, -2.0, True, None, "a\u00e9\t\u2603\ud800"], "no": False, "inf": -np.inf}
    }
    whole = json.dumps(decide(3, "b") | nasty).encode()
    written = json.dumps(decide(3, "b", context={"é": "☃ snow"}), ensure_ascii=False).encode()
    path, n = lines(tmp_path / "log.jsonl", [SPEC, decide(1, "a"), reward(2, "a")]), 0
    before = path.read_bytes()
    for last in (whole, written):
        for cut in range(1, len(last)):
            path.write_bytes(before + last[:cut])
            with pytest.warns(
                RuntimeWarning, match=r"log.jsonl: line 4, the last one, was cut and is left out"
            ):
                assert logs.read(path).ids == ("a",)
            n += 1
        path.write_bytes(before + last)  # whole, but for the end of the line: it counts, without a word
        assert logs.read(path).ids == ("a",)
    assert n > 400


def test_only_the_last_line_may_be_cut(tmp_path):
    cut = json.dumps(decide(1, "a"))[:40]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([json.dumps(SPEC), cut, json.dumps(decide(2, "b"))]) + "\n")
    with pytest.raises(ValueError, match=r"log.jsonl: line 2 must be a JSON object"):
        logs.read(path)
    path.write_text(json.dumps(SPEC) + "\n" + cut + "\n")  # it has its end of line, so nobody was interrupted
    with pytest.raises(ValueError, match=r"log.jsonl: line 2 must be a JSON object"):
        logs.read(path)


# -- ids that come again -------------------------------------------------------------------------------


def test_an_id_may_be_used_again_after_a_hundred_thousand_others():
    events = [SPEC]
    for k in [*range(entries.REMEMBERED + 1), 0]:
        events += [decide(2 * k + 1, k), reward(2 * k + 2, k, 0.5)]
    log = logs.from_events(events)
    assert len(log) == entries.REMEMBERED + 2
    assert log.ids[0] == log.ids[-1] == 0


@pytest.mark.slow
def test_an_id_may_be_used_again_once_the_deployment_has_forgotten_it():
    """A deployment remembers 100,000 closed ids; then the oldest may come again, in its log too."""
    deployment = Deployment(OFUL(1, noise=0.1), drift=0.0, max_pending=10**6)
    for k in range(entries.REMEMBERED + 1):
        deployment.decide(None, [[1.0]], id=k)
        deployment.reward(k, 0.5)
    deployment.decide(None, [[0.5]], id=0)
    deployment.reward(0, 0.25)
    log = logs.from_events(deployment.events())
    assert len(log) == entries.REMEMBERED + 2
    assert log.ids[0] == log.ids[-1] == 0
    assert log.rewards[[0, -1]].tolist() == [0.5, 0.25]
    assert log.actions[[0, -1], 0].tolist() == [1.0, 0.5]


def test_the_reader_remembers_as_many_ids_as_a_deployment():
    assert reading_events.REMEMBERED == entries.REMEMBERED


@pytest.mark.parametrize("window", [None, 5.0])
def test_an_id_that_is_remembered_may_not_come_again(window, monkeypatch):
    """With a memory of 2: closed by a reward, by a release, and by forget."""
    monkeypatch.setattr(reading_events, "REMEMBERED", 2)
    seq, events = 0, [SPEC | {"window": window}]

    def closed(id_, forgotten=False):
        nonlocal seq
        seq += 3
        last = {"seq": seq, "kind": "release", "through": seq}
        last = {"seq": seq, "kind": "forget", "id": id_} if forgotten else last
        return [decide(seq - 2, id_), *([] if forgotten else [reward(seq - 1, id_)]), last]

    for id_ in ("a", "b", "c"):
        events += closed(id_, forgotten=id_ == "b")
    assert logs.from_events(events + closed("a")).ids == ("a", "c", "a")
    with pytest.raises(ValueError, match="id must be new, got 'b'"):
        logs.from_events(events + closed("b"))
    with pytest.raises(ValueError, match="id must be new, got 'c'"):
        logs.from_events(events + closed("c"))
    with pytest.raises(ValueError, match="id must be new, got 'd'"):
        logs.from_events([*events, decide(90, "d"), decide(91, "d")])  # one that waits is never forgotten


def test_a_decision_that_waits_keeps_its_place_when_ids_come_again(monkeypatch):
    """Releases go by numbers of decisions, not by ids."""
    monkeypatch.setattr(reading_events, "REMEMBERED", 1)
    events = [SPEC | {"window": 5.0}, decide(1, "a"), decide(2, "b"), {"kind": "release", "through": 2}]
    events += [decide(4, "a", index=0), reward(5, "a", 1.0), {"kind": "release", "through": 3}]
    assert logs.from_events(events).rewards.tolist() == [0.0, 0.0]
    assert logs.from_events([*events, {"kind": "release", "through": 4}]).rewards.tolist() == [0.0, 0.0, 1.0]


# -- tables --------------------------------------------------------------------------------------------

TABLE = {"vectors": [ARMS, ARMS], "index": [0, 1], "reward": [0.5, 1.0]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"index": [0.0, 0.5]}, "row 0: index must be an integer >= 0, got 0.0"),
        ({"index": [False, True]}, "row 0: index must be an integer >= 0, got False"),
        ({"index": [0, None]}, "row 1: index must be an integer >= 0, got None"),
        (
            {"index": [0, 2**70]},
            "row 1: index must be an integer >= 0 and <= 4611686018427387904, got 118059",
        ),
        ({"index": [0, 2]}, "row 1: index must be from 0 to 1, got 2"),
        ({"index": 5}, "index must be a column of values, got 5"),
        ({"index": [0]}, "index must be a column of 2 rows, as reward, got 1"),
        ({"holdout": ["", "x"]}, "row 0: holdout must be True or False, got ''"),
        ({"holdout": [True, None]}, "row 1: holdout must be True or False, got None"),
        ({"holdout": [0, 1]}, "row 0: holdout must be True or False, got 0"),
        ({"reward": [0.5, "x"]}, "row 1: reward must be a finite number, got 'x'"),
        ({"reward": [0.5, 10**400]}, "row 1: reward must be a finite number"),
        ({"propensity": [0.5, "x"]}, "row 1: propensity must be a finite number, got 'x'"),
        ({"vectors": [ARMS, None]}, "row 1: vectors must be a list of lists, got None"),
        ({"vectors": [ARMS, [1.0, 2.0]]}, "row 1: vectors must be a list of lists"),
        ({"vectors": [ARMS, [[1.0], [1.0, 2.0]]]}, "row 1: vectors must be an array of real numbers"),
    ],
)
def test_a_bad_row_is_refused_with_its_number(changed, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        logs.from_frame(TABLE | changed)


def test_columns_of_frames():
    """Other columns may have any names; one of ours must be there once."""
    frame = pandas.DataFrame(TABLE)
    frame[7] = 0
    frame["x", "y"] = 0
    assert len(logs.from_frame(frame)) == 2
    twice = pandas.concat([frame, frame[["index"]]], axis=1)
    with pytest.raises(ValueError, match="frame must be a table with one column 'index', got '2 of them'"):
        logs.from_frame(twice)
    with pytest.raises(ValueError, match="frame must be a table with a column 'vectors', got"):
        logs.from_frame(pandas.DataFrame({3: [0], ("a", "b"): [1]}))


def test_parquet_with_errors_names_file_and_row(tmp_path):
    path = tmp_path / "log.parquet"
    polars.DataFrame(TABLE | {"holdout": ["", "x"]}).write_parquet(path)
    with pytest.raises(ValueError, match=r"log.parquet: row 0: holdout must be True or False, got ''"):
        logs.read(path)
    polars.DataFrame(TABLE | {"index": [0.0, 0.5]}).write_parquet(path)
    with pytest.raises(ValueError, match=r"log.parquet: row 0: index must be an integer"):
        logs.read(path)


def what_is_said(path):
    try:
        logs.read(path)
    except ValueError as error:
        return str(error)
    return None


def test_damaged_parquet(tmp_path):
    """Cut, altered and foreign files: a log, or a ValueError that names the file; nothing else."""
    whole, path = tmp_path / "whole.parquet", tmp_path / "log.parquet"
    polars.DataFrame(TABLE).write_parquet(whole)
    content, rng, refused = whole.read_bytes(), np.random.default_rng(0), 0
    cases = [b"", b"PAR1", b"{}", content[: len(content) // 2], content[:-1]]
    for _ in range(60):
        altered = bytearray(content)
        for place in rng.integers(len(content), size=3):
            altered[place] = rng.integers(256)
        cases.append(bytes(altered))
    for case in cases:
        path.write_bytes(case)
        said = what_is_said(path)
        assert said is None or said.startswith(f"{path}: ")
        refused += said is not None
    assert refused >= 20


def test_paths():
    with pytest.raises(ValueError, match="path must be a path, got 5"):
        logs.read(5)
    with pytest.raises(FileNotFoundError):
        logs.read("none.parquet")
    with pytest.raises(FileNotFoundError):
        logs.read("none.jsonl")

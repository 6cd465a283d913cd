"""What a deployment promises, one thing at a time; tests/deployment/test_fold.py has the random sequences."""

import json
import math
import threading
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import unipac
from helpers import deployment_machine as machine
from unipac.deployment import Closed, Conflict, Full, Unknown, fold
from unipac.features import Blocks, Columns, Interactions, Transformed

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])


def phi():
    return Blocks(["a", "b", "c"], Columns(ranges={"age": (0, 100)}, categories={"plan": ["free", "paid"]}))


def deployed(clock=None, features=None, **settings):
    dim = 2 if features is None else features.dim
    agent = unipac.Guarded(unipac.LinUCB(dim), noise=0.5)
    return unipac.Deployment(agent, features, clock=machine.Clock() if clock is None else clock, **settings)


def test_rewards_wait_for_their_window_and_come_in_order():
    clock = machine.Clock()
    d = deployed(clock, window=timedelta(seconds=10), default=-1.0)
    for k in range(3):
        clock.now = float(k)
        d.decide(None, X, id=f"r{k}")
    assert d.reward("r2", 0.75)
    assert d.reward("r0", 0.25)
    clock.now = 9.99
    assert d.close() == 0
    clock.now = 11.5  # r0 and r1 have ended, r2 has not
    assert d.close() == 2
    releases = [event for event in d.events() if event["kind"] == "release"]
    assert [event["through"] for event in releases] == [1, 2]
    judge = unipac.Guarded(unipac.LinUCB(2), noise=0.5)
    for k, value in enumerate((0.25, -1.0)):
        decision = judge.choose(X)
        judge.update(decision, value)
        assert decision.index == d._closed[f"r{k}"].decision.index or k > 0
    assert d.agent.rounds == 2
    assert d.reward("r0", 0.25) is False
    with pytest.raises(Conflict, match=r"0\.5 after 0\.25"):
        d.reward("r0", 0.5)
    with pytest.raises(Closed):
        d.reward("r1", -1.0)  # none was recorded, although the default is the same
    with pytest.raises(Unknown):
        d.reward("r9", 0.0)
    assert all(issubclass(error, ValueError) for error in (Conflict, Closed, Unknown, Full))


def test_the_moment_when_a_window_ends():
    clock = machine.Clock()
    d = deployed(clock, window=5.0)
    d.decide(None, X, id=1)
    d.decide(None, X, id=2)
    clock.now = math.nextafter(5.0, 0.0)
    assert d.reward(1, 1.0)
    clock.now = 5.0
    with pytest.raises(Closed):
        d.reward(2, 1.0)


def test_time_is_uptime(tmp_path):
    """Downtime does not count, a clock that starts elsewhere neither; ``at`` may not go back."""
    clock = machine.Clock(1000.0)
    d = deployed(clock, window=10.0)
    d.decide(None, X, id=1)
    clock.now += 6.0
    d.save(tmp_path / "d.npz")
    clock.now += 1e9
    other = machine.Clock(5.0)
    d = unipac.Deployment.load(tmp_path / "d.npz", clock=other)
    other.now += 3.9
    assert d.close() == 0
    other.now -= 2.0  # a clock that is not monotonic does nothing
    assert d.close() == 0
    other.now += 0.2
    assert d.close() == 1
    with pytest.raises(ValueError, match="at must be at least"):
        d.reward(1, 0.5, at=9.0)
    d.decide(None, X, id=2)
    assert d.reward(2, 0.5, at=15.0)
    assert d.close(now=1e6) == 1


def test_decisions_are_made_once():
    d = deployed(features=phi())
    row = {"age": 30, "plan": "free"}
    first = d.decide(row, ["a", "b"], id="x")
    assert d.decide(dict(row), ["a", "b"], id="x") is first
    assert (first.id, first.label, first.seq, first.propensity) == ("x", "ab"[first.index], 1, 1.0)
    for other in ((row, ["a", "b", "c"]), ({**row, "age": 31}, ["a", "b"]), (row, ["b", "a"])):
        with pytest.raises(Conflict):
            d.decide(*other, id="x")
    d.reward("x", 0.5)
    assert d.decide(row, ["a", "b"], id="x") is first  # after the close, too
    assert d.decide(row, ["a", "b"]).id not in ("x", d.decide(row, ["a", "b"]).id)
    assert d.pending == 3 - 1 + 0


def test_what_fails_changes_nothing():
    d = deployed(features=phi(), max_pending=2)
    row = {"age": 30, "plan": "free"}
    d.decide(row, ["a", "b"], id=1)
    before = (d.agent.digest(), d.events(), d.pending)
    for call in (
        lambda: d.decide({"age": math.inf, "plan": "free"}, ["a"], id=2),
        lambda: d.decide({"age": 3}, ["a"], id=2),
        lambda: d.decide(row, [], id=2),
        lambda: d.decide(row, ["z"], id=2),
        lambda: d.decide(row, ["a"], id=2, exclude=["a"]),
        lambda: d.decide(row, ["a"], id=2.5),
        lambda: d.decide(row, ["a"], id=True),
        lambda: d.reward(1, math.nan),
        lambda: d.reward(1, "much"),
        lambda: d.reward(1, 1e200),
        lambda: d.reward(None, 1.0),
        lambda: d.forget(2),
        lambda: d.watch("set", [[1.0]], 0.1),
        lambda: d.events(-1),
    ):
        with pytest.raises(ValueError, match="got"):
            call()
        assert (d.agent.digest(), d.events(), d.pending) == before
    d.decide(row, ["a", "b"], id=2)
    with pytest.raises(Full):
        d.decide(row, ["a", "b"], id=3)
    d.forget(1)
    d.decide(row, ["a", "b"], id=3)


def test_bad_settings():
    agent = unipac.NestedOFUL(2)
    waiting = unipac.NestedOFUL(2)
    waiting.choose(X)
    for call in (
        lambda: unipac.Deployment(waiting),
        lambda: unipac.Deployment("agent"),
        lambda: unipac.Deployment(agent, phi()),
        lambda: unipac.Deployment(agent, window=0),
        lambda: unipac.Deployment(agent, window=timedelta(0)),
        lambda: unipac.Deployment(agent, default=math.nan),
        lambda: unipac.Deployment(agent, holdout=1.0),
        lambda: unipac.Deployment(agent, drift=-0.1),
        lambda: unipac.Deployment(agent, seed=-1),
        lambda: unipac.Deployment(agent, max_pending=0),
        lambda: unipac.Deployment(agent, clock=3),
    ):
        with pytest.raises(ValueError, match="got"):
            call()


def test_exclude():
    d = deployed(features=phi())
    row = {"age": 30, "plan": "paid"}
    seen = {d.decide(row, ["a", "b", "c"], exclude=iter(["b"])).label for _ in range(5)}
    assert seen <= {"a", "c"}
    for unsound in ("b", ["b", "unheard of"]):
        with pytest.raises(ValueError, match="exclude must be"):
            d.decide(row, ["a", "b", "c"], exclude=unsound)
    plain = deployed()
    assert plain.decide(None, X, exclude=iter([0, 2])).index == 0  # of what is left
    for unsound in ("0", [7], [0, 1, 2]):
        with pytest.raises(ValueError, match="exclude must be"):
            plain.decide(None, X, exclude=unsound)
    np.testing.assert_array_equal(plain.decide(None, X, exclude=[0, 2]).action, X[1])


def test_holdout_and_propensities():
    """Null: the action of the holdout is uniform, its share h. 4,000 draws; false alarms below 1e-6 (5.2 sigma)."""
    h, n = 0.25, 4000
    d = deployed(holdout=h, seed=5)
    taken = []
    for k in range(n):
        decision = d.decide(None, X, id=k)
        d.reward(k, 0.5)
        taken.append((decision.holdout, decision.index, decision.propensity))
        if decision.holdout:
            assert decision.level == 0
            assert decision.certificate <= 2.0
    drawn = [index for held, index, _ in taken if held]
    assert abs(len(drawn) - h * n) < 5.2 * math.sqrt(n * h * (1 - h))
    counts = np.bincount(drawn, minlength=3)
    assert (abs(counts - len(drawn) / 3) < 5.2 * math.sqrt(len(drawn) * 2 / 9)).all()
    assert d.agent.rounds == n - len(drawn)  # nothing was learned from them
    assert {round(p, 9) for _, _, p in taken} == {round(h / 3, 9), round(1 - h + h / 3, 9)}
    assert all(held for held, _, p in taken if p < 0.5)
    again = deployed(holdout=h, seed=5)
    assert [again.decide(None, X, id=k).holdout for k in range(50)] == [held for held, _, _ in taken[:50]]


def test_agents_that_draw_have_no_propensity():
    for agent, known in (
        (unipac.LinTS(2), False),
        (unipac.Guarded(unipac.LinTS(2)), False),
        (unipac.Guarded(unipac.LinUCB(2)), True),
        (unipac.NestedOFUL(2), True),
    ):
        assert (unipac.Deployment(agent).decide(None, X).propensity is not None) == known


def test_events_are_lines_of_json():
    d = deployed(features=phi(), window=1.0)
    d.decide({"age": np.float64(30), "plan": None}, ["a", "b"], id="x")
    d.reward("x", 0.5)
    d.close(now=2.0)
    d.decide(pd.Series({"age": math.nan, "plan": "paid"}), ["a"], id="y")
    d.forget("y")
    d.restart()
    events = [json.loads(json.dumps(event, allow_nan=False)) for event in d.events()]
    assert [event["kind"] for event in events] == [
        "spec", "decide", "reward", "release", "decide", "forget", "restart"
    ]  # fmt: skip
    assert [event["seq"] for event in events] == list(range(7))
    names = "seq kind id at wall context actions vectors index x level propensity holdout answer hash"
    assert list(events[1]) == names.split()
    assert events[1]["context"] == {"age": 30.0, "plan": None}
    assert events[4]["context"] == {"age": None, "plan": "paid"}
    assert (events[1]["actions"], events[1]["vectors"]) == (["a", "b"], None)
    again = unipac.features.from_json(events[0]["features"])(events[1]["context"], events[1]["actions"])
    assert again.vectors[events[1]["index"]].tolist() == events[1]["x"]
    assert d.events(after=4) == d.events()[5:]


def test_vectors_are_logged_where_ids_do_not_tell_them():
    features = Interactions(Columns(ranges={"age": (0, 100)}), Columns(ranges={"price": (0, 9)}))
    offered = {"tea": {"price": 1}, "milk": {"price": 2}}
    d = deployed(features=features)
    d.decide({"age": 3}, offered, id=1)
    event = d.events()[1]
    assert event["actions"] == ["tea", "milk"]
    assert event["vectors"] is None  # features, context and items tell them
    again = features(event["context"], dict(zip(event["actions"], event["items"], strict=True)))
    assert again.vectors[event["index"]].tolist() == event["x"]
    table = pd.DataFrame([{"id": name, **row} for name, row in offered.items()])
    assert d.decide({"age": 3}, table, id=1).seq == 1  # the same
    frame = pd.DataFrame({"age": [20.0, 40.0, 60.0]})
    own = Interactions(Transformed.of(StandardScaler(), frame, bound=5.0), Columns(ranges={"price": (0, 9)}))
    d = deployed(features=own)  # which have no JSON
    d.decide({"age": 3.0}, offered, id=1)
    assert np.array(d.events()[1]["vectors"]).shape == (2, own.dim)


def test_a_restart_teaches_nobody():
    clock = machine.Clock()
    d = deployed(clock, window=5.0)
    d.decide(None, X, id=1)
    d.decide(None, X, id=2)
    d.reward(1, 1.0)
    d.restart()
    assert d.reward(2, 1.0)
    assert d.reward(1, 1.0) is False
    d.decide(None, X, id=3)
    clock.now = 10.0
    assert d.close() == 1  # of the third alone
    assert d.agent.rounds == 1
    assert fold(d.events()).digest() == d.agent.digest()


def test_features_without_json(tmp_path):
    frame = pd.DataFrame({"age": [20.0, 40.0, 60.0]})
    features = Blocks(2, Transformed.of(StandardScaler(), frame, bound=5.0))
    d = deployed(features=features)
    d.decide({"age": 30.0}, [0, 1], id=1)
    d.save(tmp_path / "d.npz")
    with pytest.raises(ValueError, match="features must be given"):
        unipac.Deployment.load(tmp_path / "d.npz")
    assert unipac.Deployment.load(tmp_path / "d.npz", features=features).reward(1, 0.5)


def test_files_are_not_mixed_up(tmp_path):
    d = deployed()
    d.save(tmp_path / "d.npz")
    d.agent.save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"which holds a deployment; Deployment\.load reads it"):
        unipac.load(tmp_path / "d.npz")
    with pytest.raises(ValueError, match=r"Deployment\.save"):
        unipac.Deployment.load(tmp_path / "a.npz")
    content = bytearray((tmp_path / "d.npz").read_bytes())
    content[content.index(b"spec")] ^= 1
    (tmp_path / "broken.npz").write_bytes(content)
    with pytest.raises(ValueError, match="path"):
        unipac.Deployment.load(tmp_path / "broken.npz")


def test_closed_ids_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr("unipac.deployment.effects.REMEMBERED", 3)
    d = deployed()
    for k in range(5):
        d.decide(None, X, id=k)
        d.reward(k, 0.5)
    assert d.reward(4, 0.5) is False
    with pytest.raises(Unknown):
        d.reward(0, 0.5)


def test_threads():
    d = deployed()

    def work(first):
        for k in range(first, first + 200):
            d.decide(None, X, id=k)
            d.reward(k, 0.5)

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (d.agent.rounds, d.pending, len(d.events())) == (800, 0, 1601)
    assert fold(d.events()).digest() == d.agent.digest()

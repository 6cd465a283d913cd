"""A call that is refused changes nothing, and nothing is accepted that could not be saved."""

import json
import math

import numpy as np
import pytest

import unipac
from helpers import deployment_machine as machine
from helpers.deployment_interrupts import plainly
from unipac.deployment import Closed, Conflict, Full, Unknown
from unipac.deployment.uptime import LATEST
from unipac.features import Blocks, Columns

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])


class Unspeakable:
    """Cannot be written as text."""

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


def waiting(clock=None, **settings):
    """Three decisions wait, one with its reward."""
    clock = machine.Clock() if clock is None else clock
    told = {"window": 5.0, "default": 0.0, **settings}
    d = unipac.Deployment(unipac.Guarded(unipac.LinUCB(2), noise=0.5), clock=clock, **told)
    for k in range(3):
        d.decide({"k": k}, X, id=k)
    d.reward(0, 0.5)
    return d


def test_rewards_that_are_refused_close_no_window():
    """At a time at which all windows would have ended."""
    d = waiting()
    before = plainly(d)
    for error, call in (
        (Unknown, lambda: d.reward("no such id", 1.0, at=1e9)),
        (Closed, lambda: d.reward(1, 1.0, at=1e9)),
        (Conflict, lambda: d.reward(0, 0.75, at=1e9)),
        (ValueError, lambda: d.reward(1, math.nan, at=1e9)),
    ):
        with pytest.raises(error):
            call()
        assert plainly(d) == before
    assert d.reward(0, 0.5, at=1e9) is False  # the control: this one is right, and closes them
    assert d.pending == 0


def test_decisions_that_are_refused_close_no_window():
    clock = machine.Clock()
    d = waiting(clock, max_pending=3)
    clock.now = 1.0
    before = plainly(d)
    with pytest.raises(Full):
        d.decide(None, X, id=9)
    with pytest.raises(Conflict):
        d.decide(None, X[:2], id=1)
    assert plainly(d) == before
    clock.now = 5.0  # now there is room, as windows have ended
    d.decide(None, X, id=9)
    assert d.pending == 1


@pytest.mark.parametrize("late", [1e308, math.inf, math.nan, 2 * LATEST, "soon"])
def test_times_that_are_not_plausible(late):
    """A time so late that it swallows every window would end all later ones at once."""
    clock = machine.Clock()
    d = waiting(clock)
    before = plainly(d)
    for name, call in (("now", lambda: d.close(late)), ("at", lambda: d.reward(1, 0.5, at=late))):
        with pytest.raises(ValueError, match=f"{name} must be"):
            call()
        assert plainly(d) == before
    if isinstance(late, float):
        clock.now = late
        for call in (lambda: d.decide(None, X), d.close, lambda: d.reward(1, 0.5)):
            with pytest.raises(ValueError, match="clock must be"):
                call()
        clock.now = 0.0  # it was wrong for a moment
        assert plainly(d) == before
    assert d.reward(1, 0.5)


def test_the_latest_time_still_has_windows():
    d = waiting()
    assert d.close(LATEST / 2) == 3  # replays may be ahead of the clock
    d.decide(None, X, id=3)
    assert d.close() == 0
    assert d.reward(3, 0.5)


def test_a_clock_without_numbers():
    for bad in (lambda: math.inf, lambda: "noon", lambda: None):
        with pytest.raises(ValueError, match="clock must be a finite number"):
            unipac.Deployment(unipac.OFUL(2), clock=bad)


def cyclic():
    found = {"a": [1]}
    found["a"].append(found)
    return found


@pytest.mark.parametrize(
    "context",
    [
        {"a": 10**5000},
        {"a": [2**64]},
        cyclic(),
        {"a": Unspeakable()},
        {Unspeakable(): 1.0},
        {1: "one", "1": "another"},
        [[[Unspeakable()]]],
    ],
    ids=["long integer", "65 bits", "cycle", "no text", "key", "two keys", "list"],
)
def test_contexts_that_cannot_be_written(context, tmp_path):
    d = unipac.Deployment(unipac.OFUL(2))
    with pytest.raises(ValueError, match="context must be"):
        d.decide(context, X, id=1)
    assert (d.pending, len(d.events())) == (0, 1)
    d.decide(None, X, id=1)
    d.save(tmp_path / "d.npz")
    assert len(unipac.Deployment.load(tmp_path / "d.npz").events()) == 2


def test_ids_of_64_bits_or_a_kilobyte(tmp_path):
    d = unipac.Deployment(unipac.OFUL(2))
    for bad in (10**5000, 2**64, -(2**63) - 1, "x" * 1025, "é" * 513, True, None.__class__, 0.5):
        for call in (lambda bad=bad: d.decide(None, X, id=bad), lambda bad=bad: d.reward(bad, 0.5)):
            with pytest.raises(ValueError, match="id must be"):
                call()
    assert (d.pending, len(d.events())) == (0, 1)
    good = [2**64 - 1, -(2**63), np.int64(7), "x" * 1024, "é" * 512, "\ud800", ""]
    for id_ in good:
        d.decide(None, X, id=id_)
    d.save(tmp_path / "d.npz")
    again = unipac.Deployment.load(tmp_path / "d.npz")
    assert [again.reward(id_, 0.5) for id_ in good] == [True] * len(good)
    with pytest.raises(ValueError, match="labels must be"):
        unipac.features.Actions(X, ["a", "b", 10**5000])


def test_settings_that_cannot_be_written():
    for settings in ({"seed": 10**5000}, {"max_pending": 10**5000}, {"default": 10**5000}):
        with pytest.raises(ValueError, match="got"):
            unipac.Deployment(unipac.OFUL(2), **settings)
    with pytest.raises(ValueError, match="seed"):
        unipac.LinTS(2, seed=10**5000)


def test_the_log_is_not_the_callers():
    """What the caller changes afterwards, in a context, an array or an event, is not changed in the log."""
    phi = Blocks(["a", "b"], Columns(ranges={"age": (0, 100)}, missing="error"))
    d = unipac.Deployment(unipac.OFUL(phi.dim), phi)
    plain = unipac.Deployment(unipac.OFUL(2))
    row, nested, offered = {"age": 30.0}, {"a": {"b": [1, 2]}, "c": np.arange(3.0)}, X.copy()
    d.decide(row, ["a", "b"], id=1)
    plain.decide(nested, offered, id=1)
    before = json.dumps([*d.events(), *plain.events()])
    row["age"], nested["a"]["b"][0], nested["c"][1], offered[...] = 31.0, 5, 5.0, 0.0
    for event in (*d.events(), *plain.events()):
        for value in event.values():
            if isinstance(value, dict):
                value.clear()
            if isinstance(value, list):
                value.append("x")
    assert json.dumps([*d.events(), *plain.events()]) == before


def test_the_agent_of_a_deployment_is_a_copy(tmp_path):
    """What others teach it, the deployment does not learn; once its file was refused after that."""
    d = waiting()
    before = plainly(d)
    agent = d.agent
    agent.update(agent.choose(X), 0.5)
    agent.bounds(X)
    assert plainly(d) == before
    d.save(tmp_path / "d.npz")
    assert plainly(unipac.Deployment.load(tmp_path / "d.npz", clock=machine.Clock())) == before


def refuted_by_a_question():
    """A deployment whose bounds are refuted by those of an action that was never chosen; and its events before."""
    d = unipac.Deployment(unipac.NestedOFUL(2, noise=1e-3, norm=1.0), drift=0.0, clock=machine.Clock())
    for k in range(400):
        d.decide(None, [[0.8 * (k % 2), 0.8 * (1 - k % 2)]], id=k)
        d.reward(k, 0.72)
    d.watch("short", [[0.1, 0.0]], 1.0)
    assert d.settled("short") is not None
    assert d.consistent
    count = len(d.events())
    with pytest.warns(RuntimeWarning, match="assumption"):
        d.watch("long", [[0.7, 0.7]], 1.0)  # norm 1.27 > 1
    return d, count


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_a_refutation_by_a_question_is_in_the_log():
    """Bounds of actions that were never chosen may refute; the fold must know it."""
    d, count = refuted_by_a_question()
    assert not d.consistent
    assert d.settled("long") is d.settled("short") is None
    assert [(event["kind"], event["refutes"]) for event in d.events()[count:]] == [("watch", True)]
    folded = unipac.deployment.fold(d.events())
    assert not folded.consistent
    assert folded.digest() == d.agent.digest()


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_a_refuted_deployment_is_kept_also_after_a_restart(tmp_path):
    """The new agent stands, though the file has the event that refuted the one before."""
    path = tmp_path / "d.npz"
    d, _ = refuted_by_a_question()
    d.save(path)
    assert not unipac.Deployment.load(path, clock=machine.Clock()).consistent
    d.restart()
    d.save(path)
    again = unipac.Deployment.load(path, clock=machine.Clock())
    assert again.consistent
    assert plainly(again) == plainly(d)


def test_the_alarm_knows_the_norm():
    d = unipac.Deployment(unipac.OFUL(2, noise=0.5, norm=7.0))
    assert d._alarm.norm == 7.0
    d.restart()
    assert d._alarm.norm == 7.0


def test_the_fold_numbers_decisions_as_the_deployment():
    """Draws come from (seed, number of the decision): forgotten ones and those of the holdout count."""
    clock = machine.Clock()
    d = unipac.Deployment(
        unipac.LinTS(2, seed=3), window=2.0, default=None, holdout=0.4, clock=clock, drift=0.0
    )
    for k in range(30):
        clock.now += 0.5
        d.decide(None, X, id=k)
        if k % 3 == 0:
            d.reward(k, 0.5)
        if k % 7 == 6:
            d.forget(k)
    folded = unipac.deployment.fold(d.events())
    assert folded._ledger.surplus == d._agent._ledger.surplus > 0
    assert folded._ledger.number() == d._agent._ledger.number() == 30

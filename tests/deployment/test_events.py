"""The log determines all of a deployment: live = all events applied = snapshot and the rest, for every bandit agent."""

import json
import warnings

import numpy as np
import pytest

import unipac
from helpers import deployment_machine as machine
from unipac.deployment import Closed, Conflict, Unknown, picture

CASES = machine.cases()
SETTINGS = {
    "arrival": {"window": None, "holdout": 0.1, "seed": 7},
    "window": {"window": 4.0, "default": None, "holdout": 0.2, "seed": 7},
}


class Life:
    """Random calls, the same for the same seed: late, lost, repeated and conflicting rewards, all that changes."""

    def __init__(self, case, settings, seed, **more):
        self.case, self.clock = case, machine.Clock()
        self.rng = np.random.default_rng(seed)
        self.d = unipac.Deployment(case.make(), clock=self.clock, **settings, **more)
        self.made = self.refused = 0

    def offered(self, k):
        if self.case.fixed:
            return None
        X = self.case.instance.rounds(k, 1, 3).actions
        return X if X.ndim == 2 else X[0]

    def watched(self, k):
        X = self.d._agent.fixed_actions if self.case.fixed else self.offered(k)
        return np.asarray(getattr(self.d._agent, "arms", X) if X is None else X)

    def live(self, steps):
        """So many calls; those that must fail do, and the kinds of all others come up."""
        for _ in range(steps):
            self.clock.now += float(self.rng.exponential(0.3))
            kind = self.rng.choice(
                [
                    "decide",
                    "again",
                    "reward",
                    "late",
                    "forget",
                    "restart",
                    "watch",
                    "unwatch",
                    "absorb",
                    "compare",
                ],
                p=[0.4, 0.04, 0.366, 0.08, 0.03, 0.004, 0.03, 0.01, 0.03, 0.01],
            )
            try:
                getattr(self, kind)()
            except (Closed, Conflict, Unknown):
                self.refused += 1

    def decide(self):
        self.d.decide({"k": self.made}, self.offered(self.made % 7), id=f"r{self.made}")
        self.made += 1

    def again(self):
        k = int(self.rng.integers(max(1, self.made)))
        self.d.decide(None, self.offered(k % 5), id=f"r{k}")

    def reward(self, back=8):
        k = int(self.rng.integers(max(0, self.made - back), self.made + 1))
        self.d.reward(f"r{k}", float(self.rng.choice([0.0, 0.25, -0.5])))

    def late(self):
        self.reward(back=10**6)

    def forget(self):
        self.d.forget(f"r{int(self.rng.integers(max(0, self.made - 8), self.made + 1))}")

    def restart(self):
        self.d.restart()

    def watch(self):
        if self.d._agent._proven:
            k = int(self.rng.integers(4))
            self.d.watch(f"w{k}", self.watched(k), 0.3 + 0.2 * k)

    def unwatch(self):
        self.d.unwatch(f"w{int(self.rng.integers(4))}")

    def compare(self):
        if self.d.window is None and not self.d._agent.draws:
            k = int(self.rng.integers(2))
            self.d.compare(f"p{k}", "uniform" if k else 0, reward_range=(-1.0, 1.0))

    def absorb(self):
        if self.d._agent.absorbs:
            X = self.watched(3)
            if X.ndim == 2:
                self.d.absorb(X[:2], [0.1, 0.2])


def lines(events):
    return [json.loads(json.dumps(event, allow_nan=False)) for event in events]


def same_future(case, one, other, clocks):
    """The next ten decisions, and what is learned from them."""
    for clock in clocks:
        clock.now += 100.0
    for k in range(10):
        X = None if case.fixed else case.instance.rounds(k + 50, 1, 3).actions
        X = X if X is None or X.ndim == 2 else X[0]
        mine, theirs = (d.decide(None, X, id=f"next {k}").to_dict() for d in (one, other))
        assert mine == theirs
        one.reward(f"next {k}", 0.125), other.reward(f"next {k}", 0.125)
    for clock in clocks:
        clock.now += 100.0
    assert one.close() == other.close()
    assert one.agent.digest() == other.agent.digest()


def check(case, told, seed, steps, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # refutations, which may happen
        life = Life(case, told, seed, log=folder)
        d = life.d
        d._store.segment_size = 40_000
        life.live(steps // 4)
        life.restart()
        life.decide()
        d.forget(f"r{life.made - 1}")
        life.live(steps // 4)
        d.checkpoint()
        life.live(steps - steps // 2)
        digest, events, pending = d.digest(), lines(d.events()), d.pending
        d.shut()
        clocks = machine.Clock(5.0), machine.Clock(7.0)
        replayed = unipac.Deployment.replay(events, clock=clocks[0])
        opened = unipac.Deployment.open(folder, clock=clocks[1])
        assert digest == replayed.digest() == opened.digest()
        assert pending == replayed.pending == opened.pending
        assert lines(opened.events()) == events
        for k in range(0, life.made, 7):  # what was closed is known, with its reward
            answers = []
            for one in (replayed, opened):
                try:
                    answers.append(one.reward(f"r{k}", 9.0) and "taken")
                except ValueError as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]
        same_future(case, replayed, opened, clocks)
        opened.shut()
    return life, events


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_live_is_replay_is_snapshot_and_rest(case, setting, tmp_path):
    life, events = check(case, SETTINGS[setting], 1, 120, tmp_path / "log")
    kinds = {event["kind"] for event in events}
    assert {"decide", "reward", "forget"} <= kinds
    assert ("release" in kinds) == (setting == "window")
    assert life.refused > 5


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_long_lives(case, setting, tmp_path):
    """10^5 steps over all agents and settings."""
    steps = -(-100_000 // (len(CASES) * len(SETTINGS) * 4))
    for seed in range(4):
        check(case, SETTINGS[setting], 10 + seed, steps, tmp_path / f"log {seed}")


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_an_event_left_out_is_noticed():
    """Negative control: without one of them, renumbered or not, another state comes out or a refusal."""
    case = next(case for case in CASES if case.label == "NestedOFUL")
    life = Life(case, SETTINGS["window"], 9)
    life.d.watch("fine", life.watched(0), 1e-3)
    life.live(250)
    events, right = lines(life.d.events()), life.d.digest()
    assert unipac.Deployment.replay(events).digest() == right
    assert {e["kind"] for e in events} >= {"watch", "ask", "absorb", "forget", "reward", "release"}
    noticed = 0
    for k in range(1, len(events) - 1, 3):
        without = events[:k] + events[k + 1 :]
        with pytest.raises(ValueError, match="seq must be"):
            unipac.Deployment.replay(without)
        try:
            noticed += (
                unipac.Deployment.replay([{**e, "seq": n} for n, e in enumerate(without)]).digest() != right
            )
        except ValueError:
            noticed += 1
    assert noticed == len(range(1, len(events) - 1, 3))


def test_apply_is_atomic_and_refuses():
    d, other = (unipac.Deployment(unipac.OFUL(2, noise=0.1), clock=lambda: 0.0) for _ in range(2))
    X = [[1.0, 0.0], [0.0, 1.0]]
    d.decide(None, X, id=1)
    d.reward(1, 0.5)
    d.decide(None, X, id=2)
    events = d.events()
    before = other.digest()
    bad = [
        events[2],
        {**events[1], "seq": 7},
        {**events[1], "x": [2.0, 0.0]},
        {**events[1], "x": [0.0]},
        {**events[1], "level": -1},
        {**events[1], "at": -1.0},
        {"seq": 1, "kind": "reward", "id": "nobody", "value": 0.5, "at": 0.0},
        {"seq": 1, "kind": "release", "through": 1, "at": 0.0},
        {"seq": 1, "kind": "ask", "verdicts": {"a": [None, 0, 0.1]}, "refutes": False, "at": 0.0},
        {"seq": 1, "kind": "watch"},
        {"seq": 1, "kind": "note"},
        {"seq": 1, "kind": "spec"},
        3,
    ]
    for event in bad:
        with pytest.raises(ValueError, match=r"must|event"):
            other.apply(event)
        assert other.digest() == before
    for event in events[1:]:
        other.apply(event)
    assert other.digest() == d.digest()
    assert other.events(1) == d.events(1)


def test_absorb_is_in_the_log():
    d = unipac.Deployment(unipac.WeightedOFUL(2, noise=0.5), clock=lambda: 0.0)
    d.absorb([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.25], noise=[0.5, 0.25])
    plain = unipac.WeightedOFUL(2, noise=0.5)
    plain.absorb([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.25], noise=[0.5, 0.25])
    assert d.agent.digest() == plain.digest() == unipac.Deployment.replay(d.events()).agent.digest()
    before = d.digest()
    with pytest.raises(ValueError, match="actions"):
        d.absorb([[3.0, 0.0]], [0.5])
    with pytest.raises(ValueError, match="forbids"):
        unipac.Deployment(unipac.PhasedElimination(np.eye(2))).absorb([[1.0, 0.0]], [0.5])
    assert d.digest() == before


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_a_picture(tmp_path):
    """What is drawn is what the deployment says; drift is that of its alarm."""
    rng = np.random.default_rng(0)
    X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    d = unipac.Deployment(unipac.Guarded(unipac.LinUCB(2), noise=0.1), log=tmp_path / "log", holdout=0.1)
    for k in range(450):
        decision = d.decide(None, X, id=k)
        d.reward(k, float(decision.action @ [0.6, 0.3]) + 0.1 * rng.standard_normal())
    panels, decisions = picture.series(d, d.events())
    assert len(decisions) == 450
    assert panels["drift"]["statistic"][-1] == d.drift.statistic
    assert panels["drift"]["threshold"][-1] == d.drift.threshold
    assert panels["share of decisions"]["holdout"].sum() == 450 - d.agent.rounds
    told = d.plot().to_dict()
    assert [panel["title"]["text"] for panel in told["vconcat"]] == list(panels)
    json.dumps(told, allow_nan=False)

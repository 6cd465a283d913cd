"""Files and copies of deployments: what was saved can be loaded, and nobody's file is lost by mistake."""

import copy
import json
import os
import pickle
import signal
import threading
import time
import tracemalloc

import numpy as np
import pytest

import unipac
from helpers import deployment_machine as machine, registry_cases as cases
from helpers.deployment_interrupts import plainly
from unipac import _storage as storage
from unipac.features import Blocks, Columns, Numbers

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
NOON = machine.Clock()


def lived(rounds=120, **settings):
    """A deployment with a window, a holdout, lost and forgotten rewards, verdicts and a drift alarm that has looked."""
    clock = machine.Clock()
    told = {"window": 2.0, "default": 0.1, "holdout": 0.2, **settings}
    d = unipac.Deployment(unipac.NestedOFUL(2, noise=0.1), clock=clock, **told)
    for k in range(rounds):
        clock.now += 0.25
        decision = d.decide({"k": k}, X, id=f"r{k}")
        if k % 17 == 3:
            d.forget(f"r{k}")
        elif k % 5:
            d.reward(f"r{k}", float(decision.action @ [0.6, 0.3]))
    d.watch("a", X, 0.9)
    d.watch("b", X, 0.5)
    d.watch("c", X, 1e-6)
    return d


# -- nobody's file is replaced by mistake --------------------------------------------------------


def makers():
    kinds = [
        cases.MAKERS[kind](unipac.AGENTS[cases.names(kind)[0]])[0] for kind in ("bandit", "mdp", "search")
    ]
    return [*((str(case), case.make, unipac.load) for case in kinds),
            ("Deployment", lambda: unipac.Deployment(unipac.OFUL(2)), unipac.Deployment.load)]  # fmt: skip


@pytest.mark.parametrize(("make", "load"), [row[1:] for row in makers()], ids=[row[0] for row in makers()])
def test_a_file_of_another_is_not_replaced(make, load, tmp_path):
    path, other = tmp_path / "a.npz", tmp_path / "b.npz"
    first, second = make(), make()
    first.save(path)
    first.save(path)  # one's own
    before = path.read_bytes()
    for foreign in (second, copy.copy(first)):
        with pytest.raises(ValueError, match=r"path must name no file, or the one .* replace=True"):
            foreign.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
    loaded = load(path)
    loaded.save(path)  # the one it was loaded from
    loaded.save(other)
    path.rename(tmp_path / "moved.npz")
    loaded.save(tmp_path / "moved.npz")
    second.save(path, replace=False)  # there is none
    second.save(other, replace=True)
    _noise(other)
    with pytest.raises(ValueError, match="replace=True"):
        loaded.save(other)
    with pytest.raises(ValueError, match="replace must be"):
        second.save(path, replace="yes")


def _noise(path):
    path.write_bytes(b"notes of the user")
    return path


def test_files_that_are_not_ours_are_not_replaced(tmp_path):
    path = _noise(tmp_path / "notes.txt")
    for thing in (unipac.OFUL(2), unipac.Deployment(unipac.OFUL(2))):
        with pytest.raises(ValueError, match="replace=True"):
            thing.save(path)
    assert path.read_bytes() == b"notes of the user"
    (tmp_path / "empty").touch()  # as tempfile makes them: nothing is lost
    unipac.OFUL(2).save(tmp_path / "empty")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_and_one_file(tmp_path):
    """Each decides and saves; of the second to save nothing is lost silently."""
    path = tmp_path / "d.npz"
    unipac.Deployment(unipac.OFUL(2), clock=NOON).save(path)
    mine = unipac.Deployment.load(path, clock=NOON)
    child = os.fork()
    if child == 0:
        try:
            theirs = unipac.Deployment.load(path, clock=NOON)
            for k in range(10):
                theirs.decide(None, X, id=f"theirs {k}")
            theirs.save(path)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for k in range(10):
        mine.decide(None, X, id=f"mine {k}")
    with pytest.raises(ValueError, match="replace=True"):
        mine.save(path)
    assert unipac.Deployment.load(path).pending == 10
    mine.save(tmp_path / "mine.npz")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_of_many_processes_one_at_a_time(tmp_path):
    """All load the same file and save at once: exactly one may."""
    path, go = tmp_path / "d.npz", tmp_path / "go"
    unipac.OFUL(2).save(path)
    children = []
    for k in range(6):
        agent = unipac.load(path)
        child = os.fork()
        if child == 0:
            code = 2
            try:
                agent.update(agent.choose(X), 0.1 * k)
                while not go.exists():
                    pass
                agent.save(path)
                code = 0
            except ValueError:
                code = 1
            finally:
                os._exit(code)
        children.append(child)
    go.touch()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0, 1, 1, 1, 1, 1]


def test_an_interrupt_after_the_replacement(tmp_path, monkeypatch):
    """The file is the new one, but the call did not return: the next save must not take it for a foreign one."""
    agent, path = unipac.OFUL(2), tmp_path / "a.npz"
    agent.save(path)
    for step in ("_sync_directory", "_remove_leftovers"):
        agent.update(agent.choose(X), 0.5)

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(storage, step, stop)
        with pytest.raises(KeyboardInterrupt):
            agent.save(path)
        monkeypatch.undo()
        agent.save(path)
    assert unipac.load(path).rounds == 2


# -- what is written can be read -------------------------------------------------------------------


def test_a_file_that_load_would_refuse_is_not_written(tmp_path):
    """However the state came to be: here by hand."""
    agent, path = unipac.OFUL(2), tmp_path / "a.npz"
    agent.save(path)
    d, whole = unipac.Deployment(unipac.OFUL(2)), tmp_path / "d.npz"
    d.decide(None, X, id=1)
    d.save(whole)
    before = path.read_bytes(), whole.read_bytes()
    agent._ledger.counted = -1
    d._agent.choose(X)  # now the agent waits for more than the deployment
    for thing, place in ((agent, path), (d, whole)):
        with pytest.raises(ValueError, match="what load accepts"):
            thing.save(place)
    assert (path.read_bytes(), whole.read_bytes()) == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.npz", "d.npz"]


def test_nobody_waits_for_the_disk(tmp_path, monkeypatch):
    """While a file is written, others decide and reward; two threads that save do so one after the other."""
    d, agent = lived(), unipac.OFUL(2)
    writing, go_on = threading.Event(), threading.Event()
    fsync = os.fsync

    def slow(descriptor):
        writing.set()
        assert go_on.wait(30)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    for k, thing in enumerate((d, agent)):
        writing.clear()
        go_on.clear()
        thread = threading.Thread(target=thing.save, args=(tmp_path / f"{k}.npz",))
        thread.start()
        assert writing.wait(30)
        done = []

        def use(done=done, k=k):
            done.append(d.decide(None, X, id=f"more {k}"))
            agent.update(agent.choose(X), 0.5)
            done.append(d.reward(done[0].id, 0.5))

        other = threading.Thread(target=use)
        other.start()
        other.join(10)
        assert len(done) == 2
        go_on.set()
        thread.join()
    monkeypatch.undo()
    found = unipac.Deployment.load(tmp_path / "0.npz")  # as it was when it was saved
    with pytest.raises(unipac.deployment.Unknown):
        found.reward("more 0", 0.5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("times", [15, pytest.param(500, marks=pytest.mark.slow)])
def test_a_kill_during_save_leaves_a_whole_file(times, tmp_path):
    """Killed at any moment, a process that decides and saves leaves a file that loads, and no older one."""
    path, rng, left, last, most = tmp_path / "d.npz", np.random.default_rng(1), 0, 0, 0
    lived(30)  # kernels are loaded here, not in each child
    unipac.Deployment(unipac.OFUL(2)).save(path)
    for _ in range(times):
        d = unipac.Deployment.load(path)
        assert d.agent.rounds >= last
        last = d.agent.rounds
        most = max(most, last)
        if last > 300:  # files stay small
            d, last = unipac.Deployment(unipac.OFUL(2)), 0
            d.save(path, replace=True)
        child = os.fork()
        if child == 0:
            try:
                while True:
                    d.reward(d.decide(None, X).id, 0.5)
                    d.save(path)
            finally:
                os._exit(1)
        time.sleep(float(rng.uniform(0.005, 0.08)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left += len([*tmp_path.iterdir()]) > 1
    d = unipac.Deployment.load(path)
    d.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.npz"]  # what was left is gone
    assert max(most, d.agent.rounds) > 0
    assert left > times / 50 - 1  # so often at least it was in the middle of writing


# -- crafted files ---------------------------------------------------------------------------------


def rewritten(path, change):
    """The file with its contents changed, and a digest that is right."""
    header, arrays = storage.read(path)
    texts = {name: json.loads(arrays[name].tobytes()) for name in ("events", "pending.rows", "closed.rows")}
    change(header, arrays, texts)
    arrays |= {name: np.frombuffer(json.dumps(text).encode(), dtype=np.uint8) for name, text in texts.items()}
    del header["format"], header["version"]
    path.write_bytes(storage.content(header, arrays))


def _last(events, kind):
    return next(event for event in reversed(events) if event["kind"] == kind)


CRAFTED = {
    "a verdict with certificate 0": lambda h, a, t: h["watches"][0][3].__setitem__(2, 0.0),
    "a verdict on another action": lambda h, a, t: h["watches"][0][3].__setitem__(1, 2),
    "a verdict of the future": lambda h, a, t: h["watches"][0][3].__setitem__(3, 10**6),
    "no watch": lambda h, a, t: (h["watches"].pop(), [a.pop(f"watch.2.{k}") for k in ("X", "bounds")]),
    "a silenced alarm": lambda h, a, t: h["drift"].__setitem__("block", 1),
    "an alarm without its rounds": lambda h, a, t: a["drift.gram"].__setitem__(0, 0.0),
    "an alarm with other rewards": lambda h, a, t: a["drift.total"].__imul__(2.0),
    "fewer decisions": lambda h, a, t: h.__setitem__("decided", 5),
    "a time before the last event": lambda h, a, t: h.__setitem__("time", 0.0),
    "a time that is negative": lambda h, a, t: h.__setitem__("time", -1.0),
    "propensity in the log": lambda h, a, t: _last(t["events"], "decide").__setitem__("propensity", 0.5),
    "propensity that waits": lambda h, a, t: t["pending.rows"][-1].__setitem__(5, 0.5),
    "propensity of a closed one": lambda h, a, t: t["closed.rows"][-1].__setitem__(5, 0.5),
    "no holdout": lambda h, a, t: t["events"][0].__setitem__("holdout", 0.0),
    "another seed": lambda h, a, t: t["events"][0].__setitem__("seed", 1),
    "another default": lambda h, a, t: t["events"][0].__setitem__("default", 0.7),
    "another window": lambda h, a, t: t["events"][0].__setitem__("window", 7.0),
    "no window": lambda h, a, t: t["events"][0].__setitem__("window", None),
    "another agent in the log": lambda h, a, t: t["events"][0]["parameters"].__setitem__("noise", 0.2),
    "a reward left out": lambda h, a, t: t["events"].remove(_last(t["events"], "reward")),
    "a reward changed in the log": lambda h, a, t: _last(t["events"], "reward").__setitem__("value", 9.0),
    "a reward changed that waits": lambda h, a, t: t["pending.rows"][-1].__setitem__(-1, 9.0),
    "a window that never ends": lambda h, a, t: t["pending.rows"][-1].__setitem__(-3, 1e12),
    "an action that was not taken": lambda h, a, t: a["pending.actions"].__setitem__(-1, [0.0, -1.0]),
    "a certificate": lambda h, a, t: a["closed.values"].__setitem__((-1, 4), 0.0),
    "a certificate in the log": lambda h, a, t: _last(t["events"], "decide")["answer"].update(certificate=0.0),
    "events in another order": lambda h, a, t: t["events"].insert(5, t["events"].pop(9)),
    "a closed decision forgotten": lambda h, a, t: (
        t["closed.rows"].pop(), a.update({k: a[k][:-1] for k in ("closed.actions", "closed.values")})),
    "an unknown event": lambda h, a, t: _last(t["events"], "decide").__setitem__("kind", "note"),
    "a refutation that is not one": lambda h, a, t: (
        t["events"].append({"seq": h["seq"] + 1, "kind": "refute"}), h.__setitem__("seq", h["seq"] + 1)),
    "rounds": lambda h, a, t: h["agent"]["progress"].__setitem__("rounds", 500),
    "a level of the agent's": lambda h, a, t: h["agent"]["progress"]["pending"][-1].__setitem__(2, 7),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file of a deployment, written again with nothing changed."""
    path = tmp_path_factory.mktemp("written") / "d.npz"
    d = lived(400, seed=5)  # the last decision was not drawn
    assert d.pending > 3
    d.save(path)
    rewritten(path, lambda *_: None)
    unipac.Deployment.load(path)  # the control
    return path.read_bytes()


@pytest.mark.parametrize("what", CRAFTED)
def test_crafted_files_are_refused(what, written, tmp_path):
    path = tmp_path / "d.npz"
    path.write_bytes(written)
    rewritten(path, CRAFTED[what])
    with pytest.raises(ValueError, match=r"Deployment\.save"):
        unipac.Deployment.load(path)


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_a_silenced_alarm(tmp_path):
    rng = np.random.default_rng(3)
    d, path = unipac.Deployment(unipac.NestedOFUL(2, noise=0.1)), tmp_path / "d.npz"
    for k in range(600):
        decision = d.decide(None, X, id=k)
        d.reward(
            k, float(decision.action @ [0.6, 0.3]) * (1 if k < 400 else -1) + 0.1 * rng.standard_normal()
        )
    assert d.drift.alarm
    d.save(path)
    assert unipac.Deployment.load(path).drift == d.drift
    rewritten(path, lambda h, a, t: h["drift"].update(last=[False, 0.0, 1.0, None]))
    with pytest.raises(ValueError, match="drift"):
        unipac.Deployment.load(path)


@pytest.mark.parametrize(
    "features",
    [
        {"kind": "Blocks", "ids": 400_000_000, "of": {"kind": "Constant"}},
        {"kind": "Blocks", "ids": ["a"], "of": Numbers(3).described() | {"length": 10**9}},
        {"kind": "Sum", "parts": []},
    ],
    ids=["blocks", "numbers", "nothing"],
)
def test_a_small_file_cannot_take_all_memory(features, tmp_path):
    path, phi = tmp_path / "d.npz", Blocks(["a", "b"], Columns(ranges={"age": (0, 9)}, missing="error"))
    unipac.Deployment(unipac.OFUL(phi.dim), phi).save(path)
    rewritten(path, lambda h, a, t: h.update(features=json.dumps(features)))
    assert path.stat().st_size < 20_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"Deployment\.save"):
        unipac.Deployment.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 2**20


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
                         ids=["copy", "deepcopy", "pickle"])  # fmt: skip
@pytest.mark.parametrize("settings", [{}, {"window": None}], ids=["window", "arrival"])
def test_a_copy_is_a_deployment_of_its_own(how, settings, tmp_path):
    d = lived(100, **settings)
    other, before = how(d), plainly(d)
    assert plainly(other) == before
    clock = other._uptime.clock
    clock.now += 1.0
    made = other.decide(None, X, id="more")
    other.reward("more", 0.5)
    other.restart()
    clock.now += 10.0
    other.close()
    d._uptime.clock.now = 25.0
    assert plainly(d) == before
    d._uptime.clock.now = 26.0
    assert d.decide(None, X, id="more").to_dict()["action"] == made.to_dict()["action"]
    d.save(tmp_path / "d.npz")
    with pytest.raises(ValueError, match="replace=True"):
        other.save(tmp_path / "d.npz")


# -- time --------------------------------------------------------------------------------------------


def cost(waiting, rounds=3000):
    """Processor time of one decision and one reward in seconds, with so many that wait, a window for each."""
    clock = machine.Clock()
    d = unipac.Deployment(unipac.NestedOFUL(2, noise=0.1), window=float(waiting), clock=clock, drift=0.0)
    times = []
    for k in range(waiting + 6 * rounds):
        if k >= waiting and (k - waiting) % rounds == 0:
            times.append(time.thread_time())
        clock.now += 1.0
        d.decide(None, X, id=k)
        d.reward(k, 0.5)
    assert waiting - 1 <= d.pending <= waiting
    return min(np.diff([*times, time.thread_time()])) / rounds


@pytest.mark.slow
def test_time_does_not_grow_with_what_waits():
    """At most 1.2 times with 50,000 that wait; the better of three attempts, as others use the machine."""
    ratios = []
    for _ in range(3):
        few, many = cost(100), cost(50_000)
        ratios.append(many / few)
        print(f"decide + reward: {few * 1e6:.1f} µs with 100 waiting, {many * 1e6:.1f} with 50,000")
    assert min(ratios) <= 1.2

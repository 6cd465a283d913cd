"""Forks: parent and child go on by themselves, with ids of their own, also while another thread is in a call."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import unipac
from helpers.copies import assert_same
from unipac import _forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

X = np.array([[1.0, 0.0], [0.6, 0.8]])


def in_child(action, seconds=60):
    """What a function returns in a forked process; an AssertionError if it fails or hangs there."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whoever hangs is killed
            signal.alarm(seconds)
            os.write(writable, pickle.dumps(action()))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writable)
    with os.fdopen(readable, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}"
    return pickle.loads(content)


def test_ids_of_parent_and_child_differ():
    """Without new identities they are equal, and a reward for the one teaches the other."""
    agent = unipac.NestedOFUL(2)
    before = agent.choose(X)
    theirs = in_child(lambda: agent.choose(X).id)
    mine = agent.choose(X)
    assert mine.id != theirs
    with pytest.raises(ValueError, match="must be waiting"):
        agent.update(theirs, 0.5)
    assert in_child(lambda: agent.update(before.id, 0.5)) is None  # what waited before waits in both
    agent.update(before, 0.5)
    assert agent.rounds == 1


@pytest.mark.parametrize("overtaken", [False, True])
def test_rewards_are_late_in_the_child_as_in_the_parent(overtaken):
    """Which decision is younger does not depend on new ids; what a late reward teaches differs."""
    agent = unipac.NestedOFUL(2, noise=0.1)
    ids = [agent.choose(X).id for _ in range(4)]
    if overtaken:
        agent.update(ids.pop(), 0.9)

    def steps(agent):
        late = []
        for id_ in (None, ids[1], None, ids[0], ids[2]):
            agent.update(agent.choose(X).id if id_ is None else id_, 0.5)
            late.append(agent._ledger.late)
        return late, agent.digest()

    expected = steps(copy.copy(agent))
    assert expected[0] == [False, True, False, True, True]
    assert [in_child(lambda: steps(agent)) for _ in range(4)] == [expected] * 4


def test_deployments_of_parent_and_child():
    guarded = unipac.Guarded(unipac.LinUCB(2), noise=0.5)
    deployment = unipac.Deployment(guarded)
    other = copy.copy(deployment)
    deployment.decide(None, X, id="before")

    def child():
        first = deployment.reward("before", 0.5)
        return first, deployment.decide(None, X).id, other.decide(None, X).id, guarded.choose(X).id

    first, *theirs = in_child(child)
    assert first
    ours = [deployment.decide(None, X).id, other.decide(None, X).id, guarded.choose(X).id]
    assert len({*ours, *theirs}) == 6
    assert deployment.pending == 2  # what the child did happened there
    with pytest.raises(unipac.deployment.Unknown):
        deployment.reward(theirs[0], 0.5)


def test_the_child_may_not_overwrite_what_the_parent_saved(tmp_path):
    path, agent = tmp_path / "a.npz", unipac.OFUL(2)
    agent.save(path)

    def child():
        agent.update(agent.choose(X), 0.5)
        agent.save(path)
        return agent.rounds

    assert in_child(child) == 1
    with pytest.raises(ValueError, match="replace=True"):
        agent.save(path)


AGENTS = {
    "bandit": (
        lambda: unipac.NestedOFUL(4, noise=0.5),
        lambda agent, n: agent.play(unipac.envs.sphere(4, 5, noise=0.5), rounds=n),
        lambda agent: (agent.rounds, agent.choose(np.eye(4)).index),
        300_000,
    ),
    "mdp": (
        lambda: unipac.UBEV(6, 2, horizon=10),
        lambda agent, n: agent.play(unipac.envs.river_swim(6, horizon=10), episodes=n),
        lambda agent: (agent.episodes, agent.act(0)),
        10_000,
    ),
}


@pytest.mark.parametrize("kind", AGENTS)
def test_forks_while_a_thread_plays(kind, tmp_path):
    """No child hangs or gets half a call, and the thread goes on as if nothing had been."""
    make, play, ask, n = AGENTS[kind]
    agent, alone = make(), make()
    play(agent, 10)
    play(alone, 10)
    traces = []
    thread = threading.Thread(target=lambda: traces.append(play(agent, n)))
    thread.start()
    forks, waited, counts = 0, 0.0, []
    while thread.is_alive() and forks < 20:
        begin = time.perf_counter()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            try:
                count, choice = ask(agent)
                agent.save(tmp_path / f"{forks}.npz")  # which checks it
                found = ask(unipac.load(tmp_path / f"{forks}.npz"))[1] if kind == "bandit" else choice
                os._exit(0 if count >= 10 and found == choice else 3)
            finally:
                os._exit(1)
        waited = max(waited, time.perf_counter() - begin)
        _, status = os.waitpid(child, 0)
        assert status == 0
        counts.append(agent.rounds if kind == "bandit" else agent.episodes)
        forks += 1
    thread.join()
    print(f"{forks} forks, the longest waited {waited:.3f} s, {len({*counts})} different moments")
    assert forks >= 3
    assert len({*counts}) >= 3  # in the middle of the run
    assert_same(traces[0], play(alone, n))
    assert agent.digest() == alone.digest()


def test_a_lock_that_is_held_is_waited_for():
    """The control of the test above: without the locks the child has one that nobody gives free."""
    agent, begun, go_on = unipac.OFUL(2), threading.Event(), threading.Event()

    def hold():
        with agent._lock:
            begun.set()
            go_on.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    threading.Timer(0.2, go_on.set).start()
    begin = time.perf_counter()
    assert in_child(lambda: agent.choose(X).index) == 0
    assert time.perf_counter() - begin > 0.15
    thread.join()
    assert not _forks.is_waiting()
    assert not _forks._held


def test_two_locks_in_any_order():
    """A thread takes the second lock while a fork waits for the first: neither waits for the other for ever."""
    one, two, stop = unipac.OFUL(2), unipac.OFUL(2), threading.Event()

    def hold():
        while not stop.is_set():
            with one._lock, two._lock:
                time.sleep(1e-3)
            with two._lock, one._lock:
                time.sleep(1e-3)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert [in_child(lambda: one.choose(X).index) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        thread.join()


def test_what_is_gone_is_forgotten():
    known = len(_forks._owners)
    agents = [unipac.OFUL(2) for _ in range(10)]
    assert len(_forks._owners) == known + 10
    del agents
    assert len(_forks._owners) == known

"""Several threads on one agent: no id twice, no error, nothing lost."""

import contextlib
import pickle
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

import unipac
from helpers.levelled import NAMES
from unipac.bandits import BanditAgent
from unipac.linalg.levels import DISJOINT, top

THREADS = 8
DIM = 3


@pytest.fixture(autouse=True)
def _short_switch_interval():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*tasks):
    """Run the tasks in threads of their own, from the same moment on; returns what they raised."""
    errors = []
    start = threading.Barrier(len(tasks))

    def run(task):
        start.wait()
        try:
            task()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def player(agent, rounds, seed, made):
    """Choose and update, with some rewards late, in one thread; ``made`` takes ids and actions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 4, DIM))
    X /= np.linalg.norm(X, axis=2, keepdims=True)

    def play():
        waiting = []
        for t in range(rounds):
            decision = agent.choose(X[t % 50])
            made.append((decision.id, decision.action))
            waiting.append(decision)
            if len(waiting) > t % 3:
                agent.update(waiting.pop(0), 0.1)
        for decision in waiting:
            agent.update(decision, 0.1)

    return play


def gram(agent):
    """Σ − λI of all data, from the factors."""
    stack = getattr(agent.state, "levels", agent.state)  # some have sets beside them
    S = top(stack)
    levels = range(S) if agent.rule == DISJOINT else [S - 1]
    factors = [np.triu(stack.rows[i, :, 1 : DIM + 1]) for i in levels]
    return sum(R.T @ R - agent.regularization * np.eye(DIM) for R in factors)


def check_threads(name, rounds):
    agent = unipac.AGENTS[name](DIM, regularization=0.3)
    made = [[] for _ in range(THREADS)]
    working = True

    def look():
        while working:
            agent.bounds(np.eye(DIM))
            agent.levels()
            for decision in agent.pending.values():
                assert decision.action.shape == (DIM,)
            copy = pickle.loads(pickle.dumps(agent))
            assert len(copy.pending) <= 3 * THREADS
            repr(agent)
            time.sleep(1e-3)

    errors = []
    looking = threading.Thread(target=lambda: errors.extend(together(look)))
    looking.start()
    errors += together(*(player(agent, rounds, seed, made[seed]) for seed in range(THREADS)))
    working = False
    looking.join()
    assert errors == []
    everything = [entry for part in made for entry in part]
    assert len({id_ for id_, _ in everything}) == len(everything) == THREADS * rounds
    assert agent.rounds == THREADS * rounds
    assert not agent.pending
    x = np.array([action for _, action in everything])
    expected = x.T @ x
    np.testing.assert_allclose(gram(agent), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("rounds", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_many_threads_play_one_agent(name, rounds):
    check_threads(name, 300 if name == "BallOFUL" else rounds)


class Total(NamedTuple):
    """The state of ``Adding``."""

    total: np.ndarray


class Adding(BanditAgent):
    """Adds rewards so slowly that another thread comes in between, unless it is kept out."""

    def _empty(self):
        return Total(np.zeros(1))

    def _bounds(self, X):
        return tuple(np.zeros((4, len(X))))

    def _choose(self, X):
        return 0, 1

    def _learn(self, x, y, level, times):
        total = self.state.total[0]
        time.sleep(1e-6)  # lets other threads run
        return self.state._replace(total=np.array([total + y]))


@pytest.mark.parametrize("locked", [True, False])
def test_the_lock_is_what_keeps_threads_apart(locked):
    """Negative control: with a lock that does nothing, rewards are lost, or even decisions."""
    agent = Adding(DIM)
    if not locked:
        agent._lock = contextlib.nullcontext()

    def play():
        for _ in range(100):
            agent.update(agent.choose(np.eye(DIM)), 1.0)

    errors = together(*[play] * THREADS)
    assert (errors == [] and agent.state.total[0] == 100.0 * THREADS) == locked


@pytest.mark.parametrize("name", NAMES)
def test_every_method_holds_the_lock(name, monkeypatch, tmp_path):
    """Wherever an agent looks at what it learned, or changes it."""
    agent = unipac.AGENTS[name](2, fixed_actions=np.eye(2))
    seen = set()

    def watched(inner):
        function = getattr(agent, inner)

        def call(*arguments):
            assert agent._lock._is_owned(), inner
            seen.add(inner)
            return function(*arguments)

        monkeypatch.setattr(agent, inner, call)

    inside = ("_decide", "_reward", "_play", "_bounds", "_saved", "_progress")
    for inner in inside:
        watched(inner)

    def committed(changes):
        assert agent._lock._is_owned()
        seen.add("commit")
        unipac._atomic.commit(changes)

    monkeypatch.setattr("unipac.bandits.protocol.agent.commit", committed)
    monkeypatch.setattr("unipac.bandits.protocol.play.commit", committed)
    agent.update(agent.choose(), 0.5)
    agent.forget(agent.choose(np.eye(2)))
    agent.absorb(np.eye(2), [0.1, 0.2])
    agent.play(np.eye(2), np.zeros((3, 2)))
    agent.play(unipac.envs.killer(forced=3), rounds=4)
    for _ in agent.stream(unipac.envs.killer(forced=3), rounds=4):
        pass
    agent.bounds()
    agent.save(tmp_path / "agent")
    assert seen == {*inside, "commit"}

"""Whatever is raised in the middle of a call, all of it has happened or nothing; so a "finally: save" loses nothing."""

import copy
import signal
import threading
from functools import partial

import pytest

import unipac
from helpers import deployment_interrupts as interrupts
from helpers.interrupts import interrupt, moments
from unipac.deployment import calls
from unipac.deployment.entries import first_ended

X = interrupts.X
CALLS = {
    "decide": (1.0, lambda d: d.decide({"a": [1]}, X, id="new")),
    "again": (1.0, lambda d: d.decide(None, X, id=1)),
    "windows": (9.0, lambda d: d.decide(None, X, id="new")),
    "reward": (1.0, lambda d: d.reward(2, 0.5)),
    "windows and a reward": (4.5, lambda d: d.reward(3, 0.5)),
    "forget": (1.0, lambda d: d.forget(2)),
    "close": (9.0, lambda d: d.close()),
    "restart": (1.0, lambda d: d.restart()),
    "watch": (1.0, lambda d: d.watch("new", X, 1.9)),
    "unwatch": (1.0, lambda d: d.unwatch("old")),
    "absorb": (1.0, lambda d: d.absorb(X[:1], [0.5])),
    "refused": (9.0, lambda d: d.reward("nobody", 0.5)),
}
"""At a time in seconds, a call; windows of four seconds end from 4 on."""


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of files that were being opened
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("agent", interrupts.AGENTS)
@pytest.mark.parametrize(("window", "seed"), [(4.0, 3), (None, 0)])
@pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_every_moment(part, agent, window, seed):
    """All moments of every call at which Python can raise, or one in ``part``.

    What is left is the state before the call, after it, or between two windows.
    """
    clock = interrupts.Clock()
    first = unipac.Deployment(interrupts.AGENTS[agent](), window=window, holdout=0.5, seed=seed, clock=clock)
    for k in range(40):
        first.decide(None, X, id=-1 - k)
        first.reward(-1 - k, 0.25)
    clock.now = 4.0
    first.close()
    first.watch("old", X, 1e-9)
    clock.now, tried, between, drawn = 0.0, 0, 0, 0
    first = copy.copy(first)  # whose time goes on from here
    for k in range(4):
        clock.now = 0.25 * k
        first.decide(None, X, id=k)
    for name, (at, call) in CALLS.items():
        clock.now = at

        def quietly(d, call=call):
            try:
                call(d)
            except ValueError:
                assert call is CALLS["refused"][1] or window is None

        after, step = copy.copy(first), copy.copy(first)
        quietly(after)
        drawn += name == "decide" and after.events()[-1]["holdout"]
        whole = [interrupts.plainly(first), interrupts.plainly(after)]
        states = list(whole)
        while (ended := first_ended(step._entries, step._uptime.now()[0])) is not None and name != "refused":
            calls.close_one(step, *ended, step._uptime.now())
            states.append(interrupts.plainly(step))
        count = moments(partial(quietly, copy.copy(first)))
        for moment in range(1 + len(name) % part, count + 1, part):
            d = copy.copy(first)
            tried += interrupt(partial(quietly, d), moment) is not None
            calls.begin(d)  # if watched sets were not yet looked at, the next call does so first
            found = interrupts.plainly(d)
            assert found in states, (name, moment)
            assert not d._lock._is_owned()
            between += found not in whole
    print(f"{tried} interrupts, {between} between two windows")
    assert tried > 300 / part
    assert drawn == (seed == 3)  # by the one seed the decision belongs to the holdout, by the other not
    assert (between > 0) == (window is not None)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # archives that were half written
@pytest.mark.parametrize("total", [60, pytest.param(5000, marks=pytest.mark.slow)])
def test_interrupts(total, tmp_path):
    """Two agents, with and without windows; every third time two interrupts in a row, then one during ``save``.

    The control is an older commit: ``python tests/helpers/deployment_interrupts.py 1000 --plain`` over its sources.
    """
    assert threading.current_thread() is threading.main_thread()
    tried, wrong = interrupts.run(total, tmp_path, progress=total > 1000)
    assert tried >= total
    assert not wrong

"""Interrupts at random moments of a deployment's calls: what is left is a state that calls without interrupts reach.

``python tests/helpers/deployment_interrupts.py 1000`` makes so many interrupts and prints what went wrong. With
``--plain`` it looks only at what every version of the library has: files that ``load`` refuses, calls that fail
afterwards, logs that lead elsewhere. So an older version can be the control.
"""

from __future__ import annotations

import contextlib
import copy
import math
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

import unipac
from unipac.deployment import calls, fold, watching

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
STEP = 0.25
"""Seconds between two calls; sums of it are exact."""

AGENTS = {
    "OFUL": lambda: unipac.OFUL(2, noise=0.5),
    "Guarded": lambda: unipac.Guarded(unipac.LinUCB(2), noise=0.5),
}
SETTINGS = {
    "arrival": {"window": None, "holdout": 0.2, "seed": 0},
    "window": {"window": 1.0, "default": 0.25},
}


class Clock:
    """Seconds that the test moves."""

    now = 0.0

    def __call__(self):
        return self.now


# -- calls ------------------------------------------------------------------------------------------


class Calls:
    """Calls of a deployment, each a function of the deployment, the same whenever it is called."""

    def __init__(self, rng, clock, plain):
        self.rng, self.clock, self.plain = rng, clock, plain
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        weights = {
            "decide": 6,
            "reward": 6,
            "forget": 0.5,
            "jump": 1,
            "watch": not self.plain,
            "restart": 0.1,
        }
        kind = self.rng.choices([*weights], [*weights.values()])[0] if self.count else "decide"
        at = self.clock.now + STEP * (5 if kind == "jump" else 1)
        self.count += kind == "decide"
        id_ = self.count if kind == "decide" else self.rng.randint(max(1, self.count - 5), self.count)
        value = self.rng.choice([0.0, 0.5, -0.25])

        def call(deployment):
            self.clock.now = at
            with contextlib.suppress(ValueError):  # closed, or a conflict: nothing changes
                if kind == "decide":
                    deployment.decide({"k": [id_]}, X, id=id_)
                elif kind == "reward":
                    deployment.reward(id_, value)
                elif kind == "forget":
                    deployment.forget(id_)
                elif kind == "watch":
                    deployment.watch(f"{id_ % 5}", X, 0.5)
                elif kind == "restart":
                    deployment.restart()
                else:
                    deployment.close()

        return call


# -- interrupts --------------------------------------------------------------------------------------


def _ignored(_):
    """What was raised in a finalizer is lost, as Python has it."""


class Interrupts:
    """Raises KeyboardInterrupt from the handler of a signal, once or twice, after a random time."""

    def __init__(self, rng):
        self.rng = rng
        self.left = self.lost = 0

    def __enter__(self):
        self.hook, sys.unraisablehook = (
            sys.unraisablehook,
            _ignored,
        )  # pytest's own does not bear an interrupt
        self.before = signal.signal(signal.SIGALRM, self._raise)
        return self

    def __exit__(self, *_):
        signal.signal(signal.SIGALRM, self.before)
        sys.unraisablehook = self.hook

    def _raise(self, *_):
        if self.left > 0:
            self.left -= 1
            signal.setitimer(signal.ITIMER_REAL, self.again if self.left else 0.0)
            raise KeyboardInterrupt

    def during(self, action, longest, twice):
        """Call the action until it is interrupted; the second interrupt comes right after the first."""
        self.again = self.rng.uniform(1e-5, 1e-4)
        delay = self.rng.uniform(1e-5, longest)
        end = time.perf_counter() + delay + 0.2  # Python loses what is raised in a finalizer
        try:
            try:
                self.left = 2 if twice else 1
                signal.setitimer(signal.ITIMER_REAL, delay)
                while time.perf_counter() < end:
                    action()
                self.lost += 1
            except KeyboardInterrupt:
                until = time.perf_counter() + 0.01
                while self.left and time.perf_counter() < until:
                    pass
        except KeyboardInterrupt:
            pass
        self.left = 0
        signal.setitimer(signal.ITIMER_REAL, 0.0)


# -- what is left -------------------------------------------------------------------------------------


def plainly(deployment):
    """All that a deployment holds, without the numbers that are drawn anew in a copy and the clock on the wall."""
    told = [{k: v for k, v in event.items() if k != "wall"} for event in deployment.events()]

    def entries(held):
        return [
            (key, e.decision._replace(id=0).to_dict(), e.body, e.closes, e.number is None, e.value)
            for key, e in held.items()
        ]

    alarm, sums = deployment._alarm.saved()
    rows, sets = watching.saved(deployment._watches)
    arrays = {**sums, **{f"watch {name}": array for name, array in sets.items()}}
    return repr((
        deployment.agent.digest(), told, entries(deployment._entries), entries(deployment._closed), alarm, rows,
        {name: array.tobytes() for name, array in arrays.items()},
        deployment._uptime.now()[0], deployment._decided, deployment._seq,
    ))  # fmt: skip


def reached(deployment, clock, before, done, current):
    """Whether a state is one before or after the interrupted call, or between two windows that end in it."""
    calls.begin(deployment)  # if watched sets were not yet looked at, the next call does so first
    found, now = plainly(deployment), clock.now
    for call in done:
        call(before)
    clock.now = now
    calls.begin(before)
    if plainly(before) == found:
        return True
    after = copy.copy(before)
    current(after)
    clock.now = now
    if plainly(after) == found:
        return True
    from unipac.deployment.entries import first_ended

    between = copy.copy(before)
    while (first := first_ended(between._entries, between._uptime.now()[0])) is not None:
        calls.close_one(between, *first, between._uptime.now())
        if plainly(between) == found:
            return True
    return False


def is_free(lock):
    """Whether another thread can take the lock."""
    taken = []

    def take():
        if lock.acquire(timeout=5.0):
            taken.append(True)
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return bool(taken)


class Trials:
    """Interrupts of the calls of one deployment after the other; ``wrong`` counts what must not happen."""

    def __init__(self, make, settings, folder, seed, plain=False):
        self.make, self.settings, self.folder, self.plain = make, settings, folder, plain
        self.rng = random.Random(seed)  # not that of NumPy, whose compiled code loses interrupts
        self.wrong = Counter()
        self.trials = 0
        self._begin()
        for _ in range(60):  # whatever must be compiled is compiled now
            next(self.calls)(self.deployment)
        self._begin()

    def _begin(self):
        self.clock = Clock()
        self.deployment = unipac.Deployment(self.make(), clock=self.clock, **self.settings)
        self.calls = Calls(self.rng, self.clock, self.plain)

    def trial(self, interrupts):
        """One interrupt, or two in a row, and a look at what is left."""
        self.trials += 1
        done, current, deployment = [], [lambda d: None], self.deployment
        before = None if self.plain else copy.copy(deployment)

        def action():
            current[0] = call = next(self.calls)
            call(deployment)
            done.append(call)

        interrupts.during(action, 1.5e-3, twice=bool(self.trials % 3 == 0))
        path = self.folder / f"{self.trials}.npz"
        try:
            if not self.plain:
                # A call that was done may not yet have been noted, then it is the current one.
                if done and done[-1] is current[0]:
                    current[0] = lambda d: None
                self.wrong["another state"] += not reached(deployment, self.clock, before, done, current[0])
                self.wrong["lock"] += not is_free(deployment._lock)
                interrupts.during(lambda: deployment.save(path), 3e-2, twice=False)
            deployment.save(path)
            found = unipac.Deployment.load(path, clock=self.clock)
            if not self.plain:
                self.wrong["another file"] += plainly(found) != plainly(deployment)
        except ValueError as error:
            self.wrong[f"refused file{'' if self.plain else f': {error}'}"] += 1
            return self._begin()
        if fold(deployment.events()).digest() != deployment.agent.digest():
            self.wrong["fold"] += 1
            return self._begin()
        try:
            self.clock.now += 10.0
            deployment.decide(None, X, id=-self.trials)
            deployment.reward(-self.trials, 0.5)
            deployment.close()
        except (ValueError, KeyError):
            self.wrong["wedge"] += 1
            return self._begin()
        path.unlink()
        if len(deployment.events()) > 120:
            self._begin()
        return None


def run(total, folder, seed=0, plain=False, progress=False):
    """So many interrupts over all agents and windows; how many went wrong, in which way."""
    wrong, counts = Counter(), {}
    pairs = [(a, s) for a in AGENTS for s in SETTINGS]
    with Interrupts(random.Random(seed + 1)) as interrupts:
        for k, (agent, setting) in enumerate(pairs):
            trials = Trials(AGENTS[agent], SETTINGS[setting], folder, seed + 10 * k, plain)
            for _ in range(math.ceil(total / len(pairs))):
                trials.trial(interrupts)
            wrong += trials.wrong
            counts[agent, setting] = trials.trials, dict(+trials.wrong)
            if progress:
                print(agent, setting, *counts[agent, setting], flush=True)
    if progress:
        print(f"{interrupts.lost} interrupts were lost in finalizers")
    return sum(trials for trials, _ in counts.values()), +wrong


if __name__ == "__main__":
    many = [int(word) for word in sys.argv[1:] if word.isdigit()] or [1000]
    with tempfile.TemporaryDirectory() as place:
        print(*run(many[0], Path(place), plain="--plain" in sys.argv, progress=True))

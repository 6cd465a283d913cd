"""A kernel that Python calls hands over numbers, None, or a plain tuple of these.

To hand over a named tuple or an array runs Python code: an interrupt there crashes the process or is lost. The first
test looks at what the kernels return that calls of an agent reach from Python; the second records what Numba unpickles
on the way, as it does for named tuples and for tuples of arrays.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import types

import unipac
from helpers import registry_cases as cases
from helpers.kernels import kernels
from helpers.processes import run
from unipac.bandits.levelled import kernels as levelled

CASES = {case.label: case for case in cases.all_cases("bandit")}
TESTS = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
KNOWN = ("linalg/fit.py",)
"""Files whose kernels still hand over arrays: least squares of a batch."""

UNPICKLED = """
import json
from numba.core import serialize
found, original = set(), serialize._numba_unpickle
def recording(*arguments):
    frame = sys._getframe(1)
    if "unipac" in frame.f_code.co_filename or frame.f_code.co_name == "control":
        found.add(frame.f_code.co_filename)
    return original(*arguments)
serialize._numba_unpickle = recording  # before the first use: Numba looks it up once
import test_handed_over as contract
for case in contract.CASES.values():
    contract.use(case)
ours = sorted(found)
contract.control()
print(json.dumps([ours, len(found) - len(ours)]))
"""


def use(case: cases.Case) -> None:
    """Every public call, with offers that are fixed and that change."""
    agent, rounds = case.make(), next(iter(case.instance.pieces(0, 12, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal rounds with noise may refute a range of rewards
        for t in range(6):
            X = rounds.actions if rounds.actions.ndim == 2 else rounds.actions[t]
            agent.bounds(X)
            decision = agent.choose() if agent.fixed_actions is not None and t % 2 else agent.choose(X)
            reward = float(rounds.rewards[t, decision.index])
            agent.update(decision, reward, times=3 if agent.counts_many and t == 4 else 1)
            agent.levels()
        X = rounds.actions if rounds.actions.ndim == 2 else rounds.actions[6:]
        agent.play(X, rounds.rewards[6:], truth=np.zeros(agent.dim))
        if agent.absorbs:
            agent.absorb(X[:3] if X.ndim == 2 else X[:3, 0], np.zeros(3))


def control() -> None:
    """Call a kernel of this library that returns named tuples of arrays, which no Python code does."""
    levelled._unpack(unipac.OFUL(2)._memory)


def is_plain(kind: Any) -> bool:
    """Whether a type of Numba is a number, None, or a plain tuple of these."""
    if isinstance(kind, types.BaseNamedTuple):
        return False
    if isinstance(kind, types.BaseTuple):
        return all(isinstance(part, types.Number | types.Boolean) for part in kind)
    return isinstance(kind, types.Number | types.Boolean | types.NoneType)


def called(call: Callable[[], None]) -> set[tuple[str, str]]:
    """Files and names of the kernels that Python called."""
    found: set[tuple[str, str]] = set()

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "__name__" not in frame.f_globals:  # a frame that Numba made for the profiler
            found.add((frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def offending(call: Callable[[], None]) -> tuple[list[str], int]:
    """Those of the kernels that Python calls whose results are not plain, and how many there are."""
    call()  # to compile runs Python code of Numba
    known = {
        (kernel.py_func.__code__.co_filename, kernel.py_func.__name__): kernel
        for kernel in kernels().values()
    }
    found = sorted(called(call) & known.keys())
    bad = [
        f"{file}:{name}"
        for file, name in found
        if not all(is_plain(made.signature.return_type) for made in known[file, name].overloads.values())
    ]
    return [text for text in bad if not text.rpartition(":")[0].endswith(KNOWN)], len(found)


@pytest.mark.parametrize("label", CASES)
def test_kernels_hand_over_plain_numbers(label):
    bad, count = offending(lambda: use(CASES[label]))
    assert bad == []
    assert count > 1


def test_the_test_can_fail():
    bad, _ = offending(control)
    assert [text.rpartition(":")[2] for text in bad] == ["_unpack"]


def test_nothing_is_unpickled():
    ours, more = json.loads(run(f"import sys; sys.path[:0] = {TESTS!r}{UNPICKLED}"))
    assert [file for file in ours if not file.endswith(KNOWN)] == []
    assert more == 1

"""An exception from outside, at any moment of a public call, leaves an agent as before the call or as after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numba
import pytest

import unipac
from helpers import first_use, interrupts, registry_cases as cases
from helpers.interrupts import Interrupt

ALL = [
    cases.MAKERS[kind](unipac.AGENTS[name], name)[0] for kind in cases.MAKERS for name in cases.names(kind)
]
MAPPED = [case for case in cases.all_cases("mdp") if case.features is not None]
PLAYED = [case for case in ALL if case.cls.kind != "search"]
IN_C = unipac._atomic.commit
QUIET = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""Refutations; and files that an interrupted call left open, which Python closes."""


@QUIET
@pytest.mark.parametrize("case", [*ALL, *MAPPED], ids=str)
def test_every_call_is_whole_or_nothing(case):
    assert interrupts.check_calls(case.make, interrupts.calls_of(case), most=8) > 0


@QUIET
@pytest.mark.parametrize("case", PLAYED, ids=str)
def test_an_interrupted_play_has_whole_rounds_and_hands_over_its_trace(case):
    assert interrupts.check_play(case.make, interrupts.play_of(case), most=15) > 0


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("case", [case for kind in cases.MAKERS for case in cases.all_cases(kind)], ids=str)
def test_every_moment_of_every_call(case):
    assert interrupts.check_calls(case.make, interrupts.calls_of(case)) > 0
    if case.cls.kind != "search" and case.features is None:
        assert interrupts.check_play(case.make, interrupts.play_of(case), most=150) > 0


def replace_commit(monkeypatch: Any, commit: Any) -> None:
    """Let every module of the library commit in another way."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("unipac") and vars(module).get("commit") is IN_C:
            monkeypatch.setattr(module, "commit", commit)


def committed_in_python(changes: Any) -> None:
    """In a loop of Python."""
    for function, *arguments in changes:
        function(*arguments)


@pytest.mark.parametrize("name", ["NestedOFUL", "CertVI"])
def test_a_commit_in_python_is_found(name, monkeypatch):
    """The control: an interrupt between two changes."""
    case = next(case for case in ALL if case.label == name)
    calls = interrupts.calls_of(case)
    replace_commit(monkeypatch, committed_in_python)
    with pytest.raises(AssertionError, match="between two states"):
        interrupts.check_calls(case.make, calls)


@QUIET
@pytest.mark.parametrize("case", ALL, ids=str)
def test_changes_are_made_by_functions_in_c(case, monkeypatch):
    """``commit`` is whole only if no change runs Python: no function, no property, no ``__setattr__``."""
    seen: list[Any] = []

    def recorded(changes: Any) -> None:
        made = [*changes]
        seen.extend(made)
        IN_C(made)

    agent = case.make()
    replace_commit(monkeypatch, recorded)
    for call in interrupts.calls_of(case):
        call(agent)
    assert seen
    for function, *arguments in seen:
        assert not isinstance(function, (FunctionType, MethodType)), function
        if function is setattr:
            owner, name, _ = arguments
            assert not isinstance(getattr(type(owner), name, None), property), (owner, name)
            assert type(owner).__setattr__ is object.__setattr__


class Compiled:
    """A kernel that is interrupted when it is used for the first time, so many times."""

    def __init__(self, interrupts: int) -> None:
        self.left, self.calls = interrupts, 0

    def __call__(self) -> None:
        if self.left > 0:
            self.left -= 1
            raise Interrupt
        self.calls += 1


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("interrupted", [1, 3])
def test_a_commit_interrupted_by_a_first_use_is_whole_or_nothing(place, interrupted):
    kernel, made = Compiled(interrupted), []
    changes = [(made.append, 1), (made.append, 2)]
    changes.insert(place, (kernel,))
    with pytest.raises(Interrupt):
        IN_C(changes)
    assert (made, kernel.calls) == (([1, 2], 1) if place else ([], 0))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_rewards_interrupted_while_kernels_are_compiled_are_learned_or_still_wait():
    """In a process of its own, which has compiled nothing; of the version before, this finds five agents."""
    done = subprocess.run(
        [sys.executable, str(Path(first_use.__file__))], capture_output=True, text=True, check=True
    )
    *wrong, last = done.stdout.splitlines()
    assert wrong == []
    assert int(last.removeprefix("interrupts ")) >= 5

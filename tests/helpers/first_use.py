"""Exceptions while kernels are compiled, or read from the disk: at the first use of each of them in a process.

    python first_use.py      prints a line for each agent that went wrong, and how many interrupts there were

Numba does that in Python, where a signal can raise. Here every kernel is interrupted when a reward needs it first.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

sys.path.insert(0, str(Path(__file__).parents[1]))

import unipac
from helpers import registry_cases as cases
from helpers.interrupts import Interrupt, known
from unipac._linking import Kernel

PREPARE = {name: getattr(Kernel, name) for name in ("_compile_for_args", "form")}
"""The methods that compile a kernel, or read it from the disk."""


class FirstUse:
    """Interrupts, while it is entered, whatever kernel is used for the first time with such arguments."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()
        self.count = 0

    def __enter__(self) -> None:
        for name in PREPARE:
            setattr(Kernel, name, self.preparing(name))

    def __exit__(self, *_: object) -> None:
        for name, method in PREPARE.items():
            setattr(Kernel, name, method)

    def preparing(self, name: str) -> Any:
        """In the place of a method."""

        def prepare(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
            key = kernel, *map(numba.typeof, arguments)
            if key not in self.seen:
                self.seen.add(key)
                self.count += 1
                raise Interrupt
            return PREPARE[name](kernel, *arguments, **keywords)

        return prepare


def rewarded(
    use: FirstUse, made: Callable[[], Any], reward: Callable[[Any], Any], waits: Callable[[Any], bool]
) -> str:
    """Reward with interrupts, and without; what went wrong."""
    thing, twin = made(), made()
    before, done = known(thing), False
    while not done:
        try:
            with use:
                reward(thing)
            done = True
        except Interrupt:
            done = not waits(thing)  # then it has happened
            if not done and known(thing) != before:
                return "a reward is half learned"
    reward(twin)
    return "" if known(thing) == known(twin) else "another state than without interrupts"


def of_agent(use: FirstUse, case: Any) -> str:
    """What goes wrong as an agent learns its first rewards."""
    agent = case.make()
    for _ in range(3):
        decision = agent.choose(
            None if case.fixed else case.instance.rounds(0, 1, 0).actions.reshape(-1, agent.dim)
        )
        wrong = rewarded(
            use,
            lambda agent=agent: copy.copy(agent),
            lambda it, decision=decision: it.update(next(iter(it.pending)), 0.25),
            lambda it: bool(it.pending),
        )
        if wrong:
            return wrong
        agent.update(decision, 0.25)
    return ""


def main() -> None:
    warnings.simplefilter("ignore")
    use = FirstUse()
    for name in cases.names("bandit"):
        for case in cases.MAKERS["bandit"](unipac.AGENTS[name], name):
            if wrong := of_agent(use, case):
                print(f"{case}: {wrong}")
    print(f"interrupts {use.count}")


if __name__ == "__main__":
    main()

"""Exceptions at every moment of a public call at which CPython can raise one that comes from outside.

CPython looks for signals on entry of functions, after calls and at jumps back. A profiler is called at the first two,
and what it raises is raised there: so every such moment of a call can be tried, one after the other, and a failure
comes again. Compiled calls and loops without a call are left to
``benchmarks/interrupt_agents.py``, which sends signals.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from helpers.registry_cases import Case
from unipac._agents import described
from unipac._storage import digest

Call = Callable[[Any], Any]
"""A public call of an agent, the same every time."""


class Interrupt(BaseException):
    """What comes from outside."""


def counts(frame: Any, event: str) -> bool:
    """Whether this is such a moment; that a kernel begins, which Numba tells a profiler too, is none."""
    return event == "c_return" or (event == "call" and frame is sys._getframe(2))


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """The collector of garbage waits.

    What it closes, such as a generator, is a call too. If the profiler takes itself away there, while Numba prepares
    to call it, then Numba calls nothing, and the process crashes.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def moments(call: Callable[[], Any]) -> int:
    """In how many moments of a call it can be interrupted."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += counts(frame, event)

    with nothing_collected():
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
    return count


def interrupt(call: Callable[[], Any], moment: int) -> BaseException | None:
    """Interrupt a call at a moment, from 1; what it raised, or None if it was over before."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += counts(frame, event)
        if count == moment:
            sys.setprofile(None)
            raise Interrupt

    with nothing_collected():
        sys.setprofile(profile)
        try:
            call()
        except Interrupt as error:
            return error
        finally:
            sys.setprofile(None)
    return None


def known(agent: Any) -> Any:
    """Everything by which two agents can differ, apart from the ids of decisions and from room to spare."""
    header, arrays = described(agent)
    progress = agent._without_ids(header["progress"])
    if "state.data.counts.used" in arrays:
        used = int(arrays["state.data.counts.used"][0])
        for name in (
            *(f"data.counts.{part}" for part in ("following", "value", "times", "other")),
            "planned.times",
        ):
            arrays[f"state.{name}"] = arrays[f"state.{name}"][:used]
    surplus = agent._ledger.surplus if agent.kind == "bandit" else 0
    return digest({**header, "progress": progress}, arrays), surplus


def planned(agent: Any) -> Any:
    """The agent; between episodes with the plan of the next one, which every question for a certificate makes."""
    if agent.kind == "mdp" and not agent._ledger.under_way():
        agent._prepare()
    return agent


def tried(total: int, most: int | None) -> Iterator[int]:
    """Moments 1, ..., total, or ``most`` of them."""
    if most is None or total <= most:
        return iter(range(1, total + 1))
    return iter(np.unique(np.linspace(1, total, most).astype(int)).tolist())


def check_calls(make: Callable[[], Any], calls: list[Call], most: int | None = None) -> int:
    """Interrupt each of the calls at its moments: the agent is as before the call or as after it, and goes on so.

    Returns how many interrupts there were.
    """
    agent, before, states = make(), [], []
    for call in calls:
        before.append(copy.copy(agent))
        states.append(known(agent))
        call(agent)
    states.append(known(agent))
    interrupts = 0
    for k, call in enumerate(calls):
        copied = copy.copy(before[k])
        total = moments(partial(call, copied))
        whole = [*states[k : k + 2], known(planned(copy.copy(before[k])))]
        for moment in tried(total, most):
            agent = copy.copy(before[k])
            raised = interrupt(partial(call, agent), moment)
            interrupts += raised is not None
            now = known(agent)
            assert now in whole, f"call {k}, moment {moment} of {total}: between two states"
            done = k + (now == states[k + 1])
            for later in calls[done:]:
                later(agent)
            assert known(agent) == states[-1], f"call {k}, moment {moment} of {total}: it goes on otherwise"
    return interrupts


def check_play(make: Callable[[], Any], play: Call, most: int | None = None) -> int:
    """Interrupt ``play`` at its moments: its rounds are learned up to one of them, and the trace is that of these."""
    whole, states = make(), {}
    begun = copy.copy(whole)
    trace = play(whole)
    total = moments(partial(play, copy.copy(begun)))
    interrupts = 0
    for moment in tried(total, most):
        agent = copy.copy(begun)
        raised: Any = interrupt(partial(play, agent), moment)
        if raised is None:
            continue
        interrupts += 1
        learned = getattr(raised, "trace", None)
        rounds = 0 if learned is None else len(learned)
        count = agent.rounds if agent.kind == "bandit" else agent.episodes
        assert count == rounds or (learned is None and count in (0, len(trace))), (moment, count, rounds)
        if count not in states:
            after = played(copy.copy(begun), play, count)
            states[count] = known(after), known(planned(after))
        assert known(agent) in states[count], f"moment {moment} of {total}: between two rounds"
        if learned is not None:
            for name in ("reward", "certificate"):
                np.testing.assert_array_equal(getattr(learned, name), getattr(trace, name)[:rounds])
            assert (np.isnan(learned.gap) | (learned.gap == trace.gap[:rounds])).all()  # NaN if not known yet
    return interrupts


def played(agent: Any, play: Call, count: int) -> Any:
    """The agent after some of the rounds."""
    play(agent, count)
    return agent


# -- calls of every kind -----------------------------------------------------------------------


def bandit_calls(case: Case) -> list[Call]:
    """Decisions with and without rewards, one of them forgotten, and logged rounds."""
    rounds = next(iter(case.instance.pieces(0, 12, 3)))

    def offered(t: int) -> Any:
        return rounds.actions if rounds.actions.ndim == 2 else rounds.actions[t]

    def choose(t: int) -> Call:
        return lambda agent: agent.choose(offered(t))

    def update(t: int) -> Call:
        return lambda agent: agent.update(next(iter(agent._ledger.pending)), float(rounds.rewards[t, 0]))

    def forget(agent: Any) -> None:
        agent.forget(next(reversed(agent._ledger.pending)))

    def absorb(agent: Any) -> None:
        agent.absorb(np.array([offered(t)[0] for t in range(4)]), rounds.rewards[:4, 0])

    calls = [choose(0), update(0), choose(1), choose(2), update(1), choose(3), forget, update(2)]
    return [*calls, absorb, choose(4)] if case.cls.absorbs else [*calls, choose(4)]


def mdp_calls(case: Case) -> list[Call]:
    """Two episodes of act and observe, whose states follow from the actions."""
    mdp = case.instance

    def act(agent: Any) -> None:
        steps = agent._ledger.steps
        agent.act(following(len(steps) - 1, steps[-1].action) if steps else int(mdp.initial.argmax()))

    def observe(agent: Any) -> None:
        ledger = agent._ledger
        reward = float(mdp.reward_range[0])
        agent.observe(reward, following(len(ledger.steps), ledger.waiting.action))

    def following(h: int, action: int) -> int:
        return (h + action) % int(mdp.n_states)

    return [act, observe] * (2 * mdp.horizon)


def search_calls(case: Case) -> list[Call]:
    """Three batches, as an instance answers them."""

    def tell(search: Any) -> None:
        if not search.done:
            search._learn(search._now.wanted, search._sample(case.instance, 1))

    return [tell] * 3


def calls_of(case: Case) -> list[Call]:
    """Public calls of an agent."""
    return {"bandit": bandit_calls, "mdp": mdp_calls, "search": search_calls}[case.cls.kind](case)


def play_of(case: Case) -> Call:
    """Rounds or episodes; fewer of the same if asked."""

    def play(agent: Any, count: int = 25) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an instance may not be what the agent assumes
            if agent.kind == "bandit":
                return agent.play(case.instance, rounds=count, seed=3)
            return agent.play(case.instance, episodes=count, seed=3)

    return play

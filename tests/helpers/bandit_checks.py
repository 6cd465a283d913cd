"""What is promised of every bandit agent, as functions that take a case and raise an ``AssertionError``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.any_checks import WAYS, by_file, check, few_enough, promise, refused, same
from helpers.registry_cases import Case, fingerprint, taken

COLUMNS = ("index", "level", "certificate", "reward")


def offered(case: Case, t: int, seed: int = 3) -> Any:
    """What round t of the instance offers: None for an agent that knows its arms."""
    if case.fixed:
        return None
    actions = case.instance.rounds(t, 1, seed).actions
    return actions if actions.ndim == 2 else actions[0]


def looped(agent: Any, case: Case, rounds: int, seed: int = 3) -> list[Any]:
    """Choose and update, round by round: the columns of a trace."""
    _, _, rewards = case.instance.rounds(0, rounds, seed)
    rows = []
    for t, row in enumerate(rewards):
        decision = agent.choose(offered(case, t, seed))
        agent.update(decision, row[decision.index])
        rows.append((decision.index, decision.level, decision.certificate, row[decision.index]))
    return [np.array(column) for column in zip(*rows, strict=True)]


def columns(*traces: Any) -> list[Any]:
    """The columns of some traces, one after the other."""
    return [np.concatenate([getattr(trace, name) for trace in traces]) for name in COLUMNS]


def probes(case: Case) -> Any:
    """Actions to ask bounds of."""
    X = case.instance.rounds(10**6, 4, seed=9).actions
    return np.array(X.reshape(-1, case.instance.dim)[: case.instance.n_actions if counted(case) else 12])


def counted(case: Case) -> bool:
    """Whether every round must offer so many actions."""
    return bool(taken(case.cls, {"n_actions": None}))


def check_same_knowledge(first: Any, second: Any, case: Case) -> None:
    """Bit for bit: bounds, levels, counters and all that is saved."""
    for a, b in zip(first.bounds(probes(case)), second.bounds(probes(case)), strict=True):
        same(a, b, "bounds")
    check(first.levels() == second.levels(), "levels")
    check((first.rounds, first.consistent) == (second.rounds, second.consistent), "rounds")
    check(fingerprint(first) == fingerprint(second), "saved contents")


@promise
def check_play_is_the_loop(case: Case, rounds: int = 150) -> None:
    """Play, play in parts, stream, play on arrays and the loop of choose and update are one."""
    judge = case.make()
    expected = looped(judge, case, rounds)
    whole, parts, streamed, on_arrays = (case.make() for _ in range(4))
    traces = {
        "whole": [whole.play(case.instance, rounds=rounds, seed=3)],
        "parts": [parts.play(case.instance, rounds=part, seed=3) for part in (37, 0, 1, rounds - 38)],
        "stream": [*streamed.stream(case.instance, rounds=rounds, seed=3)],
        "arrays": [on_arrays.play(*case.instance.rounds(0, rounds, seed=3)[::2])],
    }
    for word, agent in zip(traces, (whole, parts, streamed, on_arrays), strict=True):
        for name, column, right in zip(COLUMNS, columns(*traces[word]), expected, strict=True):
            same(column.astype(right.dtype), right, f"{word}: {name}")
        check_same_knowledge(agent, judge, case)
    check(whole.rounds == rounds, "rounds")
    gaps = np.concatenate([trace.gap for trace in traces["parts"]])
    same(gaps, traces["whole"][0].gap, "gap")
    check((gaps >= 0).all() and gaps.shape == (rounds,), "gap")


@promise
def check_choosing_learns_nothing(case: Case) -> None:
    """A choice, and questions, change neither bounds nor the saved state, apart from what is pending."""
    agent = case.make()
    agent.play(case.instance, rounds=30, seed=3)
    before, levels = [np.array(part) for part in agent.bounds(probes(case))], agent.levels()
    decision = agent.choose(offered(case, 30))
    for a, b in zip(before, agent.bounds(probes(case)), strict=True):
        same(a, b)
    check(agent.levels() == levels and agent.rounds == 30, "levels")
    check(list(agent.pending) == [decision.id] and agent.pending[decision.id] is decision, "pending")
    check(not decision.action.flags.writeable, "the action can be written to")


@promise
def check_times(case: Case) -> None:
    """``times=m`` is m updates, to 1e-9, with the same later choices; or it is refused."""
    if not case.cls.counts_many:
        agent = case.make()
        decision = agent.choose(offered(case, 0))
        refused(agent, agent.update, decision, 0.5, times=2)
        agent.update(decision, 0.5, times=1)
        return
    # The mean of m rounds says less of forecasts than m rewards.
    plain = taken(case.cls, {"tight": False, "rewards_within": None})
    for m in (1, 2, 7, 60):
        one, many = case.make(**plain), case.make(**plain)
        for agent in (one, many):
            agent.play(case.instance, rounds=25, seed=3)
        X = offered(case, 25)
        single = None if X is None else np.repeat(X[:1], len(X) if counted(case) else 1, axis=0)
        decisions = [one.choose(single) for _ in range(m)]
        same_arm = [d for d in decisions if d.index == decisions[0].index]
        for decision in same_arm:
            one.update(decision, 0.4)
        others = [many.choose(single) for _ in range(m)]
        many.update(others[0], 0.4, times=len(same_arm))
        for decision in set(decisions) - set(same_arm):
            one.forget(decision)
        for decision in others[1:]:
            many.forget(decision)
        check(one.rounds == many.rounds == 25 + len(same_arm), "rounds")
        for a, b in zip(one.bounds(probes(case)), many.bounds(probes(case)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        sizes = [[level.size for level in agent.levels()] for agent in (one, many)]
        check(sizes[0] == sizes[1], f"level sizes {sizes}")
        later = [agent.play(case.instance, rounds=30, seed=4).index for agent in (one, many)]
        same(*later, f"choices after times={m}")


@promise
def check_absorb(case: Case) -> None:
    """Logged rounds are learned, in one call or in several; or they are refused."""
    actions, _, rewards = case.instance.rounds(0, 20, seed=6)
    X = np.array(actions[:, 0] if actions.ndim == 3 else actions[np.arange(20) % len(actions)])
    y = np.array(rewards[:, 0])
    agent = case.make()
    if not case.cls.absorbs:
        refused(agent, agent.absorb, X, y)
        return
    other = case.make()
    agent.absorb(X, y)
    for part in (slice(7), slice(7, 7), slice(7, 20)):
        other.absorb(X[part], y[part])
    check(agent.rounds == 20, "rounds")
    check_same_knowledge(agent, other, case)
    fresh = case.make()
    changed = any(not np.array_equal(a, b) for a, b in zip(agent.bounds(X), fresh.bounds(X), strict=True))
    check(changed, "nothing was learned")


@promise
def check_levels(case: Case) -> None:
    """``absorb(levels=)`` of what was decided is the updates, in any order, bit for bit, for every agent."""
    agent, other = case.make(), case.make()
    decisions = [agent.choose(offered(case, t)) for t in range(4)]
    rounds, newest = [], -1
    for t in range(4, 60):
        decisions.append(agent.choose(offered(case, t)))
        done = decisions.pop((7 * t) % 4)
        agent.update(done, 0.1 * (t % 5))
        rounds.append((done.action, 0.1 * (t % 5), done.level, done.id < newest))
        newest = max(newest, done.id)
    for decision in decisions:
        agent.forget(decision)
    X, y, levels, late = (np.array(column) for column in zip(*rounds, strict=True))
    other.absorb(X[:20], y[:20], levels=levels[:20], late=late[:20])
    other.absorb(X[20:], y[20:], levels=levels[20:], late=late[20:])
    check(other.rounds == 56 and agent.digest() == other.digest(), "absorbed with levels")
    waiting = agent.choose(offered(case, 60))
    check(agent.digest() != other.digest(), "what is pending counts")
    agent.update(waiting, 0.3)
    check(agent.digest() != other.digest(), "what was learned counts")
    refused(other, other.absorb, X, y, levels=levels[:3])
    refused(other, other.absorb, X, y, levels=levels, late=late[:3])
    refused(other, other.absorb, X, y, late=late)
    refused(other, other.absorb, X, y, levels=levels + 1e9)
    refused(other, other.absorb, X, y, levels=-1 - levels)


@promise
def check_goes_on(case: Case, ways: Iterable[str], folder: Path) -> None:
    """Copies go on bit for bit, what is pending included, and share nothing with the original."""
    agent, judge = case.make(), case.make()  # nobody copies the judge
    waiting = []
    for one in (agent, judge):
        one.play(case.instance, rounds=40, seed=3)
        waiting.append([one.choose(offered(case, t)) for t in range(40, 43)])
    mine, judged = waiting

    def rest(one: Any, decisions: list[Any]) -> Any:
        one.update(decisions[2].id, 0.3)
        one.forget(decisions[0].id)
        trace = one.play(case.instance, rounds=60, seed=4)
        one.update(decisions[1], 0.1)
        return columns(trace)

    expected = rest(judge, judged)
    before = fingerprint(agent)
    for way in ways:
        other = WAYS[way](agent, folder / "agent.npz")
        check(type(other) is type(agent), f"{way}: type")
        check(fingerprint(other) == before, f"{way}: contents")
        check(list(other.pending) == [d.id for d in mine], f"{way}: pending")
        for found, decision in zip(other.pending.values(), mine, strict=True):
            for a, b in zip(found, decision, strict=True):
                same(a, b, f"{way}: pending decision")
        for a, b in zip(rest(other, mine), expected, strict=True):
            same(a, b, way)
        check_same_knowledge(other, judge, case)
        check(fingerprint(agent) == before, f"{way}: the copy changed the original")
    for a, b in zip(rest(agent, mine), expected, strict=True):  # as if there were no copy
        same(a, b, "the original")
    check_same_knowledge(agent, judge, case)


@promise
def check_ids(case: Case, folder: Path) -> None:
    """Ids are never used twice, and a decision is known to those alone that may learn from it."""
    agent = case.make()
    first = agent.choose(offered(case, 0))
    path = folder / "agent.npz"
    copies = [way(agent, path) for way in WAYS.values()] + [by_file(agent, path)]
    after = agent.choose(offered(case, 1))
    ids = [first.id, after.id]
    for other in copies:
        refused(other, other.update, after, 0.5)  # made after the copy
        refused(other, other.update, after.id, 0.5)
        decision = other.choose(offered(case, 1))
        ids.append(decision.id)
        refused(agent, agent.update, decision, 0.5)
        refused(agent, agent.forget, decision)
    ids += [case.make().choose(offered(case, 0)).id for _ in range(3)]
    agent.forget(first)
    for t in range(5):
        decision = agent.choose(offered(case, t))
        ids.append(decision.id)
        agent.update(decision, 0.1)
        refused(agent, agent.update, decision, 0.1)
    check(len(set(ids)) == len(ids), "an id was used twice")


def far_off(agent: Any, t: int) -> float:
    """A reward that fits no assumption, but that the agent takes."""
    low, high = getattr(agent, "rewards_within", None) or (-1e3, 1e3)
    return float(low if t % 2 else high)


@promise
def check_late_rewards(case: Case) -> None:
    """Rewards come late, in another order, twice or never; each is learned once, from the state then."""
    agent, other = case.make(), case.make()
    decisions = [[one.choose(offered(case, t)) for t in range(6)] for one in (agent, other)]
    order = [4, 0, 5, 2]
    for k in order:
        agent.update(decisions[0][k], 0.1 * k)
        other.update(decisions[1][k].id, 0.1 * k)
        refused(agent, agent.update, decisions[0][k], 0.1 * k)  # a duplicate
    agent.forget(decisions[0][1])
    other.forget(decisions[1][1].id)
    refused(agent, agent.forget, decisions[0][1])
    refused(agent, agent.update, decisions[0][1], 1.0)
    check(list(agent.pending) == [decisions[0][3].id], "pending")
    check(agent.rounds == other.rounds == len(order), "rounds")
    for a, b in zip(agent.bounds(probes(case)), other.bounds(probes(case)), strict=True):
        same(a, b)
    agent.update(decisions[0][3], 0.3)
    check(not agent.pending and agent.rounds == 5, "pending")


@promise
def check_bad_input(case: Case) -> None:
    """Bad input is refused with a ``ValueError``, and nothing changes."""
    agent = case.make()
    agent.play(case.instance, rounds=20, seed=3)
    decision = agent.choose(offered(case, 20))
    d, L = agent.dim, agent.action_norm
    good = probes(case)[:3]
    bad_rows = [
        np.full((2, d), np.nan),
        np.full((2, d), np.inf),
        np.full((2, d), 1e200),
        np.full((2, d), 2.0 * L),
        np.zeros((2, d + 1)),
        np.zeros((0, d)),
        np.zeros(d),
        np.zeros((1, 1, 1, d)),
        np.zeros((2, d), complex),
        [["x"] * d],
        "actions",
        [[None] * d],
        object(),
        [[0.0] * d, [0.0]],
    ]
    for X in bad_rows:
        refused(agent, agent.choose, X)
        refused(agent, agent.bounds, X)
        refused(agent, agent.play, X, np.zeros((3, 2)))
        if not (isinstance(X, np.ndarray) and X.shape == (0, d)):  # no rounds at all are no mistake
            refused(agent, agent.absorb, X, np.zeros(2))
    if agent.fixed_actions is None and not case.fixed:
        refused(agent, agent.choose)
    for reward in (math.nan, math.inf, -math.inf, 1e101, -1e300, 10**400, "1", None, [1.0], 1j, np.zeros(2)):
        refused(agent, agent.update, decision, reward)
    for times in (0, -1, 1.5, "2", None, 2**63, True):
        refused(agent, agent.update, decision, 0.5, times=times)
    for wrong in (-1, 10**30, "0", None, 1.5, good, decision.id + 1, True):
        refused(agent, agent.update, wrong, 0.5)
        refused(agent, agent.forget, wrong)
    for rewards in (
        np.zeros(3),
        np.full((2, 3), np.nan),
        np.full((2, 3), 1e200),
        np.zeros((2, 4)),
        "x",
        None,
    ):
        refused(agent, agent.play, good, rewards)
    for y in (np.zeros(2), np.full(3, np.nan), np.full(3, np.inf), "x", None, np.zeros((3, 1))):
        refused(agent, agent.absorb, good, y)
    refused(agent, agent.play, good, np.zeros((2, 3)), rounds=2)
    refused(agent, agent.play, good, np.zeros((2, 3)), truth=np.zeros(d + 1))
    refused(agent, agent.play, case.instance, np.zeros((2, 3)), rounds=2)
    refused(agent, agent.play, case.instance)
    for rounds in (-1, 1.5, "3", None, 2**70):
        refused(agent, agent.play, case.instance, rounds=rounds)
        refused(agent, agent.stream, case.instance, rounds=rounds)
    for other in (None, 3, "sphere", object()):
        refused(agent, case.cls.made_for, other)
    agent.update(decision, 0.5)
    check(agent.rounds == 21, "rounds")


@promise
def check_certificates(case: Case, *, runs: int = 25, rounds: int = 120, delta: float = 0.2) -> None:
    """With probability 1 − δ no certificate of a run is below the gap of its round; NaN where nothing is proven.

    Null: a run breaks this with probability at most ``delta``; ``few_enough`` says how many of the runs may.
    """
    failures = 0
    for seed in range(runs):
        agent = case.make(**({"delta": delta} if hasattr(case.cls, "delta") else {}))
        trace = agent.play(case.instance, rounds=rounds, seed=seed)
        if not agent.certified:
            check(np.isnan(trace.certificate).all(), "a certificate of an agent that is not certified")
            decision = agent.choose(offered(case, 0))
            check(not decision.certified and math.isnan(decision.certificate), "certified")
            return
        proven = ~np.isnan(trace.certificate)
        check(proven.all() or not agent.consistent, "no certificate without a refutation")
        check((trace.certificate[proven] >= 0).all(), "a negative certificate")
        failures += bool((trace.certificate[proven] < trace.gap[proven] - 1e-9).any())
    few_enough(failures, runs, delta, f"{case}: certificates")


@promise
def check_bounds_are_in_order(case: Case) -> None:
    """The lower bound is below the upper one; a decision reports those of its action."""
    agent = case.make()
    agent.play(case.instance, rounds=60, seed=3)
    if not agent.consistent:
        return
    X = offered(case, 60)
    decision = agent.choose(X)
    bounds = agent.bounds(np.array(case.instance.actions) if X is None else X)
    check((bounds.lcb <= bounds.ucb).all(), "lcb > ucb")
    np.testing.assert_allclose(bounds.ucb[decision.index], decision.ucb, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bounds.lcb[decision.index], decision.lcb, rtol=1e-9, atol=1e-12)
    if decision.certified:
        most = bounds.ucb.max() - decision.lcb
        check(
            decision.certificate <= most * (1 + 1e-9) + 1e-12, "the certificate exceeds what the bounds say"
        )
    if agent.reward_range is not None:
        low, high = agent.reward_range
        check(bounds.ucb.max() <= high and bounds.lcb.min() >= low, "bounds beyond the range of the rewards")


CHECKS = {
    "play is the loop": check_play_is_the_loop,
    "choosing learns nothing": check_choosing_learns_nothing,
    "times": check_times,
    "absorb": check_absorb,
    "levels": check_levels,
    "late rewards": check_late_rewards,
    "bad input": check_bad_input,
    "certificates": check_certificates,
    "bounds": check_bounds_are_in_order,
}

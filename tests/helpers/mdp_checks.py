"""What is promised of every agent for MDPs, as functions that take a case and raise an ``AssertionError``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.any_checks import WAYS, check, few_enough, promise, refused, same
from helpers.registry_cases import Case, fingerprint
from unipac.envs.play.simulation import episode_uniforms, first_states, reward_of, sample, world_of


def episode(agent: Any, mdp: Any, k: int, seed: int, stages: int | None = None) -> tuple[list[int], float]:
    """Episode k of ``play`` by act and observe: actions and the sum of rewards. ``stages``: only so many."""
    world = world_of(mdp)
    uniforms = episode_uniforms(seed, k // 1024, mdp.horizon)[k % 1024]
    state = int(first_states(mdp, uniforms[:1])[0])
    actions, total = [], 0.0
    for h in range(mdp.horizon if stages is None else stages):
        action = agent.act(state)
        row = world.cumulative[h if len(world.cumulative) > 1 else 0, state, action]
        following = sample(row, uniforms[1 + h])
        reward = float(reward_of(world, h, state, action, following))
        agent.observe(reward, following)
        actions.append(action)
        total += reward
        state = following
    return actions, total


def looped(agent: Any, mdp: Any, first: int, count: int, seed: int = 3) -> Any:
    """Rewards of so many episodes."""
    return np.array([episode(agent, mdp, k, seed)[1] for k in range(first, first + count)])


def check_same_knowledge(first: Any, second: Any) -> None:
    """Bit for bit: levels, counters, plan and all that is saved."""
    check(first.episodes == second.episodes, "episodes")
    check(first.levels() == second.levels(), "levels")
    check(fingerprint(first) == fingerprint(second), "saved contents")
    if first.n_states:
        same(np.asarray(first.policy()), np.asarray(second.policy()), "policy")


@promise
def check_play_is_the_loop(case: Case, episodes: int = 120) -> None:
    """Play, play in parts and the loop of act and observe are one; ``play`` is refused with a feature map."""
    looper, mdp = case.make(), case.instance
    rewards = looped(looper, mdp, 0, episodes)
    whole, parts = case.make(), case.make()
    if case.features is not None:
        refused(whole, whole.play, mdp, episodes=1)
        again = case.make()
        same(looped(again, mdp, 0, episodes), rewards)
        check_same_knowledge(looper, again)
        return
    trace = whole.play(mdp, episodes=episodes, seed=3)
    traces = [parts.play(mdp, episodes=count, seed=3) for count in (17, 0, 1, episodes - 18)]
    np.testing.assert_allclose(trace.reward, rewards, rtol=1e-12)
    for field in dataclasses.fields(trace):
        joined = np.concatenate([getattr(part, field.name) for part in traces])
        same(joined, getattr(trace, field.name), field.name)
    check_same_knowledge(whole, looper)
    check_same_knowledge(parts, looper)
    check(len(trace) == episodes == whole.episodes, "episodes")
    check((trace.gap >= -1e-9).all(), "a negative gap")


@promise
def check_plan(case: Case) -> None:
    """``_plan`` is a function of the state: asked twice, or after questions, the same; questions change nothing."""
    agent = case.make()
    if not agent.n_states:
        return
    for count in (0, 30):
        agent.play(case.instance, episodes=count, seed=3)
        first = agent._plan()
        agent.policy(), agent.levels()
        agent.certificate(0)
        second = agent._plan()
        for a, b in zip(first[:3], second[:3], strict=True):
            same(a, b, "plan")
        H, P, S = first.action.shape
        check(
            (agent.horizon, agent.n_states) == (H, S) and first.level.shape == (H, P, S), "shape of the plan"
        )
        check(first.action.min() >= 0 and first.action.max() < agent.n_actions, "actions")
        check(first.level.min() >= 0 and first.level.max() < P, "levels")
        check(first.bound.shape == (S,), "bound")
    before = fingerprint(agent)
    agent.policy(), agent.certificate(0), agent.levels(), repr(agent)
    check(fingerprint(agent) == before, "a question changed something")


@promise
def check_goes_on(case: Case, ways: Iterable[str], folder: Path, stages: int) -> None:
    """Copies go on bit for bit, also from the middle of an episode, and share nothing with the original."""
    mdp = case.instance
    agent, judge = case.make(), case.make()  # nobody copies the judge
    for one in (agent, judge):
        looped(one, mdp, 0, 43)
        if stages > 0:
            episode(one, mdp, 43, 3, stages - 1)
            one.act(0)
    before = fingerprint(agent)

    def rest(one: Any) -> Any:
        for h in range(mdp.horizon - stages + 1 if stages else 0):
            if h > 0:
                one.act(1)
            one.observe(0.5, 1)
        return looped(one, mdp, 44, 25, seed=5)

    expected = rest(judge)
    for way in ways:
        other = WAYS[way](agent, folder / "agent.npz")
        check(type(other) is type(agent) and fingerprint(other) == before, f"{way}: contents")
        same(rest(other), expected, f"{way}: rewards")
        check_same_knowledge(other, judge)
        check(fingerprint(agent) == before, f"{way}: the copy changed the original")
    same(rest(agent), expected, "rewards of the original")
    check_same_knowledge(agent, judge)


@promise
def check_ends(case: Case) -> None:
    """Episodes that end early are learned, and the next act begins another."""
    agent = case.make()
    for k, (terminated, truncated) in enumerate([(True, False), (False, True), (True, True)] * 3):
        agent.act(k % case.instance.n_states)
        agent.observe(0.25, 0, terminated, truncated)
        check(agent.episodes == k + 1, "episodes")
    for h in range(agent.horizon):
        check(agent.episodes == 9, "episodes")
        agent.act(0)
        agent.observe(1.0, 0, terminated=h == agent.horizon - 1)
    check(agent.episodes == 10, "episodes")


@promise
def check_bad_input(case: Case) -> None:
    """Bad input is refused with a ``ValueError``, and nothing changes."""
    agent, mdp = case.make(), case.instance
    looped(agent, mdp, 0, 10)
    for stages in (0, 1):
        if stages:
            episode(agent, mdp, 10, 3, 1)
            for call in (agent.certificate, agent.learn, agent.play):
                named = {agent.certificate: {}, agent.learn: {"episodes": 1}, agent.play: {"episodes": 1}}[
                    call
                ]
                refused(agent, call, _Env() if call == agent.learn else mdp if named else 0, **named)
        refused(agent, agent.observe, 0.5, 0)
        if agent.n_states:
            for state in (-1, agent.n_states, 10**30, 0.5, "0", None, math.nan, [0], True):
                refused(agent, agent.act, state)
    agent.act(0)
    refused(agent, agent.act, 0)
    low, high = agent.reward_range
    for reward in (math.nan, math.inf, high + 1, low - 1, "1", None, 1j, [0.5], 10**400):
        refused(agent, agent.observe, reward, 0)
    if agent.n_states:
        for state in (-1, agent.n_states, 0.5, "0", None, [0]):
            refused(agent, agent.observe, 0.5, state)
    for flag in (1, "yes", None, 0.0):
        refused(agent, agent.observe, 0.5, 0, flag)
        refused(agent, agent.observe, 0.5, 0, False, flag)
    while agent._ledger.waiting is not None or agent._ledger.steps:
        agent.observe(0.5, 0)
        if agent._ledger.steps:
            agent.act(0)
    for wrong in (None, "mdp", 3, object()):
        refused(agent, agent.play, wrong, episodes=1)
        refused(agent, agent.learn, wrong, episodes=1)
        refused(agent, case.cls.made_for, wrong)
    for episodes in (-1, 1.5, "2", None, 2**70, True):
        refused(agent, agent.play, mdp, episodes=episodes)
        refused(agent, agent.learn, _Env(), episodes=episodes)
    if agent.n_states:
        for states in ([0], [0, agent.n_states], [-1, 0], [0.5, 0.5], "00", [[0, 0]]):
            refused(agent, agent.play, mdp, episodes=2, initial_states=states)
        refused(agent, agent.play, mdp, episodes=2, seed=-1)
        refused(agent, agent.play, mdp, episodes=2, start=-1)


class _Env:
    def reset(self, seed: Any = None) -> Any:
        return 0, {}

    def step(self, action: int) -> Any:
        return 0, 0.5, False, False, {}


@promise
def check_certificates(case: Case, *, runs: int = 20, episodes: int = 60, delta: float = 0.2) -> None:
    """With probability 1 − δ: bounds are above V*, and certificates above gaps, in all episodes of a run.

    Null: a run breaks this with probability at most ``delta``; ``few_enough`` says how many of the runs may.
    """
    if case.features is not None:
        return
    mdp, failures = case.instance, 0
    best = mdp.optimal_value()
    start = int(np.argmax(mdp.initial))
    states = np.full(episodes, start)
    for seed in range(runs):
        agent = case.make(**({"delta": delta} if hasattr(case.cls, "delta") else {}))
        if not agent.certified:
            trace = agent.play(mdp, episodes=10, seed=seed)
            check(np.isnan(trace.certificate).all(), "a certificate of an agent that is not certified")
            check(math.isnan(agent.certificate(0)), "certificate")
            return
        failed = False
        for part in range(3):
            told = agent.certificate(start)
            trace = agent.play(mdp, episodes=episodes // 3, seed=seed, initial_states=states[: episodes // 3])
            proven = trace.certificate[~np.isnan(trace.certificate)]
            check((proven >= -1e-9).all(), "a negative certificate")
            check(
                math.isnan(told) or len(proven) == 0 or abs(proven[0] - told) <= 1e-9,
                f"part {part}: two words",
            )
            failed |= bool(trace.gap[0] > told + 1e-9)  # NaN compares as False
            failed |= bool((trace.gap > trace.certificate + 1e-9).any())
            failed |= bool((trace.bound < best[start] - 1e-9).any())
        failures += failed
    few_enough(failures, runs, delta, f"{case}: bounds and certificates")


CHECKS = {
    "plan": check_plan,
    "ends": check_ends,
    "bad input": check_bad_input,
    "certificates": check_certificates,
}

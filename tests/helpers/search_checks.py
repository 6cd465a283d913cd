"""What is promised of every search, as functions that take a case and raise an ``AssertionError``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from helpers.any_checks import WAYS, check, few_enough, promise, refused, same
from helpers.registry_cases import Case, fingerprint

MOST = {"rewards": 20_000, "next states": 10**6, "episodes": 10**8}
"""Pulls after which a search of the tests is stopped; counts cost the same, however many they are drawn from."""

FEW = {"rewards": 1500, "next states": 10**6, "episodes": 10**8}
"""The same, where there are many runs."""


def told(search: Any, instance: Any, seed: int, batches: int) -> list[Any]:
    """Ask and tell, at most so many batches: what was asked for."""
    asked = []
    while not search.done and len(asked) < batches:
        batch = search.ask()
        search.tell(search._sample(instance, seed))
        asked.append(batch)
    return asked


def gap_of(case: Case, answer: Any) -> float:
    """How much worse than the best an answer is: an arm, or a policy in its worst state or from the first ones."""
    instance, samples = case.instance, case.cls.samples
    if samples == "rewards":
        means = instance.actions @ instance.theta
        return float(means.max() - means[answer.index])
    if samples == "next states":
        return float((instance.optimal_value() - instance.policy_value(answer.policy)).max())
    value = unipac.envs.policy_value(instance, answer.policy)[0]
    return float(instance.initial @ (instance.optimal_value() - value))


def check_form(case: Case, answer: Any) -> None:
    """An arm, or a policy with its value."""
    n = len(answer.counts)
    check(answer.counts.ndim == 1 and answer.certificate >= 0, "answer")
    if case.cls.samples == "rewards":
        check(n == len(case.instance.actions) and 0 <= answer.index < n, "arm")
        return
    instance = case.instance
    staged = case.cls.samples == "episodes"
    check(answer.policy.shape == ((instance.horizon,) if staged else ()) + (instance.n_states,), "policy")
    check(answer.policy.min() >= 0 and answer.policy.max() < instance.n_actions, "policy")
    check(answer.value.shape == answer.lower.shape == (instance.n_states,), "values")


def bad_news(case: Case, search: Any) -> list[Any]:
    """What nobody could have seen of the batch that is asked for."""
    m = len(search.ask().arms)
    bad = [np.full(m, v) for v in (np.nan, np.inf, -np.inf, 1e200, 1j)]
    bad += [np.zeros(m + 1), np.zeros((m, 1)), "x", None, ["y"] * m, object()]
    if case.cls.samples != "rewards":
        seen = np.array(search._sample(case.instance, 3), dtype=float)
        moved = np.roll(seen, 1, axis=-1) + np.eye(1, seen.size).reshape(seen.shape)  # one too many
        bad += [seen + v for v in (0.5, 1.0, -1.0, np.nan, np.inf)] + [
            seen[..., None],
            seen[:0],
            moved,
            -seen,
        ]
    return bad


def check_same_answer(first: Any, second: Any) -> None:
    """Bit for bit: the answer, what is asked for next and all that is saved."""
    check(first.done == second.done, "done")
    for a, b in zip(first.answer, second.answer, strict=True):
        same(a, b, "answer")
    if not first.done:
        for a, b in zip(first.ask(), second.ask(), strict=True):
            same(a, b, "batch")
    check(fingerprint(first) == fingerprint(second), "saved contents")


@promise
def check_run_is_the_loop(case: Case) -> None:
    """Run, run in parts and the loop of ask and tell are one; an answer exists at every moment."""
    whole, parts, looper = (case.make() for _ in range(3))
    limit = MOST[case.cls.samples]
    whole.run(case.instance, seed=3, max_pulls=limit)
    for most in (0, 10, 11, limit):
        answer = parts.run(case.instance, seed=3, max_pulls=most)
        check(answer.pulls <= most and answer.pulls == answer.counts.sum() == parts.pulls, "pulls")
    n = len(looper.answer.counts)
    while not looper.done and looper.pulls + looper.ask().counts.sum() <= limit:
        batch = looper.ask()
        for a, b in zip(batch, looper.ask(), strict=True):
            same(a, b, "ask, asked twice")
        check(batch.arms.shape == batch.counts.shape and batch.arms.ndim == 1 and len(batch.arms), "batch")
        check(batch.arms.min() >= 0 and batch.arms.max() < n and batch.counts.min() > 0, "batch")
        told(looper, case.instance, 3, 1)
        check_form(case, looper.answer)
    check_same_answer(whole, looper)
    check_same_answer(parts, looper)
    if whole.done:
        check(whole.answer.certificate <= getattr(whole, "eps", 0.0) + 1e-12, "it stopped too early")
        refused(whole, whole.ask)
        refused(whole, whole.tell, [0.0])


@promise
def check_goes_on(case: Case, ways: Iterable[str], folder: Path) -> None:
    """Copies go on bit for bit and share nothing with the original."""
    for batches in (0, 6, 10**9):
        search, judge = case.make(), case.make()  # nobody copies the judge
        for one in (search, judge):
            one.run(case.instance, seed=3, max_pulls=min(MOST[case.cls.samples], 5 * batches))
        before = fingerprint(search)
        copies = {way: WAYS[way](search, folder / "search.npz") for way in ways}
        for way, other in copies.items():
            check(type(other) is type(search), f"{way}: type")
            check_same_answer(other, search)
        expected = told(judge, case.instance, 4, 20)
        for one in (*copies.values(), search):
            check(one is not search or fingerprint(search) == before, "a copy changed the original")
            found = told(one, case.instance, 4, 20)
            check(len(found) == len(expected), "batches")
            for a, b in zip(found, expected, strict=True):
                same(a.arms, b.arms)
                same(a.counts, b.counts)
            check_same_answer(one, judge)


@promise
def check_bad_input(case: Case) -> None:
    """Bad input is refused with a ``ValueError``, and nothing changes."""
    search = case.make()
    told(search, case.instance, 3, 2)
    if not search.done:
        for sums in bad_news(case, search):
            refused(search, search.tell, sums)
        batch = search.ask()
        check(
            not batch.arms.flags.writeable and not batch.counts.flags.writeable, "a batch can be written to"
        )
    search.answer.counts[:] = -1
    check(search.answer.counts.min() >= 0, "an answer shares memory with the search")
    for wrong in (None, 3, "soare", object()):
        refused(search, search.run, wrong)
        refused(search, case.cls.made_for, wrong)
    for most in (-1, 1.5, "2", None, True):
        refused(search, search.run, case.instance, max_pulls=most)
    if not search.done:
        refused(search, search.run, case.instance, seed=-1)


@promise
def check_certificates(case: Case, *, runs: int = 60, delta: float = 0.2) -> None:
    """With probability 1 − δ the certificate of the answer is no smaller than its gap, at every moment of a run.

    Null: a run breaks this with probability at most ``delta``; ``few_enough`` says how many of the runs may.
    """
    failures = 0
    for seed in range(runs):
        search = case.make(delta=delta)
        failed = False
        while True:
            gap = gap_of(case, search.answer)
            if not search.certified:
                check(
                    math.isnan(search.answer.certificate), "a certificate of a search that is not certified"
                )
            failed |= bool(search.answer.certificate < gap - 1e-9)
            if search.done or search.pulls > FEW[case.cls.samples]:
                break
            told(search, case.instance, seed, 1)
        failures += failed
    few_enough(failures, runs, delta, f"{case}: certificates")


CHECKS = {
    "run is the loop": check_run_is_the_loop,
    "bad input": check_bad_input,
    "certificates": check_certificates,
}

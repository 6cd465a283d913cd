"""Policies on the rounds of a log: which actions they take, with which probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array
from unipac._inputs import floats
from unipac.logs.log import Log

Policy = Callable[[Array], Any] | ArrayLike

ROUNDING = 1e-9
"""Largest difference between the sum of probabilities and 1."""

PART = 1 << 15
"""Number of rounds whose probabilities are in memory at once."""

NAMES = ("logged", "uniform")
"""Policies with a name: what was decided, and all actions alike."""


class Taken(NamedTuple):
    """What a policy does with the actions of a log, round by round."""

    chances: Array
    """(T,): the probability of the action that the log took."""
    expected: Array
    """(T,): the mean of the guesses under the policy, before the draw; empty without guesses, or if it is not known."""
    highest: Array
    """(T,): the largest probability of any action."""


def index_or_chances(name: str, choice: Any, count: int) -> int | Array:
    """What a policy chose among some actions: an index, or probabilities."""
    if np.ndim(choice) == 0:
        return check.count(name, choice, least=0, most=count - 1)
    chances = floats(name, choice)
    fits = chances.shape == (count,) and bool((chances >= 0.0).all())
    fits = fits and abs(float(chances.sum()) - 1.0) <= ROUNDING
    check.require(fits, name, f"an index or {count} probabilities with sum 1", choice)
    return chances


def taken(log: Log, policy: Policy, name: str, guesses: list[Array] | Array | None) -> Taken:
    """What a policy does with the actions that the log took; an error names the round."""
    rounds = len(log)
    if isinstance(policy, str):
        return _named(log, check.one_of(name, policy, NAMES), guesses)
    chances, highest, expected = (
        np.empty(rounds),
        np.empty(rounds),
        np.empty(0 if guesses is None else rounds),
    )
    if not callable(policy):
        check.require(hasattr(policy, "__len__"), name, "a function or an array", policy)
        check.require(rounds == len(policy), name, f"of length {rounds}, as the log", len(policy))  # type: ignore[arg-type]
        if (
            guesses is None
            and isinstance(policy, np.ndarray)
            and policy.ndim == 1
            and policy.dtype.kind in "iu"
        ):
            bad = np.flatnonzero((policy < 0) | (policy >= log.sizes))
            for t in bad[:1].tolist():
                index_or_chances(f"{name}[{t}]", int(policy[t]), int(log.sizes[t]))
            return Taken((policy == log.index).astype(np.float64), expected, np.ones(rounds))
        if _is_table(log, policy) and not isinstance(guesses, list):
            for begin in range(0, rounds, PART):
                part = slice(begin, min(begin + PART, rounds))
                table = _table(name, np.asarray(policy)[part], begin)
                chances[part] = table[np.arange(len(table)), log.index[part]]
                highest[part] = table.max(axis=1)
                if guesses is not None:
                    expected[part] = (table * guesses[part]).sum(axis=1)
            return Taken(chances, expected, highest)
    for t in range(rounds):
        place = f"{name} in round {t}" if callable(policy) else f"{name}[{t}]"
        choice = policy(log.offered(t)) if callable(policy) else policy[t]  # type: ignore[index]
        chosen = index_or_chances(place, choice, int(log.sizes[t]))
        k = int(log.index[t])
        if isinstance(chosen, int):
            chances[t], highest[t] = float(chosen == k), 1.0
        else:
            chances[t], highest[t] = chosen[k], chosen.max()
        if guesses is not None:
            expected[t] = guesses[t][chosen] if isinstance(chosen, int) else chosen @ guesses[t]
    return Taken(chances, expected, highest)


def guessed(log: Log, guess: Policy) -> list[Array] | Array:
    """The guesses of the rewards of all actions: (T, n) where possible, else one array for each round."""
    if not callable(guess):
        check.require(hasattr(guess, "__len__"), "guess", "a function or an array", guess)
        check.require(len(log) == len(guess), "guess", f"of length {len(log)}, as the log", len(guess))  # type: ignore[arg-type]
        if _is_table(log, guess):
            return floats("guess", guess)
    rows = []
    for t in range(len(log)):
        row = floats(f"guess in round {t}", guess(log.offered(t)) if callable(guess) else guess[t])  # type: ignore[index]
        count = int(log.sizes[t])
        check.require(row.shape == (count,), f"guess in round {t}", f"of shape ({count},)", row.shape)
        rows.append(row)
    return np.array(rows) if log.sizes.min() == log.sizes.max() else rows


def guess_of_taken(log: Log, guesses: list[Array] | Array) -> Array:
    """The guesses for the actions that the log took, (T,)."""
    if isinstance(guesses, list):
        return np.array([row[k] for row, k in zip(guesses, log.index.tolist(), strict=True)])
    return np.asarray(guesses[np.arange(len(log)), log.index])


def _named(log: Log, policy: str, guesses: list[Array] | Array | None) -> Taken:
    nothing = np.empty(0)
    means = nothing if guesses is None else np.array([row.mean() for row in guesses])
    if policy == "logged":  # the propensities of other actions are only known in a log of uniform choices
        p = np.ones(len(log)) if log.propensities is None else log.propensities
        return Taken(p, means if log.is_uniform else nothing, p)
    even = 1.0 / log.sizes
    return Taken(even, means, even)


def _is_table(log: Log, policy: Any) -> bool:
    """Whether the policy has one number for each action of each round, and all rounds have equally many."""
    if isinstance(policy, np.ndarray):
        shape = policy.shape
    else:
        try:
            shape = np.shape(policy)
        except ValueError:  # sets of different sizes
            return False
    return len(shape) == 2 and bool((log.sizes == shape[1]).all())


def _table(name: str, rows: Any, begin: int) -> Array:
    """Probabilities, (m, n), of the rounds from ``begin`` on."""
    table = floats(name, rows)
    bad = np.flatnonzero(~((table.min(axis=1) >= 0.0) & (np.abs(table.sum(axis=1) - 1.0) <= ROUNDING)))
    if len(bad):
        index_or_chances(f"{name}[{begin + bad[0]}]", table[bad[0]], table.shape[1])
    return table

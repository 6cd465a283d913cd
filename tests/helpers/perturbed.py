"""Files in which one array, or one number of the header, is not what an agent wrote; the digest is right.

Nothing here knows an agent by name: every saved array of every case is perturbed in every way that its type allows.
Loading refuses such a file, or every public call works on what was loaded, and saving it gives the same bytes.

``python tests/helpers/perturbed.py NestedOFUL`` tries all files of an agent, or of all, and prints those that break
the promise.
"""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from helpers import crafted, kept, registry_cases as cases
from unipac import _agents, _storage
from unipac._checks import LARGEST_COUNT

Arrays = dict[str, Any]
Way = Callable[[Any, Any], Any]

HOW_FAR = {"bandit": (2,), "mdp": (4, 1), "search": (1,)}
"""Stages of ``crafted.brought``: something has been learned, and something is under way."""
PULLS = 300


# -- one array ---------------------------------------------------------------------------------


def _one(value: Any) -> Way:
    """One entry replaced, by a value or by a function of it."""

    def way(array: Any, rng: Any) -> Any:
        array = array.copy()
        place = np.unravel_index(int(rng.integers(array.size)), array.shape)
        array[place] = value(array[place]) if callable(value) else value
        return array

    return way


def _every(value: Any) -> Way:
    return lambda array, rng: (value(array) if callable(value) else np.full_like(array, value)).astype(
        array.dtype
    )


def _permuted(array: Any, rng: Any) -> Any:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def _shorter(axis: int) -> Way:
    return lambda array, rng: np.delete(array, -1, axis=axis)


def _longer(axis: int) -> Way:
    return lambda array, rng: np.concatenate([array, np.take(array, [-1], axis=axis)], axis=axis)


ANY: dict[str, Way] = {"permuted": _permuted}
LENGTHS: dict[str, Callable[[int], Way]] = {"shorter": _shorter, "longer": _longer}
BY_TYPE: dict[str, dict[str, Way]] = {
    "f": {
        "sign": _every(np.negative), "one sign": _one(np.negative), "one 1": _one(1.0),
        "huge": _every(1e300), "one huge": _one(1e300), "one large": _one(-1e12), "one tiny": _one(1e-300),
        "NaN": _every(math.nan), "one NaN": _one(math.nan), "one inf": _one(math.inf), "zero": _every(0.0),
    },
    "i": {
        "sign": _every(np.negative), "one sign": _one(np.negative), "one -1": _one(-1), "-7": _every(-7),
        "huge": _every(2**62), "one huge": _one(2**62), "least": _one(-(2**63)), "one more": _one(lambda v: v + 1),
        "zero": _every(0), "one large": _one(10**6),
    },
    "b": {"not": _every(np.logical_not), "one not": _one(np.logical_not)},
}  # fmt: skip


def ways(array: Any) -> dict[str, Way]:
    """How an array can be perturbed."""
    found = {
        f"{word} {axis}": make(axis)
        for word, make in LENGTHS.items()
        for axis in range(array.ndim)
        if array.shape[axis]
    }
    return found | {**ANY, **BY_TYPE[array.dtype.kind]} if array.size else found


# -- one number of the header -------------------------------------------------------------------

NUMBERS = (0, 1, -1, 2, 50, LARGEST_COUNT, 2**64, 1e300, -1e300, 1e-300, 0.5)


def numbers(header: dict[str, Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """Places of numbers in a header, with another value each."""
    found = []
    for place in crafted._places(header):
        value: Any = header
        for key in place:
            value = value[key]
        if isinstance(value, bool):
            found.append((place, not value))
        elif isinstance(value, (int, float)) and place[0] not in ("format", "version"):
            found += [(place, other) for other in (*NUMBERS, -value, value + 1) if other != value]
    return found


def files(agent: Any, rng: Any) -> Iterator[tuple[str, bytes]]:
    """Every perturbed file of an agent, each with a word on what was done."""
    yield from _files(*crafted.contents(agent), rng)


def deployment_files(rng: Any, path: Path) -> Iterator[tuple[str, bytes]]:
    """The same of a deployment; its events are JSON, and are left alone."""
    kept.MAKERS["deployment"]().save(path, replace=True)
    yield from _files(*_storage.read(path), rng)


def _files(header: dict[str, Any], arrays: Arrays, rng: Any) -> Iterator[tuple[str, bytes]]:
    header = {name: value for name, value in header.items() if name not in ("format", "version")}
    for name, array in arrays.items():
        if array.dtype == np.uint8:
            continue
        for word, way in ways(array).items():
            altered = way(array, rng)
            if altered.tobytes() != array.tobytes() or altered.shape != array.shape:
                yield f"{name} {word}", _storage.content(header, {**arrays, name: altered})
    for place, value in numbers(header):
        other = copy.deepcopy(header)
        inner = other
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        yield f"{place} = {value}", _storage.content(other, arrays)


# -- every public call -------------------------------------------------------------------------


def works(agent: Any, case: cases.Case) -> None:
    """Every public call answers, in numbers, with indices that exist."""
    SERVICES[agent.kind](agent, case)
    repr(agent), agent.guarantee, agent.certified, agent.parameters
    copy.copy(agent)


OTHERWISE = (
    str(LARGEST_COUNT),
    "lost to rounding",
    "mdp must be",
    "instance must be",
    "reward_range must be",
)
"""Of refusals that are right: counted as far as it can be, or made for other problems than that of the case."""


def _call(action: Any, *arguments: Any, **named: Any) -> None:
    try:
        action(*arguments, **named)
    except ValueError as error:
        if not any(words in str(error) for words in OTHERWISE):
            raise


def _no_nan(*values: Any) -> None:
    assert not any(np.isnan(value).any() for value in values), "not a number"


def _bandit(agent: Any, case: cases.Case) -> None:
    rng, arms = np.random.default_rng(0), getattr(agent, "arms", None)
    for waiting in list(agent.pending):
        _call(agent.update, waiting, 0.5)
    for _ in range(3):
        X = rng.standard_normal((case.instance.n_actions, agent.dim))
        X *= agent.action_norm / np.linalg.norm(X, axis=1, keepdims=True)
        fixed = case.fixed or getattr(agent, "fixed_actions", None) is not None
        decision = agent.choose(None if fixed else X)
        assert 0 <= decision.index < case.instance.n_actions
        bounds = agent.bounds(X if arms is None else arms)
        _no_nan(decision.mean, decision.width, decision.ucb, decision.lcb, *bounds)
        assert decision.certified or math.isnan(decision.certificate)
        _call(agent.update, decision, 0.25)
    if arms is None:
        _call(agent.play, case.instance, rounds=5)
        _call(agent.absorb, X, np.zeros(len(X))) if agent.absorbs else None
    else:
        _call(agent.play, arms, np.zeros((5, len(arms))))
    agent.levels(), agent.digest(), agent.consistent
    _no_nan(agent.mistake_bound(0.1))


def _mdp(agent: Any, case: cases.Case) -> None:
    mdp, state = case.instance, 0
    for k in range(2 * mdp.horizon + 1):
        if agent._ledger.waiting is None:
            assert 0 <= agent.act(state) < mdp.n_actions
        _call(agent.observe, agent.reward_range[0], state := k % mdp.n_states)
    while agent._ledger.steps:
        agent.act(state)
        agent.observe(agent.reward_range[0], state)
    certificate = agent.certificate(0)
    assert agent.certified or math.isnan(certificate)
    policy = agent.policy()
    assert 0 <= policy(0, 1) < mdp.n_actions
    if agent.n_states:
        _call(agent.play, mdp, episodes=3, seed=2)
    agent.levels()
    _no_nan(agent.mistake_bound(0.1))


def _search(agent: Any, case: cases.Case) -> None:
    answer = agent.answer
    assert answer.pulls == answer.counts.sum() >= 0
    if not agent.done:
        batch = agent.ask()
        assert (batch.counts >= 0).all()
        _call(agent.run, case.instance, max_pulls=agent.pulls + PULLS)
    assert agent.guarantee == "none" or not math.isnan(agent.answer.certificate)


SERVICES = {"bandit": _bandit, "mdp": _mdp, "search": _search}


# -- trials ------------------------------------------------------------------------------------


def held(case: cases.Case, agent: Any, content: bytes, path: Path) -> bool:
    """Whether a file is accepted; an AssertionError unless the agent then works and would write the same bytes."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            other = unipac.load(path, agent=type(agent), **_function(agent))
        except ValueError as error:
            if "allocate" in str(error):
                raise AssertionError("it asked for memory before it looked") from error
            return False
        try:
            assert _storage.content(*_agents.described(other)) == content, "other bytes"
            works(other, case)
            path.write_bytes(_storage.content(*_agents.described(other)))
            again = unipac.load(path, agent=type(agent), **_function(agent))
            assert cases.fingerprint(again) == cases.fingerprint(other), "another agent the second time"
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error
    return True


def _function(agent: Any) -> dict[str, Any]:
    feature_map = getattr(agent, "feature_map", None)
    return {} if feature_map is None or hasattr(feature_map, "parameters") else {"feature_map": feature_map}


def held_deployment(content: bytes, path: Path) -> bool:
    """The same of a deployment."""
    path.write_bytes(content)
    try:
        other = unipac.Deployment.load(path, clock=lambda: 0.0)
    except ValueError:
        return False
    try:
        other.save(path)
        assert path.read_bytes() == content, "other bytes"
        other.drift, other.events(), repr(other)
        for _ in range(30):  # the alarm looks every 25 rounds
            other.close(now=other._uptime.time + 1.0)
            other.reward(other.decide(None, [[0.6, 0.0], [0.0, 0.6]]).id, 0.5)
        other.close(now=other._uptime.time + 10.0)
        other.watch("new", [[1.0, 0.0], [0.0, 1.0]], eps=0.01)
        other.restart()
        other.save(path)
        unipac.Deployment.load(path, clock=lambda: 0.0)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from error
    return True


def trials(case: cases.Case, part: int = 1, seed: int = 0) -> Iterator[tuple[str, Any, bytes]]:
    """One in ``part`` of the perturbed files of a case."""
    rng = np.random.default_rng((seed, part))
    for how_far in HOW_FAR[case.cls.kind]:
        agent = crafted.brought(case, how_far)
        for word, content in files(agent, rng):
            if rng.integers(part) == 0:
                yield f"{how_far}: {word}", agent, content


def check_perturbed(case: cases.Case, folder: Path, part: int = 1, seed: int = 0) -> tuple[int, int]:
    """Try them; how many there were, and how many were accepted."""
    tried = accepted = 0
    for word, agent, content in trials(case, part, seed):
        tried += 1
        try:
            accepted += held(case, agent, content, folder / "agent.npz")
        except AssertionError as error:
            raise AssertionError(f"{case}, {word}: {error}") from error
    return tried, accepted


def main(*names: str) -> None:
    """Try all, of the first case alone after "first"; print what breaks."""
    import tempfile
    import time
    import traceback

    for kind in cases.MAKERS:
        for case in cases.all_cases(kind):
            chosen = not {*names} - {"first"} or case.cls.__name__ in names or kind in names
            if not chosen or ("first" in names and case.label != case.cls.__name__):
                continue
            begin, counts = time.perf_counter(), [0, 0, 0]
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for word, agent, content in trials(case):
                    counts[0] += 1
                    try:
                        counts[1] += held(case, agent, content, Path(folder) / "agent.npz")
                    except AssertionError as error:
                        counts[2] += 1
                        where = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
                        print(
                            f"  {word}: {str(error)[:150]} [{Path(where.filename).name}:{where.lineno}]",
                            flush=True,
                        )
            print(case, counts, f"{time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Files that are well formed but not what an agent wrote: one thing altered, the digest computed anew.

``PYTHONPATH=tests python -m helpers.crafted bandit 0 1000`` tries a thousand and prints those that break a promise.
"""

from __future__ import annotations

import copy
import io
import json
import math
import sys
import warnings
import zipfile
from typing import Any

import numpy as np

import unipac
from helpers import registry_cases as cases
from unipac import _agents, _storage
from unipac.bandits.levelled.agent import OptimisticAgent
from unipac.linalg.levels import NESTED, SINGLE
from unipac.theory import radii

Arrays = dict[str, Any]

MOST_PULLS = 300
"""Of a search that goes on after it was loaded."""


def written(header: dict[str, Any], arrays: Arrays, *, digest: str | None = None) -> bytes:
    """A file with these contents, also such as the library would not write."""
    full = {"digest": _storage.digest(header, arrays) if digest is None else digest, **header}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        members = {"header": np.frombuffer(json.dumps(full).encode(), dtype=np.uint8), **arrays}
        for name, array in members.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), version=(1, 0))
            if np.ndim(array) == 0:  # which ascontiguousarray would give an axis
                content = io.BytesIO()
                np.lib.format.write_array(content, np.asarray(array), version=(1, 0))
            archive.writestr(f"{name}.npy", content.getvalue())
    return stream.getvalue()


def contents(agent: Any) -> tuple[dict[str, Any], Arrays]:
    """Header without digest, and arrays, as ``save`` writes them."""
    header, arrays = _agents.described(agent)
    full = {"format": _storage.FORMAT, "version": _storage.VERSION, **header}
    return json.loads(json.dumps(full)), dict(arrays)


# -- agents in several states ------------------------------------------------------------------


def brought(case: cases.Case, how_far: int) -> Any:
    """An agent of this case: fresh, learned, or in the middle of something."""
    agent = case.make()
    STAGES[case.cls.kind](agent, case, how_far)
    return agent


def _bandit(agent: Any, case: cases.Case, how_far: int) -> None:
    if how_far > 0:
        agent.play(case.instance, rounds=(40, 300)[how_far % 2], seed=3)
    if how_far > 1:
        offered = case.instance.rounds(0, 3, seed=8).actions.reshape(-1, case.instance.n_actions, agent.dim)
        for X in offered:
            agent.choose(None if case.fixed else X)


def _mdp(agent: Any, case: cases.Case, how_far: int) -> None:
    mdp = case.instance
    rng = np.random.default_rng(how_far)
    steps = (0, 60, 120)[min(how_far, 2)] * mdp.horizon + (how_far - 2 if how_far > 2 else 0)
    walk(agent, mdp, rng, steps)
    if how_far == 4:
        agent.act(0)


def walk(agent: Any, mdp: Any, rng: Any, steps: int) -> None:
    """So many steps of act and observe."""
    state = int(rng.integers(mdp.n_states))
    low, high = agent.reward_range
    for _ in range(steps):
        if agent._ledger.waiting is None:
            agent.act(state)
        state = int(rng.integers(mdp.n_states))
        reward = low + (high - low) * rng.random()
        agent.observe(reward, state, bool(rng.random() < 0.05 and low <= 0), bool(rng.random() < 0.05))


def _search(agent: Any, case: cases.Case, how_far: int) -> None:
    agent.run(case.instance, seed=how_far, max_pulls=(0, 30, 200, 10**6, 60)[how_far])


STAGES = {"bandit": _bandit, "mdp": _mdp, "search": _search}


# -- one thing altered -------------------------------------------------------------------------

NUMBERS = (
    0, 1, -1, 2, 3, 7, 500, 10**6, -(10**6), 2**31, 2**62, 2**63, 2**64, 10**30, 10**400, 0.5, 1.0, -0.5, 1e-300,
    1e-320, 1e-50, 1e50, 1e100, 1e300, 1.7e308, math.nan, math.inf, -math.inf,
)  # fmt: skip
OTHERS = (
    True, False, None, "", "x", "finite", "mixture", "theorem", "lazy", "bandit", "mdp", "search", [], {}, [1, 2],
    [[1]], [0.0, 0.5], {"agent": "OFUL"}, {"map": None},
    {"map": "OneHot", "parameters": {"n_states": 3, "n_actions": 2}},
    {"map": "OneHot", "parameters": {"n_states": 50_000, "n_actions": 2}},
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a header."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, part in inner for place in _places(part, (*path, key))]


def _choice(rng: Any, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def _altered_value(rng: Any, value: Any) -> Any:
    known: tuple[Any, ...] = (*NUMBERS, *OTHERS, *unipac.AGENTS)
    if rng.random() < 0.5 and isinstance(value, (int, float)) and not isinstance(value, bool):
        near = (value + 1, value - 1, 2 * value, -value, value + 0.5, float(value), value * (1 + 1e-3))
        return _choice(rng, near)
    if rng.random() < 0.05:
        for _ in range(60):
            value = {"agent": "LinUCB", "parameters": {"dim": value}} if rng.random() < 0.5 else [value]
        return value
    return _choice(rng, known)


def _alter_header(rng: Any, header: dict[str, Any]) -> str:
    path = _choice(rng, _places(header))
    inner: Any = header
    for key in path[:-1]:
        inner = inner[key]
    what = rng.random()
    if what < 0.1:
        del inner[path[-1]]
        return f"without {path}"
    if what < 0.15 and isinstance(inner, dict):
        inner["another"] = _altered_value(rng, 1)
        return f"{path[:-1]} has another"
    if what < 0.2 and isinstance(inner, list):
        inner.append(copy.deepcopy(_choice(rng, inner)))
        return f"{path[:-1]} longer"
    inner[path[-1]] = _altered_value(rng, inner[path[-1]])
    return f"{path} = {str(inner[path[-1]])[:80]}"


def _alter_entry(rng: Any, array: Any) -> Any:
    if array.size == 0:
        return _alter_shape(rng, array)
    array = array.copy()
    place = np.unravel_index(int(rng.integers(array.size)), array.shape)
    old = array[place]
    near = [old + 1, old - 1, old * 2, -old, 0, 1] if array.dtype.kind in "iuf" else [not old]
    if array.dtype.kind == "f":
        near += [
            old * (1 + 1e-9),
            old * (1 + 1e-3),
            math.nan,
            math.inf,
            -math.inf,
            1e300,
            -1e100,
            1e-310,
            1e6,
        ]
    elif array.dtype.kind in "iu":
        near += [10**6, -(10**6), 2**62, -(2**62), 500, 2**31]
    with np.errstate(all="ignore"):
        array[place] = np.array(_choice(rng, near)).astype(array.dtype)
    return array


def _alter_all(rng: Any, array: Any) -> Any:
    kind = array.dtype.kind
    if kind not in "iuf":
        return array[:0]
    ways = [
        lambda a: np.zeros_like(a),
        lambda a: a[::-1].copy() if a.ndim else a,
        lambda a: -a,
        lambda a: a * 2,
        lambda a: a * 0 + 1,
        lambda a: rng.permutation(a.reshape(-1)).reshape(a.shape),
        lambda a: rng.integers(-3, 9, a.shape).astype(a.dtype),
        lambda a: (a + rng.standard_normal(a.shape)).astype(a.dtype),
        lambda a: (a * (1 + 1e-3 * rng.standard_normal(a.shape))).astype(a.dtype),
    ]
    with np.errstate(all="ignore"):
        return _choice(rng, ways)(array)


def _alter_shape(rng: Any, array: Any) -> Any:
    ways = [
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a[:1]]),
        lambda a: np.concatenate([a, a]),
        lambda a: a[:0],
        lambda a: a[..., :-1],
        lambda a: a[..., None],
        lambda a: a[None],
        lambda a: a.reshape(-1),
        lambda a: a.T,
        lambda a: np.asarray(a.reshape(-1)[0]) if a.size else np.zeros((), a.dtype),
        lambda a: np.zeros((0, 2**40), a.dtype),
        lambda a: np.concatenate([a, a], axis=-1),
        lambda a: np.zeros((*a.shape[:1], 1), a.dtype),
    ]
    return _choice(rng, ways)(array) if array.ndim else array[None]


def _alter_type(rng: Any, array: Any) -> Any:
    kinds = ("f4", "f8", ">f8", "i8", "i4", "u8", "?", "c16", "S3", "U2", "M8[s]", [("a", "f8")])
    dtype = np.dtype(_choice(rng, kinds))
    if dtype.kind in "SUMV":
        return np.zeros(array.shape, dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(dtype)


def _alter_arrays(rng: Any, arrays: Arrays) -> str:
    name = _choice(rng, sorted(arrays))
    what = rng.random()
    if what < 0.04:
        del arrays[name]
        return f"without {name}"
    if what < 0.08:
        arrays[f"{name}.more"] = arrays[name]
        return f"{name}.more"
    if what < 0.12:
        arrays[name] = arrays[_choice(rng, sorted(arrays))]
        return f"another for {name}"
    way = _choice(rng, (_alter_entry,) * 5 + (_alter_all, _alter_shape, _alter_type))
    arrays[name] = way(rng, arrays[name])
    return f"{name} by {way.__name__}"


def craft(rng: Any, agent: Any) -> tuple[bytes, Arrays, str]:
    """A file of the agent with one thing altered; its arrays, and what was done."""
    header, arrays = contents(agent)
    words = _alter_header(rng, header) if rng.random() < 0.4 else _alter_arrays(rng, arrays)
    return written(header, arrays), arrays, words


# -- what must be true of an agent that was loaded --------------------------------------------


def check_contents(agent: Any, arrays: Arrays) -> None:
    """(i): its arrays are the file's."""
    _, own = _agents.described(agent)
    assert set(own) == set(arrays), set(own) ^ set(arrays)
    for name, array in own.items():
        assert (array.shape, array.dtype) == (arrays[name].shape, arrays[name].dtype), name
        assert array.tobytes() == np.ascontiguousarray(arrays[name]).tobytes(), name


def check_derived(agent: Any) -> None:
    """(ii): radii, log-determinants, plans and what is certified follow from the rest."""
    assert agent.certified == copy.copy(agent).certified
    if agent.kind == "bandit":
        _check_regressions(agent, getattr(agent, "state", None))
    elif agent.kind == "mdp":
        _check_plan(agent)


def _check_regressions(agent: Any, state: Any) -> None:
    if not isinstance(agent, OptimisticAgent):
        return
    d, lam, state = agent.dim, agent.regularization, getattr(state, "levels", state)
    for level in agent.levels():
        rows = state.rows[level.level - 1]
        R, z = np.triu(rows[:, 1 : d + 1]), rows[:, d + 1]
        logdet = 2 * np.log(R.diagonal() / math.sqrt(lam)).sum()
        assert abs(state.logdet[level.level - 1] - logdet) <= 1e-9 * (1 + abs(logdet))
        delta = agent.delta / 2 if getattr(agent, "all_data", False) else agent.delta
        if getattr(agent, "tight", False) and agent.rule == SINGLE and agent.radius == "mixture":
            delta /= 4  # the other sets have the rest
        share = delta if agent.rule == SINGLE else delta / (level.level * (level.level + 1))
        if agent.radius == "theorem":
            right = radii.theorem(d, level.level, delta)
        else:
            formula = radii._determinant if agent.radius == "determinant" else radii._mixture
            right = formula(logdet, share, agent.noise, agent.norm, lam)
        assert abs(level.radius - right) <= 1e-9 * right
        if agent.rule in (SINGLE, NESTED) and level.level == len(agent.levels()):
            x = np.full(d, agent.action_norm / math.sqrt(d) / 2)
            mean = float(x @ np.linalg.solve(R, z))
            width = float(np.linalg.norm(np.linalg.solve(R.T, x)))
            beta = float(state.beta[level.level - 1])
            found = agent.bounds([x])
            slack = 1e-3 * (abs(mean) + beta * width) + 1e-9 * float(np.abs(z).max())
            least = -math.inf if agent.reward_range is None else agent.reward_range[0]
            assert found.ucb[0] <= max(
                mean + beta * width + slack, least
            )  # bounds lie within the range of rewards


def _check_plan(agent: Any) -> None:
    if not agent.n_states or agent._ledger.steps or agent._ledger.waiting is not None:
        return
    other = copy.copy(agent)
    for first, second in zip(agent._plan()[:3], other._plan()[:3], strict=True):
        np.testing.assert_array_equal(first, second)
    data = getattr(getattr(agent, "_memory", None), "data", None)
    if data is not None:
        d = agent.dim
        used = agent._memory.levels
        R = data.rows[:, :used, :, 1 : d + 1]
        diagonal = np.diagonal(R, axis1=2, axis2=3)
        logdet = 2 * np.log(diagonal / math.sqrt(agent.regularization)).sum(axis=-1)
        np.testing.assert_allclose(data.logdet[:, :used], logdet, rtol=1e-9, atol=1e-9)


def survive(agent: Any, case: cases.Case, path: Any, rng: Any) -> None:
    """(iii): 50 rounds of everything, with nothing but ValueErrors."""
    SURVIVALS[agent.kind](agent, case, path, rng)


def _allowed(action: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return action(*arguments, **named)
    except ValueError:
        return None


def _survive_bandit(agent: Any, case: cases.Case, path: Any, rng: Any) -> None:
    for t in range(50):
        X = rng.standard_normal((4, agent.dim))
        X *= rng.random((4, 1)) * agent.action_norm / np.linalg.norm(X, axis=1, keepdims=True)
        given = None if case.fixed or (agent.fixed_actions is not None and t % 2) else X
        decision = _allowed(agent.choose, given)
        if decision is not None:
            assert 0 <= decision.index < (len(X) if given is not None else 10**9)
            assert decision.certified or math.isnan(decision.certificate)
            _allowed(agent.update, decision, float(rng.standard_normal()))
        if t % 10 == 0:
            waiting = next(iter(agent.pending), None)
            if waiting is not None:
                _allowed(agent.update, waiting, 0.5, times=10**6 if t % 20 else 1)
            _allowed(agent.bounds, X)
            _allowed(agent.play, X, rng.standard_normal((5, 4)))
            _allowed(agent.play, case.instance, rounds=5, start=t)
            _allowed(agent.absorb, X, rng.standard_normal(4))
            if decision is not None and (again := _allowed(agent.choose, given)) is not None:
                _allowed(agent.update, again, 0.5, times=10**6)
            agent.levels(), agent.mistake_bound(0.1), agent.guarantee, repr(agent)
            agent = _again(agent, path)


def _survive_mdp(agent: Any, case: cases.Case, path: Any, rng: Any) -> None:
    mdp = case.instance
    for t in range(50):
        _allowed(walk, agent, mdp, rng, 1)
        if t % 10 == 0:
            agent = _again(agent, path)
            _allowed(agent.certificate, 0)
            policy = agent.policy()
            _allowed(policy, 0, 1)
            agent.levels(), agent.mistake_bound(0.1), agent.guarantee, repr(agent)
    for _ in range(2 * agent.horizon):
        if agent._ledger.steps or agent._ledger.waiting is not None:
            _allowed(walk, agent, mdp, rng, 1)
    _allowed(agent.play, mdp, episodes=10, seed=2)
    _again(agent, path)


def _survive_search(agent: Any, case: cases.Case, path: Any, rng: Any) -> None:
    for t in range(50):
        if agent.done:
            break
        batch = agent.ask()
        if agent.samples == "rewards":
            _allowed(agent.tell, batch.counts * rng.standard_normal(len(batch.counts)))
        else:
            _allowed(agent.run, case.instance, seed=t, max_pulls=agent.pulls + int(batch.counts.sum()))
        if t % 10 == 0:
            agent = _again(agent, path)
            assert agent.answer.pulls == agent.answer.counts.sum()
            agent.guarantee, repr(agent)
    _allowed(agent.run, case.instance, max_pulls=agent.pulls + MOST_PULLS)
    _again(agent, path)


SURVIVALS = {"bandit": _survive_bandit, "mdp": _survive_mdp, "search": _survive_search}


def _again(agent: Any, path: Any) -> Any:
    """Saved and loaded: the same agent."""
    agent.save(path, replace=True)
    other = loaded(agent, path)
    assert cases.fingerprint(other) == cases.fingerprint(agent)
    return other


def loaded(agent: Any, path: Any) -> Any:
    """From a file, with the function of the user's where it was made with one."""
    feature_map = getattr(agent, "feature_map", None)
    return unipac.load(path, feature_map=None if hasattr(feature_map, "parameters") else feature_map)


# -- many of them ------------------------------------------------------------------------------


class Trials:
    """Crafted files of one kind; trial k is a function of k."""

    def __init__(self, kind: str) -> None:
        self.cases = cases.all_cases(kind)
        self.made: dict[tuple[int, int], Any] = {}

    def agent(self, number: int, how_far: int) -> Any:
        """An agent in some state, made once."""
        key = (number, how_far)
        if key not in self.made:
            self.made[key] = brought(self.cases[number], how_far)
        return self.made[key]

    def trial(self, k: int, path: Any) -> tuple[str, bool]:
        """Craft file k and hold its agent to the promises; what it was, and whether it was accepted."""
        rng = np.random.default_rng((k, 77))
        number, how_far = int(rng.integers(len(self.cases))), int(rng.integers(5))
        case = self.cases[number]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # refuted assumptions
            warnings.simplefilter("ignore", UserWarning)  # noise beyond what the agent was told
            agent = self.agent(number, how_far)
            content, arrays, words = craft(rng, agent)
            words = f"{case}, {how_far}: {words}"
            path.write_bytes(content)
            try:
                other = loaded(agent, path)
            except ValueError as error:
                if "allocate" in str(error):  # it asked for memory before it looked
                    raise AssertionError(f"trial {k}, {words}: {error}") from error
                return words, False
            try:
                check_contents(other, arrays)
                check_derived(other)
                survive(other, case, path, rng)
            except Exception as error:
                raise AssertionError(f"trial {k}, {words}: {type(error).__name__}: {error}") from error
        return words, True


def main(kind: str, first: str, count: str) -> None:
    """Try many, print what breaks."""
    import tempfile
    import traceback
    from pathlib import Path

    trials, accepted = Trials(kind), 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(f"/tmp/crafted.{kind}.{first}")
        for k in range(int(first), int(first) + int(count)):
            log.write_text(str(k))
            try:
                accepted += trials.trial(k, Path(folder) / "agent.npz")[1]
            except Exception as error:
                where = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
                print(f"{k}: {error} [{where.filename.rpartition('/')[2]}:{where.lineno}]", flush=True)
    print(f"{kind}: {count} files, {accepted} accepted", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

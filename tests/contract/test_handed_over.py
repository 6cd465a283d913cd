"""A kernel that Python calls hands over numbers, None, or a plain tuple of these.

To hand over a named tuple or an array runs Python code: an interrupt there crashes the process or is lost. The first
test looks at what the kernels return that calls of an agent reach from Python; the second records what Numba unpickles
on the way, as it does for named tuples and for tuples of arrays.
"""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import typeof, types

import unipac
from helpers import any_checks, mdp_checks, registry_cases as cases, search_checks
from helpers.kernels import kernels
from helpers.processes import run
from unipac import _jit
from unipac._linking import Kernel
from unipac.bandits.levelled import kernels as levelled
from unipac.envs import BanditInstance, Rounds

CASES = {case.label: case for kind in cases.MAKERS for case in cases.all_cases(kind)}
TESTS = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

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
    """Every public call."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # equal rounds with noise may refute a range of rewards
        agent = USES[case.cls.kind](case, case.make())
        copy.deepcopy(agent)
        any_checks.by_file(agent, Path(folder) / "agent.npz")


def use_bandit(case: cases.Case, agent: Any) -> Any:
    """With offers that are fixed and that change."""
    rounds = next(iter(case.instance.pieces(0, 12, 3)))
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
    return agent


def use_mdp(case: cases.Case, agent: Any) -> Any:
    """With episodes that are whole, terminated and truncated."""
    mdp = case.instance
    mdp_checks.looped(agent, mdp, 0, 5)
    for end in ({"terminated": True}, {"truncated": True}):
        with contextlib.suppress(ValueError):  # some must be told before that episodes may end
            agent.act(0)
            agent.observe(0.5, 0, **end)
    agent = copy.copy(agent) if agent._ledger.waiting is None else case.make()
    agent.certificate(0), agent.levels(), agent.mistake_bound(0.1)
    agent.policy()(0, 1)
    agent.learn(unipac.envs.LinearMDPEnv(mdp), episodes=2, seed=0)
    if hasattr(agent, "recommended"):
        agent.recommended()
    if agent.absorbs:
        zeros = np.zeros(1, dtype=np.int64)
        episode = zeros, zeros, zeros, np.zeros(1), zeros
        agent.absorb(episode)
        with contextlib.suppress(ValueError):  # not for every horizon
            agent.absorb(episode, times=3)
    if case.features is None:
        agent.play(mdp, episodes=30, seed=3)
        agent.play(mdp, episodes=2, seed=3, initial_states=[0, 1])
        agent.certificate(0)
    return agent


def use_search(case: cases.Case, search: Any) -> Any:
    """By ask and tell, then by run."""
    search_checks.told(search, case.instance, 1, 5)
    repr(search.answer)
    search.run(case.instance, seed=1, max_pulls=search_checks.FEW[case.cls.samples])
    return search


USES = {"bandit": use_bandit, "mdp": use_mdp, "search": use_search}


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

    def form(kernel: Kernel, *arguments: Any) -> Any:  # a profiler does not see calls of what it returns
        found.add((kernel.py_func.__code__.co_filename, kernel.py_func.__name__))
        return form_of(kernel, *arguments)

    form_of, Kernel.form = Kernel.form, form
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        Kernel.form = form_of
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
    return bad, len(found)


@pytest.mark.parametrize("label", CASES)
def test_kernels_hand_over_plain_numbers(label):
    bad, count = offending(lambda: use(CASES[label]))
    assert bad == []
    assert count > 1 or CASES[label].cls.kind != "bandit"  # some searches and references are plain NumPy


def test_the_test_can_fail():
    bad, _ = offending(control)
    assert [text.rpartition(":")[2] for text in bad] == ["_unpack"]


def fits(wanted: types.Type, given: types.Type) -> bool:
    """Whether a form for the one type may be called with the other; nobody but this test looks."""
    if isinstance(wanted, types.Array) and isinstance(given, types.Array):
        same = (wanted.dtype, wanted.ndim) == (given.dtype, given.ndim)
        return same and wanted.layout in (given.layout, "A")
    if isinstance(wanted, types.Float):
        return isinstance(given, types.Number)
    if isinstance(wanted, types.Integer):
        return isinstance(given, types.Integer)
    return wanted == given


WARNS = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""Equal rounds with noise may refute a range of rewards."""


@pytest.fixture
def watched_forms(monkeypatch):
    """Forms that look at what they are called with; yields which kernels were called with what does not fit."""
    form_of, found = Kernel.form, []

    def form(kernel: Kernel, *examples: Any) -> Any:
        made, wanted = form_of(kernel, *examples), [*map(typeof, examples)]

        def called(*arguments: Any) -> Any:
            given = [*map(typeof, arguments)]
            found.append((kernel.py_func.__name__, [*map(fits, wanted, given)]))
            return made(*arguments)

        return called

    monkeypatch.setattr(_jit, "_forms", {})
    monkeypatch.setattr(Kernel, "form", form)
    return found


@WARNS
def test_forms_are_called_with_what_they_were_made_for(watched_forms, tmp_path):
    """One agent after the other, which share the forms, also after they were saved and loaded."""
    for case in cases.all_cases("bandit"):
        agent = use_bandit(case, case.make())
        use_bandit(case, copy.deepcopy(agent))
        use_bandit(case, any_checks.by_file(agent, tmp_path / "agent.npz"))
    guard = next(case for case in cases.all_cases("bandit") if case.cls is unipac.Guarded)
    for more in ({}, {"tight": False}, {"reward_range": (-3, 3)}, {"misspecification": 0.5}, {"noise": 1}):
        use_bandit(guard, unipac.Guarded.made_for(guard.instance, **more))  # its own regression is LinUCB's
    assert {"choose", "learn_one", "decide", "look_and_guard", "verdict"} <= {
        name for name, _ in watched_forms
    }
    assert [(name, fit) for name, fit in watched_forms if not all(fit)] == []


def test_a_form_that_is_called_with_something_else_is_found(watched_forms):
    """The control."""
    agent = unipac.NestedOFUL(2)
    agent._decide(np.eye(3, 2), False)
    assert all(all(fit) for _, fit in watched_forms)
    agent._decide(np.asfortranarray(np.eye(3, 2)), False)
    assert watched_forms[-1] == ("choose", [True] * 5 + [False])


def handing_on(base, changed_x=np.asarray, changed_times=int, changed_actions=np.asarray):
    """A user's class that hands on other arrays and numbers than the library does."""

    class Theirs(base):  # type: ignore[misc,valid-type]
        def _learn(self, x: Any, y: float, level: int, times: int, *rest: Any) -> Any:
            return super()._learn(changed_x(x), y, level, changed_times(times), *rest)

        def _decide(self, X: Any, fixed: bool) -> Any:
            return super()._decide(changed_actions(X), fixed)

    return Theirs


HANDED_ON = {
    "integers": (lambda x: np.rint(x).astype(np.int64), int, np.asarray),
    "single precision": (lambda x: x.astype(np.float32), int, np.asarray),
    "strides": (lambda x: np.repeat(x, 2)[::2], int, np.asarray),
    "small numbers": (np.asarray, np.int8, np.asarray),
    "columns first": (np.asarray, int, np.asfortranarray),
}


@pytest.mark.parametrize("changes", HANDED_ON.values(), ids=HANDED_ON.keys())
@pytest.mark.parametrize("base", [unipac.LinUCB, unipac.NestedOFUL, unipac.Guarded])
def test_types_are_looked_at_in_classes_of_users(base, changes):
    """What they hand on may be of other types; it spoils neither them nor others."""

    def taught(cls):
        agent = cls(unipac.LinUCB(2, alpha=1.0)) if issubclass(cls, unipac.Guarded) else cls(2)
        for times in (1, 1000):
            decision = agent.choose(np.eye(3, 2))
            agent.update(decision, 1.0, times=min(times, 100) if cls is not base else times)
        return agent.rounds, agent.bounds(np.eye(2)).mean.tolist()

    theirs = handing_on(base, *changes)
    usual = handing_on(base)
    _jit._forms.clear()
    assert taught(theirs) == taught(usual)
    found = taught(base)
    _jit._forms.clear()
    assert found == taught(base)
    assert found[0] == 1001


IN_PLACE = {
    "a row": lambda action: setattr(action, "shape", (1, 2)),
    "a column": lambda action: setattr(action, "shape", (2, 1)),
    "sixty axes": lambda action: setattr(action, "shape", (1,) * 60 + (2,)),
    "integers": lambda action: setattr(action, "dtype", np.int64),
    "single precision": lambda action: setattr(action, "dtype", np.float32),
}
AGENTS = {
    "LinUCB": lambda: unipac.LinUCB(2),
    "NestedOFUL": lambda: unipac.NestedOFUL(2),
    "LinTS": lambda: unipac.LinTS(2),
    "Guarded(LinUCB)": lambda: unipac.Guarded(unipac.LinUCB(2)),
    "Guarded(LinTS)": lambda: unipac.Guarded(unipac.LinTS(2)),
}


def after_two_rounds(agent, change=lambda action: None):
    for reward in (1.0, 0.25):
        decision = agent.choose(np.array([[0.6, 0.8], [1.0, 0.0]]))
        change(decision.action)
        agent.update(decision, reward)
    return agent.digest()


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE.keys())
@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS.keys())
def test_users_may_change_the_form_of_an_action_in_place(make, change):
    """A read-only array still takes another shape or type; it spoils neither the agent nor others."""
    right = after_two_rounds(make())
    _jit._forms.clear()
    assert after_two_rounds(make(), change) == right
    assert after_two_rounds(make()) == right
    _jit._forms.clear()


def test_an_action_that_is_no_longer_there_is_refused():
    agent = unipac.NestedOFUL(2)
    decision = agent.choose(np.eye(2))
    decision.action.setflags(write=True)
    decision.action.resize(1, refcheck=False)
    with pytest.raises(ValueError, match=r"decision\.action must be"):
        agent.update(decision, 1.0)
    assert (agent.rounds, list(agent.pending)) == (0, [decision.id])


class _Whole(BanditInstance):
    """An instance of a user's, whose rounds are of whole numbers, by columns."""

    def pieces(self, start, count, seed):
        X = np.asfortranarray(np.array([np.eye(2, dtype=np.int64)] * count))
        yield Rounds(X, X @ self.theta, X @ np.array([1, 0]))

    def _contexts(self, *_):
        raise AssertionError("pieces are its own")


@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS.keys())
def test_rounds_of_an_instance_may_be_of_other_types(make):
    right, whole = after_two_rounds(make()), make()
    _jit._forms.clear()
    whole.play(_Whole("whole", 2, 2, theta=np.array([0.5, 0.25])), rounds=20)
    plain = make()
    plain.play(np.array([np.eye(2)] * 20), np.array([[1.0, 0.0]] * 20))
    assert whole.digest() == plain.digest()
    assert after_two_rounds(make()) == right


def test_nothing_is_unpickled():
    ours, more = json.loads(run(f"import sys; sys.path[:0] = {TESTS!r}{UNPICKLED}"))
    assert ours == []
    assert more == 1

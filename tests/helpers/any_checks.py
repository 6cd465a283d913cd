"""What is promised of agents of every kind, as functions that take a case and raise an ``AssertionError``."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import unipac
from helpers.registry_cases import Case, fingerprint
from unipac import _agents, _storage

ROOT = Path(__file__).parents[2]
FALSE_ALARM = 1e-6
"""How often a check of certificates may fail although all is well."""

GUARANTEES = ("uniform-PAC", "regret", "PAC", "none")


def by_file(agent: Any, path: Path) -> Any:
    """Saved and loaded."""
    agent.save(path, replace=True)
    return unipac.load(path, agent=type(agent), feature_map=_function_of(agent))


def write_unchecked(agent: Any, path: Path) -> None:
    """The file that ``save`` would write, if it did not check it."""
    path.write_bytes(_storage.content(*_agents.described(agent)))


def _function_of(agent: Any) -> Any:
    function = getattr(agent, "feature_map", None)
    return None if hasattr(function, "parameters") else function


WAYS = {
    "file": by_file,
    "copy": lambda agent, path: copy.copy(agent),
    "deepcopy": lambda agent, path: copy.deepcopy(agent),
    "pickle": lambda agent, path: pickle.loads(pickle.dumps(agent)),
}


def check(holds: object, words: str = "") -> None:
    """An assertion that is not lost in a helper."""
    assert holds, words


def promise(test: Callable[..., None]) -> Callable[..., None]:
    """Whatever a check meets, an error of the agent's is a broken promise."""

    @functools.wraps(test)
    def checked(case: Case, *arguments: Any, **named: Any) -> None:
        try:
            test(case, *arguments, **named)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error

    return checked


def same(first: Any, second: Any, words: str = "") -> None:
    """Equal bit for bit, NaN included."""
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second), strict=True, err_msg=words)


def refused(agent: Any, action: Any, *arguments: Any, **named: Any) -> None:
    """The call raises a ``ValueError``, and nothing else has come of it."""
    before = fingerprint(agent)
    raised: BaseException | None = None
    try:
        action(*arguments, **named)
    except BaseException as error:
        raised = error
    words = f"{getattr(action, '__name__', action)}{arguments}{named}"
    check(type(raised) is ValueError, f"{words[:200]} gave {raised!r}")
    check(str(raised), f"{words[:200]} says nothing")
    check(fingerprint(agent) == before, f"{words[:200]} was refused, and changed something")


def few_enough(failures: int, runs: int, delta: float, words: str) -> None:
    """Refuse the claim that each run fails with probability at most ``delta``.

    Null: the claim. ``runs`` independent runs; false alarms with probability at most ``FALSE_ALARM``.
    """
    limit = int(binom.isf(FALSE_ALARM, runs, delta))
    check(failures <= limit, f"{words}: {failures} of {runs} runs fail, where at most {limit} may")


@promise
def check_says_what_is_proven(case: Case) -> None:
    """Guarantee, bound on the mistakes, repr."""
    agent = case.make()
    check(case.cls.theorem in GUARANTEES, case.cls.theorem)
    check(agent.guarantee in (case.cls.theorem, "none"), agent.guarantee)
    check(isinstance(agent.certified, bool), "certified")
    check(repr(agent).startswith(f"<{case.cls.__name__}("), repr(agent))
    if hasattr(agent, "mistake_bound"):
        bounds = [agent.mistake_bound(eps) for eps in (1e-3, 0.01, 0.1, 0.5)]
        finite = [bound for bound in bounds if math.isfinite(bound)]
        check(all(bound > 0 for bound in bounds), f"{bounds}")
        check(bounds == sorted(bounds, reverse=True), f"{bounds}")
        check(not finite or agent.guarantee == "uniform-PAC", f"{agent.guarantee} with bounds {bounds}")
        for eps in (0.0, -1.0, math.nan, "x", None):
            refused(agent, agent.mistake_bound, eps)


def check_is_documented(name: str, cls: type[Any]) -> None:
    """A doctest, a page, a judge, and a file of one screen or two."""
    check(">>>" in (cls.__doc__ or ""), f"{name} has no doctest")
    check("{parameters}" not in (cls.__doc__ or ""), f"{name} does not list its arguments")
    file = Path(inspect.getsourcefile(cls) or "")
    check(len(file.read_text().splitlines()) <= 150, f"{file.name} has more than 150 lines")
    check(
        (ROOT / "docs" / "agents" / f"{file.stem}.md").is_file(),
        f"{name} has no page docs/agents/{file.stem}.md",
    )
    check(judged(name, file.stem), f"no tests/**/test_{file.stem}.py compares {name} with a judge")


def judged(name: str, stem: str) -> bool:
    """Whether the algorithm has a test file of its own name, which makes the agent."""
    for file in (ROOT / "tests").rglob(f"test_{stem}.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            named = isinstance(node, ast.Attribute) and node.attr == name
            said = isinstance(node, ast.Constant) and node.value == name
            if named or said or (isinstance(node, ast.Name) and node.id == name):
                return True
    return False


@promise
def check_parameters_are_fields(case: Case) -> None:
    """Parameters are attributes, and make the agent again."""
    agent = case.make()
    for name, value in agent.parameters.items():
        check(getattr(agent, name) is value, name)
        check(re.fullmatch(r"[a-z_]+", name), name)
    check(
        fingerprint(case.cls(**agent.parameters)) == fingerprint(agent), "another agent of these parameters"
    )

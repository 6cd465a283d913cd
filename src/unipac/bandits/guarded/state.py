"""What Guarded keeps: a stack with all data and the closed levels, beside what its heuristic has learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac._atomic import Change, commit
from unipac._inputs import LARGEST_REWARD
from unipac.bandits.guarded import kernels
from unipac.bandits.guarded.kernels import Rules
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.ledger import Ledger
from unipac.bandits.protocol.records import Level
from unipac.envs import BanditInstance
from unipac.linalg import levels as stack, ridge
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_factors, check_ratio
from unipac.registry import AGENTS
from unipac.theory.bounds import level_size
from unipac.theory.elimination import guarded_mistake_bound

KEPT = 256
"""For so many actions scratch memory is kept."""


class Saved(NamedTuple):
    """What goes to a file: all data, then the closed levels; and what the heuristic has learned."""

    rows: Array
    size: NDArray[np.int64]
    rotations: NDArray[np.int64]
    heuristic: Any


def check_parameters(heuristic: Any, regularization: float, action_norm: float) -> None:
    """Refuse what cannot choose and learn under a guard, and a λ that is too small for one."""
    fresh = isinstance(heuristic, BanditAgent) and heuristic.rounds == 0 and not heuristic.pending
    words = "a fresh bandit agent that absorbs rounds"
    check.require(fresh and heuristic.absorbs, "heuristic", words, heuristic)
    words = f"made for actions of norm {action_norm:g}, as its guard is"
    given = heuristic.action_norm
    check.require(given >= action_norm, "heuristic", words, f"action_norm={given:g}")
    check_ratio(regularization, action_norm)


def heuristic_for(given: Any, instance: BanditInstance, **more: Any) -> Any:
    """An agent as it is; a table of its name and parameters makes one that fits the instance; by default LinUCB."""
    check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
    given = {"agent": "LinUCB", "alpha": 1.0} if given is None else given
    if not isinstance(given, Mapping):
        return given
    parameters = {name: value for name, value in given.items() if name != "agent"}
    return AGENTS[given["agent"]].made_for(instance, **more, **parameters)


def rules_of(agent: Any) -> Rules:
    """The constants of the guard of an agent."""
    assumed = agent.noise, agent.norm, agent.regularization, agent.action_norm
    return Rules(
        agent.gate * agent.dim, agent.delta / 2, *assumed, *(agent.reward_range or (-math.inf, math.inf))
    )


def mistake_bound(eps: float, agent: Any) -> float:
    """As ``theory.guarded_mistake_bound``, with the arguments of an agent."""
    names = ("delta", "gate", "noise", "norm", "regularization", "action_norm")
    return guarded_mistake_bound(eps, agent.dim, **{name: getattr(agent, name) for name in names})


# -- the stack ---------------------------------------------------------------------------------


def _capacity(rules: Rules, rounds: int) -> int:
    """Room for all data and all levels that are closed after so many rounds."""
    return max(0, math.floor(math.log((rounds + 1) / rules.gate, 4))) + 2


def empty(dim: int, rules: Rules, rounds: int = 0) -> Levels:
    """The levels that are closed after so many rounds, without data."""
    levels = stack.empty(_capacity(rules, rounds), dim, rules.regularization)
    kernels.set_radii(levels, rules, 0, 0)
    if len(levels.size) > 2:  # else none is closed, and no kernel is needed to know it
        kernels.close(levels, 0, rounds, rules)
    return levels


def with_room(levels: Levels, rules: Rules, rounds: int) -> Levels:
    """The same levels, with room for those that are closed after so many rounds."""
    needed = _capacity(rules, rounds)
    return levels if needed <= len(levels.size) else stack.grown(levels, needed + 2)


def saved(levels: Levels, heuristic: Any) -> Saved:
    """What goes to a file."""
    used = kernels.closed_levels(levels.rows) + 1
    return Saved(levels.rows[:used], levels.size[:used], levels.rotations[:used], heuristic)


def restored(saved: Saved, dim: int, rules: Rules, rounds: int) -> Levels:
    """The levels of a file; a ``ValueError`` if no data could have led to them."""
    levels = empty(dim, rules, rounds)
    closed = kernels.closed_levels(levels.rows)
    shapes = [array.shape for array in saved[:3]]
    sound = shapes == [(closed + 1, dim, dim + 2), (closed + 1,), (closed + 1,)]
    if not sound or saved.size.min() < 0 or saved.size[0] != rounds or saved.rotations.min() < 0:
        raise ValueError("the levels are not those of any data")
    for held, array in zip((levels.rows, levels.size, levels.rotations), saved[:3], strict=True):
        held[: closed + 1] = array
    for i in range(closed + 1):
        check_factors(levels.rows[i], rules.regularization, rounds, rules.action_norm, LARGEST_REWARD)
        levels.logdet[i] = ridge.log_determinant(levels.rows[i], rules.regularization)
    kernels.set_radii(levels, rules, 0, closed)
    return levels


def bounds(levels: Levels, X: Array) -> tuple[Array, Array, Array, Array]:
    """Mean, width, ucb and lcb of every row of X, in the set of all data."""
    mean, width2 = np.empty(len(X)), np.empty(len(X))
    evaluate_all(levels.rows, 1, 1, X, 0, len(X), mean, width2)
    width = np.sqrt(width2)
    bonus = levels.beta[0] * width
    return mean, width, mean + bonus, mean - bonus


def listed(levels: Levels, rules: Rules) -> list[Level]:
    """Explored rounds, the proven bound on them, and radius of each closed level."""
    dim, found = levels.rows.shape[1], []
    for i in range(1, kernels.closed_levels(levels.rows) + 1):
        bound = level_size(dim, i, rules.regularization, rules.action_norm)
        found.append(Level(i, int(levels.size[i]), bound, float(levels.beta[i])))
    return found


# -- scratch memory ----------------------------------------------------------------------------


class Scratch:
    """Scratch memory of kernels; kept, as making it takes as long as using it."""

    def __init__(self) -> None:
        self._work: dict[tuple[int, int], kernels.Work] = {}
        self._learning: dict[int, kernels.Scratch] = {}

    def choosing(self, levels: Levels, n: int) -> kernels.Work:
        """For a choice among n actions."""
        capacity, dim, _ = levels.rows.shape
        if n > KEPT:
            return kernels.workspace(n, dim, capacity)
        if (n, capacity) not in self._work:
            self._work = {(n, capacity): kernels.workspace(n, dim, capacity)}
        return self._work[n, capacity]

    def learning(self, levels: Levels) -> kernels.Scratch:
        """For a round to be learned."""
        capacity, dim, _ = levels.rows.shape
        if capacity not in self._learning:
            self._learning = {capacity: kernels.scratch(capacity, dim)}
        return self._learning[capacity]


# -- the heuristic -----------------------------------------------------------------------------


def shown(text: str, heuristic: BanditAgent) -> str:
    """The repr of a guard, with its heuristic as it was given: what that has learned is counted by the guard."""
    own = repr(heuristic)
    return text.replace(own, own[1:].rpartition(": ")[0])


def picked(heuristic: BanditAgent, X: Array, alive: NDArray[np.int64]) -> int:
    """The row of X that the heuristic picks from the alive; a ``ValueError`` if it is none of them."""
    index = heuristic._decide(X[alive], False)[0]
    sound = isinstance(index, (int, np.integer)) and 0 <= index < len(alive)
    words = f"such that it picks one of {len(alive)} actions, 0 to {len(alive) - 1}"
    check.require(sound, "heuristic", words, f"{index!r} from {type(heuristic).__name__}")
    return int(alive[index])


def learning(guard: Any, x: Array, y: float, times: int) -> list[Change]:
    """The changes by which the heuristic of a guard learns a round.

    A user's heuristic may run Python as it learns, where an exception can come at any moment: so a copy of it learns,
    and takes its place.
    """
    heuristic: BanditAgent = guard._inner
    if AGENTS.get(type(heuristic).__name__) is type(heuristic):
        return heuristic._changes(heuristic._learn(x, y, 0, times))
    other = heuristic._twin()
    give(heuristic._ledger, other)
    commit(other._changes(other._learn(x, y, 0, times)))
    return [(setattr, guard, "_inner", other)]


def give(ledger: Ledger, agent: Any) -> None:
    """Let an agent, and the ones inside it, count and draw as their guard does."""
    while agent is not None:
        agent._ledger, agent = ledger, getattr(agent, "_inner", None)

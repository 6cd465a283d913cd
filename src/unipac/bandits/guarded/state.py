"""What Guarded keeps: a stack with all data and the closed levels, sets, and what its heuristic has learned."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac._atomic import Change, commit
from unipac._inputs import LARGEST_REWARD, check_norms, floats
from unipac._jit import form, forms
from unipac.bandits.guarded import kernels, learning as compiled
from unipac.bandits.guarded.learning import Rules
from unipac.bandits.levelled.kernels import record
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import of_step, twin_of
from unipac.bandits.protocol.ledger import Ledger
from unipac.bandits.protocol.records import Level, Trace
from unipac.bandits.sets import agent as parameters, certify, state as tight
from unipac.bandits.sets.state import SavedSets, State
from unipac.envs import BanditInstance
from unipac.linalg import blocks, levels as stack
from unipac.linalg.fast.evaluate import evaluate_all
from unipac.linalg.levels import Levels
from unipac.linalg.soundness import check_blocks, check_ratio
from unipac.registry import AGENTS, ours
from unipac.theory.bounds import level_size
from unipac.theory.elimination import guarded_mistake_bound

KEPT = 256
"""Scratch memory is kept for at most this many actions."""


class Saved(NamedTuple):
    """What goes to a file: all data, then the closed levels; the sets; and what the heuristic has learned."""

    rows: Array
    size: NDArray[np.int64]
    rotations: NDArray[np.int64]
    sets: SavedSets
    heuristic: Any


def check_parameters(heuristic: Any, regularization: float, action_norm: float) -> None:
    """Refuse heuristics that cannot choose and learn under a guard, and a λ that is too small."""
    fresh = isinstance(heuristic, BanditAgent) and heuristic.rounds == 0 and not heuristic.pending
    words = "a fresh bandit agent that absorbs rounds"
    check.require(fresh and heuristic.absorbs, "heuristic", words, heuristic)
    words = f"made for actions of norm {action_norm:g}, as its guard is"
    given = heuristic.action_norm
    check.require(given >= action_norm, "heuristic", words, f"action_norm={given:g}")
    check_ratio(regularization, action_norm)


def fitting(instance: BanditInstance, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The parameters of a guard that fits an instance; ``parameters`` take precedence."""
    heuristic = heuristic_for(parameters.pop("heuristic", None), instance, **more)
    told = {name: getattr(instance, name) for name in ("noise", "norm", "blocks")}
    return {"heuristic": heuristic, **told, **parameters}


def heuristic_for(given: Any, instance: BanditInstance, **more: Any) -> Any:
    """The given agent; or, from a table with name and parameters, one that fits the instance; by default LinUCB."""
    check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
    given = {"agent": "LinUCB", "alpha": 1.0} if given is None else given
    if not isinstance(given, Mapping):
        return given
    parameters = {name: value for name, value in given.items() if name != "agent"}
    return AGENTS[given["agent"]].made_for(instance, **more, **parameters)


def regressions(heuristic: Any, regularization: float) -> tuple[bool, bool]:
    """Whether it chooses by one compiled regression on all data alone, and whether that equals the guard's own."""
    single = vars(type(heuristic)).get("single_regression", False) and heuristic.fixed_actions is None
    single = single and not getattr(heuristic, "_chooses_by_sets", False)
    return single, single and heuristic.regularization == regularization


def inner_of(heuristic: Any, ledger: Ledger) -> Any:
    """A copy that counts and draws by a ledger, without sets that only its own certificates would use."""
    inner = copy.copy(heuristic)
    if regressions(heuristic, 1.0)[0] and getattr(heuristic, "tight", False):
        inner = type(heuristic)(**{**heuristic.parameters, "tight": False, "rewards_within": None})
    give(ledger, inner)
    return inner


def decide(agent: Any, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
    """What the guard, or the heuristic, plays among the rows of X, and what is known of it."""
    X = agent._scratch.usual("actions", X)
    if not fixed:
        check_actions(X, agent)
    levels, rules, inner = agent.state.levels, agent._rules, agent._inner
    sets, spare = agent._scratch.sets(agent.state, len(X))
    work = agent._scratch.choosing(levels, len(X))
    known, run = (levels, rules, agent.misspecification), agent._scratch.run
    if agent._shared:
        verdict: tuple[Any, ...] = run(kernels.decide, *known, sets, spare, inner._confidence, X, work)
        return verdict
    k, level, count, last = run(kernels.look_and_guard, *known, X, work)
    k = picked(inner, X, work.alive[:count]) if k < 0 else k
    return k, level, *run(kernels.verdict, levels, rules, sets, spare, X, k, last, work)


def learned(agent: Any, x: Array, y: float, level: int, times: int) -> Change:
    """The change by which the levels and sets of an agent learn a round."""
    levels, scratch = make_room(agent, times), agent._scratch
    x = scratch.usual("x", x)
    known = levels, agent._rules, *scratch.sets(agent.state, 1)
    arguments = *known, x, y, level, times, agent._ledger.late, scratch.learning(levels)
    return scratch.form(compiled.learn_one, *arguments), *arguments


def play(agent: Any, X: Array, y: Array, truth: Array, trace: Trace) -> None:
    """Rounds of a guard over a single regression, compiled, into a trace."""
    levels, (sets, spare) = make_room(agent, len(y)), agent._scratch.sets(agent.state, X.shape[-2])
    rounds = agent._inner._memory, agent._shared, X[None] if X.ndim == 2 else X, y, truth
    sound, told = agent.consistent, record(trace)
    _, refuted = agent._ledger.run(kernels.play, levels, agent._rules, sets, spare, *rounds, not sound, told)
    if refuted and sound:
        agent._warn_of_refutation()


def refutation(state: State) -> tuple[float, bool] | None:
    """What is certified if the sets are refuted by their data; None if they are not."""
    return (math.nan, True) if tight.refuted(state.sets) else None


def check_actions(X: Array, agent: Any) -> None:
    """Refuse actions that are too long, or have entries in two blocks."""
    check_norms("actions", X, agent.action_norm)
    parameters.check_blocks("actions", X, agent.blocks)


def rules_of(agent: Any) -> Rules:
    """The constants of the guard of an agent, whose parameters are checked."""
    parameters.check_parameters(agent, agent.tight)
    assumed = agent.noise, agent.norm, agent.regularization, agent.action_norm
    shares = agent.delta / 2, agent.delta / 8 if agent.tight else agent.delta / 2
    return Rules(agent.gate * agent.dim, *shares, *assumed, *(agent.reward_range or (-math.inf, math.inf)))


def kinds(agent: Any) -> tuple[Any, ...]:
    """The values that determine the types of kernel arguments; () for a user's class, which may use any types."""
    if not ours(agent):
        return ()
    constants = *agent._rules, agent.misspecification, *(agent._inner._confidence if agent._shared else ())
    return agent.tight, agent._shared, *map(type, constants)


def empty_sets(agent: Any) -> Array:
    """The sets behind certificates: A and B with 3δ/16 each, beside δ/2 for the levels and δ/8 for all data."""
    return parameters.no_data(agent, 3 * agent.delta / 16) if agent.tight else tight.NONE.copy()


def mistake_bound(eps: float, agent: Any) -> float:
    """As ``theory.guarded_mistake_bound``, with the arguments of an agent."""
    names = ("delta", "gate", "noise", "norm", "regularization", "action_norm", "misspecification")
    return guarded_mistake_bound(eps, agent.dim, **{name: getattr(agent, name) for name in names})


# -- the stack ---------------------------------------------------------------------------------


def _capacity(rules: Rules, rounds: int) -> int:
    """Room for all data and all levels that are closed after so many rounds."""
    return max(0, math.floor(math.log((rounds + 1) / rules.gate, 4))) + 2


def empty(agent: Any, rules: Rules, rounds: int = 0) -> Levels:
    """The levels that are closed after so many rounds, without data."""
    levels = stack.empty(_capacity(rules, rounds), agent.dim, rules.regularization, agent.blocks)
    compiled.set_radii(levels, rules, 0, 0)
    if len(levels.size) > 2:  # otherwise none is closed, and no kernel needs to be compiled
        compiled.close(levels, 0, rounds, rules)
    return levels


def make_room(agent: Any, rounds: int) -> Levels:
    """The levels of an agent, with room for those that are closed after so many further rounds."""
    needed = _capacity(agent._rules, agent.rounds + rounds)
    if needed > len(agent.state.levels.size):
        agent.state = agent.state._replace(levels=stack.grown(agent.state.levels, needed + 2))
    levels: Levels = agent.state.levels
    return levels


def saved(state: State, heuristic: Any) -> Saved:
    """What goes to a file."""
    levels = state.levels
    used = compiled.closed_levels(levels.rows) + 1
    parts = levels.rows[:used], levels.size[:used], levels.rotations[:used]
    return Saved(*parts, tight.saved(state.sets), heuristic)


def restored(saved: Saved, agent: Any) -> State:
    """The levels and sets of a file; a ``ValueError`` if no data could have led to them."""
    rules, rounds = agent._rules, agent.rounds
    levels = empty(agent, rules, rounds)
    closed = compiled.closed_levels(levels.rows)
    shapes = [array.shape for array in saved[:3]]
    sound = shapes == [(closed + 1, *levels.rows.shape[1:]), (closed + 1,), (closed + 1,)]
    if not sound or saved.size.min() < 0 or saved.size[0] != rounds or saved.rotations.min() < 0:
        raise ValueError("the levels are not those of any data")
    for held, array in zip((levels.rows, levels.size, levels.rotations), saved[:3], strict=True):
        held[: closed + 1] = array
    for i in range(closed + 1):
        check_blocks(levels.rows[i], rules.regularization, rounds, rules.action_norm, LARGEST_REWARD)
        levels.logdet[i] = blocks.log_determinant(levels.rows[i], rules.regularization)
    compiled.set_radii(levels, rules, 0, closed)
    return State(levels, tight.restored(saved.sets, empty_sets(agent), rounds))


def bounds(agent: Any, X: Array) -> tuple[Array, Array, Array, Array]:
    """Mean, width, ucb and lcb of every row of X, by the set of all data and the further sets."""
    parameters.check_blocks("actions", X, agent.blocks)
    levels = agent.state.levels
    sets, spare = agent._scratch.sets(agent.state, len(X))
    if sets is not None:
        out = np.empty((4, len(X)))
        certify.bound_all(sets, spare, levels.rows, 0, float(levels.beta[0]), int(levels.size[0]), X, out)
        return out[0], out[1], out[2], out[3]
    mean, width2 = np.empty(len(X)), np.empty(len(X))
    evaluate_all(levels.rows, 1, 1, X, 0, len(X), mean, width2)
    width = np.sqrt(width2)
    bonus = levels.beta[0] * width
    return mean, width, mean + bonus, mean - bonus


def covers(agent: Any, truth: Array) -> bool:
    """Whether the truth is in all sets of an agent."""
    sets, spare = agent._scratch.sets(agent.state, 0)
    return compiled.covers_all(agent.state.levels, agent._rules, sets, spare, truth)


def listed(levels: Levels, rules: Rules, zeta: float) -> list[Level]:
    """Explored rounds, the proven bound on them, and radius of each closed level, under ζ."""
    dim, found = levels.rows.shape[1], []
    for i in range(1, compiled.closed_levels(levels.rows) + 1):
        bound = level_size(dim, i, rules.regularization, rules.action_norm)
        radius = compiled.radius_of(levels, rules, i, zeta) if zeta > 0.0 else float(levels.beta[i])
        found.append(Level(i, int(levels.size[i]), bound, radius))
    return found


# -- scratch memory ----------------------------------------------------------------------------


class Scratch:
    """Scratch memory and forms of kernels; they are kept, as making them takes as long as using them."""

    # Without a kind, every call looks at the types of all arguments.
    def __init__(self, *kind: Any) -> None:
        self._spare = tight.Spare()
        self._work: dict[tuple[int, int], kernels.Work] = {}
        self._learning: dict[int, compiled.Scratch] = {}
        self._forms = forms(Scratch, *kind) if kind else None

    def form(self, kernel: Any, *arguments: Any) -> Any:
        """The form of a kernel for the argument types that all agents of this kind share."""
        if self._forms is None:
            return kernel
        if kernel not in self._forms:
            self._forms[kernel] = form(kernel, *arguments)
        return self._forms[kernel]

    def usual(self, name: str, array: Array) -> Array:
        """An array in the form that kernels accept; for a user's class it is converted."""
        return floats(name, array) if self._forms is None else array

    def run(self, kernel: Any, *arguments: Any) -> Any:
        """Call the form of a kernel."""
        return self.form(kernel, *arguments)(*arguments)

    def choosing(self, levels: Levels, n: int) -> kernels.Work:
        """Scratch memory for a choice among n actions."""
        capacity = len(levels.size)
        if n > KEPT:
            return kernels.workspace(n, levels.rows)
        if (n, capacity) not in self._work:
            self._work = {(n, capacity): kernels.workspace(n, levels.rows)}
        return self._work[n, capacity]

    def sets(self, state: State, n: int) -> tuple[Array | None, Array]:
        """The sets behind certificates, if there are any, and scratch memory for them and n actions."""
        sets = state.sets
        return (sets, self._spare.room(n, sets)) if sets.size else (None, tight.NONE)

    def learning(self, levels: Levels) -> compiled.Scratch:
        """Scratch memory for learning a round."""
        capacity, dim, _ = levels.rows.shape
        if capacity not in self._learning:
            self._learning = {capacity: compiled.scratch(capacity, dim)}
        return self._learning[capacity]


# -- the heuristic -----------------------------------------------------------------------------


def shown(text: str, heuristic: BanditAgent) -> str:
    """The repr of a guard; its heuristic is shown as the user passed it, without the rounds it has learned."""
    own = repr(heuristic)
    return text.replace(own, own[1:].rpartition(": ")[0])


def picked(heuristic: BanditAgent, X: Array, alive: NDArray[np.int64]) -> int:
    """The row of X that the heuristic picks among the alive actions; a ``ValueError`` if it picks none of them."""
    index = heuristic._decide(X[alive], False)[0]
    sound = isinstance(index, (int, np.integer)) and 0 <= index < len(alive)
    words = f"such that it picks one of {len(alive)} actions, 0 to {len(alive) - 1}"
    check.require(sound, "heuristic", words, f"{index!r} from {type(heuristic).__name__}")
    return int(alive[index])


def learning(guard: Any, x: Array, y: float, times: int) -> list[Change]:
    """The changes by which the heuristic of a guard learns a round.

    A user's heuristic may run Python as it learns, where an exception can come at any moment. So a copy of it learns,
    and then takes its place.
    """
    heuristic: BanditAgent = guard._inner
    if ours(heuristic):
        return of_step(heuristic, heuristic._learn(x, y, 0, times))
    other = twin_of(heuristic)
    give(heuristic._ledger, other)
    commit(of_step(other, other._learn(x.copy(), y, 0, times)))  # it may change what it is given
    return [(setattr, guard, "_inner", other)]


def give(ledger: Ledger, agent: Any) -> None:
    """Let an agent, and the ones inside it, count and draw by this ledger."""
    while agent is not None:
        agent._ledger, agent = ledger, getattr(agent, "_inner", None)

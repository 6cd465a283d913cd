"""The state of ``values.plan`` in memory and in files: room for levels and outcomes, and checks of its soundness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unipac._memory import require_room
from unipac.linalg import ridge
from unipac.linalg.levels import MOST_LEVELS, REFRESH_OFTEN, grown_array
from unipac.linalg.soundness import check_factors, check_shape
from unipac.mdp.linear.values import plan as lsvi
from unipac.mdp.linear.values.bounds import Data, Rules, share
from unipac.mdp.linear.values.plan import INITIAL_LEVELS, STALE, Planned, State
from unipac.mdp.linear.values.rewards import recovered
from unipac.mdp.protocol.records import StageLevel
from unipac.mdp.tabular.counting import counts as counting
from unipac.theory.bounds import level_size

BY_LEVEL = ("rows", "arrivals", "logdet", "size", "rotations")
PLANNED_BY_LEVEL = ("rows", "arrivals", "logdet")


def check_room(rules: Rules, levels: int) -> None:
    """Refuse to allocate more than is free, and say what it would be."""
    places, stages = rules.layout, rules.horizon - 1
    B, D = len(places.sizes), places.x.shape[1]
    numbers = 2 * stages * B * levels * (D * (D + 2) + rules.outcomes * D)
    numbers += rules.horizon * (B * D * (D + 2) + 4 * places.block.size + 6 * places.cells)
    what = f"{rules.horizon} stages and {levels} levels of {B} blocks of {D} features"
    require_room("features", what, 8 * numbers)


def _with_levels(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """An array (stages, blocks, levels, ...) with room for ``capacity`` levels, or cut to them."""
    moved = np.moveaxis(array, 2, 0)
    moved = moved[:capacity] if capacity <= len(moved) else grown_array(moved, capacity)
    return np.ascontiguousarray(np.moveaxis(moved, 0, 2))


def _resized(parts: Any, names: tuple[str, ...], capacity: int) -> Any:
    return parts._replace(**{name: _with_levels(getattr(parts, name), capacity) for name in names})


def with_room(state: State, rules: Rules) -> State:
    """The same state with room for an episode."""
    data, planned = state.data, state.planned
    if lsvi.has_room(data, rules.horizon):
        return state
    capacity = data.size.shape[2]
    if data.open.max(initial=0) >= capacity:
        capacity *= 2
        check_room(rules, capacity)
        data, planned = (
            _resized(data, BY_LEVEL, capacity),
            _resized(planned, PLANNED_BY_LEVEL, capacity),
        )
    counts = counting.with_room(data.counts, rules.horizon)
    times = grown_array(planned.times, len(counts.times))
    return state._replace(data=data._replace(counts=counts), planned=planned._replace(times=times))


def levels(data: Data, rules: Rules) -> list[StageLevel]:
    """Size, bound on the size and largest radius of each level of each stage, all blocks together."""
    rows = []
    # At least one, although none may be open yet: so `unipac warm` compiles what is called.
    most = max(1, int(data.open.max(initial=0)))
    shares = [[share(rules, i + 1, last) for last in (False, True)] for i in range(most)]
    for h in range(data.open.shape[0]):
        L = int(data.open[h].max(initial=0))
        for i in range(L):
            log = rules.log_sets + shares[i][i == L - 1]
            largest = float(data.logdet[h, :, i].max()) + 2.0 * log
            sizes = [level_size(int(k), i + 1, rules.regularization) for k in rules.layout.sizes]
            bound = sum(sizes) if rules.levelled else math.inf
            size = int(data.size[h, :, i].sum())
            rows.append(StageLevel(h + 1, i + 1, size, float(bound), 0.5 * math.sqrt(largest)))
    return rows


# -- files ---------------------------------------------------------------------------------------------


def saved(state: State) -> State:
    """What goes to a file: the levels in use, and nothing that follows from the rest."""
    L = int(state.data.open.max(initial=0))
    data = _resized(state.data, BY_LEVEL, L)
    planned = _resized(state.planned, PLANNED_BY_LEVEL, L)
    return state._replace(
        data=data._replace(logdet=data.logdet[:, :, :0]),
        planned=planned._replace(logdet=planned.logdet[:, :, :0]),
        rewards=state.rewards._replace(
            **{name: getattr(state.rewards, name)[:0] for name in state.rewards._fields[2:]}
        ),
        action=state.action[:0],
        bound=state.bound[:0],
        lower=state.lower[:0],
    )


def restored(loaded: State, rules: Rules, episodes: int) -> State:
    """The state from a file, its plan computed from the data of that plan; refused unless some data lead to it."""
    data, planned = loaded.data, loaded.planned
    L = data.size.shape[2]
    like = lsvi.empty(rules, L)
    for name in ("rows", "arrivals", "size", "rotations", "open"):
        check_shape(getattr(data, name), getattr(like.data, name).shape)
    for name in ("rows", "arrivals"):
        check_shape(getattr(planned, name), getattr(like.planned, name).shape)
    for array in (loaded.age, loaded.refuted):
        check_shape(array, (1,))
    _check_counts(loaded, like, rules)
    sound = (
        L <= MOST_LEVELS
        and bool(((data.open >= 1) & (data.open <= L)).all())
        and data.size.min(initial=0) >= 0
        and data.size.sum(axis=(1, 2)).max(initial=0) <= episodes
        and 0 <= data.rotations.min(initial=0) <= data.rotations.max(initial=0)
        and data.rotations.max(initial=0) <= max(REFRESH_OFTEN, rules.layout.x.shape[1])
        and loaded.age[0] in (lsvi.FRESH, lsvi.OLD, STALE)
        and loaded.refuted[0] in (0, 1)
    )
    if not sound:
        raise ValueError("the levels are not those of so many episodes")
    data = data._replace(logdet=_log_determinants(data.rows, data, rules))
    stale = loaded.age[0] == STALE
    zeros = np.zeros_like(data.logdet)
    planned = planned._replace(logdet=zeros if stale else _log_determinants(planned.rows, data, rules))
    rewards = recovered(loaded.rewards.order, loaded.rewards.observed, rules.layout, rules.dim)
    state = State(data, rewards, planned, loaded.age, loaded.refuted, like.action, like.bound, like.lower)
    if not stale:
        lsvi.compute(state, _at_the_plan(data, planned), rules)
    capacity = max(INITIAL_LEVELS, L)
    data, planned = _resized(data, BY_LEVEL, capacity), _resized(planned, PLANNED_BY_LEVEL, capacity)
    return state._replace(data=data, planned=planned)


def _at_the_plan(data: Data, planned: Planned) -> Data:
    """The data of the last plan; outcomes that came later have the count 0."""
    counts = data.counts._replace(visits=planned.visits, times=planned.times)
    return data._replace(counts=counts, rows=planned.rows, arrivals=planned.arrivals, logdet=planned.logdet)


def _check_counts(loaded: State, like: State, rules: Rules) -> None:
    counts, planned = loaded.data.counts, loaded.planned
    check_shape(counts.visits, like.data.counts.visits.shape)
    counting.check_counts(counts, rules.outcomes)
    used = int(counts.used[0])
    sound = (
        planned.visits.shape == counts.visits.shape
        and planned.times.shape == counts.times.shape
        and bool(((planned.visits >= 0) & (planned.visits <= counts.visits)).all())
        and bool(((planned.times >= 0) & (planned.times <= counts.times))[:used].all())
        and bool((counts.following[:used] >= 0).all() and not counts.value[:used].any())
        and not counting.has_several_rewards(counts)  # no outcome twice in a cell
    )
    if not sound:
        raise ValueError("the counts contradict each other")


def _log_determinants(rows: NDArray[np.float64], data: Data, rules: Rules) -> NDArray[np.float64]:
    """Log det of every level in use, whose factors and sums must be sound."""
    logdet = np.zeros(data.size.shape)
    members = np.cumsum(data.size, axis=2)
    for h, b in np.ndindex(data.open.shape):
        for i in range(int(data.open[h, b])):
            check_factors(rows[h, b, i], rules.regularization, float(members[h, b, i]), 1.0, 0.0)
            logdet[h, b, i] = ridge.log_determinant(rows[h, b, i], rules.regularization)
    return logdet

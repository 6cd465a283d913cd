"""The memory: transitions of every stage in slots, with counts; rewards without noise.

A slot holds the feature taken and the features of the next state. With numbered states, equal transitions share a slot,
which a hash table finds; with a feature map each transition has its own. The columns of ``times`` count the transitions
of a slot: all of them; those since the plan in use, the waiting plan and the newest plan; and those that the kept
evaluations of the first two used. So the data of a plan, or of an evaluation, are differences of columns.

Rewards without noise are recovered from d independent visits per stage. The memory keeps orthonormal directions e_j of
the visited features, with ρ_j = ⟨e_j, μ⟩ up to err_j. For every z, with v the part of z that is orthogonal to them,

    |⟨z, μ⟩ − ⟨z, μ̂⟩| ≤ |z| tiny + |v| √(d − Σ (|ρ_j| − err_j)₊²),   μ̂ = Σ ρ_j e_j        as ‖μ‖² ≤ d

where ``tiny`` bounds rounding and the effect of all err_j. With d directions, v is nothing but rounding as well.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg.levels import grown_array
from unipac.mdp.linear.star.chains import FAR, MU, PERP, TINY, Chains, Rules

ALL, SINCE, JUDGED = (cast(int, np.int64(k)) for k in (0, 1, 4))
"""First columns: all; since plans 0 to 2 (in use, waiting, newest); used by the evaluations of plans 0 and 1."""
COLUMNS = 6

END = -1
"""The number of the next state if the episode ends there."""
OTHER = -2
"""The number of any other next state, if states have no numbers."""

INITIAL_SLOTS = 64


class Slots(NamedTuple):
    """Transitions of R stages, room for N slots each."""

    source: Integers
    """(R, N): state · A + action, or 0 where states have no numbers."""
    target: Integers
    """(R, N): the next state, ``END`` or ``OTHER``."""
    paid: Array
    """(R, N): the reward, where rewards have noise, else 0."""
    times: Integers
    """(6, R, N)."""
    used: Integers
    """(R,)."""
    taken: Array
    """(R, N, d)."""
    following: Array
    """(R, N, A, d)."""
    table: Integers
    """(R, T): the hash table: a slot plus 1, or 0 if the entry is empty. T is a power of 2."""
    by_source: Integers
    """(R, S A): the first slot of a source plus 1, or 0; (R, 0) where states have no numbers."""
    by_target: Integers
    """(R, S): the same of a target."""
    same_source: Integers
    """(R, N): the first slot with the same source, so that what depends on it is computed once."""
    same_target: Integers
    """(R, N)."""
    choice: Integers
    """(2, R, N): the action of plans 0 and 1 at the next state."""
    gain: Array
    """(2, R, N): their f there."""
    decided: Integers
    """(2, R): how many slots have both."""


def no_slots(stages: int, n_states: int, n_actions: int, dim: int, room: int = INITIAL_SLOTS) -> Slots:
    """Without transitions."""
    return Slots(
        source=np.zeros((stages, room), dtype=np.int64),
        target=np.zeros((stages, room), dtype=np.int64),
        paid=np.zeros((stages, room)),
        times=np.zeros((COLUMNS, stages, room), dtype=np.int64),
        used=np.zeros(stages, dtype=np.int64),
        taken=np.zeros((stages, room, dim)),
        following=np.zeros((stages, room, n_actions, dim)),
        table=np.zeros((stages, table_size(room)), dtype=np.int64),
        by_source=np.zeros((stages, n_states * n_actions), dtype=np.int64),
        by_target=np.zeros((stages, n_states), dtype=np.int64),
        same_source=np.zeros((stages, room), dtype=np.int64),
        same_target=np.zeros((stages, room), dtype=np.int64),
        choice=np.zeros((2, stages, room), dtype=np.int64),
        gain=np.zeros((2, stages, room)),
        decided=np.zeros((2, stages), dtype=np.int64),
    )


def table_size(room: int) -> int:
    """A power of 2, at least twice the number of slots."""
    return 1 << max(int(2 * room - 1).bit_length(), 3)


def with_room(slots: Slots) -> Slots:
    """The same with room for one more transition of every stage."""
    room = slots.source.shape[1]
    if slots.used.max(initial=0) < room:
        return slots
    fixed = ("used", "decided", "table", "by_source", "by_target")
    axis = {"times": 2, "choice": 2, "gain": 2, **dict.fromkeys(fixed)}
    parts = {}
    for name, array in zip(slots._fields, slots, strict=True):
        k = axis.get(name, 1)
        if k is not None:
            moved = grown_array(np.moveaxis(array, k, 0), 2 * room)
            parts[name] = np.ascontiguousarray(np.moveaxis(moved, 0, k))
    grown = slots._replace(**parts, table=np.zeros((len(slots.used), table_size(2 * room)), dtype=np.int64))
    enter_all(grown)
    return grown


@jit
def _first_place(source: int, target: int, paid: float, size: int) -> int:
    """Where a transition belongs in a hash table."""
    mixed = source * 2654435761 + (target + 2) * 40503 + int(paid * 1048576.0) * 69069
    return (mixed ^ (mixed >> 15)) & (size - 1)


@jit
def find(slots: Slots, h: int, source: int, target: int, paid: float) -> int:
    """The place in the table of this transition, or of the first empty entry met."""
    size = slots.table.shape[1]
    place = _first_place(source, target, paid, size)
    while True:
        i = slots.table[h, place] - 1
        if i < 0 or (
            slots.source[h, i] == source and slots.target[h, i] == target and slots.paid[h, i] == paid
        ):
            return place
        place = (place + 1) & (size - 1)


@jit
def _enter(slots: Slots, h: int, i: int) -> None:
    """Note which slots are the first of their source and target."""
    slots.same_source[h, i], slots.same_target[h, i] = i, i
    if slots.by_target.shape[1] > 0:
        source, target = slots.source[h, i], slots.target[h, i]
        if slots.by_source[h, source] == 0:
            slots.by_source[h, source] = i + 1
        slots.same_source[h, i] = slots.by_source[h, source] - 1
        if target >= 0:
            if slots.by_target[h, target] == 0:
                slots.by_target[h, target] = i + 1
            slots.same_target[h, i] = slots.by_target[h, target] - 1


@jit
def enter_all(slots: Slots) -> None:
    """Enter all slots into an empty hash table, and note which are the first."""
    for h in range(slots.used.size):
        for i in range(slots.used[h]):
            if slots.by_target.shape[1] > 0:
                place = find(slots, h, slots.source[h, i], slots.target[h, i], slots.paid[h, i])
                slots.table[h, place] = i + 1
            _enter(slots, h, i)


@jit
def add(
    slots: Slots,
    counted: bool,
    h: int,
    source: int,
    target: int,
    paid: float,
    taken: Array,
    following: Array,
) -> None:
    """Add a transition; there must be room for another slot."""
    i = -1
    if counted:
        place = find(slots, h, source, target, paid)
        i = slots.table[h, place] - 1
    if i < 0:
        i = slots.used[h]
        slots.used[h] = i + 1
        if counted:
            slots.table[h, place] = i + 1
        slots.source[h, i], slots.target[h, i], slots.paid[h, i] = source, target, paid
        for j in range(taken.size):
            slots.taken[h, i, j] = taken[j]
        if target != END:
            for a in range(following.shape[0]):
                for j in range(taken.size):
                    slots.following[h, i, a, j] = following[a, j]
        _enter(slots, h, i)
    for column in range(JUDGED):
        slots.times[column, h, i] += 1


class Samples(NamedTuple):
    """The transitions of a stage, for a regression; n entries are used."""

    taken: Array
    """(N, d)."""
    weight: Array
    """(N,): how often the transition occurred; 0 if it does not belong to the data."""
    target: Array
    """(N,)."""
    low: Array
    """(N,): bounds on the next value, without the reward."""
    up: Array
    paid: Array
    """(N,): rewards in the target, 0 unless they have noise."""
    half: Array
    """(N,): half of the bound on the advantage of other actions."""
    same: Integers
    """(N,): the first entry with the same feature, at which what depends on the feature is kept."""
    square: Array
    """(N,): bounds on E(V − g)²."""
    least: Array
    """(N,): bounds on the expected target."""
    most: Array
    estimate: Array
    """(N,): estimates of the next value."""
    action: Integers
    """(N,): the actions of the policy at the next state, plus 1; 0 where they are not computed yet."""
    renewed: Integers
    """(N,): when an entry was last computed."""


@jit
def samples_of(slots: Slots, h: int) -> Samples:
    """Room for the samples of a stage."""
    N = slots.source.shape[1]
    return Samples(
        slots.taken[h],
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        slots.same_source[h],
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N),
        np.zeros(N, dtype=np.int64),
        np.zeros(N, dtype=np.int64),
    )


# -- rewards ---------------------------------------------------------------------------------------

ROUNDING = float(8.0 * np.finfo(np.float64).eps)
SHORTEST = 1e-7
LARGEST_ERROR = 0.1
SAME_REWARD = 1e-9
"""If a reward differs by more from what the others imply, rewards have noise."""


class Rewards(NamedTuple):
    """The rewards of H stages; the last three fields follow from the others."""

    feature: Array
    """(H, d, d): features that gave a direction, in their order."""
    observed: Array
    """(H, d)."""
    known: Integers
    """(4, H): how many, at the time of plans 0 to 2 and now."""
    basis: Array
    """(H, d, d): rows e_j."""
    value: Array
    """(H, d): ρ."""
    error: Array
    """(H, d)."""


NOW = 3


def no_rewards(horizon: int, dim: int) -> Rewards:
    """Before the first reward."""
    return Rewards(
        np.zeros((horizon, dim, dim)),
        np.zeros((horizon, dim)),
        np.zeros((4, horizon), dtype=np.int64),
        np.zeros((horizon, dim, dim)),
        np.zeros((horizon, dim)),
        np.zeros((horizon, dim)),
    )


@jit
def _project(rewards: Rewards, h: int, x: Array, v: Array) -> tuple[float, float, float, float]:
    """Write the part v of x orthogonal to all directions; returns (⟨x, μ̂⟩, |c|·err, ‖v‖, rounding)."""
    d = x.size
    n = rewards.known[NOW, h]
    mean, wrong, total, length = 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        v[j] = x[j]
    for _ in range(2):
        for i in range(n):
            c = 0.0
            for j in range(d):
                c += rewards.basis[h, i, j] * v[j]
            for j in range(d):
                v[j] -= c * rewards.basis[h, i, j]
            mean += c * rewards.value[h, i]
            wrong += abs(c) * rewards.error[h, i]
            total += abs(c)
    for j in range(d):
        length += v[j] * v[j]
    return mean, wrong, math.sqrt(length), ROUNDING * d * (1.0 + total)


@jit
def learn_reward(rewards: Rewards, h: int, x: Array, reward: float) -> int:
    """Learn a reward; returns 1 if it gives a new direction, −1 if it contradicts the others, else 0."""
    d = x.size
    v = np.empty(d)
    mean, wrong, length, rounding = _project(rewards, h, x, v)
    root = math.sqrt(d)
    if length <= SHORTEST or rewards.known[NOW, h] == d:
        room = wrong + (length + rounding) * root + rounding * root
        return -1 if abs(reward - mean) > room + SAME_REWARD else 0
    bound = (wrong + 2.0 * rounding * root) / length
    if bound > LARGEST_ERROR:
        return 0
    i = rewards.known[NOW, h]
    for j in range(d):
        rewards.feature[h, i, j] = x[j]
        rewards.basis[h, i, j] = v[j] / length
    rewards.observed[h, i], rewards.value[h, i], rewards.error[h, i] = reward, (reward - mean) / length, bound
    rewards.known[NOW, h] = i + 1
    return 1


@jit
def write_model(rewards: Rewards, chains: Chains, rules: Rules, c: int, plan: int) -> None:
    """Write the model of rewards, as of the time of a plan, into a chain."""
    d = rules.dim
    for h in range(rules.horizon):
        mu, perp, number = chains.vector[c, h, MU], chains.matrix[c, h, PERP], chains.number[c, h]
        number[FAR], number[TINY] = 0.0, 0.0
        for i in range(d):
            mu[i] = 0.0 if rules.learned else rules.weights[h, i]
            for j in range(d):
                perp[i, j] = 1.0 if i == j else 0.0
        if not rules.learned:
            continue
        n = rewards.known[plan, h]
        spent, wrong = 0.0, 0.0
        for k in range(n):
            e, rho = rewards.basis[h, k], rewards.value[h, k]
            wrong += rewards.error[h, k] ** 2
            spent += max(abs(rho) - rewards.error[h, k], 0.0) ** 2
            for i in range(d):
                mu[i] += rho * e[i]
                for j in range(d):
                    perp[i, j] -= e[i] * e[j]
        root = math.sqrt(d)
        number[TINY] = math.sqrt(wrong) + 3.0 * ROUNDING * d * (1.0 + root) * root
        number[FAR] = math.sqrt(max(d - spent, 0.0)) if n < d else 0.0

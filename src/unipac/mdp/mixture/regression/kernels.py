"""What agents for mixture MDPs learn: regressions of values at the next state, over levels, in compiled code.

There is one stack of levels for each stage but the last, or one for all. With V the plan's own value at the next
stage, scaled to W = (V − offset)/range in [0, 1], a visit of (s, a) that leads to s' is the round

    x = Σ_t φ(s, a, t) W(t),   y = W(s'),   E y = ⟨x, θ⟩

of a linear bandit. V is fixed before the episode, so x is known before s', and the confidence sets are for θ alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.linalg import ridge
from unipac.linalg.levels import NESTED, SINGLE, Levels, add, grown_array, level_of, top
from unipac.mdp.mixture.regression.likelihood import maximize
from unipac.theory.kernels import (
    determinant as _determinant,
    level_delta as _level_delta,
    mixture as _mixture,
)

DETERMINANT, MIXTURE = 0, 1
INITIAL_LEVELS = 8
NOISE = 0.5
"""The sub-Gaussian scale of y, which lies in an interval of length 1."""


class Rules(NamedTuple):
    """The parameters as numbers for kernels."""

    features: Array
    """(S, A, S, d)."""
    rewards: Array
    """(H, S, A)."""
    rule: int
    """SINGLE, DISJOINT or NESTED, as in ``linalg.levels``."""
    radius: int
    """DETERMINANT or MIXTURE."""
    pooled: bool
    """Whether one stack serves all stages."""
    span: bool
    """Whether V is scaled by its own range, else by that of all sums of rewards."""
    widest: bool
    """Whether rounds are those of upper or of lower values, whichever is wider."""
    likelihood: bool
    delta: float
    """Shared by the levels of one stack, or for its one level."""
    outer_delta: float
    """For all data of a stack of nested levels."""
    log_likelihood: float
    """log(1/failure) of the likelihood set of one stack."""
    norm: float
    regularization: float
    scale: float
    """The factor of the radii when choosing."""
    trust: float
    """The factor of all radii: 1, except in tests of whether smaller radii would do."""
    low: float
    unit: float
    """The least reward, and the range of rewards."""
    shortest: float
    """Rounds with a shorter x are not stored: they would open a level each."""


class State(NamedTuple):
    """M stacks of up to C levels, and the last plan."""

    rows: Array
    """(M, C, d, d + 2): factors as in ``linalg.ridge``."""
    logdet: Array
    """(M, C)."""
    beta: Array
    """(M, C)."""
    size: Integers
    """(M, C)."""
    rotations: Integers
    """(M, C)."""
    counts: Array
    """(M, S, A, S): next states, for the likelihood; (M, 0, 0, 0) without. Shares of many episodes need no integers."""
    theta: Array
    """(M, d): weights in the simplex, near the most likely ones."""
    refuted: Integers
    """(1,): whether an episode has contradicted the mixture."""
    planned: Integers
    """(1,): whether the fields below are up to date."""
    action: Integers
    """(H, S)."""
    upper: Array
    """(H + 1, S): the values by which actions were chosen."""
    lower: Array
    """(H + 1, S): lower values of the policy."""
    bound: Array
    """(S,): upper bound on V*_1."""


def empty(rules: Rules, stacks: int, levels: int) -> State:
    """Before the first episode."""
    H, S, A = rules.rewards.shape
    d = rules.features.shape[3]
    state = State(
        rows=np.zeros((stacks, levels, d, d + 2)),
        logdet=np.zeros((stacks, levels)),
        beta=np.zeros((stacks, levels)),
        size=np.zeros((stacks, levels), dtype=np.int64),
        rotations=np.zeros((stacks, levels), dtype=np.int64),
        counts=np.zeros((stacks, S, A, S) if rules.likelihood else (stacks, 0, 0, 0)),
        theta=np.full((stacks, d), 1.0 / d),
        refuted=np.zeros(1, dtype=np.int64),
        planned=np.zeros(1, dtype=np.int64),
        action=np.zeros((H, S), dtype=np.int64),
        upper=np.zeros((H + 1, S)),
        lower=np.zeros((H + 1, S)),
        bound=np.zeros(S),
    )
    for m in range(stacks):
        ridge.reset(state.rows[m, 0], rules.regularization)
        set_radii(state, rules, m)
    return state


BY_LEVEL = ("rows", "logdet", "beta", "size", "rotations")


def with_levels(state: State, levels: int) -> State:
    """The same state with room for ``levels`` levels, or cut to them."""

    def resized(array: NDArray[Any]) -> NDArray[Any]:
        moved = np.moveaxis(array, 1, 0)
        moved = moved[:levels] if levels <= len(moved) else grown_array(moved, levels)
        return np.ascontiguousarray(np.moveaxis(moved, 0, 1))

    return state._replace(**{name: resized(getattr(state, name)) for name in BY_LEVEL})


@jit
def stack(state: State, m: int) -> Levels:
    """One stack, as a view."""
    return Levels(state.rows[m], state.logdet[m], state.beta[m], state.size[m], state.rotations[m])


@jit
def levels_of(state: State, m: int) -> int:
    """The number of levels in use of one stack."""
    return top(stack(state, m))


@jit
def most_levels(state: State) -> int:
    """The number of levels in use, of the stack that has most."""
    most = 1
    for m in range(state.size.shape[0]):
        most = max(most, levels_of(state, m))
    return most


@jit
def set_radii(state: State, rules: Rules, m: int) -> None:
    """Set β of all levels of a stack; of nested levels, the last holds all data and takes the smaller of two radii."""
    levels = stack(state, m)
    S, lam, B = top(levels), rules.regularization, rules.norm
    for level in range(1, S + 1):
        logdet = levels.logdet[level - 1]
        delta = rules.delta if rules.rule == SINGLE else _level_delta(rules.delta, level)
        if rules.radius == MIXTURE:
            beta = _mixture(logdet, delta, NOISE, B, lam)
        else:
            beta = _determinant(logdet, delta, NOISE, B, lam)
        if level == S and rules.rule == NESTED:
            if rules.radius == MIXTURE:
                beta = min(beta, _mixture(logdet, rules.outer_delta, NOISE, B, lam))
            else:
                beta = min(beta, _determinant(logdet, rules.outer_delta, NOISE, B, lam))
        levels.beta[level - 1] = beta


@jit
def scaling(rules: Rules, h: int, V: Array) -> tuple[float, float]:
    """Offset and range of V, the values after entry h; the range is 0 if V is constant."""
    if rules.span:
        low = V.min()
        return low, V.max() - low
    left = rules.rewards.shape[0] - 1 - h
    stages = rules.rewards.shape[0] if rules.pooled and left > 0 else left
    return rules.low * left, rules.unit * stages


@jit
def integrate(rules: Rules, s: int, a: int, V: Array, offset: float, span: float, x: Array) -> None:
    """Fill x = Σ_t φ(s, a, t) (V(t) − offset)/span."""
    phi = rules.features[s, a]
    for j in range(x.size):
        x[j] = 0.0
    for t in range(V.size):
        W = (V[t] - offset) / span
        if W != 0.0:
            for j in range(x.size):
                x[j] += phi[t, j] * W


@jit
def widths(levels: Levels, S: int, x: Array, width2: Array) -> None:
    """Fill ‖x‖² in every level in use."""
    for i in range(S):
        width2[i] = ridge.evaluate(levels.rows[i], x)[1]


@jit
def learn_step(state: State, rules: Rules, h: int, s: int, a: int, shares: Array, times: int) -> None:
    """Learn what followed (s, a) at entry h, which is not the last: ``times`` times, next states by their shares."""
    M, C = state.size.shape
    d = rules.features.shape[3]
    m = 0 if M == 1 else h
    levels, S = stack(state, m), top(stack(state, m))
    x, width2, below = np.zeros(d), np.zeros(C), np.empty(d + 2)
    V = state.upper[h + 1]
    offset, span = scaling(rules, h, V)
    if span > 0.0:
        integrate(rules, s, a, V, offset, span, x)
        widths(levels, S, x, width2)
    if rules.widest:
        other, other2 = np.zeros(d), np.zeros(C)
        V_low = state.lower[h + 1]
        offset_low, span_low = scaling(rules, h, V_low)
        if span_low > 0.0:
            integrate(rules, s, a, V_low, offset_low, span_low, other)
            widths(levels, S, other, other2)
            # Where the test of one fails first.
            at = min(min(level_of(width2, S), level_of(other2, S)), S) - 1
            if other2[at] > width2[at]:
                x, width2, V, offset, span = other, other2, V_low, offset_low, span_low
    if math.sqrt(ridge.squared_norm(x)) > rules.shortest:
        y = 0.0
        for t in range(shares.size):
            if shares[t] != 0.0:
                y += shares[t] * ((V[t] - offset) / span)
        add(levels, S, rules.rule, x, y, times, width2, rules.regularization, below)
        set_radii(state, rules, m)
    if rules.likelihood:
        count(state, rules, m, s, a, shares, times)


@jit
def count(state: State, rules: Rules, m: int, s: int, a: int, shares: Array, times: int) -> None:
    """Count next states, for the likelihood."""
    for t in range(shares.size):
        if shares[t] > 0.0:
            if rules.features[s, a, t].max() <= 0.0:
                state.refuted[0] = 1  # no kernel leads there
            else:
                state.counts[m, s, a, t] += shares[t] * times


@jit
def learn_last(state: State, rules: Rules, s: int, a: int, shares: Array, times: int) -> None:
    """Learn from the last stage: no value follows it, but its next state counts if stages are pooled."""
    if rules.likelihood and rules.pooled:
        count(state, rules, int(np.int64(0)), s, a, shares, times)


@jit
def refit(state: State, rules: Rules, steps: int) -> None:
    """After an episode of ``steps`` steps, improve the most likely weights and ask for a new plan."""
    if rules.likelihood:
        M = state.size.shape[0]
        for m in range(min(M, steps)):
            maximize(rules.features, state.counts[m], state.theta[m])
    state.planned[0] = 0


@jit
def learn(state: State, rules: Rules, states: Integers, actions: Integers, following: Integers) -> None:
    """Learn from an episode, for whose levels there must be room; the plan must be that of the episode."""
    H, n_states, _ = rules.rewards.shape
    shares = np.zeros(n_states)
    for h in range(states.size):
        if following[h] < 0:
            if h < H - 1:
                state.refuted[0] = 1  # there is no end among the next states
            continue
        shares[following[h]] = 1.0
        if h < H - 1:
            learn_step(state, rules, h, states[h], actions[h], shares, int(np.int64(1)))
        else:
            learn_last(state, rules, states[h], actions[h], shares, int(np.int64(1)))
        shares[following[h]] = 0.0
    refit(state, rules, states.size)


@jit
def absorb(
    state: State, rules: Rules, states: Integers, actions: Integers, shares: Array, times: int
) -> None:
    """Learn from ``times`` equal episodes, with the next states of each stage as shares; otherwise as ``learn``."""
    for h in range(states.size):
        if h < rules.rewards.shape[0] - 1:
            learn_step(state, rules, h, states[h], actions[h], shares[h], times)
        else:
            learn_last(state, rules, states[h], actions[h], shares[h], times)
    refit(state, rules, states.size)

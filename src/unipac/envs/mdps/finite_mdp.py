"""Episodic MDPs with finitely many states and actions, defined by their tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac._inputs import LARGEST_REWARD
from unipac.envs.mdps import planning, tables
from unipac.envs.mdps.planning import Optimum

PLACES = ("stage", "state", "action")


class FiniteMDP:
    """An episodic MDP with finitely many states and actions that knows its optimum.

    Stage h is entry h - 1 of the arrays. Tables that are the same at all stages are stored once, whatever
    the horizon: 500 states and 6 actions take 12 MB. A state that is never left and pays nothing may be
    marked as `terminal`: an episode that reaches it is over, and agents never see that state.

    Args:
        transitions: P_h(s' | s, a), distributions over s' up to 1e-9: (H, S, A, S), or (S, A, S) with
            ``horizon``. A view of shape (H, S, A, S) that repeats one stage is stored once, too.
        rewards: any numbers: r(s, a) as (S, A) or (H, S, A), or r(s, a, s') as (S, A, S) or (H, S, A, S).
            A shape that is both (H, S, A) and (S, A, S), because H = S = A, is refused.
        initial: distribution of the first state, (S,); by default all episodes start in state 0.
        horizon: number H of stages; required with transitions (S, A, S).
        name: name of the instance.
        terminal: booleans (S,): states that are never left, pay nothing and end the episode; none by default.
            No episode may start in one.

    Attributes:
        name: name of the instance.
        n_states: number S of states.
        n_actions: number A of actions, the same in all states.
        horizon: number H of stages.
        initial: distribution of the first state, (S,). All arrays are float64 and read-only.
        tables: the transitions as stored, (T, S, A, S) in C order, with T = H or T = 1.
        reward_tables: expected rewards of the pairs, (T', S, A), with T' = H or T' = 1.
        arrival_rewards: r(s, a, s'), (T', S, A, S), if rewards depend on the next state, else None.
        reward_range: the least and the largest reward that can occur.
        terminal: booleans (S,), read-only: states that end the episode.
        homogeneous: whether all stages have the same transitions and rewards.

    Example:
        >>> stay_or_go = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # two states; action 1 changes the state
        >>> mdp = FiniteMDP(stay_or_go, rewards=[[0, 0], [1, 1]], horizon=3)
        >>> mdp
        <finite-mdp: 2 states, 2 actions, horizon 3>
        >>> mdp.optimal_value()
        array([2., 3.])
        >>> mdp.transitions.shape, mdp.tables.shape, mdp.reward_range
        ((3, 2, 2, 2), (1, 2, 2, 2), (0.0, 1.0))
    """

    _pair: tuple[int | str, int | str] = ("S", "A")  # required sizes; a letter stands for any number
    _may_pay_on_arrival = True

    def __init__(
        self,
        transitions: ArrayLike,
        rewards: ArrayLike,
        initial: ArrayLike | None = None,
        horizon: int | None = None,
        *,
        name: str = "finite-mdp",
        terminal: ArrayLike | None = None,
    ) -> None:
        self.name = name
        self.tables, self.horizon = _read_transitions(transitions, self._pair, horizon)
        _, self.n_states, self.n_actions, _ = self.tables.shape
        paid = _read_rewards(rewards, self.rewards_shape, self._may_pay_on_arrival)
        start = np.eye(1, self.n_states)[0] if initial is None else initial
        self.initial = tables.array("initial", start, (self.n_states,))
        tables.check_distributions("transitions", self.tables, self._places(self.tables))
        tables.check_distributions("initial", self.initial, ())
        wrong = np.abs(paid) > LARGEST_REWARD
        expected = f"within ±{LARGEST_REWARD:g}"
        tables.refuse("rewards", wrong, expected, paid, (*self._places(paid), "next state"))

        if paid.ndim == 3:
            self.reward_tables, self.arrival_rewards = paid, None
            self.reward_range = (float(paid.min()), float(paid.max()))
        else:
            expected_rewards, least, most = _of_pairs(self.tables, paid)
            depends = not np.array_equal(least, most)
            self.arrival_rewards = paid if depends else None
            self.reward_tables = tables.finite("rewards", expected_rewards if depends else least)
            self.reward_range = (float(least.min()), float(most.max()))
        self.terminal = self._read_terminal(terminal)
        self._optimum: Optimum | None = None

    def __repr__(self) -> str:
        return f"<{self.name}: {self._size()}>"

    def _size(self) -> str:
        return f"{self.n_states} states, {self.n_actions} actions, horizon {self.horizon}"

    @property
    def rewards_shape(self) -> tuple[int, int, int]:
        """(H, S, A)."""
        return self.horizon, self.n_states, self.n_actions

    @property
    def transitions(self) -> Array:
        """P as (H, S, A, S); if one table serves all stages, this is a view that takes no memory."""
        return self._all_stages(self.tables)

    @property
    def rewards(self) -> Array:
        """Expected rewards as (H, S, A); if one table serves all stages, this is a view."""
        return self._all_stages(self.reward_tables)

    @property
    def homogeneous(self) -> bool:
        """Whether all stages have the same transitions and rewards."""
        paid = self.reward_tables if self.arrival_rewards is None else self.arrival_rewards
        return len(self.tables) == 1 and len(paid) == 1

    def optimal_value(self) -> Array:
        """V*_1, the best expected sum of rewards from each first state, (S,)."""
        first: Array = self.optimal_values()[0]
        return first

    def optimal_values(self) -> Array:
        """V* for all stages, (H + 1, S); the last row is 0."""
        return self._optimal().values

    def optimal_q(self) -> Array:
        """Q*, (H, S, A)."""
        return self._optimal().q

    def _optimal(self) -> Optimum:
        """The optimum, computed once; read-only."""
        if self._optimum is None:
            optimum = optimal(self)
            for array in optimum:
                array.setflags(write=False)
            self._optimum = optimum
        return self._optimum

    def _all_stages(self, kept: Array) -> Array:
        return kept if len(kept) == self.horizon else np.broadcast_to(kept, (self.horizon, *kept.shape[1:]))

    def _read_terminal(self, terminal: ArrayLike | None) -> NDArray[np.bool_]:
        marked = np.array(np.zeros(self.n_states, dtype=np.bool_) if terminal is None else terminal)
        fits = marked.shape == (self.n_states,) and marked.dtype == np.bool_
        if not fits:
            expected = f"booleans of shape ({self.n_states},)"
            raise ValueError(f"terminal must be {expected}, got {marked.dtype} of shape {marked.shape}")
        for s in np.flatnonzero(marked).tolist():
            paid = self.reward_tables if self.arrival_rewards is None else self.arrival_rewards[..., s]
            left, pays = bool((self.tables[:, s, :, s] != 1.0).any()), bool((paid[:, s] != 0.0).any())
            if left or pays or self.initial[s] > 0.0:
                wrong = "is left" if left else "pays" if pays else "may be the first"
                raise ValueError(
                    f"terminal must mark states that are never left, pay nothing and start no episode, "
                    f"got state {s}, which {wrong}"
                )
        marked.setflags(write=False)
        return marked

    def _places(self, kept: Array) -> tuple[str | None, ...]:
        """Names of the axes, for error messages; the stage is None if one table serves all stages."""
        return (PLACES[0] if len(kept) == self.horizon else None, *PLACES[1:])


def optimal(mdp: FiniteMDP) -> Optimum:
    """V*, Q* and an optimal policy of `mdp`.

    Example:
        >>> from unipac.envs import river_swim
        >>> optimum = optimal(river_swim(n_states=3, horizon=3))
        >>> optimum.values[0]
        array([0.2515, 0.7765, 2.101 ])
        >>> optimum.policy[0]
        array([1, 1, 1])
    """
    check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
    horizon, n_states, n_actions = mdp.rewards_shape
    optimum = Optimum(
        np.zeros((horizon + 1, n_states)),
        np.empty((horizon, n_states, n_actions)),
        np.empty((horizon, n_states), dtype=np.int64),
    )
    reach = planning.reach_of(mdp.tables)
    planning.optimal_values_into(mdp.tables.copy(), reach, mdp.reward_tables.copy(), *optimum)
    return optimum


def policy_value(mdp: FiniteMDP, policy: ArrayLike) -> Array:
    """Value of a policy that depends on the stage and the state.

    Args:
        mdp: the MDP.
        policy: the actions, integers of shape (H, S).

    Returns:
        V^π, (H + 1, S).

    Example:
        >>> from unipac.envs import river_swim
        >>> policy_value(river_swim(n_states=3, horizon=3), [[0, 0, 0]] * 3)[0]
        array([0.15, 0.1 , 0.05])
    """
    check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
    horizon, n_states, n_actions = mdp.rewards_shape
    action: Integers = planning.integers("policy", policy, (horizon, n_states), n_actions)[:, None]
    no_level = np.zeros(action.shape, dtype=np.int64)
    values = np.zeros((horizon + 1, 1, n_states))
    P, r, reach = mdp.tables.copy(), mdp.reward_tables.copy(), planning.reach_of(mdp.tables)
    planning.level_values_into(P, r, action.copy(), no_level, horizon, values, reach)
    return values[:, 0]


def _read_transitions(
    transitions: ArrayLike, pair: tuple[int | str, int | str], horizon: int | None
) -> tuple[Array, int]:
    """The table to store, (T, S, A, S), and the horizon."""
    n_states, n_actions = pair
    one = (n_states, n_actions, n_states)
    expected = f"{tables.words(('H', *one))}, or {tables.words(one)} with horizon=, not empty"
    raw = tables.numbers("transitions", transitions, expected)
    if horizon is not None:
        horizon = check.count("horizon", horizon)
        if tables.fits(raw.shape, one):
            return tables.finite("transitions", raw[None]), horizon
    tables.require_shape(tables.fits(raw.shape, ("H", *one)), "transitions", expected, raw)
    check.require(horizon in (None, len(raw)), "horizon", f"{len(raw)} as that of the transitions", horizon)
    return tables.finite("transitions", _once(raw)), len(raw)


def _read_rewards(rewards: ArrayLike, shape: tuple[int, int, int], on_arrival: bool) -> Array:
    """The rewards as (T', S, A), or as (T', S, A, S) if they are listed by next state."""
    horizon, n_states, n_actions = shape
    pairs, arrivals = (n_states, n_actions), (n_states, n_actions, n_states)
    allowed = [shape, pairs] + ([(horizon, *arrivals), arrivals] if on_arrival else [])
    expected = " or ".join(map(tables.words, allowed))
    raw = tables.numbers("rewards", rewards, expected)
    check.require(raw.shape in allowed, "rewards", f"of shape {expected}", raw.shape)
    if on_arrival and shape == arrivals and raw.shape == shape and raw.size > 1:
        raise ValueError(
            f"rewards must be of shape {tables.words((horizon, *arrivals))}: {tables.words(shape)} may mean "
            f"(H, S, A) or (S, A, S) here, got {raw.shape}; numpy.broadcast_to does it without a copy"
        )
    by_stage = raw.shape == shape or raw.ndim == 4
    return tables.finite("rewards", _once(raw) if by_stage else raw[None])


def _once(raw: NDArray[np.generic]) -> NDArray[np.generic]:
    """Only the first stage, if the array is a view that repeats it."""
    return raw[:1] if raw.strides[0] == 0 else raw


class _PairRewards(NamedTuple):
    """Rewards by stage and pair, (T, S, A)."""

    expected: Array
    least: Array
    most: Array


def _of_pairs(transitions: Array, rewards: Array) -> _PairRewards:
    """Mean, least and largest reward of each pair, over the possible next states."""
    stages = max(len(transitions), len(rewards))
    of_pairs = _PairRewards(*np.empty((3, stages, *transitions.shape[1:3])))
    for h in range(stages):
        P, r = transitions[min(h, len(transitions) - 1)], rewards[min(h, len(rewards) - 1)]
        of_pairs.expected[h] = np.einsum("sat,sat->sa", P, r)
        of_pairs.least[h] = np.where(P > 0, r, np.inf).min(axis=2)
        of_pairs.most[h] = np.where(P > 0, r, -np.inf).max(axis=2)
    return of_pairs

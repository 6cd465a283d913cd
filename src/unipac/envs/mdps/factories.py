"""Named linear MDPs. States and actions are numbered from 0, stages from 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs.mdps import tables
from unipac.envs.mdps.linear_mdp import LinearMDP


def river_swim(n_states: int = 6, horizon: int = 20) -> LinearMDP:
    """RiverSwim: a small reward nearby, a large one upstream (after Strehl and Littman, 2008).

    - States: 0 to n - 1 along a river; every episode starts in state 0.
    - Actions: 0 swims left, with the current: always one step back (state 0 stays). 1 swims right, with these
      probabilities: in state 0 stay 0.4, forward 0.6; in between back 0.05, stay 0.6, forward 0.35; in the
      last state back 0.4, stay 0.6.
    - Rewards: 0.05 for left in state 0, 1 for right in the last state, else 0.
    - Features: one-hot, d = 2n.
    - Optimum: by dynamic programming; for 3 states and H = 3, V*_1(0) = 0.2515.

    Args:
        n_states: number n of states, at least 2.
        horizon: number H of stages.

    Example:
        >>> river_swim(n_states=3, horizon=3).optimal_value()
        array([0.2515, 0.7765, 2.101 ])
    """
    n_states = check.count("n_states", n_states, least=2)
    horizon = check.count("horizon", horizon)
    check_linear_size(horizon, n_states, 2, 2 * n_states, tables_kept=1)
    transitions = np.zeros((n_states, 2, n_states))
    last = n_states - 1
    for state in range(n_states):
        transitions[state, 0, max(state - 1, 0)] = 1.0
    for state in range(1, last):
        transitions[state, 1, state - 1 : state + 2] = 0.05, 0.6, 0.35
    transitions[0, 1, :2] = 0.4, 0.6
    transitions[last, 1, last - 1 :] = 0.4, 0.6
    rewards = np.zeros((n_states, 2))
    rewards[0, 0] = 0.05
    rewards[last, 1] = 1.0
    return _one_hot("river_swim", transitions, rewards, start_at_first(n_states), horizon)


def random_simplex(
    n_states: int = 10, n_actions: int = 4, dim: int = 5, horizon: int = 4, seed: int = 0
) -> LinearMDP:
    """A random linear MDP with features in the probability simplex.

    - States: S; the first state of an episode is uniform.
    - Actions: A.
    - Features: φ(s, a) is uniform in the probability simplex in R^d, so that |φ| ≤ 1.
    - Transitions: φ(s, a) holds the weights of d distributions over next states. These distributions are
      uniform in their simplex and drawn separately for each stage.
    - Rewards: <φ(s, a), μ_h> with μ_h uniform in [0, 1]^d.
    - Optimum: by dynamic programming.

    Args:
        n_states: number S of states.
        n_actions: number A of actions.
        dim: dimension d of the features.
        horizon: number H of stages.
        seed: seed of the MDP.

    Example:
        >>> random_simplex(n_states=3, n_actions=2, dim=2, horizon=2)
        <random_simplex: 3 states, 2 actions, horizon 2, dimension 2>
    """
    n_states = check.count("n_states", n_states)
    n_actions = check.count("n_actions", n_actions)
    dim = check.count("dim", dim)
    horizon = check.count("horizon", horizon)
    rng = np.random.default_rng(check.seed("seed", seed))
    check_linear_size(horizon, n_states, n_actions, dim)
    features = rng.dirichlet(np.ones(dim), size=(n_states, n_actions))
    measures = rng.dirichlet(np.ones(n_states), size=(horizon, dim))
    weights = rng.random((horizon, dim))
    return LinearMDP(
        features,
        np.einsum("sad,hdt->hsat", features, measures),
        np.clip(np.einsum("sad,hd->hsa", features, weights), 0.0, 1.0),
        np.full(n_states, 1 / n_states),
        name="random_simplex",
        measures=measures,
    )


def deep_sea(size: int = 8, seed: int | None = None) -> LinearMDP:
    """DeepSea, a combination lock: one sequence of actions out of 2^n reaches the treasure.

    After Osband et al. (bsuite, 2020). The diver sinks one row per stage, so that the state is just the
    column and the horizon is n. The original charges 0.01/n for going right; here going left earns 0.01/n
    instead. This keeps rewards in [0, 1] and shifts the values of all policies by the same amount, 0.01.

    - States: the columns 0 to n - 1; every episode starts in column 0.
    - Actions: 1 goes one column to the right, 0 to the left; a move against a wall stays. With a seed, a
      fair coin decides for each stage and column which of the two actions is "right".
    - Rewards: 1 for right in the last column at stage n, 0.01/n for left, else 0.
    - Features: one-hot, d = 2n.
    - Optimum: V*_1(0) = 1, always right. Without the treasure the best is 0.01, always left.

    Args:
        size: number n of columns and stages.
        seed: seed of the coins that give the actions their meaning; None: action 1 is always "right".

    Example:
        >>> float(deep_sea(size=8).optimal_value()[0])
        1.0
    """
    size = check.count("size", size)
    check_linear_size(size, size, 2, 2 * size)
    right = np.ones((size, size), dtype=np.int64)
    if seed is not None:
        rng = np.random.default_rng(check.seed("seed", seed))
        right = rng.integers(0, 2, (size, size))
    transitions = np.zeros((size, size, 2, size))
    rewards = np.zeros((size, size, 2))
    stage, column = np.indices((size, size))
    transitions[stage, column, right, np.minimum(column + 1, size - 1)] = 1.0
    transitions[stage, column, 1 - right, np.maximum(column - 1, 0)] = 1.0
    rewards[stage, column, 1 - right] = 0.01 / size
    rewards[-1, -1, right[-1, -1]] = 1.0
    return LinearMDP(_eye(size, 2), transitions, rewards, start_at_first(size), name="deep_sea")


def grid_world(rows: int = 4, columns: int = 4, slip: float = 0.1, horizon: int = 12) -> LinearMDP:
    """A grid world with the start in the top left corner and the goal in the bottom right one.

    - States: row · columns + column; every episode starts in state 0. The goal, the last state, is
      never left.
    - Actions: 0 up, 1 right, 2 down, 3 left. With probability ``slip`` the move goes to one of the two
      sides instead, each equally likely; a move against a wall stays.
    - Rewards: 1 for each stage in the goal, whatever the action, else 0.
    - Features: one-hot, d = 4 · rows · columns.
    - Optimum: by dynamic programming, the expected number of stages in the goal. Without slips,
      V*_1(0) = max(0, H - (rows - 1) - (columns - 1)).

    Args:
        rows: number of rows.
        columns: number of columns; the grid has at least two cells.
        slip: probability of a move to the side, in [0, 1].
        horizon: number H of stages.

    Example:
        >>> float(grid_world(slip=0).optimal_value()[0])
        6.0
    """
    rows = check.count("rows", rows)
    columns = check.count("columns", columns)
    check.require(rows * columns >= 2, "rows", "at least 2 with one column", rows)
    slip = check.real("slip", slip)
    check.require(0 <= slip <= 1, "slip", "in [0, 1]", slip)
    horizon = check.count("horizon", horizon)
    n_states = rows * columns
    check_linear_size(horizon, n_states, 4, 4 * n_states, tables_kept=1)
    steps = ((-1, 0), (0, 1), (1, 0), (0, -1))
    state = np.arange(n_states - 1)
    transitions = np.zeros((n_states, 4, n_states))
    for action in range(4):
        for turn, chance in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
            down, right = steps[(action + turn) % 4]
            row = np.clip(state // columns + down, 0, rows - 1)
            column = np.clip(state % columns + right, 0, columns - 1)
            transitions[state, action, row * columns + column] += chance
    transitions[-1, :, -1] = 1.0
    rewards = np.zeros((n_states, 4))
    rewards[-1] = 1.0
    return _one_hot("grid_world", transitions, rewards, start_at_first(n_states), horizon)


def frozen_lake(map_name: str = "4x4", is_slippery: bool = True, horizon: int = 20) -> LinearMDP:
    """FrozenLake, from the tables of Gymnasium's FrozenLake-v1.

    - States: the cells of the map; an episode starts at the cell S. Holes and the goal are never left
      and pay nothing.
    - Actions: 0 left, 1 down, 2 right, 3 up; on slippery ice the move goes to either side with
      probability 1/3 each.
    - Rewards: the probability that the action leads to the goal. Gymnasium pays 1 on arrival, which is
      random given state and action; the values of all policies are the same.
    - Features: one-hot, d = 64 for 4x4 and 256 for 8x8.
    - Optimum: by dynamic programming, the best probability to reach the goal within H steps. Without
      slipping it is 1 if H is at least 6 (4x4) or 14 (8x8), else 0.

    Args:
        map_name: ``"4x4"`` or ``"8x8"``.
        is_slippery: whether the ice is slippery.
        horizon: number H of stages.

    Example:
        >>> float(frozen_lake(is_slippery=False, horizon=6).optimal_value()[0])
        1.0
    """
    map_name = check.one_of("map_name", map_name, ("4x4", "8x8"))
    is_slippery = check.flag("is_slippery", is_slippery)
    horizon = check.count("horizon", horizon)
    n_states = 16 if map_name == "4x4" else 64
    check_linear_size(horizon, n_states, 4, 4 * n_states, tables_kept=1)
    from unipac.envs.mdps.published import frozen_lake_tables  # Gymnasium is needed here only

    transitions, rewards, initial = frozen_lake_tables(map_name, is_slippery)
    return _one_hot("frozen_lake", transitions, rewards, initial, horizon)


class ForcedFirst:
    """An MDP whose first episodes start in a state without a choice, and all others in one with a choice."""

    forced: int
    forced_state = 0
    choice_state = 1

    def initial_states(self, episodes: int, start: int = 0) -> NDArray[np.int64]:
        """First states of episodes ``start, ..., start + episodes - 1``: forced ones, then choices.

        Example:
            >>> lsvi_killer(forced=3).initial_states(5)
            array([0, 0, 0, 1, 1])
        """
        episodes = check.count("episodes", episodes, least=0)
        start = check.count("start", start, least=0)
        forced = min(max(self.forced - start, 0), episodes)
        states = np.full(episodes, self.choice_state, dtype=np.int64)
        states[:forced] = self.forced_state
        return states


class LSVIKiller(ForcedFirst, LinearMDP):
    """The MDP of `lsvi_killer`.

    Attributes:
        forced: number of forced episodes.
        forced_state: 0, where both actions are e1.
        choice_state: 1, where action 0 is e1 and action 1 is e2.

    Example:
        >>> mdp = lsvi_killer(forced=10)
        >>> isinstance(mdp, LSVIKiller), mdp.forced, mdp.forced_state, mdp.choice_state
        (True, 10, 0, 1)
    """


def lsvi_killer(forced: int = 1000) -> LSVIKiller:
    """The MDP on which LSVI-UCB fails: many episodes with data in one direction, then a choice of two.

    - States: 0 is ``forced_state``, 1 is ``choice_state``, where episodes start by default.
    - Actions: 2. Both have the feature e1 in the forced state; in the choice state action 0 has e1 and
      action 1 has e2.
    - Rewards: 1/2 for e1, 0 for e2; no noise.
    - Horizon: 1. The next state is always 0.
    - Features: d = 2.
    - Optimum: V*_1 = 1/2 in both states; action 1 in the choice state has the gap 1/2.

    A bonus that grows with the number K of episodes keeps e2 attractive: it is chosen while
    β/√(1 + n) > 1/2, which is about 4β² times. LSVI-UCB has β² of order log K, so its number of mistakes
    after the forced episodes is unbounded; that of an agent with levels is bounded.

    The caller sets the first states, as in ``initial_states``::

        mdp = lsvi_killer(forced=10**6)
        agent.play(mdp, episodes=mdp.forced, initial_states=mdp.initial_states(mdp.forced))
        agent.play(mdp, episodes=1000, initial_states=mdp.initial_states(1000, start=mdp.forced))

    Args:
        forced: number of episodes that ``initial_states`` starts in the forced state.

    Example:
        >>> mdp = lsvi_killer()
        >>> mdp.optimal_q()[0, mdp.choice_state]
        array([0.5, 0. ])
    """
    forced = check.count("forced", forced, least=0)
    features = np.zeros((2, 2, 2))
    features[:, :, 0] = 1.0
    features[1, 1] = 0.0, 1.0
    transitions = np.zeros((1, 2, 2, 2))
    transitions[..., 0] = 1.0
    mdp = LSVIKiller(features, transitions, 0.5 * features[None, ..., 0], [0.0, 1.0], name="lsvi_killer")
    mdp.forced = forced
    return mdp


def _one_hot(name: str, transitions: Array, rewards: Array, initial: Array, horizon: int) -> LinearMDP:
    """An MDP with the same transitions (S, A, S) and rewards (S, A) at all stages."""
    features = _eye(*rewards.shape)
    return LinearMDP(features, transitions, rewards, initial, name=name, horizon=horizon)


def _eye(n_states: int, n_actions: int) -> Array:
    """One-hot features of all pairs."""
    return np.eye(n_states * n_actions).reshape(n_states, n_actions, -1)


def start_at_first(n_states: int) -> Array:
    """All episodes start in state 0."""
    return np.eye(1, n_states).ravel()


def check_linear_size(
    horizon: int, n_states: int, n_actions: int, dim: int, tables_kept: int | None = None
) -> None:
    """Refuse MDPs that would not fit into memory; ``tables_kept`` is the number T of tables, H by default."""
    T = horizon if tables_kept is None else tables_kept
    transitions_and_measures = T * n_states * (n_actions * n_states + dim)
    features_and_optimum = n_states * n_actions * (dim + horizon)
    what = f"horizon = {horizon}, {n_states} states and {n_actions} actions"
    tables.check_size(transitions_and_measures + features_and_optimum, what)

"""Discounted MDPs with finitely many states and actions, and their simulators, which count samples."""

from __future__ import annotations

from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.envs.arrays import integers
from unipac.envs.mdps import planning, tables
from unipac.envs.streams import stream_of

LONGEST = 1e6
"""Largest 1/(1 − γ): beyond it 1 − γ is lost in rounding."""

_SAMPLES = 0x73696D75  # makes the streams of simulators differ from those of batches
_ROUNDING = 1e-12


def discount_factor(name: str, value: SupportsFloat) -> float:
    """A number γ with 0 ≤ γ ≤ 1 − 1e-6."""
    number = check.real(name, value)
    check.require(0 <= number <= 1 - 1 / LONGEST, name, f"from 0 to 1 - {1 / LONGEST:g}", value)
    return number


class DiscountedMDP:
    """An infinite-horizon MDP with discounted rewards; it knows its optimum and can be sampled.

    A *pair* is a state with an action, numbered s·A + a. Some pairs, the *anchors*, may determine all others:
    P(· | s, a) = Σ_j λ_j(s, a) P(· | anchor j). Then `coefficients` holds the λ.

    Args:
        transitions: P(s' | s, a), distributions over s' up to 1e-9, (S, A, S).
        rewards: r(s, a) from 0 to 1, (S, A).
        discount: γ, from 0 to 1 - 1e-6.
        anchors: numbers of the anchor pairs, (K,); by default every pair counts as its own anchor.
        coefficients: λ, (S, A, K), with sums 1; required with ``anchors``.
        name: name of the instance.

    Attributes:
        name: name of the instance.
        n_states: number S of states.
        n_actions: number A of actions.
        transitions: (S, A, S). All arrays are read-only.
        rewards: (S, A).
        discount: γ.
        anchors: (K,), or None.
        coefficients: (S, A, K), or None.

    Example:
        >>> stay_or_go = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # two states; action 1 changes the state
        >>> mdp = DiscountedMDP(stay_or_go, rewards=[[0, 0], [1, 1]], discount=0.5)
        >>> mdp
        <discounted-mdp: 2 states, 2 actions, discount 0.5>
        >>> mdp.optimal_value(), mdp.optimal_policy()
        (array([1., 2.]), array([1, 0]))
        >>> mdp.policy_value([0, 0])
        array([0., 2.])
        >>> simulator = mdp.simulator(seed=0)
        >>> simulator.sample(states=[0, 1], actions=[1, 1], n=3)
        array([[1, 1, 1],
               [0, 0, 0]])
        >>> simulator.samples
        6
    """

    def __init__(
        self,
        transitions: ArrayLike,
        rewards: ArrayLike,
        discount: SupportsFloat,
        *,
        anchors: ArrayLike | None = None,
        coefficients: ArrayLike | None = None,
        name: str = "discounted-mdp",
    ) -> None:
        self.name = name
        self.transitions = tables.array("transitions", transitions, ("S", "A", "S"))
        self.n_states, self.n_actions, _ = self.transitions.shape
        tables.check_distributions("transitions", self.transitions, ("state", "action"))
        self.rewards = tables.array("rewards", rewards, (self.n_states, self.n_actions))
        wrong = (self.rewards < 0) | (self.rewards > 1)
        tables.refuse("rewards", wrong, "from 0 to 1", self.rewards, ("state", "action"))
        self.discount = discount_factor("discount", discount)
        both = (anchors is None) == (coefficients is None)
        check.require(both, "anchors", "given together with coefficients", anchors)
        self.anchors: Integers | None = None
        self.coefficients: Array | None = None
        if anchors is not None and coefficients is not None:
            self._read_anchors(anchors, coefficients)
        self._optimum: tuple[Array, Integers] | None = None

    def _read_anchors(self, anchors: ArrayLike, coefficients: ArrayLike) -> None:
        pairs = self.n_states * self.n_actions
        self.anchors = planning.integers("anchors", anchors, np.shape(anchors)[:1] or (1,), pairs)
        self.anchors.setflags(write=False)
        self.coefficients = tables.array(
            "coefficients", coefficients, (*self.rewards.shape, len(self.anchors))
        )
        rows = self.transitions.reshape(pairs, -1)[self.anchors]
        missed = np.abs(self.coefficients @ rows - self.transitions).max(axis=2)
        expected = "such that Σ_j λ_j P(· | anchor j) is P(· | s, a) up to 1e-9"
        tables.refuse("coefficients", missed > 1e-9, expected, missed, ("state", "action"), "an error of ")

    def __repr__(self) -> str:
        anchored = "" if self.anchors is None else f", {len(self.anchors)} anchors"
        size = f"{self.n_states} states, {self.n_actions} actions"
        return f"<{self.name}: {size}, discount {self.discount:g}{anchored}>"

    def optimal_value(self) -> Array:
        """V*, the best expected discounted sum of rewards from each state, (S,)."""
        return self._optimal()[0].copy()

    def optimal_policy(self) -> Integers:
        """An optimal action for each state, (S,)."""
        return self._optimal()[1].copy()

    def optimal_q(self) -> Array:
        """Q*, (S, A)."""
        q: Array = self.rewards + self.discount * self.transitions @ self._optimal()[0]
        return q

    def policy_value(self, policy: ArrayLike) -> Array:
        """V^π, (S,), of the policy that takes action ``policy[s]`` in state s: integers (S,)."""
        return self._value(planning.integers("policy", policy, (self.n_states,), self.n_actions))

    def _value(self, policy: Integers) -> Array:
        every = np.arange(self.n_states)
        P, r = self.transitions[every, policy], self.rewards[every, policy]
        return np.asarray(np.linalg.solve(np.eye(self.n_states) - self.discount * P, r), dtype=np.float64)

    def _optimal(self) -> tuple[Array, Integers]:
        """V* and an optimal policy, by policy iteration until no value rises by more than rounding; cached."""
        if self._optimum is None:
            policy = self.rewards.argmax(axis=1)
            value = self._value(policy)
            while True:
                q = self.rewards + self.discount * self.transitions @ value
                better = q.max(axis=1) > value + _ROUNDING / (1 - self.discount)
                changed = np.where(better, q.argmax(axis=1), policy)
                risen = self._value(changed)
                if not risen.sum() > value.sum():
                    break
                policy, value = changed, risen
            self._optimum = value, policy
        return self._optimum

    def pulls(
        self, arms: ArrayLike, counts: ArrayLike, *, batch: int, seed: int | np.random.SeedSequence
    ) -> Integers:
        """How often each next state occurs in ``counts[i]`` samples of the pair ``arms[i]``.

        Drawn in one step, however large the counts; depends only on seed, batch number, pairs and counts.

        Args:
            arms: numbers s·A + a of pairs, (m,); a pair may occur more than once.
            counts: how many samples of each, (m,).
            batch: number of the batch, from 0.
            seed: seed of the samples.

        Returns:
            Counts of next states, (m, S).

        Example:
            >>> random_anchors(n_states=4, n_actions=2, anchors=2).pulls([0, 5], [10, 3], batch=0, seed=1).sum(axis=1)
            array([10,  3])
        """
        rows, times = integers("arms", arms), integers("counts", counts)
        fits = rows.ndim == 1 and rows.shape == times.shape
        check.require(fits, "arms and counts", "two arrays of shape (m,)", (rows.shape, times.shape))
        for i, (row, number) in enumerate(zip(rows.tolist(), times.tolist(), strict=True)):
            check.count(f"arms[{i}]", row, least=0, most=self.rewards.size - 1)
            check.count(f"counts[{i}]", number, least=0)
        rng = stream_of(seed).generator(check.count("batch", batch, least=0))
        return self._arrivals(rng, rows, times)

    def _arrivals(self, rng: np.random.Generator, rows: Integers, times: Integers) -> Integers:
        P = self.transitions.reshape(self.rewards.size, -1)[rows]
        return rng.multinomial(times, P / P.sum(axis=1, keepdims=True)).astype(np.int64).reshape(P.shape)

    def simulator(self, seed: int | np.random.SeedSequence = 0) -> Simulator:
        """A generative model of this MDP, which counts the samples it draws."""
        return Simulator(self, seed)


class Simulator:
    """A generative model: it samples next states of any pair, as often as requested.

    Attributes:
        samples: number of samples drawn so far.

    Example:
        >>> mdp = DiscountedMDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, 0], [0, 1.0]], discount=0.5)
        >>> simulator = mdp.simulator(seed=0)
        >>> simulator.sample([0, 0], [0, 1], n=3).tolist(), simulator.samples
        ([[0, 0, 0], [1, 1, 1]], 6)
    """

    def __init__(self, mdp: DiscountedMDP, seed: int | np.random.SeedSequence = 0) -> None:
        self._mdp = mdp
        self._rng = stream_of(seed).generator(0, _SAMPLES)
        self.samples = 0

    def sample(self, states: ArrayLike, actions: ArrayLike, n: SupportsIndex = 1) -> Integers:
        """Draw `n` next states of each pair.

        Args:
            states: integers (m,).
            actions: integers (m,).
            n: number of samples of each pair.

        Returns:
            (m, n).
        """
        n = check.count("n", n, least=0)
        pairs = self._pairs(states, actions)
        tables.check_size(len(pairs) * n, f"n = {n} samples of {len(pairs)} pairs")
        P = self._mdp.transitions.reshape(self._mdp.rewards.size, -1)[pairs]
        drawn = np.empty((len(pairs), n), dtype=np.int64)
        for i, u in enumerate(self._rng.random(drawn.shape)):
            last = np.flatnonzero(P[i])[-1]  # the cumulative sum may end below 1 by rounding
            drawn[i] = np.minimum(np.searchsorted(np.cumsum(P[i]), u, side="right"), last)
        self.samples += drawn.size
        return drawn

    def arrivals(self, states: ArrayLike, actions: ArrayLike, n: SupportsIndex) -> Integers:
        """How often each next state occurs in `n` samples of each pair, (m, S), drawn in one step."""
        n = check.count("n", n, least=0)
        pairs = self._pairs(states, actions)
        drawn = self._mdp._arrivals(self._rng, pairs, np.full(len(pairs), n))
        self.samples += len(pairs) * n
        return drawn

    def _pairs(self, states: ArrayLike, actions: ArrayLike) -> Integers:
        shape = np.shape(states)
        check.require(len(shape) == 1, "states", "of shape (m,)", shape)
        s = planning.integers("states", states, shape, self._mdp.n_states)
        a = planning.integers("actions", actions, shape, self._mdp.n_actions)
        pairs: Integers = s * self._mdp.n_actions + a
        return pairs


def random_anchors(
    n_states: int = 30, n_actions: int = 3, anchors: int = 5, discount: float = 0.9, seed: int = 0
) -> DiscountedMDP:
    """A random discounted MDP in which a few anchor pairs determine all others.

    - Anchors: K pairs, drawn without replacement; their P(· | anchor j) ~ Dirichlet(0.2).
    - Transitions: P(· | s, a) = Σ_j λ_j P(· | anchor j); λ(s, a) ~ Dirichlet(0.5), but a unit vector for anchors.
    - Rewards: uniform in [0, 1] on 30 % of the pairs, else 0.
    - Optimum: by policy iteration.

    Args:
        n_states: number S of states.
        n_actions: number A of actions.
        anchors: number K of anchors, at most S·A.
        discount: γ.
        seed: seed of the MDP.

    Example:
        >>> random_anchors(discount=0.8)
        <random_anchors: 30 states, 3 actions, discount 0.8, 5 anchors>
    """
    n_states = check.count("n_states", n_states)
    n_actions = check.count("n_actions", n_actions)
    pairs = n_states * n_actions
    anchors = check.count("anchors", anchors, most=pairs)
    discount = discount_factor("discount", discount)
    rng = np.random.default_rng(check.seed("seed", seed))
    tables.check_size(pairs * (n_states + anchors), f"{n_states} states and {n_actions} actions")
    chosen = np.sort(rng.choice(pairs, size=anchors, replace=False))
    coefficients = rng.dirichlet(np.full(anchors, 0.5), size=pairs)
    coefficients[chosen] = np.eye(anchors)
    rows = rng.dirichlet(np.full(n_states, 0.2), size=anchors)
    rewards = np.where(rng.random(pairs) < 0.3, rng.random(pairs), 0.0)
    return DiscountedMDP(
        (coefficients @ rows).reshape(n_states, n_actions, n_states),
        rewards.reshape(n_states, n_actions),
        discount,
        anchors=chosen,
        coefficients=coefficients.reshape(n_states, n_actions, anchors),
        name="random_anchors",
    )

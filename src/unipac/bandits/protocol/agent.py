"""The protocol of bandit agents; nothing here knows of regressions, levels or radii.

Users call ``choose``, ``update``, ``absorb``, ``bounds`` and ``play``. An algorithm declares its parameters and
capabilities, and writes four methods:

    _empty()                     the state before the first round, a named tuple of arrays
    _bounds(X)                   mean, width, ucb and lcb of every row of X, each (n,)
    _choose(X)                   (row, level): the choice of the next round
    _learn(x, y, level, times)   the step that learns a reward; ``level`` is that of the decision, 0 for a logged round

``_learn`` changes nothing. It checks and prepares, and returns a new state, or (kernel, arguments): a compiled function
that writes into the arrays of the state. The protocol counts the round and learns it in one ``commit``: whatever is
raised, and wherever, all of it is done or none.

Families that must be faster replace what is made of these: ``_decide``, ``_reward``, ``_absorb``, ``_play``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check, _notebook as notebook
from unipac._actions import Actions
from unipac._agents import Agent, accepted, agent, parameter
from unipac._arrays import Array
from unipac._atomic import commit
from unipac._inputs import LARGEST_REWARD, action_array, check_norms, floats, read_only
from unipac._parameters import OptionalArrayParameter
from unipac._state import copied
from unipac._warnings import warn
from unipac.bandits.protocol import changes, play as many
from unipac.bandits.protocol.changes import Step
from unipac.bandits.protocol.inputs import checked_reward, checked_times, noise_scales, truth_vector
from unipac.bandits.protocol.ledger import Ledger, refutation
from unipac.bandits.protocol.records import Bounds, Decision, Level, Trace
from unipac.bandits.protocol.verdict import contradict
from unipac.envs import BanditInstance, Rounds

LARGEST_DIM = 2**16
ONCE = 1


@agent
class BanditAgent(Agent):
    """A linear bandit agent; the algorithms derive from it.

    {parameters}

    >>> from unipac import OFUL, LinUCB
    >>> [isinstance(agent, BanditAgent) for agent in (OFUL(3), LinUCB(3))]
    [True, True]
    >>> OFUL(3).guarantee, LinUCB(3).guarantee
    ('regret', 'none')
    """

    kind: ClassVar[str] = "bandit"
    counts_many = False
    """Whether ``update(times=)`` takes many equal rounds in one exact step."""
    absorbs = True
    """Whether logged rounds may be learned without harm to what is proven."""
    weighs = False
    """Whether rounds may differ in their noise: ``noise=`` of ``update``, ``absorb`` and ``play``."""
    draws = False
    """Whether choices depend on random numbers; those of decision k are drawn from (seed, k)."""
    single_regression = False
    """Whether it is a single compiled regression on all data; a derived class must declare this again."""
    _least_noise = 0.0
    """The least noise that a round may have, where ``weighs``."""
    _least_reward, _largest_reward = -LARGEST_REWARD, LARGEST_REWARD
    """Between which every reward must lie."""
    only_dim: ClassVar[int | None] = None
    """The only dimension that it supports; None if it supports all."""
    learns_in: ClassVar[tuple[str, ...]] = ("state",)
    """The attributes that hold what was learned."""
    _several = False
    """Whether it has several values of ζ; traces then say which one was assumed."""
    bounded_noise: ClassVar[bool] = False
    """Whether ``noise`` bounds the noise itself, not its sub-Gaussian scale."""

    dim: int = parameter(
        check=lambda name, value: check.count(name, value, most=LARGEST_DIM),
        words="d, the length of the action vectors",
        kw_only=False,
    )
    action_norm: float = parameter(
        default=1.0, check=check.positive, words="L, a bound on the norm of the actions"
    )
    reward_range: tuple[float, float] | None = parameter(
        default=None,
        check=check.optional_range,
        words="(low, high) of the expected rewards, if known: reported bounds stay within",
    )
    fixed_actions: OptionalArrayParameter = parameter(
        default=None, words="(n, d); then ``choose()`` needs no argument"
    )

    def _check_parameters(self) -> None:
        self._arms = np.empty((0, self.dim))
        if self.fixed_actions is not None:
            self._arms = action_array("fixed_actions", self.fixed_actions, self.dim).copy()
            check_norms("fixed_actions", self._arms, self.action_norm)
            self.fixed_actions = read_only(self._arms)

    def _begin(self) -> None:
        self._ledger = Ledger()

    def _forked(self) -> None:
        super()._forked()
        self._ledger.take_new_ids()

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """An agent with the dimension, noise and norm of an instance, unless you pass others.

        ``rounds`` is for algorithms that must know their ``total_rounds``, ``seed`` for those that draw.
        """
        check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
        known = {name: getattr(instance, name) for name in ("noise", "norm", "blocks")}
        return cls(
            **{"dim": instance.dim, **accepted(cls, seed=seed, total_rounds=rounds, **known), **parameters}
        )

    # -- what users read -----------------------------------------------------------------------

    @property
    def consistent(self) -> bool:
        """False once a lower bound exceeded an upper one or what the norms allow, so that some assumption is wrong."""
        return self._ledger.consistent

    @property
    def rounds(self) -> int:
        """Rewards received so far, each counted ``times``."""
        return self._ledger.rounds

    @property
    def pending(self) -> Mapping[int, Decision]:
        """The decisions that wait for a reward at this moment, by id, oldest first."""
        with self._lock:
            return MappingProxyType(dict(self._ledger.pending))

    def levels(self) -> list[Level]:
        """Size, proven bound on the size, and radius of each level in use; empty if there are no levels."""
        return []

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, at most this many rounds have a gap above ε; or infinity."""
        check.positive("eps", eps)
        return math.inf

    def bounds(self, actions: ArrayLike | Actions | None = None) -> Bounds:
        """Mean and bounds of every action; of the fixed ones if none are given."""
        X = self._action_set(actions)
        check_norms("actions", X, self.action_norm)
        with self._lock:
            return many.bounds(self, X)

    def _without_ids(self, progress: dict[str, Any]) -> dict[str, Any]:
        rest = {k: value for k, value in progress.items() if k not in ("surplus", "misspecification")}
        return {**rest, "pending": [row[1:] for row in progress["pending"]]}

    def _summary(self) -> str:
        ledger = self._ledger
        waiting = f", {len(ledger.pending):,} pending" if ledger.pending else ""
        return f"{ledger.rounds:,} rounds{waiting}{'' if ledger.consistent else ', assumptions refuted'}"

    def _repr_html_(self) -> str:
        with self._lock:
            facts = {name: getattr(self, name) for name in ("rounds", "consistent", "guarantee")}
            return notebook.agent_table(repr(self), {**facts, "pending": len(self.pending)}, self.levels())

    # -- what users call -----------------------------------------------------------------------

    def choose(self, actions: ArrayLike | Actions | None = None) -> Decision:
        """Choose one of n actions, the rows of an (n, d) array; learns nothing.

        Without an argument the choice is among ``fixed_actions``.
        """
        X = self._action_set(actions)
        labels = actions.labels if type(actions) is Actions else None
        with self._lock:
            decision, refutes = changes.chosen(self, X, labels, actions is None)
            self._ledger.enter(decision, refutes)
            if refutes:
                self._warn_of_refutation()
        return decision

    def update(
        self,
        decision: Decision | SupportsIndex,
        reward: SupportsFloat,
        *,
        times: SupportsIndex = ONCE,
        noise: SupportsFloat | None = None,
    ) -> None:
        """Learn the reward of a decision, or of the decision with this id, now or later, in any order.

        With ``times`` it counts as that many rounds with this action and this reward, in one exact step, where
        ``counts_many``; for the bounds to stay valid it must then be their mean, or free of noise. With ``noise``,
        where ``weighs``, its noise has this scale instead of the agent's own.
        """
        value = reward if type(reward) is float else checked_reward(self, reward)
        if not self._least_reward <= value <= self._largest_reward:
            value = checked_reward(self, reward)
        count = ONCE if times is ONCE else checked_times(self, times)
        scale = None if noise is None else float(noise_scales(self, "noise", check.real("noise", noise), ()))
        with self._lock:
            commit(changes.taught(self, self._ledger.waiting(decision), value, count, scale))

    def forget(self, decision: Decision | SupportsIndex) -> None:
        """Give up waiting for the reward of a decision."""
        with self._lock:
            commit(changes.forgotten(self, decision))

    def absorb(
        self,
        actions: ArrayLike,
        rewards: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        levels: ArrayLike | None = None,
        late: ArrayLike | None = None,
    ) -> None:
        """Learn from m logged rounds: the actions taken, (m, d), their rewards, (m,), and perhaps noise, (m,).

        Bounds stay valid if the rounds come in the order in which they were taken, each action was chosen
        without knowledge of its own noise, and none was left out or kept because of its reward. With ``levels``,
        (m,), those of the decisions, the rounds are ones that an equal agent decided: then the same is learned, bit
        for bit, as by its updates in this order. ``late``, (m,), marks rewards that came after those of younger ones.
        """
        many.absorb(self, actions, rewards, noise, levels, late)

    def play(
        self,
        actions: ArrayLike | BanditInstance | Rounds,
        rewards: ArrayLike | None = None,
        *,
        rounds: SupportsIndex | None = None,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Trace:
        """Choose and learn for T rounds, and trace them: a loop of choose and update, compiled where possible.

        Args:
            actions: (T, n, d), or (n, d) if every round offers the same actions; or an instance from
                ``unipac.envs``, or ``Rounds`` of one.
            rewards: (T, n), what each action would bring in each round; with arrays only.
            rounds: T, with an instance.
            seed: of the instance's contexts and noise. Round k of an instance is a function of (seed, k).
            start: the first round of the instance to be played; by default ``agent.rounds``, so that
                ``play(instance, rounds=a)`` and then ``play(instance, rounds=b)`` is one run.
            truth: μ*; then the trace says in which rounds it was in all confidence sets.
            noise: (T,), the scale of the noise of each round, where ``weighs``; with arrays only. An instance
                whose rounds differ in it hands it on by itself.
        """
        return many.play(self, actions, rewards, rounds, seed, start, truth, noise)

    def stream(
        self,
        instance: BanditInstance,
        *,
        rounds: SupportsIndex,
        seed: int | np.random.SeedSequence = 0,
        start: SupportsIndex | None = None,
        truth: ArrayLike | None = None,
    ) -> Iterator[Trace]:
        """As ``play(instance, ...)``, but in traces of a few thousand rounds: memory does not grow."""
        length, first = many.instance_rounds(self, instance, rounds, start)
        return many.traces(self, instance, first, length, seed, truth_vector(truth, self.dim))

    # -- what an algorithm writes --------------------------------------------------------------

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        raise NotImplementedError

    def _choose(self, X: Array) -> tuple[int, int]:
        raise NotImplementedError

    def _learn(self, x: Array, y: float, level: int, times: int, noise: float | None = None) -> Step:
        """The step that learns a round; ``noise`` is its scale, where ``weighs`` and it is not the agent's own."""
        raise NotImplementedError

    # -- what follows from it: families that must be faster replace some -----------------------

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        """The choice among the rows of X, which are the fixed actions if ``fixed``; a Verdict, as a tuple."""
        return many.decide(self, X, fixed)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        """The certificate, if no ucb exceeds ``best``; whether the bounds contradict each other or ‖θ‖ ≤ S."""
        reach = getattr(self, "norm", math.inf) * self.action_norm + (self._answered() or 0.0)
        if contradict(lcb, ucb, reach):
            return math.nan, True
        return min(max(best - lcb, 0.0), 2.0 * reach), False  # 2SL, whatever was seen

    def _answered(self) -> float | None:
        """The ζ under which the last bounds or certificate hold; None if the agent knows of none."""
        return None

    def _clipped(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """As ``_bounds``, within the range of the rewards."""
        return many.clipped(self, *self._bounds(X))

    def _reward(self, waiting: Decision, value: float, times: int) -> Step:
        """The step that learns the reward of a decision that waited for it."""
        return self._learn(np.array(waiting.action), value, waiting.level, times)

    def _absorb(self, X: Array, y: Array) -> None:
        """Learn logged rounds from checked arrays, and count them; it is called on a twin of the agent."""
        many.learn_rounds(self, X, y, None, None)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        """Play rounds on checked arrays, write them into a trace, and count them."""
        many.play_rounds(self, X, y, truth, trace, None)

    def _covers(self, truth: Array, X: Array) -> bool:
        """Whether the truth is in all confidence sets; here, as far as the offered actions can tell."""
        _, _, ucb, lcb = self._bounds(X)
        means = X @ truth
        return bool(((lcb <= means) & (means <= ucb)).all())

    def _action_set(self, actions: ArrayLike | Actions | None) -> Array:
        if actions is None:
            if self.fixed_actions is None:
                raise ValueError("actions must be given: this agent has no fixed_actions, got None")
            return self._arms
        given = floats("actions", actions.vectors if type(actions) is Actions else actions)
        shape = given.shape
        usual = len(shape) == 2 and shape[1] == self.dim and shape[0] > 0
        return given if usual else action_array("actions", given, self.dim)

    def _check_logged(self, X: Array) -> None:
        """Refuse logged actions that cannot have been offered to this agent."""

    def _level_range(self) -> tuple[int, int]:
        """The least and the largest level that a decision can have."""
        return 0, 64

    def _has_level(self, level: int) -> bool:
        """Whether a decision that waits for its reward can have this level."""
        return True

    def _own_what_is_learned(self) -> None:
        """Copy all arrays that learning writes into, so that no other agent shares them."""
        self.state = copied(self.state)

    def _refute(self) -> None:
        """Certify nothing from here on."""
        if self._ledger.consistent:
            self._ledger.sound = False
            self._warn_of_refutation()

    def _warn_of_refutation(self) -> None:
        warn(refutation(self), RuntimeWarning)

    def _progress(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return self._ledger.saved(self.dim)

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        dim = arrays["pending.actions"].shape[1]
        check.require(parameters.get("dim", dim) == dim, "dim", f"{dim}, as that of the actions", parameters)

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._ledger.restore(progress, arrays, self.dim, self.action_norm, self._proven)

    def _resumed(self) -> None:
        for decision in self._ledger.pending.values():
            check.require(self._has_level(decision.level), "level", "one of the agent's", decision.level)

"""The protocol of bandit agents: decisions, rewards that come late, traces.

An algorithm writes four methods; nothing here knows of regressions, levels or radii:

    _empty()                     the state before the first round, a named tuple of arrays
    _bounds(X)                   mean, width, ucb and lcb of every row of X, each (n,)
    _choose(X)                   (row, level): the choice of the next round
    _learn(x, y, level, times)   a reward has come; ``level`` is that of the decision, 0 for a logged round

Families that must be faster replace what is made of these: ``_decide``, ``_reward``, ``_absorb``, ``_play``.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac import _notebook as notebook
from unipac import _storage as storage
from unipac._actions import Actions, label
from unipac._agents import Agent, agent, described, parameter
from unipac._inputs import LARGEST_REWARD, action_array, check_norms, check_rewards, floats, read_only
from unipac._warnings import warn
from unipac.bandits.base.records import Bounds, Decision, Level, Trace, empty_trace, write_gaps
from unipac.bandits.base.verdict import REFUTED, Verdict
from unipac.envs import BanditInstance, Rounds

Array = NDArray[np.float64]

ONCE = 1
LARGEST_DIM = 2**16
LARGEST_TRACE = 2**40
LARGEST_LEVEL = 2**31


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
    counts_many: ClassVar[bool] = False
    """Whether ``update(times=)`` takes many equal rounds in one exact step."""
    absorbs: ClassVar[bool] = True
    """Whether logged rounds may be learned without harm to what is proven."""
    weighs: ClassVar[bool] = False
    """Whether rounds may differ in their noise: ``noise=`` of ``update``, ``absorb`` and ``play``."""
    only_dim: ClassVar[int | None] = None
    """The one dimension that it is made for, if not any."""
    bounded_noise: ClassVar[bool] = False
    """Whether ``noise`` bounds the noise itself, not its sub-Gaussian scale."""

    draws: ClassVar[bool] = False
    """Whether choices depend on random numbers; those of decision k are drawn from (seed, k)."""

    dim: int = parameter(
        check=lambda name, value: check.count(name, value, most=LARGEST_DIM),
        words="d, the length of the action vectors",
        positional=True,
    )
    action_norm: float = parameter(1.0, check.positive, "L, a bound on the norm of the actions")
    reward_range: tuple[float, float] | None = parameter(
        None,
        check.optional_range,
        "(low, high) of the expected rewards, if known: reported bounds stay within",
    )
    fixed_actions: Any = parameter(None, None, "(n, d); then ``choose()`` needs no argument")

    def _check_parameters(self) -> None:
        if self.fixed_actions is not None:
            X = action_array("fixed_actions", self.fixed_actions, self.dim).copy()
            check_norms("fixed_actions", X, self.action_norm)
            self._arms = X
            self.fixed_actions = read_only(X)
        else:
            self._arms = np.empty((0, self.dim))

    def _begin(self) -> None:
        self._pending: dict[int, Decision] = {}
        self._first_id = self._next_id = secrets.randbits(62)  # two agents share an id as good as never
        self._rounds = 0
        self._surplus = 0  # decisions made, less rounds and pending: some were forgotten, some count as many
        self._consistent = True

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """An agent that fits an instance: its dimension, noise and norm, unless they are given.

        Args:
            instance: from ``unipac.envs``.
            rounds: how many will be played, for algorithms that must know it (their ``horizon``).
            seed: for algorithms that draw random numbers.
            parameters: further arguments of the agent.
        """
        check.require(isinstance(instance, BanditInstance), "instance", "a BanditInstance", instance)
        told = {"noise": instance.noise, "norm": instance.norm, "seed": seed, "horizon": rounds}
        names = {entry.name for entry in dataclasses.fields(cls) if entry.init}
        known = {name: value for name, value in told.items() if name in names and value is not None}
        return cls(**{"dim": instance.dim, **known, **parameters})

    # -- what an algorithm writes --------------------------------------------------------------

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        raise NotImplementedError

    def _choose(self, X: Array) -> tuple[int, int]:
        raise NotImplementedError

    def _learn(self, x: Array, y: float, level: int, times: int) -> None:
        raise NotImplementedError

    def _weigh(self, x: Array, y: float, level: int, times: int, noise: float) -> None:
        """As ``_learn``, of a round whose noise has this scale; where ``weighs``."""
        raise NotImplementedError

    @property
    def certified(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given, however actions are chosen."""
        return False

    def _has_level(self, level: int) -> bool:
        """Whether a decision that waits for its reward can have this level."""
        return True

    def levels(self) -> list[Level]:
        """Size, proven bound on the size, and radius of each level in use; empty if there are no levels."""
        return []

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε.

        Infinite where nothing bounds the number.
        """
        check.positive("eps", eps)
        return math.inf

    def _largest_gap(self) -> float:
        """No action can be worse than another by more, whatever was seen: 2SL."""
        return 2.0 * getattr(self, "norm", math.inf) * self.action_norm

    # -- what is known -------------------------------------------------------------------------

    @property
    def consistent(self) -> bool:
        """False once some lower bound exceeded an upper one: then an assumption does not hold."""
        return self._consistent

    @property
    def rounds(self) -> int:
        """Rewards received so far, each counted ``times``."""
        return self._rounds

    def _summary(self) -> str:
        waiting = f", {len(self._pending):,} pending" if self._pending else ""
        refuted = "" if self._consistent else ", assumptions refuted"
        return f"{self._rounds:,} rounds{waiting}{refuted}"

    def _repr_html_(self) -> str:
        with self._lock:
            facts = (self._rounds, len(self._pending), self._consistent, self.guarantee)
            levels = self.levels()
        names = ("rounds", "pending", "consistent", "guarantee")
        text = notebook.table(repr(self).strip("<>"), ("", ""), zip(names, facts, strict=True))
        return text + (notebook.table("Levels", Level._fields, levels) if levels else "")

    @property
    def pending(self) -> Mapping[int, Decision]:
        """The decisions that wait for a reward at this moment, by id, oldest first."""
        with self._lock:
            return MappingProxyType(dict(self._pending))

    def bounds(self, actions: ArrayLike | Actions | None = None) -> Bounds:
        """Mean and bounds of every action; of the fixed ones if none are given."""
        X = self._action_set(actions)
        check_norms("actions", X, self.action_norm)
        with self._lock:
            mean, _, ucb, lcb = self._clipped(X)
        return Bounds(mean, ucb, lcb)

    def _clipped(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """As ``_bounds``, within the range of the rewards."""
        mean, width, ucb, lcb = self._bounds(X)
        if self.reward_range is not None:
            ucb, lcb = np.clip(ucb, *self.reward_range), np.clip(lcb, *self.reward_range)
        return mean, width, ucb, lcb

    # -- one round at a time -------------------------------------------------------------------

    def choose(self, actions: ArrayLike | Actions | None = None) -> Decision:
        """Choose one of n actions, the rows of an (n, d) array; learns nothing.

        Without an argument the choice is among ``fixed_actions``.
        """
        X = self._action_set(actions)
        known = actions.labels if type(actions) is Actions else None
        with self._lock:
            chosen, level, mean, width, ucb, lcb, certificate, refuted = self._decide(X, actions is None)
            if refuted:
                self._refute()
            action = X[chosen].copy()
            action.setflags(write=False)
            certified = self._consistent and self.certified
            id_ = self._next_id
            named = None if known is None else known[chosen]
            fields = (id_, chosen, action, level, mean, width, ucb, lcb, certificate, certified, named)
            decision = tuple.__new__(Decision, (*fields, None, False, 0))
            self._pending[id_] = decision
            self._next_id = id_ + 1
        return decision

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        """The choice among the rows of X, which are the fixed actions if ``fixed``; a Verdict, as a tuple."""
        if not fixed:
            check_norms("actions", X, self.action_norm)
        index, level = self._choose(X)
        values = self._bounds(X)
        mean, width, ucb, lcb = (float(column[index]) for column in values)
        low, high = self.reward_range or (-math.inf, math.inf)
        certificate, refuted = math.nan, False
        if self._consistent and self.certified:
            best = min(float(values[2].max()), high)
            certificate, refuted = self._certify(best, min(ucb, high), max(lcb, low))
        ucb, lcb = min(max(ucb, low), high), min(max(lcb, low), high)
        return Verdict(int(index), int(level), mean, width, ucb, lcb, certificate, refuted)

    def _certify(self, best: float, ucb: float, lcb: float) -> tuple[float, bool]:
        """The certificate of an action with these bounds, and whether they refute the assumptions.

        No action has a ucb above ``best``. Bounds refute the assumptions if they contradict each other.
        """
        if lcb > ucb + REFUTED * max(abs(lcb), abs(ucb)):
            return math.nan, True
        return min(max(best - lcb, 0.0), self._largest_gap()), False

    def update(
        self,
        decision: Decision | SupportsIndex,
        reward: SupportsFloat,
        *,
        times: SupportsIndex = ONCE,
        noise: SupportsFloat | None = None,
    ) -> None:
        """Learn the reward of a decision, given as such or by its id, now or later, in any order.

        With ``times`` it counts as that many rounds with this action and this reward, in one exact step, where
        ``counts_many``. For the bounds to stay valid the reward must then be the mean over so many rounds, or free
        of noise. With ``noise``, where ``weighs``, its noise has this scale instead of the agent's own.
        """
        value = reward if type(reward) is float else check.real("reward", reward)
        if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
            check.real("reward", reward)
            raise ValueError(f"reward must be within ±{LARGEST_REWARD:g}, got {reward!r}")
        count = ONCE
        if times is not ONCE:
            count = check.count("times", times, most=check.LARGEST_COUNT)
            check.require(
                count == 1 or self.counts_many,
                "times",
                f"1 for {type(self).__name__}, which counts one by one",
                times,
            )
        scales = None if noise is None else self._noise("noise", check.real("noise", noise), ())
        with self._lock:
            waiting = self._waiting(decision)
            self._check_total("times", count)
            if scales is None:
                self._reward(waiting, value, count)
            else:
                self._weigh(np.array(waiting.action), value, waiting.level, count, float(scales))
            del self._pending[waiting.id]
            self._rounds += count
            self._surplus -= count - 1

    def _reward(self, waiting: Decision, value: float, times: int) -> None:
        """Learn the reward of a decision that waited for it."""
        self._learn(np.array(waiting.action), value, waiting.level, times)

    def forget(self, decision: Decision | SupportsIndex) -> None:
        """Give up waiting for the reward of a decision."""
        with self._lock:
            del self._pending[self._waiting(decision).id]
            self._surplus += 1

    def _number(self) -> int:
        """Counts decisions: the draws of each come from (seed, number)."""
        return self._rounds + len(self._pending) + self._surplus

    def _adopt(self, decision: Decision) -> int:
        """Take over a decision that an equal agent made, as if it had been made here; its id here."""
        if self.certified and not decision.certified and self._consistent:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._refute()  # known since then
        id_ = self._next_id
        self._pending[id_] = decision._replace(id=id_)
        self._next_id += 1
        return id_

    def digest(self) -> str:
        """SHA-256 of parameters, what was learned and what is pending; equal for agents that are equal.

        Ids of decisions do not count, nor how many were forgotten: copies have the same digest.
        """
        with self._lock:
            header, arrays = described(self)
        progress = dict(header["progress"])
        progress["pending"] = [row[1:] for row in progress["pending"]]
        del progress["surplus"]
        return storage.digest({**header, "progress": progress}, arrays)

    def absorb(
        self,
        actions: ArrayLike,
        rewards: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        levels: ArrayLike | None = None,
    ) -> None:
        """Learn from m logged rounds: the actions taken, (m, d), their rewards, (m,), and perhaps noise, (m,).

        The bounds stay valid if the rounds come in the order in which they were taken, each action was chosen
        without knowledge of its own noise, and none was left out or kept because of its reward.

        With ``levels``, (m,), those of the decisions, the rounds are ones that an equal agent decided: then the
        same is learned, bit for bit, as by its updates in this order. Every agent takes these.
        """
        check.require(
            self.absorbs or levels is not None,
            "absorb",
            f"left alone with {type(self).__name__}, whose proof forbids it",
            "rounds",
        )
        X = action_array("actions", actions, self.dim, least=0)
        check_norms("actions", X, self.action_norm)
        y = floats("rewards", rewards)
        if y.shape != (len(X),):
            raise ValueError(
                f"rewards and actions must be as many, got rewards of shape {y.shape} for {len(X)} actions"
            )
        check_rewards("rewards", y)
        scales = None if noise is None else self._noise("noise", noise, y.shape)
        told = [0] * len(y) if levels is None else self._levels_of(levels, len(y))
        with self._lock:
            self._check_total("actions", len(y))
            if scales is None and levels is None:
                self._absorb(X, y)
                return
            for k, (x, value) in enumerate(zip(X, y.tolist(), strict=True)):
                if scales is None:
                    self._learn(x.copy(), value, told[k], 1)
                else:
                    self._weigh(x.copy(), value, told[k], 1, float(scales[k]))
                self._rounds += 1

    def _levels_of(self, levels: ArrayLike, count: int) -> list[int]:
        """The levels of logged decisions, checked."""
        array = np.asarray(levels)
        sound = array.shape == (count,) and (array.dtype.kind in "iu" or count == 0)
        check.require(sound, "levels", f"{count} integers", levels)
        told: list[int] = array.tolist()
        least, most = self._level_range()
        for value in told:
            check.count("levels", value, least=least, most=most)
        return told

    def _level_range(self) -> tuple[int, int]:
        """The least and the largest level that a decision can have."""
        return 0, 64

    def _absorb(self, X: Array, y: Array) -> None:
        """Learn logged rounds from checked arrays, and count them."""
        for x, value in zip(X, y.tolist(), strict=True):
            self._learn(x.copy(), value, 0, 1)
            self._rounds += 1

    # -- many rounds at once -------------------------------------------------------------------

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
        """Choose and learn for T rounds: the same as a loop of choose and update, compiled where it can be.

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

        Returns:
            What happened in each round.
        """
        if isinstance(actions, BanditInstance):
            _refuse("an instance", rewards=rewards, noise=noise)
            mu = self._truth(truth)
            with self._lock:
                length, first = self._instance_rounds(actions, rounds, start)
                trace = empty_trace(length, gap=True, covered=mu.size > 0)
                self._play_instance(actions, first, seed, mu, trace)
            return trace
        means = None
        if isinstance(actions, Rounds):
            _refuse("rounds", rewards=rewards, noise=noise)
            offered = actions
            actions, means, rewards = offered
            noise = offered.noise if self.weighs else None
        if rewards is None:
            raise ValueError("rewards must be given with an array of actions, got None")
        for name, value in (("rounds", rounds), ("start", start)):
            if value is not None:
                raise ValueError(f"{name} goes with an instance, not with an array of actions")
        X = action_array("actions", actions, self.dim, sequence=True)
        check_norms("actions", X, self.action_norm)
        y = floats("rewards", rewards)
        if y.ndim != 2 or y.shape[1] != X.shape[-2] or (X.ndim == 3 and len(y) != len(X)):
            shape = f"({'T' if X.ndim == 2 else len(X)}, {X.shape[-2]})"
            raise ValueError(f"rewards must have shape {shape}, got {y.shape}")
        check_rewards("rewards", y)
        scales = None if noise is None else self._noise("noise", noise, y.shape[:1])
        mu = self._truth(truth)
        if means is None and mu.size > 0:
            means = X @ mu
        trace = empty_trace(len(y), gap=means is not None, covered=mu.size > 0)
        with self._lock:
            self._check_total("rewards", len(y))
            self._play_with(X, y, mu, trace, scales)
        if means is not None:
            write_gaps(trace, means)
        return trace

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
        length, first = self._instance_rounds(instance, rounds, start)
        return self._traces(instance, first, length, seed, self._truth(truth))

    def _traces(
        self,
        instance: BanditInstance,
        first: int,
        length: int,
        seed: int | np.random.SeedSequence,
        truth: Array,
    ) -> Iterator[Trace]:
        end = first + length
        while first < end:
            count = min(end, (first // instance.block + 1) * instance.block) - first
            trace = empty_trace(count, gap=True, covered=truth.size > 0)
            with self._lock:
                self._play_instance(instance, first, seed, truth, trace)
            first += count
            yield trace

    def _play_with(self, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None) -> None:
        """As ``_play``; each round with its own noise if it is given."""
        if noise is None:
            self._play(X, y, truth, trace)
        else:
            self._loop(X, y, truth, trace, noise)

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        """Rounds on checked arrays, into a trace; counts them."""
        self._loop(X, y, truth, trace, None)

    def _loop(self, X: Array, y: Array, truth: Array, trace: Trace, noise: Array | None) -> None:
        """The same by choosing and learning one after the other; each with its own noise if it is given."""
        for t, rewards in enumerate(y):
            offered = X if X.ndim == 2 else X[t]
            if trace.covered is not None:
                trace.covered[t] = self._covers(truth, offered)
            verdict = Verdict(*self._decide(offered, False))
            if verdict.refuted:
                self._refute()
            k = verdict.chosen
            round_ = (offered[k].copy(), float(rewards[k]), verdict.level, 1)
            if noise is None:
                self._learn(*round_)
            else:
                self._weigh(*round_, float(noise[t]))
            self._rounds += 1
            trace.index[t], trace.level[t], trace.certificate[t] = k, verdict.level, verdict.certificate
            trace.reward[t] = rewards[k]

    def _covers(self, truth: Array, X: Array) -> bool:
        """Whether the truth is in all confidence sets; here, as far as the offered actions can tell."""
        _, _, ucb, lcb = self._bounds(X)
        means = X @ truth
        return bool(((lcb <= means) & (means <= ucb)).all())

    # -- files ---------------------------------------------------------------------------------

    def _progress(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        waiting = list(self._pending.values())
        values = [[d.mean, d.width, d.ucb, d.lcb, d.certificate] for d in waiting]
        progress = {
            "rounds": self._rounds,
            "surplus": self._surplus,
            "consistent": self._consistent,
            "pending": [[d.id, d.index, d.level, d.certified, d.label] for d in waiting],
        }
        arrays = {
            "pending.actions": np.array([d.action for d in waiting]).reshape(-1, self.dim),
            "pending.values": np.array(values, dtype=np.float64).reshape(-1, 5),
        }
        return progress, arrays

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        dim = arrays["pending.actions"].shape[1]
        if "dim" in parameters:
            check.require(
                parameters["dim"] == dim, "dim", f"{dim}, as that of the actions", parameters["dim"]
            )

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._rounds = check.count("rounds", progress["rounds"], least=0, most=check.LARGEST_COUNT)
        most = check.LARGEST_COUNT
        self._surplus = check.count("surplus", progress["surplus"], least=-self._rounds, most=most)
        self._consistent = check.flag("consistent", progress["consistent"])
        waiting = progress["pending"]
        X = action_array("pending.actions", arrays["pending.actions"], self.dim, least=0)
        check_norms("pending.actions", X, self.action_norm)
        values = floats("pending.values", arrays["pending.values"])
        check.require(
            len(X) == len(waiting) == len(values), "pending", "as many actions as decisions", len(X)
        )
        check.require(values.shape[1:] == (5,), "pending.values", "of shape (n, 5)", values.shape)
        self._pending = {}
        for (id_, index, level, certified, named), x, row in zip(waiting, X, values.tolist(), strict=True):
            mean, width, ucb, lcb, certificate = row
            number = check.count("id", id_, least=0)
            check.require(number not in self._pending, "id", "of one decision only", number)
            self._pending[number] = Decision(
                number,
                check.count("index", index, least=0, most=2**62),
                read_only(x.copy()),
                check.count("level", level, least=0, most=LARGEST_LEVEL),
                mean,
                width,
                ucb,
                lcb,
                certificate,
                # What was claimed then must still be so under these parameters.
                check.flag("certified", certified) and self.certified,
                None if named is None else label("label", named),
            )

    def _resumed(self) -> None:
        for decision in self._pending.values():
            check.require(self._has_level(decision.level), "level", "one of the agent's", decision.level)

    # -- checks and bookkeeping ----------------------------------------------------------------

    def _action_set(self, actions: ArrayLike | Actions | None) -> Array:
        if actions is None:
            if self.fixed_actions is None:
                raise ValueError("actions must be given: this agent has no fixed_actions, got None")
            return self._arms
        given = actions.vectors if type(actions) is Actions else actions
        return action_array("actions", given, self.dim)

    def _truth(self, truth: ArrayLike | None) -> Array:
        """μ* as an array, empty if it is not given."""
        if truth is None:
            return np.empty(0)
        mu = floats("truth", truth)
        if mu.shape != (self.dim,):
            raise ValueError(f"truth must have shape ({self.dim},), got {mu.shape}")
        check_rewards("truth", mu)
        return mu

    def _noise(self, name: str, noise: ArrayLike, shape: tuple[int, ...]) -> Array:
        """The noise of some rounds, checked; of one round if the shape is ()."""
        check.require(
            self.weighs, name, f"left out with {type(self).__name__}, whose rounds weigh the same", noise
        )
        scales = floats(name, noise)
        check.require(scales.shape == shape, name, f"of shape {shape}", scales.shape)
        least = self._least_noise()
        sound = np.isfinite(scales) & (scales >= least) & (scales <= check.LARGEST)
        check.require(bool(sound.all()), name, f"finite, and at least {least:g}", noise)
        return scales

    def _least_noise(self) -> float:
        """No round may have less noise; where ``weighs``."""
        return 0.0

    def _waiting(self, decision: Decision | SupportsIndex) -> Decision:
        id_ = decision.id if type(decision) is Decision else check.count("decision", decision, least=0)  # type: ignore[arg-type]
        waiting = self._pending.get(id_)
        if waiting is None:
            why = (
                "rewarded or forgotten before"
                if self._first_id <= id_ < self._next_id
                else ("not one of this agent's, or no longer: a copy or an older file does not know it")
            )
            raise ValueError(f"decision must be waiting for a reward, got {id_}, which was {why}")
        return waiting

    def _check_total(self, name: str, count: int) -> None:
        if self._rounds + count > check.LARGEST_COUNT:
            raise ValueError(
                f"{name} must keep the number of rounds within {check.LARGEST_COUNT}, "
                f"got {count} after {self._rounds}"
            )

    def _refute(self) -> None:
        if self._consistent:
            self._consistent = False
            warn(
                f"{type(self).__name__}: a lower bound exceeds an upper bound, so an assumption does not "
                "hold (noise, norm, linear rewards); nothing is certified from here on",
                RuntimeWarning,
            )

    def _instance_rounds(
        self, instance: BanditInstance, rounds: SupportsIndex | None, start: SupportsIndex | None
    ) -> tuple[int, int]:
        fits = isinstance(instance, BanditInstance) and instance.dim == self.dim
        check.require(fits, "instance", f"a BanditInstance with dim {self.dim}", instance)
        if rounds is None:
            raise ValueError("rounds must be given with an instance, got None")
        length = check.count("rounds", rounds, least=0, most=LARGEST_TRACE)
        self._check_total("rounds", length)
        first = self._rounds if start is None else check.count("start", start, least=0)
        noise, norm = getattr(self, "noise", math.inf), getattr(self, "norm", math.inf)
        if self.certified and (instance.noise > noise or instance.norm > norm * (1 + 1e-9)):
            warn(
                f"{type(self).__name__} assumes noise <= {noise:g} and norm <= {norm:g}, "
                f"but the instance has {instance.noise:g} and {instance.norm:g}: no certificate is valid",
                UserWarning,
            )
        if self.bounded_noise and instance.noise_kind == "gaussian" and instance.noise > 0:
            warn(
                f"{type(self).__name__} assumes bounded noise, not Gaussian: no certificate is valid",
                UserWarning,
            )
        return length, first

    def _play_instance(
        self,
        instance: BanditInstance,
        first: int,
        seed: int | np.random.SeedSequence,
        truth: Array,
        trace: Trace,
    ) -> None:
        """Play the rounds of an instance from ``first`` on, as many as the trace has."""
        done = 0
        for offered in instance.pieces(first, len(trace), seed):
            check_norms("actions of the instance", offered.actions, self.action_norm)
            noise = None
            if self.weighs and offered.noise is not None:
                noise = self._noise("noise of the instance", offered.noise, offered.noise.shape)
            part = trace.part(done, done + len(offered.rewards))
            self._play_with(offered.actions, offered.rewards, truth, part, noise)
            write_gaps(part, offered.means)
            done += len(part)


def _refuse(what: str, **given: object) -> None:
    """Refuse arguments that do not go with what is played."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must not be given with {what}, which has its own")

"""The family of agents that keep a stack of ridge regressions, one per level, in compiled code.

The whole state lies in one array, since Numba is slow to receive many: see ``kernels``. ``LevelledAgent`` has one
regression or several and some radius; ``OptimisticAgent`` has the confidence sets of ``confidence``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent, parameter
from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE
from unipac._inputs import LARGEST_REWARD, check_norms, floats
from unipac._jit import form, forms
from unipac._memory import require_room
from unipac.bandits.levelled import kernels, rounds
from unipac.bandits.levelled.confidence import RADII, Confidence, set_radii
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import Step
from unipac.bandits.protocol.records import Decision, Level, Trace
from unipac.linalg import blocks
from unipac.linalg.fast import fixed_actions
from unipac.linalg.levels import (
    MOST_LEVELS,
    NESTED,
    REFRESH_EVERY,
    SINGLE,
    Levels,
    empty,
    grown,
    top,
)
from unipac.linalg.soundness import Saved, check_blocks, check_growth, check_ratio
from unipac.registry import ours
from unipac.theory import bounds as theory, radii

INITIAL_LEVELS = 8
NOTHING = -1


@agent
class LevelledAgent(BanditAgent):
    """A bandit agent over levels of ridge regressions; the algorithms derive from it.

    {parameters}
    """

    counts_many = True
    rule: ClassVar[int] = SINGLE
    """How rounds are spread over levels, as in ``linalg.levels``."""
    _keeps_sets = False
    """Whether there are sets behind certificates beside the levels."""
    _parts = 1
    """Of how many blocks of columns the factors of a level are."""
    _in_blocks = False
    """Whether actions must be zero outside of one block."""

    learns_in: ClassVar[tuple[str, ...]] = (
        "state", "_stack", "_memory", "_bonus", "_fixed", "_sizes", "_evaluated", "_for_one"
    )  # fmt: skip

    regularization: float = declare.regularization()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ratio(self.regularization, self.action_norm)

    # -- what an algorithm writes --------------------------------------------------------------

    def _sets(self) -> Confidence:
        """The constants of the confidence sets."""
        raise NotImplementedError

    # -- state ---------------------------------------------------------------------------------

    def _empty(self) -> Any:
        require_room("dim", f"{INITIAL_LEVELS} levels", 16 * INITIAL_LEVELS * self.dim * (self.dim + 2))
        self._confidence = self._sets()
        self._certified = self._confidence.certified
        levels = empty(INITIAL_LEVELS, self.dim, self.regularization, self._parts)
        set_radii(levels, self._confidence, 1, 1)
        return self._held(levels)

    def _held(self, levels: Levels) -> Any:
        """These levels, in the memory that the kernels write into."""
        memory = kernels.packed(levels, self._confidence)
        if self._keeps_sets:
            return self._hold(memory, None, None)
        bonus = None if self._confidence.scale == 1.0 else np.zeros(len(levels.size))
        fixed = None
        if self.fixed_actions is not None:
            by = levels
            if bonus is not None:
                S = top(levels)
                bonus[:S] = self._confidence.scale * levels.beta[:S]
                by = levels._replace(beta=bonus)
            fixed = fixed_actions.packed(fixed_actions.filled(self._arms, by))
        return self._hold(memory, bonus, fixed)

    def _own_what_is_learned(self) -> None:
        bonus, fixed = (None if array is None else array.copy() for array in (self._bonus, self._fixed))
        self._hold(self._memory.copy(), bonus, fixed)

    def _hold(self, memory: Array, bonus: Array | None, fixed: Array | None) -> Any:
        """Let the kernels write into these arrays."""
        held = kernels.levels_in(memory)
        sizes = memoryview(held.size)  # type: ignore[arg-type]  # read in a tenth of the time
        whole = self._with_sets(held)
        for_one = memory, fixed, bonus, *self._held_sets(1)
        made = forms(LevelledAgent, ours(self), fixed is None, bonus is None, self._keeps_sets)
        choose_one, learn_one = made.get(rounds.choose), made.get(rounds.learn_one)
        # Without a call in between nothing can be raised in between.
        self._memory: Array = memory
        self._bonus: Array | None = bonus
        self._fixed: Array | None = fixed
        self._forms = made
        # None before an agent of this kind needs them, and for a user's class.
        self._choose_one: Any = choose_one
        self._learn_one: Any = learn_one
        self._for_one = for_one  # what a kernel that learns one round begins with
        self._sizes = sizes
        self._evaluated = NOTHING  # the decision whose action the kernels evaluated last
        self._stack: Levels = held
        self.state = whole
        return whole

    def _held_sets(self, n: int) -> tuple[Array | None, Array | None]:
        """The sets behind certificates and scratch memory for n actions, where there are any."""
        return None, None

    def _with_sets(self, levels: Levels) -> Any:
        """The state of an agent with these levels."""
        return levels

    def _saved(self) -> Any:
        levels = self._stack
        S = top(levels)
        return Saved(levels.rows[:S], levels.size[:S], levels.rotations[:S])

    def _restored(self, saved: Any) -> Any:
        S, d = len(saved.size), self.dim
        sound = (
            1 <= S <= (1 if self.rule == SINGLE else MOST_LEVELS)
            and saved.rows.shape == (S, *self._stack.rows.shape[1:])
            and saved.rotations.shape == (S,)
            and saved.size.min() >= 0
            and (S == 1 or saved.size[-1] > 0)
            and 0 <= saved.rotations.min() <= saved.rotations.max() <= max(REFRESH_EVERY, d)
            and sum(saved.size.tolist()) <= self.rounds
        )
        if not sound:
            raise ValueError("the levels are not those of any data")
        sizes = np.cumsum(saved.size) if self.rule == NESTED else saved.size
        levels = grown(
            Levels(saved.rows, np.zeros(S), np.zeros(S), saved.size, saved.rotations), max(8, S + 1)
        )
        for i in range(S):
            check_blocks(
                levels.rows[i], self.regularization, float(sizes[i]), self.action_norm, LARGEST_REWARD
            )
            levels.logdet[i] = blocks.log_determinant(levels.rows[i], self.regularization)
        set_radii(levels, self._confidence, 1, S)
        return self._held(levels)

    def _make_room(self, x: Array | None = None, times: int = 1) -> None:
        """Make room in the stack for the next level, and for all levels that ``times`` rounds with x can open."""
        levels = self._stack
        needed = top(levels) + 1
        if x is not None:
            norm2 = max(float(x @ x), (NEGLIGIBLE * self.action_norm) ** 2)
            # 1/width² is at most this at the end, and a level takes all that is left if 4^l exceeds it.
            longest = (self.regularization + self.rounds * self.action_norm**2) / norm2 + times
            needed = max(needed, math.ceil(math.log(longest, 4)) + 2)
        capacity = len(levels.size)
        if needed > capacity:
            self._held(grown(levels, max(needed, 2 * capacity)))

    # -- the protocol, compiled ----------------------------------------------------------------

    @property
    def _proven(self) -> bool:
        """Whether bounds and certificates are proven under the assumptions given, however actions are chosen."""
        return self._certified

    def _bounds(self, X: Array) -> tuple[Array, Array, Array, Array]:
        out = np.empty((4, len(X)))
        rounds.bound_all(self._memory, *self._held_sets(len(X)), X, out)
        return out[0], out[1], out[2], out[3]

    def _decide(self, X: Array, fixed: bool) -> tuple[int, int, float, float, float, float, float, bool]:
        if self._in_blocks and not fixed:
            check_norms("actions", X, self.action_norm)
            self._check_logged(X)
        self._evaluated = self._ledger.next_id
        sets, spare = self._held_sets(len(X)) if self._keeps_sets else (None, None)
        if fixed:
            return rounds.choose(self._memory, self._fixed, self._bonus, sets, spare, X)
        choose = self._choose_one
        if choose is None:
            choose, X = self._first_choice(sets, spare), floats("actions", X)
        verdict: tuple[Any, ...] = choose(self._memory, None, self._bonus, sets, spare, X)
        if verdict[0] < 0:
            check_norms("actions", X, self.action_norm)
        return verdict

    def _reward(self, waiting: Decision, value: float, times: int) -> Step:
        known = waiting.id == self._evaluated and times == 1
        return self._learn(waiting.action, value, waiting.level, times, None, known)

    def _learn(
        self, x: Array, y: float, level: int, times: int, noise: float | None = None, known: bool = False
    ) -> Step:
        """The step that learns a round; ``known`` if no other action was chosen since its decision."""
        if times > 1:
            check_growth(times, self.regularization, self.action_norm)
            self._make_room(x, times)
        elif self._sizes[-1] > 0:
            self._make_room()
        learn = self._learn_one
        if learn is None:
            learn, x = self._first_round(), floats("x", x)
        return [(learn, *self._for_one, x, y, times, known, self._ledger.late)]

    def _first_choice(self, sets: Array | None, spare: Array | None) -> Any:
        """What chooses, as nobody has looked yet; it looks at the types of what a user's class hands over."""
        if not ours(self):
            return rounds.choose
        made = form(rounds.choose, self._memory, None, self._bonus, sets, spare, np.empty((1, self.dim)))
        self._choose_one = self._forms[rounds.choose] = made
        return made

    def _first_round(self) -> Any:
        """What learns, likewise."""
        if not ours(self):
            return rounds.learn_one
        made = form(rounds.learn_one, *self._for_one, np.empty(self.dim), 0.5, 1, False, False)
        self._learn_one = self._forms[rounds.learn_one] = made
        return made

    def _absorb(self, X: Array, y: Array) -> None:
        done = 0
        while done < len(y):
            self._make_room()
            count = rounds.learn_all(*self._for_one, X[done:], y[done:])
            done += count
            self._ledger.counted += count

    def _play(self, X: Array, y: Array, truth: Array, trace: Trace) -> None:
        fixed = self.fixed_actions is not None and X.ndim == 2 and np.array_equal(X, self._arms)
        actions = X[None] if X.ndim == 2 else X
        done, sound = 0, self.consistent
        while done < len(y):
            self._make_room()
            rest = trace.part(done, len(y))
            count, refuted = self._ledger.run(
                rounds.play,
                self._memory,
                self._fixed,
                self._fixed if fixed else None,
                self._bonus,
                *self._held_sets(X.shape[-2]),
                actions if X.ndim == 2 else actions[done:],
                y[done:],
                truth,
                not sound,
                kernels.record(rest),
            )
            done += count
            if refuted and sound:
                sound = False
                self._warn_of_refutation()


def _smaller_radius(name: str, value: str) -> str:
    check.require(
        value != "ball", name, '"determinant" or "mixture" (BallOFUL cuts its set with the ball)', value
    )
    return check.one_of(name, value, ("determinant", "mixture"))


@agent
class OptimisticAgent(LevelledAgent):
    """Chooses the action whose reward may be largest, over confidence sets that hold with probability 1 − δ.

    {parameters}
    """

    delta: float = declare.delta()
    noise: float = declare.noise()
    norm: float = declare.norm()
    bonus_scale: float = declare.bonus_scale()

    radius: str = parameter(
        default="determinant",
        check=_smaller_radius,
        words='"determinant" as in Abbasi-Yadkori et al. (2011), or the smaller "mixture"',
    )

    def _sets(self) -> Confidence:
        all_data = getattr(self, "all_data", False)
        share = self.delta / 2.0 if all_data else self.delta
        assumed = {name: getattr(self, name) for name in ("noise", "norm", "regularization", "action_norm")}
        proven = self.radius != "theorem" or radii.theorem_is_proven(self.dim, share, **assumed)
        low, high = self.reward_range or (-math.inf, math.inf)
        return Confidence(
            certified=proven,
            rule=self.rule,
            radius=RADII[self.radius],
            delta=share,
            outer_delta=share if all_data else 0.0,
            **assumed,
            constant=0.0,
            scale=self.bonus_scale,
            low=low,
            high=high,
        )

    def levels(self) -> list[Level]:
        """Size, proven bound on the size, and radius of each level in use."""
        with self._lock:
            levels = self._stack
            S = top(levels)
            own = levels._replace(beta=np.empty_like(levels.beta))
            set_radii(own, self._confidence._replace(outer_delta=0.0), 1, S)  # of the levels, not of all data
            own.beta[:S] += self._zeta() * np.sqrt(np.cumsum(levels.size[:S]))
            sizes = levels.size[:S].tolist()
        return [Level(i + 1, sizes[i], self._size_bound(i + 1), float(own.beta[i])) for i in range(S)]

    def _zeta(self) -> float:
        """By how much rewards may differ from linear ones, where that is a parameter."""
        return float(getattr(self, "misspecification", 0.0))

    def _size_bound(self, level: int) -> float:
        """The proven bound on the size of a level."""
        if self.rule == SINGLE:
            return math.inf
        return theory.level_size(
            self.dim, level, regularization=self.regularization, action_norm=self.action_norm
        )

    def mistake_bound(self, eps: float) -> float:
        """With probability 1 − δ, for all ε at once, no more rounds than this have a gap above ε.

        ``theory.mistake_bound`` with the arguments of this agent; infinite if nothing bounds the number.
        """
        zeta = self._zeta()
        if self.theorem != "uniform-PAC" or not self._proven or self.bonus_scale != 1.0:
            check.positive("eps", eps)
            return math.inf
        names = ("delta", "noise", "norm", "regularization", "action_norm", "radius")
        return theory.mistake_bound(
            eps,
            self.dim,
            **{name: getattr(self, name) for name in names},
            nested=self.rule == NESTED,
            misspecification=zeta,
            all_data=getattr(self, "all_data", False),
        )

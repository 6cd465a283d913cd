"""The guard: another agent, F, plays where a certificate is too large for so late an episode.

F is NestedFLUTE with explicit constants and half of δ; it learns from its own episodes alone. N_F(ε) is its bound on
mistakes, ε_l = H 2^−l, and l is the largest with N_F(ε_l) < k. Then F plays episode k if the certificate of its first
state exceeds ε_l. StarLSVI learns from these episodes as well: whoever chose an action, the transition is fresh.

Steps of F have levels from 1 on, one more than its own; those of StarLSVI have level 0.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import starmap
from operator import call
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.linalg.soundness import check_shape
from unipac.mdp.linear.nested_flute import NestedFLUTE
from unipac.mdp.protocol.ledger import TERMINAL, Step
from unipac.mdp.protocol.plan import Change, Plan

if TYPE_CHECKING:
    from unipac.mdp.linear.star.star_lsvi import StarLSVI


class Log(NamedTuple):
    """The m episodes of F, for a file."""

    length: Integers
    """(m,)."""
    ended: Integers
    """(m,): 1 if the last next state is an end."""
    choice: Integers
    """(m, H, 2): action and level."""
    reward: Array
    """(m, H)."""
    seen: Array
    """(m, H), or features (m, H, A, d)."""
    following: Array


class _Features:
    """The feature map of F if states have no numbers: its observations are features already."""

    def __init__(self, n_actions: int, dim: int) -> None:
        self.n_actions, self.dim = n_actions, dim

    def __call__(self, features: Any) -> Any:
        return features


class Guard:
    """F, and the episodes that it played."""

    def __init__(self, agent: StarLSVI) -> None:
        self._horizon = agent.horizon
        self._counted, self._shape = agent._rules.counted, (agent._rules.n_actions, agent._rules.dim)
        phi = {"features": agent.features} if self._counted else {"feature_map": _Features(*self._shape)}
        self.other = NestedFLUTE(
            **phi,
            horizon=agent.horizon,
            delta=0.5 * agent.delta,
            regularization=agent.regularization,
            radius="explicit",
        )
        self.episodes: list[list[Step]] = []
        self._bounds: list[float] = []

    # -- whose turn it is ----------------------------------------------------------------------

    def mistakes(self, eps: float) -> float:
        """N_F(ε)."""
        return self.other.mistake_bound(eps)

    def mistake_bound(self, eps: float) -> float:
        """N_F(ε_l) + N_F(ε) with the largest ε_l ≤ ε."""
        level = max(0, math.ceil(math.log2(self._horizon / check.positive("eps", eps))))
        return self.mistakes(self._horizon * 2.0**-level) + self.mistakes(eps)

    def allowed(self, episode: int) -> float:
        """ε_l for the episode of this number, from 1; infinite before the first."""
        while not self._bounds or (self._bounds[-1] < episode and math.isfinite(self._bounds[-1])):
            self._bounds.append(self.mistakes(self._horizon * 2.0 ** -(len(self._bounds) + 1)))
        level = sum(bound < episode for bound in self._bounds)
        return self._horizon * 2.0**-level if level else math.inf

    # -- one of its episodes -------------------------------------------------------------------

    def action(self, h: int, level: int | None, seen: Any) -> tuple[int, int]:
        """The action of F at entry h, and its level, from 1; before the first action F plans if that is due."""
        if h == 0:
            self.other._prepare()
        action, found = self.other._action(h, level - 1 if h and level else None, seen)
        return action, found + 1

    def plan(self, own: Plan, theirs: Any, trivial: Array) -> Plan:
        """A plan in which F plays from the first states in ``theirs`` (S,), whose lower bounds are ``trivial``."""
        found = self.other._plan()
        action = np.concatenate([own.action, found.action], axis=1)
        level = np.concatenate([own.level, found.level + 1], axis=1)
        action[0, -1] = np.where(theirs, action[0, -1], own.action[0, 0])
        level[0, -1] = np.where(theirs, level[0, -1], 0)
        assert own.lower is not None
        return Plan(action, level, own.bound, np.where(theirs, trivial, own.lower), True)

    def change(self, steps: list[Step], learned: Change) -> Change:
        """What one of its episodes changes, here and in StarLSVI."""
        found = self.other._finish([step._replace(level=step.level - 1) for step in steps])
        kernel, arguments = found
        theirs = [*self.other._ledger.ended(1), (kernel, *arguments), (self.episodes.append, steps)]
        kernel, arguments = learned
        return deque, (starmap(call, [*theirs, (kernel, *arguments)]), 0)

    # -- files ---------------------------------------------------------------------------------

    def log(self) -> Log:
        """Its episodes, for a file."""
        log = no_log(len(self.episodes), self._horizon, self._shape, self._counted)
        for k, steps in enumerate(self.episodes):
            log.length[k], log.ended[k] = (
                len(steps),
                isinstance(steps[-1].following, int) and not self._counted,
            )
            for h, step in enumerate(steps):
                log.choice[k, h] = step.action, step.level
                log.reward[k, h], log.seen[k, h] = step.reward, step.seen
                log.following[k, h] = 0 if log.ended[k] and h == len(steps) - 1 else step.following
        return log

    def replay(self, log: Log, n_states: int) -> None:
        """Learn the episodes of a file again; a ``ValueError`` unless F chooses the same actions."""
        H, m = self._horizon, len(log.length)
        for name, array in no_log(m, H, self._shape, self._counted)._asdict().items():
            check_shape(getattr(log, name), array.shape)
        sound = bool(((log.length >= 1) & (log.length <= H)).all() and np.isin(log.ended, (0, 1)).all())
        paid = log.reward[np.arange(H) < log.length[:, None]]
        sound = sound and bool(((paid >= 0.0) & (paid <= 1.0)).all())
        if self._counted and sound:
            last = np.arange(H) == log.length[:, None] - 1
            inside = (log.seen >= 0) & (log.seen < n_states) & (log.following < n_states)
            sound = bool(inside.all() and ((log.following >= 0) | (last & (log.following == TERMINAL))).all())
        check.require(sound, "state.log", "episodes of this agent", log.length)
        for k in range(m):
            steps, level = [], None
            for h in range(int(log.length[k])):
                ended = bool(log.ended[k]) and h == log.length[k] - 1
                seen, after = log.seen[k, h], log.following[k, h]
                if self._counted:
                    seen, after = int(seen), int(after)
                else:
                    seen = self.other._seen("seen", seen)
                    after = TERMINAL if ended else self.other._seen("following", after)
                chosen = self.action(h, level, seen)
                if chosen != tuple(log.choice[k, h].tolist()):
                    raise ValueError("the episodes of the fallback are not its own")
                level = chosen[1]
                steps.append(Step(seen, *chosen, float(log.reward[k, h]), after))
            kernel, arguments = self.other._finish([s._replace(level=s.level - 1) for s in steps])
            kernel(*arguments)
            self.other._ledger.counted += 1
            self.episodes.append(steps)


def no_log(episodes: int, horizon: int, shape: tuple[int, int], counted: bool) -> Log:
    """A log with room for this many episodes."""
    m, H = episodes, horizon
    kind, seen = (np.int64, (m, H)) if counted else (np.float64, (m, H, *shape))
    return Log(
        np.zeros(m, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros((m, H, 2), dtype=np.int64),
        np.zeros((m, H)),
        np.zeros(seen, dtype=kind),
        np.zeros(seen, dtype=kind),
    )


def log_of(agent: StarLSVI) -> Log:
    """The episodes of an agent's fallback, for a file; none if there is none."""
    shape, counted = (agent._rules.n_actions, agent._rules.dim), agent._rules.counted
    return no_log(0, agent.horizon, shape, counted) if agent._guard is None else agent._guard.log()


def replay(agent: StarLSVI, log: Log) -> None:
    """Learn the episodes of a file again."""
    guard = agent._guard
    if guard is None:
        check.require(len(log.length) == 0, "state.log", "empty without a fallback", len(log.length))
    else:
        guard.replay(log, agent.n_states)

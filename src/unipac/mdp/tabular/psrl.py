"""PSRL: posterior sampling for reinforcement learning, after Osband, Russo and Van Roy (NeurIPS 2013).

    pseudo-code                                                                  here
    prior: P(· | s, a) ~ Dirichlet(1/S, ..., 1/S), mean reward ~ Beta(1/2, 1/2)  mdp.tabular.psrl.sample
    before an episode: draw a model from the posterior given the counts          mdp.tabular.psrl.sample
    play its optimal policy: backward induction                                  mdp.tabular.psrl.best_policy
    after it: count                                                              mdp.tabular.psrl.learn

Known rewards are used as they are; means of others are drawn from Beta(1/2 + Σ r, 1/2 + n − Σ r) for rewards
scaled to [0, 1]. The end of an episode counts as one more state, once it was seen. The mass of all states not seen yet
is drawn exactly, Gamma((S − K)/S), and split among them by breaking a stick ten times, the limit for many states of a
Dirichlet law with small parameters. A strong heuristic: nothing is proven about single episodes.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check, _declarations as declare
from unipac._agents import agent
from unipac._arrays import Array, Integers
from unipac._jit import jit
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.tabular.counting.agent import TabularAgent
from unipac.mdp.tabular.counting.counts import Counts, count_episode, no_counts, with_room

STICKS = 10


class State(NamedTuple):
    """What PSRL keeps."""

    counts: Counts
    drawn: Integers
    """(1,): number of the next draw."""


def sample(
    counts: Counts, n_states: int, low: float, high: float, rng: np.random.Generator
) -> tuple[Array, Integers, Array, Array]:
    """A model: probabilities of outcomes (E,), states and probabilities of others (C, STICKS), mean rewards (C,)."""
    cells, used = counts.visits.size, int(counts.used[0])
    p = np.zeros(counts.times.size)
    p[:used] = rng.standard_gamma(counts.times[:used] + 1.0 / n_states)
    unseen = np.maximum(0.0, 1.0 - counts.kinds / n_states)
    left = rng.standard_gamma(unseen)
    normalise(counts, p, left)
    others = (rng.random((cells, STICKS)) * n_states).astype(np.int64)
    parts = np.ones((cells, STICKS))
    parts[:, :-1] = rng.beta(1.0, np.maximum(unseen, 1e-9)[:, None], (cells, STICKS - 1))
    before = np.cumprod(np.hstack([left[:, None], 1.0 - parts[:, :-1]]), axis=1)
    n = counts.visits
    good = np.clip((counts.reward - n * low) / (high - low), 0.0, n)
    means = low + (high - low) * rng.beta(0.5 + good, 0.5 + n - good)
    return p, others, before * parts, means


@jit
def normalise(counts: Counts, p: Array, left: Array) -> None:
    """Let the probabilities of the outcomes of each cell, and what is left for others, sum to 1."""
    for cell in range(left.size):
        total, e = left[cell], counts.first[cell]
        while e >= 0:
            total += p[e]
            e = counts.other[e]
        left[cell] /= total
        e = counts.first[cell]
        while e >= 0:
            p[e] /= total
            e = counts.other[e]


@jit
def best_policy(
    counts: Counts, p: Array, others: Integers, shares: Array, base: Array, action: Integers, V: Array
) -> None:
    """Backward induction in the model; ``base`` (H or 1, S A) are the mean rewards."""
    H, n_states = action.shape
    pairs = base.shape[1]
    n_actions = pairs // n_states
    V[H] = 0.0
    for h in range(H - 1, -1, -1):
        for s in range(n_states):
            best = -math.inf
            for a in range(n_actions):
                pair = s * n_actions + a
                cell = pair if counts.visits.size == pairs else h * pairs + pair
                q, e = base[min(h, base.shape[0] - 1), pair], counts.first[cell]
                while e >= 0:
                    if counts.following[e] >= 0:
                        q += p[e] * V[h + 1, counts.following[e]]
                    e = counts.other[e]
                for j in range(STICKS):
                    q += shares[cell, j] * V[h + 1, others[cell, j]]
                if q > best:
                    best = q
                    action[h, s] = a
            V[h, s] = best


@jit
def learn(state: State, counted: tuple[Any, ...]) -> None:
    """Count an episode; the next plan is another draw."""
    count_episode(state.counts, *counted)
    state.drawn[0] += 1


@agent
class PSRL(TabularAgent):
    """Posterior sampling: the optimal policy of a model drawn before each episode. A heuristic of high reward.

    {parameters}

    Example:
        >>> from unipac.envs import river_swim
        >>> mdp = river_swim(n_states=3, horizon=3)
        >>> trace = PSRL(3, 2, horizon=3, homogeneous=True, seed=1).play(mdp, episodes=1000, seed=0)
        >>> bool(trace.gap[-100:].mean() < 0.01)
        True
    """

    theorem: ClassVar[str] = "none"
    draws = True

    seed: int = declare.seed("for the draws")

    def _empty(self) -> State:
        return State(no_counts(self._cells), np.zeros(1, dtype=np.int64))

    def _plan(self) -> Plan:
        H, S = self.horizon, self.n_states
        counts: Counts = self.state.counts
        rng = np.random.default_rng([self.seed, int(self.state.drawn[0])])
        p, others, shares, means = sample(counts, S, *self.reward_range, rng)
        base = means.reshape(-1, S * self.n_actions) if self._known is None else self._known
        action, V = np.zeros((H, S), dtype=np.int64), np.empty((H + 1, S))
        best_policy(counts, p, others, shares, base, action, V)
        return self._planned(action, V[0])

    def _learn(self, episode: Episode) -> Change:
        self.state = self.state._replace(counts=with_room(self.state.counts, self.horizon))
        return learn, (self.state, self._counted(episode))

    def _restored(self, saved: Any) -> State:
        self._sound_counts(saved.counts)
        check.require(saved.drawn.shape == (1,) and saved.drawn[0] >= 0, "drawn", "a number", saved.drawn)
        return State(*saved)

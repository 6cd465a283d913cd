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

from unipac import _checks as check
from unipac._agents import agent, parameter
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


@jit
def sample(
    counts: Counts, n_states: int, rewards: Any, rng: Any, model: tuple[Array, Integers, Array], means: Array
) -> None:
    """Fill a model: probabilities of outcomes (E,), states and probabilities of others, (C, STICKS); and ``means``."""
    (p, others, shares), (low, high) = model, rewards
    for cell in range(counts.visits.size):
        total, e = 0.0, counts.first[cell]
        while e >= 0:
            p[e] = rng.standard_gamma(counts.times[e] + 1.0 / n_states)
            total += p[e]
            e = counts.other[e]
        unseen = max(0.0, 1.0 - counts.kinds[cell] / n_states)
        rest = rng.standard_gamma(unseen) if unseen > 0.0 else 0.0
        total += rest
        e = counts.first[cell]
        while e >= 0:
            p[e] /= total
            e = counts.other[e]
        left = rest / total
        for j in range(STICKS):
            others[cell, j] = int(rng.random() * n_states)
            part = rng.beta(1.0, max(unseen, 1e-9)) if j < STICKS - 1 else 1.0
            shares[cell, j] = left * part
            left -= shares[cell, j]
        n = counts.visits[cell]
        good = min(max((counts.reward[cell] - n * low) / (high - low), 0.0), float(n))
        means[cell] = low + (high - low) * rng.beta(0.5 + good, 0.5 + n - good)


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

    seed: int = parameter(default=0, check=check.natural, words="for the draws")

    def _empty(self) -> State:
        return State(no_counts(self._cells), np.zeros(1, dtype=np.int64))

    def _plan(self) -> Plan:
        H, S = self.horizon, self.n_states
        counts: Counts = self.state.counts
        rng = np.random.default_rng([self.seed, int(self.state.drawn[0])])
        shape, means = (self._cells, STICKS), np.empty(self._cells)
        model = np.zeros(counts.times.size), np.zeros(shape, dtype=np.int64), np.zeros(shape)
        sample(counts, S, self.reward_range, rng, model, means)
        base = means.reshape(-1, S * self.n_actions) if self._known is None else self._known
        action, V = np.zeros((H, S), dtype=np.int64), np.empty((H + 1, S))
        best_policy(counts, *model, base, action, V)
        return self._planned(action, V[0])

    def _learn(self, episode: Episode) -> Change:
        self.state = self.state._replace(counts=with_room(self.state.counts, self.horizon))
        return learn, (self.state, self._counted(episode))

    def _restored(self, saved: Any) -> State:
        self._sound_counts(saved.counts)
        check.require(saved.drawn.shape == (1,) and saved.drawn[0] >= 0, "drawn", "a number", saved.drawn)
        return State(*saved)

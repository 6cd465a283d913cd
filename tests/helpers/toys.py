"""Small agents of each kind, written as a user would, outside the package; and wrong ones, each wrong in one way."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._agents import agent, parameter
from unipac.bandits.protocol.agent import BanditAgent
from unipac.linalg.soundness import check_gram
from unipac.mdp.protocol.finite import FiniteAgent
from unipac.mdp.protocol.plan import Plan
from unipac.pac import BestArm, Request

# -- right ones --------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Σ = λI + Σ x xᵀ, (d, d), and b = Σ x y, (d,)."""

    Sigma: Any
    b: Any


@agent
class ToyBandit(BanditAgent):
    """Optimism with the mixture radius, by dense solves.

    {parameters}

    >>> ToyBandit(2, boldness=0.5)
    <ToyBandit(2, boldness=0.5): 0 rounds>
    """

    theorem: ClassVar[str] = "regret"
    counts_many: ClassVar[bool] = True

    delta: float = parameter(default=0.05, check=check.probability, words="δ")
    noise: float = parameter(default=1.0, check=check.nonnegative, words="R")
    norm: float = parameter(default=1.0, check=check.nonnegative, words="S")
    regularization: float = parameter(default=1.0, check=check.positive, words="λ")
    boldness: float = parameter(default=1.0, check=check.nonnegative, words="how much to explore")

    _proven = True

    def _empty(self):
        return Moments(self.regularization * np.eye(self.dim), np.zeros(self.dim))

    def _radius(self):
        lam = self.regularization
        _, logdet = np.linalg.slogdet(self.state.Sigma / lam)
        return math.sqrt(self.noise**2 * (logdet + 2 * math.log(1 / self.delta)) + lam * self.norm**2)

    def _bounds(self, X):
        solved = np.linalg.solve(self.state.Sigma, X.T).T
        mean, width = solved @ self.state.b, np.sqrt((solved * X).sum(axis=1))
        return mean, width, mean + self._radius() * width, mean - self._radius() * width

    def _choose(self, X):
        mean, width, _, _ = self._bounds(X)
        return int(np.argmax(mean + self.boldness * self._radius() * width)), 1

    def _learn(self, x, y, level, times):
        return Moments(self.state.Sigma + times * np.outer(x, x), self.state.b + times * y * x)

    def _restored(self, saved):
        check_gram(saved.Sigma, self.regularization)
        return super()._restored(saved)


class Counts(NamedTuple):
    """How often (H, S, A), the sums of rewards (H, S, A), and where to (H, S, A, S)."""

    number: Any
    reward: Any
    arrivals: Any


@agent
class ToyMDP(FiniteAgent):
    """Optimistic value iteration on counts; its certificate is the trivial one, H.

    {parameters}

    >>> ToyMDP(3, 2, horizon=4)
    <ToyMDP(3, 2, horizon=4): 0 episodes>
    """

    bonus: float = parameter(default=0.3, check=check.nonnegative, words="of a pair seen once")

    _proven = True

    def _empty(self):
        H, S, A = self.horizon, self.n_states, self.n_actions
        return Counts(np.zeros((H, S, A), dtype=np.int64), np.zeros((H, S, A)), np.zeros((H, S, A, S)))

    def _plan(self):
        n = np.maximum(self.state.number, 1)
        V = np.zeros(self.n_states)
        action = np.zeros((self.horizon, 1, self.n_states), dtype=np.int64)
        for h in range(self.horizon - 1, -1, -1):
            Q = (self.state.reward[h] + self.state.arrivals[h] @ V + self.bonus * np.sqrt(n[h])) / n[h]
            Q = np.where(self.state.number[h] > 0, np.minimum(Q, self.horizon - h), self.horizon - h)
            action[h, 0] = Q.argmax(axis=1)
            V = Q.max(axis=1)
        return Plan(action, np.zeros_like(action), *self._promised(), True)

    def _promised(self):
        return np.full(self.n_states, float(self.horizon)), np.zeros(self.n_states)

    def _learn(self, episode):
        number, reward, arrivals = (array.copy() for array in self.state)
        for h in range(len(episode.state)):
            place = h, episode.state[h], episode.action[h]
            number[place] += 1
            reward[place] += episode.reward[h]
            if episode.following[h] >= 0:
                arrivals[(*place, episode.following[h])] += 1
        return Counts(number, reward, arrivals)


@agent
class ToySearch(BestArm):
    """Pull all arms equally often until Hoeffding's intervals part.

    {parameters}

    >>> ToySearch([[1.0], [0.5]], each=10).ask().counts
    array([10, 10])
    """

    each: int = parameter(default=4, check=check.count, words="pulls of each arm in a batch")

    def _steps(self):
        n = len(self._X)
        sums, index, certificate, k = np.zeros(n), 0, self._largest_gap(0), 0
        while certificate > self.eps:
            sums = sums + (yield self._request(index, certificate))
            k += 1
            # Hoeffding for each arm and each k, a union bound over both: Σ_k 1/(k(k+1)) = 1.
            pulls = k * self.each
            radius = self.noise * math.sqrt(2 * math.log(2 * n * k * (k + 1) / self.delta) / pulls)
            index = int(np.argmax(sums))
            others = np.delete(sums, index)
            gap = (others.max() - sums[index]) / pulls + 2 * radius if n > 1 else 0.0
            certificate = min(max(gap, 0.0), self._largest_gap(index))
        return index, certificate

    def _request(self, index, certificate):
        n = len(self._X)
        return Request(np.arange(n), np.full(n, self.each), index, certificate)


RIGHT = (ToyBandit, ToyMDP, ToySearch)


# -- wrong ones --------------------------------------------------------------------------------


class WrongTimes(ToyBandit):
    """Many rounds count once."""

    def _learn(self, x, y, level, times):
        return super()._learn(x, y, level, 1)


class NearlyRightTimes(ToyBandit):
    """Many rounds count by one too few."""

    def _learn(self, x, y, level, times):
        return super()._learn(x, y, level, times if times == 1 else times - 1)


class SharedMemory(ToyBandit):
    """A copy writes into the arrays of the original."""

    def _learn(self, x, y, level, times):
        return np.copyto, (self.state.b, super()._learn(x, y, level, times).b)

    def _clone(self):
        clone = super()._clone()
        clone.state = self.state
        return clone


class OwnPlay(ToyBandit):
    """Plays otherwise than it chooses: greedily."""

    def _play(self, X, y, truth, trace):
        boldness, self.boldness = self.boldness, 0.0
        super()._play(X, y, truth, trace)
        self.boldness = boldness


class ForgetsPending(ToyBandit):
    """Does not save the decisions that wait for a reward."""

    def _progress(self):
        waiting, self._ledger.pending = self._ledger.pending, {}
        progress = super()._progress()
        self._ledger.pending = waiting
        return progress


class ForgetsPart(ToyBandit):
    """Does not save b."""

    def _saved(self):
        return self.state._replace(b=0.0 * self.state.b)


class TooSureBandit(ToyBandit):
    """Certificates of a hundredth of the radius."""

    def _radius(self):
        return 0.01 * super()._radius()


class CarelessUpdate(ToyBandit):
    """Learns before it checks."""

    def update(self, decision, reward, *, times=1):
        self.state.b[:] += 1e-3
        super().update(decision, reward, times=times)


class WrongError(ToyBandit):
    """Lets NumPy complain."""

    def bounds(self, actions=None):
        return super().bounds(np.linalg.qr(actions)[1])


class OldIds(ToyBandit):
    """Counts its decisions from 0, as every copy does."""

    def _begin(self):
        super()._begin()
        self._ledger.first_id = self._ledger.next_id = 0


class ChoosingLearns(ToyBandit):
    """A choice is taken for a round."""

    def _choose(self, X):
        index, level = super()._choose(X)
        self.state = self._learn(X[index], 0.0, level, 1)
        return index, level


class TakesBadTimes(ToyBandit):
    """Says that it counts one by one, and does not refuse ``times``."""

    counts_many: ClassVar[bool] = False

    def update(self, decision, reward, *, times=1):
        super().update(decision, reward)


class TakesTwice(ToyBandit):
    """A reward that comes twice is learned twice."""

    def update(self, decision, reward, *, times=1):
        waiting = self._waiting(decision)
        super().update(decision, reward, times=times)
        self._ledger.pending[waiting.id] = waiting


class AbsorbsNothing(ToyBandit):
    """Counts logged rounds and learns nothing from them."""

    def _absorb(self, X, y):
        self._ledger.rounds += len(y)


class TrustsFiles(ToyBandit):
    """Takes any matrix for one that data led to."""

    def _restored(self, saved):
        return saved


class TrustsCounts(ToyMDP):
    """Takes counts of other problems."""

    def _restored(self, saved):
        return saved


class RandomPlan(ToyMDP):
    """The plan is not a function of the state."""

    random: ClassVar[Any] = np.random.default_rng(0)

    def _plan(self):
        plan = super()._plan()
        return plan._replace(action=self.random.integers(0, self.n_actions, plan.action.shape))


class HiddenPlan(ToyMDP):
    """Plans anew every tenth episode only, and does not keep the plan in its state."""

    def _plan(self):
        if getattr(self, "_kept", None) is None or self.episodes >= self._kept[0] + 10:
            self._kept = self.episodes, super()._plan()
        return self._kept[1]


class SharedMDP(ToyMDP):
    """A copy writes into the arrays of the original."""

    def _clone(self):
        clone = super()._clone()
        clone.state = self.state
        return clone

    def _learn(self, episode):
        return self._write, (self.state, super()._learn(episode))

    @staticmethod
    def _write(state, learned):
        for array, values in zip(state, learned, strict=True):
            array[:] = values


class ForgetsEpisode(ToyMDP):
    """Does not save the episode under way."""

    def _progress(self):
        under_way = self._ledger.steps, self._ledger.waiting
        self._ledger.steps, self._ledger.waiting = [], None
        progress = super()._progress()
        self._ledger.steps, self._ledger.waiting = under_way
        return progress


class OwnPlayMDP(ToyMDP):
    """Learns every episode twice when it plays."""

    def _play(self, world, states, uniforms, trace):
        super()._play(world, states, uniforms, trace)
        self.state.number[:] *= 2


class TooSureMDP(ToyMDP):
    """Certificates of zero."""

    def _promised(self):
        bound, _ = super()._promised()
        return bound, bound


class LowBound(ToyMDP):
    """An upper bound that is none."""

    def _promised(self):
        return np.zeros(self.n_states), np.full(self.n_states, -float(self.horizon))


class CarelessObserve(ToyMDP):
    """Takes note before it checks."""

    def observe(self, reward, next_observation, terminated=False, truncated=False):
        self.state.reward[0] += 1e-3
        super().observe(reward, next_observation, terminated, truncated)


class NeverTerminates(ToyMDP):
    """Goes on after the end."""

    def observe(self, reward, next_observation, terminated=False, truncated=False):
        super().observe(reward, next_observation)


class RandomSearch(ToySearch):
    """What it asks for is not a function of what it was told."""

    random: ClassVar[Any] = np.random.default_rng(0)

    def _request(self, index, certificate):
        request = super()._request(index, certificate)
        return request._replace(counts=self.random.integers(1, 10, len(request.counts)))


class TooSureSearch(ToySearch):
    """Certificates of zero."""

    def _request(self, index, certificate):
        return super()._request(index, 0.0)


class StopsEarly(ToySearch):
    """Stops before it knows."""

    def _steps(self):
        sums = yield self._request(0, self._largest_gap(0))
        return int(np.argmax(sums)), self._largest_gap(int(np.argmax(sums)))


class SameSearch(ToySearch):
    """A copy is the original."""

    def _clone(self):
        return self


class CarelessTell(ToySearch):
    """Counts before it checks."""

    def tell(self, sums):
        batch = self.ask()
        self._learn(batch, np.zeros(len(batch.arms)))
        super().tell(sums)


class ForgetsBatch(ToySearch):
    """Does not save the last batch."""

    def _saved(self):
        log = super()._saved()
        n = len(self._X) * max(0, len(log.lengths) - 1)
        return log._replace(
            lengths=log.lengths[:-1], arms=log.arms[:n], counts=log.counts[:n], sums=log.sums[:n]
        )

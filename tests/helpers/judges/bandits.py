"""The pseudo-code of the finite-arm and guarded bandits with dense solves: slow, obvious, judge of the agents.

Nothing here imports the library: formulas are written a second time on purpose. Every judge has

    choose(X) -> (row, level, certificate)     of the next round; changes nothing but ``score``, where there is one:
                                               the rows among which it chose, and what it maximised
    learn(x, y, level)                         the reward of a round that was chosen on this level
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from helpers.judges.searches import Fit, eliminate
from helpers.judges.sets import Sets

TIE = 1e-9


class Regression:
    """Ridge regression by running sums, solved from scratch when it has changed."""

    def __init__(self, d, lam):
        self.lam, self.Sigma, self.b, self.count = lam, lam * np.eye(d), np.zeros(d), 0
        self._solved = None

    def copy(self):
        other = Regression(len(self.b), self.lam)
        other.Sigma, other.b, other.count = self.Sigma.copy(), self.b.copy(), self.count
        return other

    def add(self, x, y, times=1, weight=1.0):
        self.Sigma += times * weight * np.outer(x, x)
        self.b += times * weight * y * np.asarray(x)
        self.count += times
        self._solved = None

    def solved(self):
        """Inverse, estimate, log det(Sigma / lam)."""
        if self._solved is None:
            inverse = np.linalg.inv(self.Sigma)
            logdet = np.linalg.slogdet(self.Sigma / self.lam)[1]
            self._solved = (inverse + inverse.T) / 2, np.linalg.solve(self.Sigma, self.b), logdet
        return self._solved

    def mean(self, X):
        return X @ self.solved()[1]

    def width(self, X):
        return np.sqrt(np.maximum(((X @ self.solved()[0]) * X).sum(axis=1), 0.0))

    def mixture(self, delta, R, S):
        return math.sqrt(R**2 * (self.solved()[2] + 2 * math.log(1 / delta)) + self.lam * S**2)

    def determinant(self, delta, R, S):
        return R * math.sqrt(self.solved()[2] + 2 * math.log(1 / delta)) + math.sqrt(self.lam) * S


def ellipsoid_certificate(regression, beta, X, k, cap):
    """max ucb - lcb of the chosen, capped."""
    mean, bonus = regression.mean(X), beta * regression.width(X)
    return min(max((mean + bonus).max() - (mean - bonus)[k], 0.0), cap)


# -- one ellipsoid of all data ---------------------------------------------------------------------


class Index:
    """argmax of mean + bonus over one regression on all data; radius "constant" is LinUCB with alpha."""

    def __init__(
        self, d, *, radius="determinant", alpha=1.0, delta=0.05, noise=1.0, norm=1.0, regularization=1.0,
        action_norm=1.0, bonus_scale=1.0,
    ):  # fmt: skip
        self.radius, self.alpha, self.scale = radius, alpha, bonus_scale
        self.delta, self.R, self.S, self.L = delta, noise, norm, action_norm
        self.all = Regression(d, regularization)

    def beta(self):
        if self.radius == "constant":
            return self.alpha
        return getattr(self.all, self.radius)(self.delta, self.R, self.S)

    def choose(self, X):
        k = int((self.all.mean(X) + self.scale * self.beta() * self.all.width(X)).argmax())
        cap = 2 * self.S * self.L
        proven = self.radius != "constant"
        return k, 1, ellipsoid_certificate(self.all, self.beta(), X, k, cap) if proven else math.nan

    def learn(self, x, y, level=1):
        self.all.add(x, y)


class DisjointLinUCB:
    """Li et al. (2010), Algorithm 1: one regression for each action, of the action's own rounds."""

    def __init__(self, d, n, *, alpha=1.0, regularization=1.0):
        self.alpha, self.models = alpha, [Regression(d, regularization) for _ in range(n)]

    def choose(self, X):
        p = [
            (m.mean(x[None]) + self.alpha * m.width(x[None]))[0] for m, x in zip(self.models, X, strict=True)
        ]
        return int(np.argmax(p)), 1, math.nan

    def learn(self, x, y, action):
        self.models[action].add(x, y)


# -- Guarded ---------------------------------------------------------------------------------------


class Guarded:
    """Levels guard any heuristic.

    Level l is open in round k while k <= g d 4^l, then closed for ever.
    D^l = {rounds k <= g d 4^l} and later rounds explored at some level j <= l.
    Round k, A = D_k; for the closed levels l = 1, 2, ...:
      A <- {x in A: <th_l, yhat - x> <= b_l |yhat - x| + 2z}, yhat = argmax_A <th_l, y>, the first; one left: play it
      if max_A |x|_l > 2^-l: explored, play the widest
    all passed: the heuristic picks from A.
    b_l = mix(Sigma_l, (delta/2)/(l(l+1))) + z sqrt(n_l), n_l = g d 4^l + explored at j <= l;
    all data: mix(Sigma, delta/2); with sets A and B: delta/8.

    z is the misspecification in force; of several the next one if bounds of what is learned, or sums, refute it. If
    those of what is chosen do, the certificate is one under the next, without the levels.
    """

    def __init__(
        self, d, heuristic, *, delta=0.05, noise=1.0, norm=1.0, regularization=1.0, action_norm=1.0, gate=16.0,
        first_width=False, tight=True, misspecification=0.0, blocks=1, reward_range=None,
        rewards_within=None,
    ):  # fmt: skip
        self.d, self.heuristic, self.gate = d, heuristic, gate
        self.delta, self.R, self.S, self.L = delta, noise, norm, action_norm
        self.all = Regression(d, regularization)
        self.closed = []
        self.rounds = 0
        self.sets = None
        self.zetas = misspecification if isinstance(misspecification, tuple) else (misspecification,)
        self.index, self.explored, self.under = 0, {}, self.zetas[0]
        if tight:
            told = {"noise": noise, "norm": norm, "regularization": regularization, "blocks": blocks}
            low, high = reward_range or rewards_within or (-math.inf, math.inf)
            told |= {"point": self.zetas[-1] > 0, "within": rewards_within}
            self.sets = Sets(d, 3 * delta / 16, zeta=self.zetas[0], low=low, high=high, **told)
        self.first_width = first_width  # the width test before the elimination: for the comparison only

    def open_until(self, level):
        return self.gate * self.d * 4.0**level

    def close(self):
        """Close what round rounds + 1 finds closed: a copy of all data at that moment."""
        while self.rounds + 1 > self.open_until(len(self.closed) + 1):
            self.closed.append(self.all.copy())

    @property
    def zeta(self):
        return self.zetas[self.index]

    def assume(self, index):
        self.index = index
        if self.sets is not None:
            self.sets.assume(self.zeta)

    def next(self):
        """Whether another one may be assumed, and is."""
        if self.index + 1 == len(self.zetas):
            return False
        self.assume(self.index + 1)
        return True

    def radius(self, level):
        members = math.floor(self.open_until(level)) + sum(
            self.explored.get(j, 0) for j in range(1, level + 1)
        )
        own = self.closed[level - 1].mixture(self.delta / 2 / (level * (level + 1)), self.R, self.S)
        return own + self.zeta * math.sqrt(members)

    def survivors(self, level, X, alive):
        data = self.closed[level - 1]
        best = alive[data.mean(X[alive]).argmax()]
        away = X[best] - X[alive]
        return alive[data.mean(away) <= self.radius(level) * data.width(away) + 2 * self.zeta]

    def gap_bound(self, level, X, alive, k):
        data = self.closed[level - 1]
        away = X[alive] - X[k]
        return (data.mean(away) + self.radius(level) * data.width(away)).max() + 2 * self.zeta

    def choose(self, X):
        """Row, level (0 if free) and certificate."""
        self.close()
        alive = np.arange(len(X))
        passed = []  # (level, survivors)
        k, explored = None, 0
        for level in range(1, len(self.closed) + 1):
            widths = self.closed[level - 1].width(X[alive])
            if self.first_width and widths.max() ** 2 > 4.0**-level * (1 + TIE):
                k, explored = alive[widths.argmax()], level
                break
            alive = self.survivors(level, X, alive)
            passed.append((level, alive))
            if len(alive) == 1:
                k = alive[0]
                break
            widths = self.closed[level - 1].width(X[alive])
            if widths.max() ** 2 > 4.0**-level * (1 + TIE):
                k, explored = alive[widths.argmax()], level
                break
        if k is None:
            k = alive[self.heuristic.choose(X[alive])[0]]
        if self.sets is None:
            beta = self.all.mixture(self.delta / 2, self.R, self.S)
            certificate = ellipsoid_certificate(self.all, beta, X, k, 2 * self.S * self.L)
        else:
            first = self.index
            while self.sets.contradicted(X[k], self.by_c, self.S * self.L) and self.next():
                passed = []
            certificate = min(self.sets.certificate(X, k, self.by_c), 2 * self.S * self.L + 2 * self.zeta)
            self.under = self.zeta
            self.assume(first)
        for level, kept in passed:
            certificate = min(certificate, max(self.gap_bound(level, X, kept, k), 0.0))
        return int(k), explored, certificate

    def by_c(self, v):
        """The upper bound of direction v by all data."""
        beta = self.all.mixture(self.delta / 8, self.R, self.S) + self.zeta * math.sqrt(self.all.count)
        return float(self.all.mean(v[None])[0] + beta * self.all.width(v[None])[0])

    def learn(self, x, y, level):
        self.close()
        if self.sets is not None:
            while self.sets.contradicted(x, self.by_c, self.S * self.L) and self.next():
                pass
            self.sets.learn(x, y, c=self.by_c)
            while self.sets.refuted() and self.next():
                pass
        self.all.add(x, y)
        if level:
            self.explored[level] = self.explored.get(level, 0) + 1
        for i in range(level, len(self.closed) + 1):
            if level:
                self.closed[i - 1].add(x, y)
        self.heuristic.learn(x, y)
        self.rounds += 1


# -- fixed arms: phases of G-optimal designs -------------------------------------------------------


class PhasedElimination:
    """Phases of a G-optimal design on the active arms; strict elimination, only pairs with the best (T4).

    e_1 = S max|x|, e_l = e_1 2^-(l-1); phase l: m = |A|, lg = log(2(m-1) l(l+1)/delta), design of value v;
    c_x = ceil(2 R^2 v lg/e_l^2 weight_x), at least one on the support; fit this phase alone; drop x if some active
    y has <th, y-x> > R |y-x| sqrt(2 lg) + S |outside|. One left: play it for ever.
    ``design(arms) -> (weights, value)``; pulls in the order of the arms.
    """

    def __init__(self, X, design, *, delta=0.05, noise=1.0, norm=1.0):
        self.X, self.design, self.delta, self.R, self.S = np.asarray(X), design, delta, noise, norm
        self.active = np.arange(len(X))
        self.widest = norm * np.linalg.norm(self.X, axis=1).max()
        self.phase, self.fit, self.log_term = 0, None, 0.0
        self.next_phase()

    def next_phase(self):
        self.phase += 1
        n, m = len(self.X), len(self.active)
        self.sums, self.counts = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.plan = np.zeros(n, dtype=np.int64)
        if m == 1:
            return
        self.next_log = math.log(2 * (m - 1) * self.phase * (self.phase + 1) / self.delta)
        e = self.widest * 2.0 ** -(self.phase - 1)
        weights, value = self.design(self.X[self.active])
        total = 2 * value * self.next_log * (self.R / e) ** 2 if e > 0 else 0.0
        counts = np.maximum(np.ceil(weights * total * (1 - 1e-15)), 1)
        self.plan[self.active] = np.where(weights > 0, counts, 0)

    def choose(self):
        k = int(self.active[0]) if len(self.active) == 1 else int(np.flatnonzero(self.counts < self.plan)[0])
        return k, self.phase, self.certificate(k)

    def certificate(self, k):
        away = self.X[self.active] - self.X[k]
        if len(self.active) == 1:
            return 0.0
        trivial = self.S * np.linalg.norm(away, axis=1).max()
        if self.fit is None:
            return trivial
        bound = (self.fit.mean(away) + self.fit.bound(away, self.log_term)).max()
        return min(max(bound, 0.0), trivial)

    def learn(self, k, y):
        if len(self.active) == 1:
            return
        self.sums[k] += y
        self.counts[k] += 1
        if (self.counts >= self.plan).all():
            self.fit, self.log_term = Fit(self.X, self.counts, self.sums, self.R, self.S), self.next_log
            self.active, _, _ = eliminate(self.fit, self.X, self.active, self.log_term)
            self.next_phase()


# -- levels that are eliminated one after the other ------------------------------------------------


def fixed_design(regression, log_term, R, S):
    """T2 with ridge: |<th - th*, y>| <= this |y| for one y, the actions being independent of the noise."""
    return R * math.sqrt(2 * log_term) + math.sqrt(regression.lam) * S


class AnytimeSupLinUCB:
    """Elimination over levels, no horizon needed (A8b)."""

    def __init__(
        self, d, *, radius="mixture", gate=64.0, nested=False, exploit="level", pool=None, delta=0.05,
        noise=1.0, norm=1.0, regularization=1.0, action_norm=1.0,
    ):  # fmt: skip
        assert radius == "mixture" or not nested
        self.d, self.radius, self.gate, self.nested, self.exploit, self.pool = (
            d,
            radius,
            gate,
            nested,
            exploit,
            pool,
        )
        self.delta, self.R, self.S, self.lam, self.L = delta, noise, norm, regularization, action_norm
        self.share = delta / 2 if exploit == "all" else delta  # of the levels; the other half is for all data
        self.levels = []
        self.all = Regression(d, regularization)
        self.rounds = 0

    def level(self, i):
        while len(self.levels) < i:
            new = self.levels[-1].copy() if self.nested and self.levels else Regression(self.d, self.lam)
            self.levels.append(new)
        return self.levels[i - 1]

    @staticmethod
    def survivors(data, beta, X, alive):
        away = X[alive[data.mean(X[alive]).argmax()]] - X[alive]
        return alive[data.mean(away) <= beta * data.width(away)]

    def beta(self, i, n):
        data, share = self.level(i), self.share / (i * (i + 1))
        k, m = self.rounds + 1, data.count
        if self.radius == "mixture":
            return data.mixture(share, self.R, self.S)
        if (
            self.radius == "round"
        ):  # only pairs with the best action, fixed given the menu, and single actions
            log_term = math.log(2 * (2 * n - 1) * k * (k + 1) / share)
            return fixed_design(data, log_term, self.R, self.S)
        if self.radius == "pool":
            N = self.pool * (self.pool - 1) / 2 + self.pool
            return fixed_design(data, math.log(2 * N * (m + 1) * (m + 2) / share), self.R, self.S)
        log_term = math.log(2 * (2 * n - 1) * k * (k + 1) / (share / 2))
        return min(data.mixture(share / 2, self.R, self.S), fixed_design(data, log_term, self.R, self.S))

    def choose(self, X):
        """Row, the level that stores the round (0 if none), certificate.

        Elimination comes before the width test where the radius allows it: with "mixture". The others need a level's
        design to be free of the level's own rewards, so they eliminate after it.
        """
        alive, k = np.arange(len(X)), self.rounds + 1
        certificates = []
        for i in itertools.count(1):
            data, beta = self.level(i), self.beta(i, len(X))
            if self.radius == "mixture":
                alive = self.survivors(data, beta, X, alive)
                certificates.append((data, beta, alive))
                if len(alive) == 1:
                    chosen, stored = alive[0], 0
                    break
            width = data.width(X[alive])
            if width.max() ** 2 > 4.0**-i * (1 + TIE):
                chosen, stored = alive[width.argmax()], i
                break
            if k <= self.gate * 4.0**i * self.d:
                upper = data.mean(X[alive]) + beta * width
                if self.exploit == "all":
                    outer = self.all.mixture(self.delta / 2, self.R, self.S)
                    upper = np.minimum(upper, self.all.mean(X[alive]) + outer * self.all.width(X[alive]))
                chosen, stored = alive[upper.argmax()], 0
                certificates.append((data, beta, alive))
                break
            if self.radius != "mixture":
                alive = self.survivors(data, beta, X, alive)
                certificates.append((data, beta, alive))
        if self.exploit == "all":  # half of delta is for the ellipsoid of all data
            outer = self.all.mixture(self.delta / 2, self.R, self.S)
            least = ellipsoid_certificate(self.all, outer, X, chosen, 2 * self.S * self.L)
        else:
            lengths = np.linalg.norm(X, axis=1)
            least = self.S * min(lengths.max() + lengths[chosen], 2 * self.L)
        for data, beta, kept in certificates:
            away = X[kept] - X[chosen]
            least = min(least, max(0.0, (data.mean(away) + beta * data.width(away)).max()))
        return int(chosen), stored, float(least)

    def learn(self, x, y, level):
        self.all.add(x, y)
        if level:
            last = len(self.levels) if self.nested else level
            for i in range(level, last + 1):
                self.level(i).add(x, y)
        self.rounds += 1


class SupLinUCB:
    """Chu et al. (2011), Algorithm 3, with delta shared by the stages and the widest action explored (A8a)."""

    def __init__(self, d, horizon, n, *, delta=0.05, noise=1.0, norm=1.0, regularization=1.0):
        self.T, self.R, self.S = horizon, noise, norm
        self.stages = [Regression(d, regularization) for _ in range(math.ceil(0.5 * math.log2(horizon)) + 1)]
        self.log_term = math.log(2 * horizon * n * len(self.stages) / delta)

    def widths(self, s, X):
        data = self.stages[s - 1]
        return fixed_design(data, self.log_term, self.R, self.S) * data.width(X)

    def mean(self, s, X):
        return self.stages[s - 1].mean(X)

    def choose(self, X):
        """Row, the stage that stores the round (0 if none), certificate: largest upper - own lower, least over stages.

        In every stage reached, the storing one included, the best action is left and all that are left are bounded.
        """
        alive, s, reached = np.arange(len(X)), 1, []
        while True:
            mean, w = self.mean(s, X[alive]), self.widths(s, X[alive])
            reached.append((alive, mean, w))
            if (w <= 1 / math.sqrt(self.T)).all() or s == len(self.stages):
                self.score, stored = (alive, mean + w), 0
                break
            if (w > 2.0**-s).any():
                self.score, stored = (alive, w), s
                break
            stay = mean + w >= (mean + w).max() - 2.0 ** (1 - s)
            alive, s = alive[stay], s + 1
        k = int(alive[self.score[1].argmax()])
        return k, stored, self.certificate(X, k, reached)

    def certificate(self, X, k, reached):
        least = self.S * np.linalg.norm(X - X[k], axis=1).max()
        for alive, mean, w in reached:
            least = min(least, (mean + w).max() - (mean - w)[alive == k][0])
        return max(least, 0.0)

    def learn(self, x, y, stage):
        if stage:
            self.stages[stage - 1].add(x, y)


class SupLinRel(SupLinUCB):
    """Auer (2002): the stages of SupLinUCB on the eigenvectors with eigenvalue at least 1, the rest is bias (A7)."""

    def __init__(self, d, horizon, n, *, delta=0.05, noise=1.0, norm=1.0):
        super().__init__(d, horizon, n, delta=delta, noise=noise, norm=norm, regularization=1.0)

    def parts(self, s):
        data = self.stages[s - 1]
        values, vectors = np.linalg.eigh(data.Sigma - np.eye(len(data.b)))
        return values, vectors, values >= 1 - TIE

    def mean(self, s, X):
        values, vectors, large = self.parts(s)
        P = vectors[:, large]
        return X @ P @ ((P.T @ self.stages[s - 1].b) / values[large])

    def widths(self, s, X):
        values, vectors, large = self.parts(s)
        seen = np.sqrt(((X @ vectors[:, large]) ** 2 / values[large]).sum(axis=1))
        unseen = np.linalg.norm(X @ vectors[:, ~large], axis=1)
        return self.R * math.sqrt(2 * self.log_term) * seen + self.S * unseen


class VCLSupLinUCB:
    """Li, Wang, Zhou (2019) with the derived confidence level (A9); in expectation only, nothing is certified."""

    def __init__(self, d, horizon, n, *, noise=1.0, norm=1.0, regularization=1.0):
        self.d, self.T, self.n, self.R, self.S, self.lam = d, horizon, n, noise, norm, regularization
        self.last = max(0, math.ceil(math.log2(math.sqrt(horizon / d))))
        self.layers = [Regression(d, regularization) for _ in range(self.last)]

    def choose(self, X):
        alive = np.arange(len(X))
        for z in range(self.last):
            omega = self.layers[z].width(X[alive])
            with np.errstate(divide="ignore"):
                spread = np.maximum(1, np.log(self.T * omega**2 / self.d))
            alpha = self.R * np.sqrt(spread + 2 * math.log(self.n * (self.last + 1)))
            w = (alpha + math.sqrt(self.lam) * self.S) * omega
            if (w > 2.0**-z).any():
                self.score = alive, w
                return int(alive[w.argmax()]), z + 1, math.nan
            mean = self.layers[z].mean(X[alive])
            alive = alive[mean >= mean.max() - 2.0 ** (1 - z)]
        final = self.layers[-1] if self.layers else Regression(self.d, self.lam)
        self.score = alive, final.mean(X[alive])
        return int(alive[self.score[1].argmax()]), 0, math.nan

    def learn(self, x, y, layer):
        if layer:
            self.layers[layer - 1].add(x, y)


class ConfidenceBall:
    """Dani, Hayes, Kakade (2008): norm_kind 2 or 1, radius "paper" or "mixture" (A6)."""

    def __init__(
        self, d, *, norm_kind=2, radius="paper", delta=0.05, noise=1.0, norm=1.0, regularization=1.0,
        action_norm=1.0,
    ):  # fmt: skip
        self.d, self.kind, self.radius = d, norm_kind, radius
        self.delta, self.R, self.S, self.L = delta, noise, norm, action_norm
        self.all = Regression(d, regularization)

    def root_beta(self):
        if self.radius == "mixture":
            return self.all.mixture(self.delta, self.R, self.S)
        t = self.all.count + 1
        log_term = math.log(t * t / self.delta)
        return math.sqrt(max(128 * self.d * math.log(t) * log_term, (8 / 3 * log_term) ** 2))

    def bonus(self, X):
        if self.kind == 2:
            return self.root_beta() * self.all.width(X)
        values, vectors = np.linalg.eigh(self.all.Sigma)
        root = (vectors / np.sqrt(values)) @ vectors.T
        return math.sqrt(self.d) * self.root_beta() * np.abs(X @ root).max(axis=1)

    def choose(self, X):
        mean, bonus = self.all.mean(X), self.bonus(X)
        self.score = np.arange(len(X)), mean + bonus
        k = int((mean + bonus).argmax())
        return k, 1, min(2 * self.S * self.L, max(0.0, (mean + bonus)[k] - (mean - bonus)[k]))

    def learn(self, x, y, level=1):
        self.all.add(x, y)


class WeightedOFUL:
    """Zhou, Gu, Szepesvari (2021): every round weighed by its variance; radius "mixture" or "bernstein" (A14)."""

    def __init__(
        self, d, *, radius="mixture", delta=0.05, noise=1.0, norm=1.0, regularization=1.0, action_norm=1.0
    ):
        self.d, self.radius, self.delta, self.R, self.S = d, radius, delta, noise, norm
        self.lam, self.L = regularization, action_norm
        self.all = Regression(d, regularization)

    def beta(self):
        if self.radius == "mixture":
            return self.all.mixture(self.delta, 1.0, self.S)
        t = max(self.all.count, 1)
        a2 = self.R**2 / self.d
        growth = math.log(1 + t * self.L**2 / (self.d * self.lam * a2))
        tail = math.log(4 * t * t / self.delta)
        return (
            8 * math.sqrt(self.d * growth * tail)
            + 4 * math.sqrt(self.d) * tail
            + math.sqrt(self.lam) * self.S
        )

    def choose(self, X):
        mean, bonus = self.all.mean(X), self.beta() * self.all.width(X)
        k = int((mean + bonus).argmax())
        return k, 1, min(2 * self.S * self.L, max(0.0, 2 * bonus[k]))

    def learn(self, x, y, sigma):
        sigma = max(sigma, self.R / math.sqrt(self.d)) if self.radius == "bernstein" else sigma
        self.all.add(x, y, weight=sigma**-2.0)


class LinTS:
    """Thompson sampling: "posterior" R, "frequentist" the mixture radius, times Sigma^-1/2 z; z comes from outside."""

    def __init__(self, d, *, scale="posterior", delta=0.05, noise=1.0, norm=1.0, regularization=1.0):
        self.scale, self.delta, self.R, self.S = scale, delta, noise, norm
        self.all = Regression(d, regularization)

    def choose(self, X, z):
        """z standard normal; theta + scale L^-T z with Sigma = L L'."""
        spread = self.R if self.scale == "posterior" else self.all.mixture(self.delta, self.R, self.S)
        shift = np.linalg.solve(np.linalg.cholesky(self.all.Sigma).T, z)
        self.score = np.arange(len(X)), X @ (self.all.solved()[1] + spread * shift)
        return int(self.score[1].argmax()), 1, math.nan

    def learn(self, x, y, level=1):
        self.all.add(x, y)

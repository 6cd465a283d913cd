"""The pseudo-code of the finite-arm and guarded bandits with dense solves: slow, obvious, judge of the agents.

Nothing here imports the library: formulas are written a second time on purpose. Every judge has

    choose(X) -> (row, level, certificate)     of the next round; changes nothing
    learn(x, y, level)                         the reward of a round that was chosen on this level
"""

from __future__ import annotations

import math

import numpy as np

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
      A <- {x in A: <th_l, yhat - x> <= b_l |yhat - x|}, yhat = argmax_A <th_l, y>, the first; one left: play it
      if max_A |x|_l > 2^-l: explored, play the widest
    all passed: the heuristic picks from A.
    b_l = mix(Sigma_l, (delta/2)/(l(l+1))), all data: mix(Sigma, delta/2)
    """

    def __init__(
        self, d, heuristic, *, delta=0.05, noise=1.0, norm=1.0, regularization=1.0, action_norm=1.0, gate=16.0,
        first_width=False,
    ):  # fmt: skip
        self.d, self.heuristic, self.gate = d, heuristic, gate
        self.delta, self.R, self.S, self.L = delta, noise, norm, action_norm
        self.all = Regression(d, regularization)
        self.closed = []
        self.rounds = 0
        self.first_width = first_width  # the width test before the elimination: for the comparison only

    def open_until(self, level):
        return self.gate * self.d * 4.0**level

    def close(self):
        """Close what round rounds + 1 finds closed: a copy of all data at that moment."""
        while self.rounds + 1 > self.open_until(len(self.closed) + 1):
            self.closed.append(self.all.copy())

    def survivors(self, l, X, alive):
        data = self.closed[l - 1]
        beta = data.mixture(self.delta / 2 / (l * (l + 1)), self.R, self.S)
        best = alive[data.mean(X[alive]).argmax()]
        away = X[best] - X[alive]
        return alive[data.mean(away) <= beta * data.width(away)]

    def gap_bound(self, l, X, alive, k):
        data = self.closed[l - 1]
        beta = data.mixture(self.delta / 2 / (l * (l + 1)), self.R, self.S)
        away = X[alive] - X[k]
        return (data.mean(away) + beta * data.width(away)).max()

    def choose(self, X):
        """Row, level (0 if free) and certificate."""
        self.close()
        alive = np.arange(len(X))
        passed = []  # (level, survivors)
        k, level = None, 0
        for l in range(1, len(self.closed) + 1):
            widths = self.closed[l - 1].width(X[alive])
            if self.first_width and widths.max() ** 2 > 4.0**-l * (1 + TIE):
                k, level = alive[widths.argmax()], l
                break
            alive = self.survivors(l, X, alive)
            passed.append((l, alive))
            if len(alive) == 1:
                k = alive[0]
                break
            widths = self.closed[l - 1].width(X[alive])
            if widths.max() ** 2 > 4.0**-l * (1 + TIE):
                k, level = alive[widths.argmax()], l
                break
        if k is None:
            k = alive[self.heuristic.choose(X[alive])[0]]
        beta = self.all.mixture(self.delta / 2, self.R, self.S)
        certificate = ellipsoid_certificate(self.all, beta, X, k, 2 * self.S * self.L)
        for l, kept in passed:
            certificate = min(certificate, max(self.gap_bound(l, X, kept, k), 0.0))
        return int(k), level, certificate

    def learn(self, x, y, level):
        self.close()
        self.all.add(x, y)
        for l in range(max(level, 1), len(self.closed) + 1):
            if level:
                self.closed[l - 1].add(x, y)
        self.heuristic.learn(x, y)
        self.rounds += 1

"""The pseudo-code of the best-arm searches with dense solves: slow, obvious, judge of the searches.

Nothing here imports the library: formulas are written a second time on purpose. A search is a generator. It
yields (arms, counts, answer, certificate): what to pull, how often, what it would answer now and by how much
that can be wrong; it is sent the sums of the rewards of these arms. It returns (answer, certificate).

The phased searches are given ``design(arms, targets) -> (weights, value)``: any design that attains the value
serves; ``checked_design`` refuses one that does not.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

RANK = 1e-8


# -- what the searches share -----------------------------------------------------------------------


class Fit:
    """Least squares on fixed counts (F7): one basis of the span of what was pulled, the rest is bias."""

    def __init__(self, X, counts, sums, R, S):
        pulled = counts > 0
        self.R, self.S = R, S
        _, scale, right = np.linalg.svd(X[pulled], full_matrices=False)
        self.Q = right[scale > RANK * scale[0]].T if scale[0] > 0 else np.zeros((X.shape[1], 0))
        # Least squares with weights: each arm counts as one observation of its mean, of variance 1/count.
        root = np.sqrt(counts[pulled].astype(float))[:, None]
        self.design = root * (X[pulled] @ self.Q)
        left, scale, right = np.linalg.svd(self.design, full_matrices=False)
        self.half = right.T / scale  # V^-1 = half half'
        means = np.asarray(sums)[pulled] / counts[pulled]
        self.theta = self.half @ (left.T @ (root[:, 0] * means))

    def mean(self, Y):
        return Y @ self.Q @ self.theta

    def width2(self, Y):
        return ((Y @ self.Q @ self.half) ** 2).sum(axis=1)

    def bound(self, Y, log_term):
        """By how much <theta^, y> may be wrong."""
        outside = np.linalg.norm(Y - Y @ self.Q @ self.Q.T, axis=1)
        return self.R * np.sqrt(2 * log_term * self.width2(Y)) + self.S * outside


def full(n, arms, values, kind=float):
    result = np.zeros(n, dtype=kind)
    result[arms] = values
    return result


def pairs(Z):
    i, j = np.triu_indices(len(Z), 1)
    return Z[i] - Z[j]


def checked_design(design):
    """The given solver, each answer verified: weights on the simplex, the value attained."""

    def solve(X, Y):
        weights, value = design(X, Y)
        assert (weights >= 0).all()
        assert abs(weights.sum() - 1) < 1e-9
        kept = weights > 0
        _, scale, right = np.linalg.svd(np.sqrt(weights[kept])[:, None] * X[kept], full_matrices=False)
        good = scale > 1e-9 * scale[0]
        half = right[good].T / scale[good]
        attained = ((Y @ half) ** 2).sum(axis=1).max()
        assert attained <= value * (1 + 1e-6)
        return weights, value

    return solve


def allocate(weights, pulls):
    counts = np.ceil(weights * pulls * (1 - 1e-15))
    return np.where(weights > 0, np.maximum(counts, 1), 0).astype(np.int64)


def trivial(Z, S):
    """The first target, and what it can lose whatever the parameter."""
    return 0, S * float(np.linalg.norm(Z - Z[0], axis=1).max())


def eliminate(fit, Z, active, log_term):
    """Strict elimination and the stopping rule of F8: what stays, the best of it, and its certificate."""
    kept = []
    for z in active:
        away = Z[active] - Z[z]
        if not (fit.mean(away) > fit.bound(away, log_term)).any():
            kept.append(z)
    kept = np.array(kept)
    gaps = []
    for z in kept:
        away = Z[kept] - Z[z]
        gaps.append(max(0.0, float((fit.mean(away) + fit.bound(away, log_term)).max())))
    return kept, int(kept[np.argmin(gaps)]), min(gaps)


def better(old, answer, certificate):
    return (answer, certificate) if certificate <= old[1] else old


def phase(X, weights, pulls, known):
    """Pull, and fit what came."""
    counts = allocate(weights, pulls)
    arms = np.flatnonzero(counts)
    sums = yield arms, counts[arms], *known
    return counts, full(len(X), arms, sums)


# -- phases of designs -----------------------------------------------------------------------------


def rage(X, Z, delta, R, S, eps, design):
    known, active = trivial(Z, S), np.arange(len(Z))
    for t in itertools.count(1):
        if known[1] <= eps:
            return known
        log_term = math.log(2 * (len(active) - 1) * t * (t + 1) / delta)
        weights, rho = design(X, pairs(Z[active]))
        counts, sums = yield from phase(X, weights, 2 * 4.0**t * R**2 * rho * log_term, known)
        active, *found = eliminate(Fit(X, counts, sums, R, S), Z, active, log_term)
        known = better(known, *found)


def xy_adaptive(X, Z, delta, R, S, eps, design, shrink=0.1):
    known, active, reached = trivial(Z, S), np.arange(len(Z)), 1.0
    for j in itertools.count(1):
        if known[1] <= eps:
            return known
        log_term = math.log(2 * (len(active) - 1) * j * (j + 1) / delta)
        weights, rho = design(X, pairs(Z[active]))
        counts, sums = yield from phase(X, weights, rho / (shrink * reached), known)
        fit = Fit(X, counts, sums, R, S)
        reached = fit.width2(pairs(Z[active])).max()
        active, *found = eliminate(fit, Z, active, log_term)
        known = better(known, *found)


def alba(X, Z, delta, R, S, eps, design):
    known, active = trivial(Z, S), np.arange(len(Z))
    for r in itertools.count(0):
        goal = max(1, X.shape[1] // 2**r)
        for s in itertools.count(1):
            if known[1] <= eps:
                return known
            if len(active) <= goal:
                break
            log_term = math.log(2 * (len(active) - 1) * (r + 1) * (r + 2) * s * (s + 1) / delta)
            _, scale, right = np.linalg.svd(Z[active], full_matrices=False)
            Q = right[scale > RANK * scale[0]].T
            inside = np.linalg.norm(X - X @ Q @ Q.T, axis=1) <= RANK * np.linalg.norm(X, axis=1).max()
            if Z is not X and np.linalg.matrix_rank(X[inside] @ Q) < Q.shape[1]:
                inside[:] = True
            weights = np.zeros(len(X))
            weights[inside], v = design(X[inside], Z[active])
            pulls = 2 * v * R**2 * (2 * 2.0**s) ** 2 * log_term
            counts, sums = yield from phase(X, weights, pulls, known)
            active, *found = eliminate(Fit(X, counts, sums, R, S), Z, active, log_term)
            known = better(known, *found)


def explore_verify(X, Z, delta, R, S, eps, design, kappa=0.1):
    known, n = trivial(Z, S), len(Z)
    if known[1] <= eps:
        return known
    for i in itertools.count(1):
        total, sums = np.zeros(len(X), dtype=np.int64), np.zeros(len(X))
        explore = rage(X, Z, max(kappa / i**2, delta), R, S, eps, design)
        sent = None
        while True:
            try:
                arms, counts, guess, _ = explore.send(sent)
            except StopIteration as end:
                guess = end.value[0]
                break
            sent = yield arms, counts, *known
            total[arms] += counts
            sums[arms] += sent
        fit = Fit(X, total, sums, R, S)
        away = Z[guess] - np.delete(Z, guess, axis=0)
        away = away[(away != 0).any(axis=1)]
        gaps = np.maximum(fit.mean(away), R * np.sqrt(fit.width2(away))) + eps
        gaps = np.maximum(gaps, 1e-9 * S * np.linalg.norm(away, axis=1))
        weights, value = design(X, away / gaps[:, None])
        log_term = math.log(i * (i + 1) / delta)
        pulls = 1.1 * R**2 * value * (math.sqrt(2 * log_term) + math.sqrt(2 * math.log(2 * n))) ** 2
        counts, sums = yield from phase(X, weights, pulls, known)
        fit = Fit(X, counts, sums, R, S)
        worse = Z - Z[guess]
        certificate = max(0.0, float((fit.mean(worse) + fit.bound(worse, log_term)).max()))
        known = better(known, guess, certificate)
        if known[1] <= eps:
            return known


# -- a fixed path, tested now and then -------------------------------------------------------------


def static(X, Z, delta, R, S, eps, kind, rng, growth=1.1):
    """kind "G": targets Z; "XY": their differences. The path never sees a reward."""
    known, n = trivial(Z, S), len(Z)
    if known[1] <= eps:
        return known
    Y = Z if kind == "G" else pairs(Z)
    _, scale, right = np.linalg.svd(X, full_matrices=False)
    Q = right[scale > RANK * scale[0]].T
    XQ, YQ = X @ Q, Y @ Q
    counts, sums = np.zeros(len(X), dtype=np.int64), np.zeros(len(X))
    left = XQ.copy()
    for _ in range(Q.shape[1]):  # independent arms: the longest, then the farthest from the span so far
        k = int((left**2).sum(axis=1).argmax())
        counts[k] += 1
        u = left[k] / np.linalg.norm(left[k])
        left = left - np.outer(left @ u, u)
    asked, done = counts.copy(), counts.sum()
    for i in itertools.count(1):
        arms = np.flatnonzero(asked)
        sums[arms] += yield arms, asked[arms], *known
        fit = Fit(X, counts, sums, R, S)
        log_term = math.log((n - 1) * math.pi**2 * i**2 / (6 * delta))
        guess = int(fit.mean(Z).argmax())
        worse = Z - Z[guess]
        gap = max(0.0, float((fit.mean(worse) + fit.bound(worse, log_term)).max()))
        known = better(known, guess, gap)
        if known[1] <= eps:
            return known
        asked = np.zeros_like(counts)
        goal = max(done + 1, math.ceil(growth * done))
        inverse = np.linalg.inv(XQ.T @ (counts[:, None] * XQ))
        while done < goal:
            half = YQ @ inverse
            cross = half @ XQ.T
            after = (half * YQ).sum(axis=1)[:, None] - cross**2 / (1 + ((XQ @ inverse) * XQ).sum(axis=1))
            after = after.max(axis=0)
            k = rng.choice(np.flatnonzero(after <= after.min() * (1 + 1e-9)))
            u = inverse @ XQ[k]
            inverse = inverse - np.outer(u, u) / (1 + XQ[k] @ u)
            asked[k] += 1
            counts[k] += 1
            done += 1


# -- one pull at a time: ridge and the mixture radius ----------------------------------------------


class Ridge:
    def __init__(self, X, Z, delta, R, S, lam):
        self.X, self.Z, self.delta, self.R, self.S, self.lam = X, Z, delta, R, S, lam
        self.V, self.b = lam * np.eye(X.shape[1]), np.zeros(X.shape[1])

    def add(self, k, y):
        self.V += np.outer(self.X[k], self.X[k])
        self.b += y * self.X[k]

    def look(self):
        """Inverse, estimate, the best target, its rival, and what the best can lose."""
        inverse, theta = np.linalg.inv(self.V), np.linalg.solve(self.V, self.b)
        logdet = np.linalg.slogdet(self.V / self.lam)[1]
        C = math.sqrt(self.R**2 * (logdet + 2 * math.log(1 / self.delta)) + self.lam * self.S**2)
        i = int((self.Z @ theta).argmax())
        away = self.Z - self.Z[i]
        gaps = away @ theta + C * np.sqrt(np.maximum(((away @ inverse) * away).sum(axis=1), 0))
        gaps[i] = -math.inf
        j = int(gaps.argmax())
        return inverse, theta, i, j, max(0.0, float(gaps[j]))


def lingape(X, Z, delta, R, S, eps, lam=1.0):
    known = trivial(Z, S)
    data = Ridge(X, Z, delta, R, S, lam)
    while True:
        inverse, _, i, j, gap = data.look()
        known = better(known, i, gap)
        if known[1] <= eps:
            return known
        y = Z[i] - Z[j]
        k = int(((X @ inverse @ y) ** 2 / (1 + ((X @ inverse) * X).sum(axis=1))).argmax())
        (reward,) = yield np.array([k]), np.array([1]), *known
        data.add(k, reward)


def lazy_track_and_stop(X, Z, delta, R, S, eps, lam=1.0, step=0.02):
    known, n = trivial(Z, S), len(X)
    data = Ridge(X, Z, delta, R, S, lam)
    w, counts = np.full(n, 1 / n), np.zeros(n)
    _, scale, right = np.linalg.svd(X, full_matrices=False)
    Q = right[scale > RANK * scale[0]].T
    XQ, ZQ = X @ Q, Z @ Q
    for t in itertools.count():
        _, theta, i, _, gap = data.look()
        known = better(known, i, gap)
        if known[1] <= eps:
            return known
        least = int(counts.argmin())
        if counts[least] < math.sqrt(t) / (2 * n):
            k = least
        else:
            inverse = np.linalg.inv(XQ.T @ (w[:, None] * XQ))
            away = ZQ[i] - ZQ
            gaps = np.maximum((Z[i] - Z) @ theta, 0) + eps
            ratio = ((away @ inverse) * away).sum(axis=1) / np.maximum(gaps, 1e-12) ** 2
            ratio[i] = -1
            y = away[int(ratio.argmax())]
            w = (1 - step) * w
            w[int(((XQ @ inverse @ y) ** 2).argmax())] += step
            k = int((counts - t * w).argmin())
        (reward,) = yield np.array([k]), np.array([1]), *known
        data.add(k, reward)
        counts[k] += 1


def run(search, X, theta, noise, seed, max_pulls=10**7):
    """Gaussian rewards; (answer, certificate, pulls)."""
    rng = np.random.default_rng(seed)
    means, pulls, sent = X @ theta, 0, None
    while True:
        try:
            arms, counts, *known = search.send(sent)
        except StopIteration as end:
            return *end.value, pulls
        if pulls >= max_pulls:
            return *known, pulls
        pulls += int(counts.sum())
        sent = counts * means[arms] + noise * np.sqrt(counts) * rng.standard_normal(len(arms))

"""The papers' pseudo-code with dense solves and Python loops: slow, obvious, and the judge of every kernel.

Nothing here imports the library: formulas are written a second time on purpose.
"""

from __future__ import annotations

import math

import numpy as np

TIE = 1e-9
NEGLIGIBLE = 1e-12


def theorem(d, level, delta):
    """Theorem 1 of He, Zhou, Gu 2021."""
    return 6 * math.sqrt(d * level * math.log(d * level / delta))


def determinant(Sigma, lam, R, S, delta):
    """Theorem 2 of Abbasi-Yadkori et al. 2011, first form."""
    _, logdet = np.linalg.slogdet(Sigma / lam)
    return R * math.sqrt(logdet + 2 * math.log(1 / delta)) + math.sqrt(lam) * S


def mixture(Sigma, lam, R, S, delta):
    _, logdet = np.linalg.slogdet(Sigma / lam)
    return math.sqrt(R**2 * (logdet + 2 * math.log(1 / delta)) + lam * S**2)


class NaiveAgent:
    """Keeps the rounds of each C^l as lists and solves from scratch whenever asked.

    rule is "disjoint" (Algorithm 1), "nested" (D^l = C^1 u ... u C^l) or "single" (OFUL: all data).
    """

    def __init__(
        self, dim, rule, radius, *, delta=0.05, noise=1.0, norm=1.0, regularization=1.0,
        action_norm=1.0, all_data=False, alpha=None,
    ):  # fmt: skip
        self.d, self.rule, self.radius = dim, rule, radius
        self.delta = delta / 2 if all_data else delta
        self.R, self.S_norm, self.lam, self.L = noise, norm, regularization, action_norm
        self.all_data, self.alpha = all_data, alpha
        self.C = {1: []}  # level -> list of (x, r)
        self.S = 1

    # -- the sets ------------------------------------------------------------------------------

    def members(self, level):
        if self.rule == "nested":
            return [entry for i in range(1, level + 1) for entry in self.C.get(i, [])]
        return self.C.get(level, [])

    def regression(self, rounds):
        """Lines 4-5."""
        Sigma = self.lam * np.eye(self.d)
        b = np.zeros(self.d)
        for x, r in rounds:
            Sigma += np.outer(x, x)
            b += r * x
        return Sigma, b

    def beta(self, level, Sigma):
        delta_l = self.delta if self.rule == "single" else self.delta / (level * (level + 1))
        if self.alpha is not None:
            return self.alpha
        if self.radius == "theorem":
            return theorem(self.d, level, self.delta)
        formula = {"determinant": determinant, "mixture": mixture}[self.radius]
        return formula(Sigma, self.lam, self.R, self.S_norm, delta_l)

    def sets(self):
        """(Sigma, b, beta) of each confidence set."""
        result = []
        for level in range(1, self.S + 1):
            Sigma, b = self.regression(self.members(level))
            result.append((Sigma, b, self.beta(level, Sigma)))
        if self.all_data:
            everything = [entry for rounds in self.C.values() for entry in rounds]
            Sigma, b = self.regression(everything)
            formula = mixture if self.radius == "mixture" else determinant
            radius = formula(Sigma, self.lam, self.R, self.S_norm, self.delta)
            result.append((Sigma, b, radius))
        return result

    # -- one round -----------------------------------------------------------------------------

    def evaluate(self, X):
        """Means, widths and bonuses of every action in every set: three arrays (sets, n)."""
        means, widths, bonuses = [], [], []
        for Sigma, b, beta in self.sets():
            solved = np.linalg.solve(Sigma, np.asarray(X).T)  # (d, n)
            width = np.sqrt((np.asarray(X).T * solved).sum(axis=0))
            means.append(b @ solved)
            widths.append(width)
            bonuses.append(beta * width)
        return np.array(means), np.array(widths), np.array(bonuses)

    def level(self, x):
        """Lines 9-12; also how close the decisive test was, as a ratio to its threshold."""
        if self.rule == "single":
            return 1, []
        ratios = []
        level = 1
        while level <= self.S:
            Sigma, _ = self.regression(self.members(level))
            threshold = 4.0**-level * (1 + TIE)
            width2 = x @ np.linalg.solve(Sigma, x)
            ratios.append(width2 / threshold)
            if width2 > threshold:
                break
            level += 1
        return level, ratios

    def add(self, x, r, level=None):
        """Lines 13-14."""
        if np.linalg.norm(x) < NEGLIGIBLE * self.L:
            return
        level = self.level(x)[0] if level is None else level
        self.C.setdefault(level, []).append((np.array(x), r))
        self.S = max([1] + [level for level, rounds in self.C.items() if rounds])


class FastNaiveAgent(NaiveAgent):
    """The same with running sums instead of lists, for thousands of rounds."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sums = {}  # level -> [Sigma - lam I, b, count]

    def _sum(self, level):
        zero = [np.zeros((self.d, self.d)), np.zeros(self.d), 0]
        return self.sums.setdefault(level, zero)

    def members(self, level):
        return range(1, level + 1) if self.rule == "nested" else [level]

    def regression(self, rounds):
        Sigma = self.lam * np.eye(self.d)
        b = np.zeros(self.d)
        for level in rounds:
            Sigma = Sigma + self._sum(level)[0]
            b = b + self._sum(level)[1]
        return Sigma, b

    def sets(self):
        self.C = {level: [level] for level in range(1, self.S + 1)}
        return super().sets()

    def add(self, x, r, level=None, times=1):
        if np.linalg.norm(x) < NEGLIGIBLE * self.L:
            return
        level = self.level(x)[0] if level is None else level
        total = self._sum(level)
        total[0] = total[0] + times * np.outer(x, x)
        total[1] = total[1] + times * r * np.asarray(x)
        total[2] += times
        self.S = max([1] + [level for level, (_, _, n) in self.sums.items() if n])

    def sizes(self):
        return [self._sum(level)[2] for level in range(1, self.S + 1)]


def ball_support(Sigma, w, beta, S, x, grid=20001):
    """max <x, theta> over |theta - w|_Sigma <= beta and |theta| <= S, in two dimensions, by brute force.

    Scans the boundaries of both sets and keeps the points that lie in the other one.
    """
    angle = np.linspace(0, 2 * np.pi, grid)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = np.linalg.inv(np.linalg.cholesky(Sigma)).T
    ellipse = np.asarray(w)[:, None] + beta * root @ circle
    ball = S * circle
    in_ball = np.linalg.norm(ellipse, axis=0) <= S * (1 + 1e-12)
    difference = ball - np.asarray(w)[:, None]
    in_ellipse = (difference * (Sigma @ difference)).sum(axis=0) <= beta**2 * (1 + 1e-12)
    values = np.concatenate([x @ ellipse[:, in_ball], x @ ball[:, in_ellipse]])
    return values.max() if len(values) else -math.inf


def level_counts(q, times, levels):
    """How many of ``times`` equal rounds fall on each level of an empty disjoint stack, one by one."""
    inverse = [1 / q] * levels  # 1/width^2 grows by one with every round
    counts = [0] * levels
    top = 1
    for _ in range(times):
        level = 1
        while level <= top and 1 / inverse[level - 1] <= 4.0**-level * (1 + TIE):
            level += 1
        inverse[level - 1] += 1
        counts[level - 1] += 1
        top = max(top, level)
    return counts

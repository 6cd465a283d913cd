"""The sets behind certificates, from stored data: dense and plain, with no import from the library."""

import math

import numpy as np


class Block:
    """All rounds of one block: sums over them, solved from scratch; and the rounds themselves."""

    def __init__(self, d, noise, norm, lam, log_share, low=-math.inf, high=math.inf, zeta=0.0, point=False):
        self.d, self.noise, self.norm, self.lam, self.log_share = d, noise, norm, lam, log_share
        self.low, self.high, self.zeta, self.point = low, high, zeta, point
        self.forecast_share = log_share  # that of B; the other is that of A
        self.X, self.y, self.q, self.k = [], [], [], []
        self.V, self.by, self.bq = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        self.E, self.n, self.ell, self.step = 0.0, 0.0, lam, 0

    def sigma(self):
        return self.V + self.lam * np.eye(self.d)

    def theta(self):
        return np.linalg.solve(self.sigma(), self.by)

    def logdet(self):
        return np.linalg.slogdet(np.eye(self.d) + self.V / self.ell)[1]

    def learn(self, x, y, times=1):
        """E: the loss of the forecasts beyond that of the regression, by its definition, row by row."""
        mean, w2 = float(self.theta() @ x), float(x @ np.linalg.solve(self.sigma(), x))
        q = min(max(mean, self.low), self.high)
        if not self.point and (times > 1 or (w2 > 1.0 and self.high == math.inf)):
            self.E += self.noise**2 * math.log(1 + times * w2)
        else:
            self.E += times * (y - q) ** 2 - times * (y - mean) ** 2 / (1 + times * w2)
        self.X.append(np.array(x)), self.y.append(y), self.q.append(q), self.k.append(times)
        self.V, self.by = self.V + times * np.outer(x, x), self.by + times * y * x
        self.bq, self.n = self.bq + times * q * x, self.n + times
        b = 4 * (1 + 2 * (self.log_share + 1) / self.d)
        while self.logdet() > self.d * math.log(1 + b):
            self.ell, self.step = 4 * self.ell, self.step + 1

    def least(self, outcomes):
        """min_θ Σ k (y − ⟨θ, x⟩)² + λ‖θ‖², from the rounds."""
        total = sum(k * y * x for x, y, k in zip(self.X, outcomes, self.k, strict=True))
        theta = np.linalg.solve(self.sigma(), total)
        loss = sum(k * (y - theta @ x) ** 2 for x, y, k in zip(self.X, outcomes, self.k, strict=True))
        return loss + self.lam * theta @ theta

    def loss(self):
        """Σ k (y − q)²."""
        return sum(k * (y - q) ** 2 for y, q, k in zip(self.y, self.q, self.k, strict=True))

    def identity(self):
        """E, where all forecasts are points: their loss less that of the best parameter."""
        return self.loss() - self.least(self.y)

    def mix(self):
        if self.zeta == 0 or not self.X:
            return 0.0
        spread = 2 * self.noise**2 * self.forecast_share
        plain = self.lam * self.norm**2 + spread + self.E
        return min(0.5, self.zeta * math.sqrt(self.n / max(plain, spread)))

    def squared_b(self):
        """b² from the ridge regression of (y − e q)/(1 − e), written out."""
        e = self.mix()
        spread = 2 * self.noise**2 * self.forecast_share
        if e == 0:
            return self.lam * self.norm**2 + spread + self.E
        mixed = [(y - e * q) / (1 - e) for y, q in zip(self.y, self.q, strict=True)]
        inner = self.loss() / (1 - e) + self.n * self.zeta**2 / e + spread
        return self.lam * self.norm**2 + inner / (1 - e) - self.least(mixed)

    def tolerance(self):
        return self.lam * self.norm**2 + 2 * self.noise**2 * self.forecast_share + abs(self.E)

    def radius_a(self):
        return self.noise * math.sqrt(
            self.logdet() + 2 * (self.log_share + math.log((self.step + 1) * (self.step + 2)))
        )

    def by_a(self, v):
        """⟨θ̂, v⟩ and the half-width of v by A."""
        solved = np.linalg.solve(self.sigma(), v)
        w2, g2 = max(float(v @ solved), 0.0), float(solved @ solved)
        half = self.radius_a() * math.sqrt(
            w2 + (self.ell - self.lam) * g2
        ) + self.lam * self.norm * math.sqrt(g2)
        return float(self.by @ solved), half + self.zeta * math.sqrt(self.n * max(w2 - self.lam * g2, 0.0))

    def upper(self, v):
        """The least upper bound of ⟨θ*, v⟩."""
        if not self.X:
            return self.norm * float(np.linalg.norm(v))
        solved = np.linalg.solve(self.sigma(), v)
        e = self.mix()
        center = (self.by - e * self.bq) @ solved / (1 - e)
        b = center + math.sqrt(max(self.squared_b(), 0.0)) * math.sqrt(max(float(v @ solved), 0.0))
        return min(sum(self.by_a(v)), b, self.norm * float(np.linalg.norm(v)))


def variance(lower, upper, q):
    """Lemma 4: v of a reward in [0, 1] with a mean from ``lower`` to ``upper`` and the forecast q; or that of 1 − y."""
    found = 0.25
    for h, own in ((upper, q), (1 - lower, 1 - q)):
        if h <= 0.5:
            assert own <= h + 1e-12
            found = min(found, h * (1 - h) - (1 - 2 * h) * (h - own) / 3)
    return found


class Weighted:
    """The rounds of one block with weights k/v, for rewards within a range: weighted B."""

    def __init__(self, d, noise, norm, log_share, within):
        self.d, self.noise, self.norm, self.log_share, self.within = d, noise, norm, log_share, within
        self.lam = d / (4 * norm**2)
        self.X, self.y, self.q, self.weight, self.v = [], [], [], [], []
        self.gram, self.b, self.E = self.lam * np.eye(d), np.zeros(d), 0.0

    def learn(self, x, y, times, lower, upper):
        """``lower`` and ``upper`` bound the mean of y, by all that was known before it."""
        low, high = self.within
        mean, w2 = float(np.linalg.solve(self.gram, self.b) @ x), float(x @ np.linalg.solve(self.gram, x))
        q = min(max(mean, lower), upper)
        assert low <= y <= high
        v = (high - low) ** 2 * variance(*((value - low) / (high - low) for value in (lower, upper, q)))
        v = max(min(v, self.noise**2), 1e-5 * (high - low) ** 2)
        self.E += times * ((y - q) ** 2 / v - (y - mean) ** 2 / (v * (1 + times * w2 / v)))
        self.X.append(np.array(x)), self.y.append(y), self.q.append(q)
        self.weight.append(times / v), self.v.append(v)
        self.gram, self.b = self.gram + times / v * np.outer(x, x), self.b + times / v * y * x

    def squared(self):
        return self.lam * self.norm**2 + 2 * self.log_share + self.E

    def identity(self):
        """E from the rounds: the weighted loss of the forecasts less that of the best parameter."""
        X, y, q, weight = (np.array(part) for part in (self.X, self.y, self.q, self.weight))
        theta = np.linalg.solve(self.lam * np.eye(self.d) + X.T @ (weight[:, None] * X), X.T @ (weight * y))
        least = (weight * (y - X @ theta) ** 2).sum() + self.lam * theta @ theta
        return (weight * (y - q) ** 2).sum() - least

    def upper(self, v):
        solved = np.linalg.solve(self.gram, v)
        return float(self.b @ solved) + math.sqrt(max(self.squared(), 0) * max(float(v @ solved), 0.0))


class Sets:
    """Blocks beside the regression C of all data: bounds of actions and certificates, by the definitions."""

    def __init__(
        self,
        dim,
        share,
        *,
        noise,
        norm,
        regularization,
        low=-math.inf,
        high=math.inf,
        blocks=1,
        zeta=0.0,
        point=None,
        within=None,
    ):
        d = dim // blocks
        lam = noise**2 * d / (4 * norm**2) if noise and norm else regularization
        point = zeta > 0 if point is None else point
        made = (d, noise, norm, lam, math.log(blocks / share), low, high, zeta, point)
        self.blocks = [Block(*made) for _ in range(blocks)]
        self.d, self.norm, self.low, self.high, self.zeta = d, norm, low, high, zeta
        self.weighted = None
        if within is not None:
            half = math.log(2 * blocks / share)
            self.weighted = [Weighted(d, noise, norm, half, within) for _ in range(blocks)]
            for block in self.blocks:
                block.forecast_share = half

    def part(self, x):
        """The block of x, and its entries there."""
        used = [b for b in range(len(self.blocks)) if np.any(x[b * self.d : (b + 1) * self.d])]
        b = used[0] if used else 0
        return b, x[b * self.d : (b + 1) * self.d]

    def learn(self, x, y, times=1, c=None):
        """c is needed where rewards are weighted: the bounds of x are those of before."""
        b, own = self.part(x)
        if self.weighted is not None:
            bounds = max(self.lcb(x, c), self.low), min(self.ucb(x, c), self.high)
            self.weighted[b].learn(own, y, times, *bounds)
        self.blocks[b].learn(own, y, times)

    def upper(self, b, v):
        """The least upper bound of ⟨θ*, v⟩ for v in block b, by all of its sets."""
        by_weights = math.inf if self.weighted is None else self.weighted[b].upper(v)
        return min(self.blocks[b].upper(v), by_weights)

    def assume(self, zeta):
        """Let another ζ be in force."""
        self.zeta = zeta
        for block in self.blocks:
            block.zeta = zeta

    def refuted(self):
        """Whether some b² is below 0 by more than rounding."""
        return any(block.squared_b() < -1e-9 * block.tolerance() for block in self.blocks)

    def contradicted(self, x, c, reach):
        """Whether bounds of x cross, or leave ±(SL + ζ)."""
        upper, lower = min(self.ucb(x, c), self.high), max(self.lcb(x, c), self.low)
        return (
            lower > upper + 1e-12 or lower > reach + self.zeta + 1e-12 or upper < -reach - self.zeta - 1e-12
        )

    def ucb(self, x, c):
        """c(v) is the upper bound of C in direction v."""
        b, own = self.part(x)
        return min(self.upper(b, own), c(x)) + self.zeta

    def lcb(self, x, c):
        b, own = self.part(x)
        return max(-self.upper(b, -own), -c(-x)) - self.zeta

    def certificate(self, X, k, c, lower=-math.inf):
        """How much better than row k another can be; ``lower`` is a further lower bound of row k."""
        a, x = self.part(X[k])
        lower = max(self.lcb(X[k], c), self.low, lower)
        largest = 0.0
        for i, y in enumerate(X):
            if i != k:
                b, own = self.part(y)
                bounds = [min(self.ucb(y, c), self.high) - lower, c(y - X[k]) + 2 * self.zeta]
                bounds.append(self.norm * float(np.linalg.norm(y - X[k])) + 2 * self.zeta)
                if a == b:
                    bounds.append(self.upper(a, own - x) + 2 * self.zeta)
                largest = max(largest, min(bounds))
        return largest

"""The sets behind certificates, from stored data: dense and plain, with no import from the library."""

import math

import numpy as np


def once(method):
    """Compute it once after each round."""

    def kept(self):
        if method.__name__ not in self.found:
            self.found[method.__name__] = method(self)
        return self.found[method.__name__]

    return kept


class Block:
    """All rounds of one block."""

    def __init__(self, d, noise, norm, lam, log_share, low=-math.inf, high=math.inf, zeta=0.0, point=False):
        self.d, self.noise, self.norm, self.lam, self.log_share = d, noise, norm, lam, log_share
        self.low, self.high, self.zeta, self.point = low, high, zeta, point
        self.X, self.y, self.q, self.k = [], [], [], []
        self.averaged = 0.0
        self.exact = []  # rows whose forecast is a point
        self.found = {}  # what was computed since the last round

    def gram(self, scale):
        V = sum(
            (k * np.outer(x, x) for x, k in zip(self.X, self.k, strict=True)), np.zeros((self.d, self.d))
        )
        return V + scale * np.eye(self.d)

    def ridge(self, outcomes, upto=None):
        n = len(self.X) if upto is None else upto
        S = self.lam * np.eye(self.d)
        b = np.zeros(self.d)
        for x, y, k in zip(self.X[:n], outcomes[:n], self.k[:n], strict=True):
            S += k * np.outer(x, x)
            b += k * y * x
        return np.linalg.solve(S, b), S

    def learn(self, x, y, times=1):
        theta, S = self.ridge(self.y)
        mean, w2 = float(theta @ x), float(x @ np.linalg.solve(S, x))
        q = min(max(mean, self.low), self.high)
        if not self.point and (times > 1 or w2 > 1.0):
            self.averaged += self.noise**2 * math.log(1 + times * w2)
            self.exact.append(False)
        else:
            self.exact.append(True)
        self.X.append(np.array(x)), self.y.append(y), self.q.append(q), self.k.append(times)
        self.found.clear()

    @once
    def excess(self):
        """E: the loss of the forecasts beyond that of the regression, from the definition, row by row."""
        total = self.averaged
        for t, (x, y, q, k, exact) in enumerate(
            zip(self.X, self.y, self.q, self.k, self.exact, strict=True)
        ):
            if exact:
                theta, S = self.ridge(self.y, t)
                w2 = x @ np.linalg.solve(S, x)
                total += k * (y - q) ** 2 - k * (y - theta @ x) ** 2 / (1 + k * w2)
        return total

    def identity(self):
        """The same by minimising, where all forecasts are points: Σ(y−q)² − min_θ Σ(y−⟨θ,x⟩)² + λ‖θ‖²."""
        theta, _ = self.ridge(self.y)
        least = sum(k * (y - theta @ x) ** 2 for x, y, k in zip(self.X, self.y, self.k, strict=True))
        least += self.lam * theta @ theta
        return sum(k * (y - q) ** 2 for y, q, k in zip(self.y, self.q, self.k, strict=True)) - least

    def count(self):
        return float(sum(self.k))

    @once
    def scale(self):
        """The prior scale in use and its number: the first whose log det is small enough, in the order of the data."""
        b = 4 * (1 + 2 * (self.log_share + 1) / self.d)
        scale, step, V = self.lam, 0, np.zeros((self.d, self.d))
        for x, k in zip(self.X, self.k, strict=True):
            V = V + k * np.outer(x, x)
            while np.linalg.slogdet(np.eye(self.d) + V / scale)[1] > self.d * math.log(1 + b):
                scale, step = 4 * scale, step + 1
        return scale, step

    def mix(self):
        if self.zeta == 0 or not self.X:
            return 0.0
        spread = 2 * self.noise**2 * self.log_share
        plain = self.lam * self.norm**2 + spread + self.excess()
        return min(0.5, self.zeta * math.sqrt(self.count() / max(plain, spread)))

    @once
    def squared_b(self):
        """b² from the ridge regression of (y − e q)/(1 − e), written out."""
        e = self.mix()
        spread = 2 * self.noise**2 * self.log_share
        if e == 0:
            return self.lam * self.norm**2 + spread + self.excess()
        mixed = [(y - e * q) / (1 - e) for y, q in zip(self.y, self.q, strict=True)]
        theta, _ = self.ridge(mixed)
        least = sum(k * (y - theta @ x) ** 2 for x, y, k in zip(self.X, mixed, self.k, strict=True))
        least += self.lam * theta @ theta
        loss = sum(k * (y - q) ** 2 for y, q, k in zip(self.y, self.q, self.k, strict=True))
        inner = loss / (1 - e) + self.count() * self.zeta**2 / e + spread
        return self.lam * self.norm**2 + inner / (1 - e) - least

    def radius_a(self):
        scale, step = self.scale()
        logdet = np.linalg.slogdet(self.gram(scale) / scale)[1]
        return self.noise * math.sqrt(logdet + 2 * (self.log_share + math.log((step + 1) * (step + 2))))

    def upper(self, v):
        """The least upper bound of ⟨θ*, v⟩."""
        if not self.X:
            return self.norm * float(np.linalg.norm(v))
        theta, S = self.ridge(self.y)
        scale, _ = self.scale()
        w2 = float(v @ np.linalg.solve(S, v))
        solved = np.linalg.solve(S, v)
        g2 = float(solved @ solved)
        a = (
            theta @ v
            + self.radius_a() * math.sqrt(w2 + (scale - self.lam) * g2)
            + self.lam * self.norm * math.sqrt(g2)
        )
        a += self.zeta * math.sqrt(self.count() * max(w2 - self.lam * g2, 0.0))
        e = self.mix()
        center = (theta - e * self.ridge(self.q)[0]) / (1 - e)
        b = center @ v + math.sqrt(max(self.squared_b(), 0.0)) * math.sqrt(w2)
        return min(a, b, self.norm * float(np.linalg.norm(v)))


class Sets:
    """Blocks beside the regression C of all data: bounds of actions and certificates, by the definitions."""

    def __init__(
        self, dim, share, *, noise, norm, regularization, low=-math.inf, high=math.inf, blocks=1, zeta=0.0, point=None
    ):
        d = dim // blocks
        lam = noise**2 * d / (4 * norm**2) if noise and norm else regularization
        point = zeta > 0 if point is None else point
        made = (d, noise, norm, lam, math.log(blocks / share), low, high, zeta, point)
        self.blocks = [Block(*made) for _ in range(blocks)]
        self.d, self.norm, self.low, self.high, self.zeta = d, norm, low, high, zeta

    def part(self, x):
        """The block of x, and its entries there."""
        used = [b for b in range(len(self.blocks)) if np.any(x[b * self.d : (b + 1) * self.d])]
        b = used[0] if used else 0
        return b, x[b * self.d : (b + 1) * self.d]

    def learn(self, x, y, times=1):
        b, own = self.part(x)
        self.blocks[b].learn(own, y, times)

    def ucb(self, x, c):
        """c(v) is the upper bound of C in direction v."""
        b, own = self.part(x)
        return min(self.blocks[b].upper(own), c(x)) + self.zeta

    def lcb(self, x, c):
        b, own = self.part(x)
        return max(-self.blocks[b].upper(-own), -c(-x)) - self.zeta

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
                    bounds.append(self.blocks[a].upper(own - x) + 2 * self.zeta)
                largest = max(largest, min(bounds))
        return largest

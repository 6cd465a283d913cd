"""The agents for mixture MDPs from their pseudo-code, slow and plain: dense solves, nothing of ours."""

import math

import numpy as np

TIE = 1e-9
SINGLE, DISJOINT, NESTED = "single", "disjoint", "nested"


class Level:
    """A ridge regression that keeps its rounds."""

    def __init__(self, dim, regularization, rounds=()):
        self.dim, self.lam, self.rounds = dim, regularization, list(rounds)
        self.sigma = regularization * np.eye(dim)
        self.b = np.zeros(dim)
        for x, y in self.rounds:
            self.sigma = self.sigma + np.outer(x, x)
            self.b = self.b + y * x

    def add(self, x, y):
        self.rounds.append((x, y))
        self.sigma = self.sigma + np.outer(x, x)
        self.b = self.b + y * x

    def mean(self, x):
        return float(x @ np.linalg.solve(self.sigma, self.b))

    def width(self, x):
        return math.sqrt(max(float(x @ np.linalg.solve(self.sigma, x)), 0.0))

    def logdet(self):
        return float(np.linalg.slogdet(self.sigma / self.lam)[1])


class Judge:
    """One of UCRL-VTR (single), UPAC-VTR (disjoint) and NestedVTR (nested)."""

    def __init__(
        self,
        features,
        rewards,
        horizon,
        *,
        rule=NESTED,
        delta=0.05,
        norm=1.0,
        regularization=1.0,
        homogeneous=False,
        radius="mixture",
        scaling="span",
        targets="up",
        likelihood=False,
        bonus_scale=1.0,
        reward_range=(0.0, 1.0),
    ):
        self.phi = np.asarray(features)
        self.S, self.A, _, self.d = self.phi.shape
        self.H = horizon
        self.r = np.broadcast_to(rewards, (horizon, self.S, self.A))
        self.rule, self.B, self.lam, self.homogeneous = rule, norm, regularization, homogeneous
        self.radius, self.scaling, self.targets, self.scale = radius, scaling, targets, bonus_scale
        self.low, self.high = reward_range
        self.M = 1 if homogeneous else max(horizon - 1, 1)
        self.delta, self.likelihood = delta, likelihood
        self.stacks = [[Level(self.d, self.lam)] for _ in range(self.M)]
        self.seen = [[] for _ in range(self.M)]

    def stack(self, h):
        return 0 if self.homogeneous else h

    def beta(self, m, i):
        share = self.delta / self.M / (2 if self.likelihood else 1)
        number = i + 1
        shares = {
            SINGLE: [share],
            DISJOINT: [share / (number * (number + 1))],
            NESTED: [share / 2 / (number * (number + 1))],
        }[self.rule]
        if self.rule == NESTED and number == len(self.stacks[m]):
            shares.append(share / 2)
        information = min(self.stacks[m][i].logdet() + 2 * math.log(1 / delta) for delta in shares)
        if self.radius == "mixture":
            return math.sqrt(information / 4 + self.lam * self.B**2)
        return math.sqrt(information) / 2 + math.sqrt(self.lam) * self.B

    def scaled(self, h, V):
        """Offset and range."""
        if self.scaling == "span":
            return V.min(), V.max() - V.min()
        left = self.H - 1 - h
        return self.low * left, (self.high - self.low) * (self.H if self.homogeneous and left > 0 else left)

    def round(self, h, s, a, V):
        offset, span = self.scaled(h, V)
        if span == 0:
            return None
        W = (V - offset) / span
        return np.einsum("td,t->d", self.phi[s, a], W), W, offset, span

    def interval(self, h, s, a, V, scale):
        """Bounds on P V, not clipped."""
        found = self.round(h, s, a, V)
        if found is None:
            return V[0], V[0]
        x, _, offset, span = found
        m = self.stack(h)
        errors = [
            (level.mean(x), scale * self.beta(m, i) * level.width(x))
            for i, level in enumerate(self.stacks[m])
        ]
        low, high = max(mean - error for mean, error in errors), min(mean + error for mean, error in errors)
        if self.likelihood:
            low, high = max(low, x.min()), min(high, x.max())
            if self.seen[m]:
                theta, G, radius = self.set_of(m)
                inverse = np.linalg.inv(G)
                ones = np.ones(self.d)
                c = (ones @ inverse @ x) / (ones @ inverse @ ones)
                error = scale * radius * math.sqrt(max((x - c * ones) @ inverse @ (x - c * ones), 0.0))
                low, high = max(low, theta @ x - error), min(high, theta @ x + error)
        return offset + span * low, offset + span * high

    theta = None
    """The weights around which the likelihood sets lie: any will do, so they are taken from the agent."""

    def set_of(self, m):
        X = np.array([self.phi[triple] for triple in self.seen[m]])
        t = len(X)
        theta = self.theta[m]
        p = X @ theta
        g = (X / p[:, None]).sum(axis=0) / t
        G = np.eye(self.d) + (X / p[:, None]).T @ (X / p[:, None])
        kt = math.lgamma(t + self.d / 2) + math.lgamma(0.5) - math.lgamma(t + 0.5) - math.lgamma(self.d / 2)
        B = math.log(2 * self.M / self.delta) + kt + max(t * (g.max() - 1), 0.0)
        longest = max(v @ np.linalg.solve(G, v) for v in X / p[:, None])
        rho = B + math.sqrt(2 * B)
        for _ in range(4):
            rho = min(rho, math.sqrt(2 * B * (1 + 2 / 3 * math.sqrt((rho**2 + 2) * longest))))
        return theta, G, math.sqrt(rho**2 + 2)

    def upper_pass(self, scale):
        V = np.zeros((self.H + 1, self.S))
        Q, raw = np.zeros((2, self.H, self.S, self.A))
        for h in reversed(range(self.H)):
            for s in range(self.S):
                for a in range(self.A):
                    high = self.interval(h, s, a, V[h + 1], scale)[1]
                    Q[h, s, a] = self.r[h, s, a] + min(max(high, V[h + 1].min()), V[h + 1].max())
                    raw[h, s, a] = self.r[h, s, a] + high
            V[h] = Q[h].max(axis=1)
        return V, Q, raw

    def plan(self):
        self.upper, self.Q, self.raw = self.upper_pass(self.scale)
        self.bound = self.upper[0] if self.scale == 1 else self.upper_pass(1.0)[0][0]

    def certify(self, action):
        self.lower = np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            V = self.lower[h + 1]
            for s in range(self.S):
                low = self.interval(h, s, action[h, s], V, 1.0)[0]
                self.lower[h, s] = self.r[h, s, action[h, s]] + min(max(low, V.min()), V.max())

    def learn(self, states, actions, following):
        for h, (s, a, t) in enumerate(zip(states, actions, following, strict=True)):
            m = self.stack(h)
            if h < self.H - 1 or self.homogeneous:
                self.seen[m].append((s, a, t))
            if h == self.H - 1:
                break
            rounds = [self.round(h, s, a, self.upper[h + 1])]
            if self.targets == "widest":
                rounds.append(self.round(h, s, a, self.lower[h + 1]))
            rounds = [(x, W[t]) for x, W, _, _ in (found for found in rounds if found is not None)]
            if rounds:
                self.learn_one_of(m, rounds)

    def learn_one_of(self, m, rounds):
        levels = self.stacks[m]
        at = len(levels) - 1
        number = len(levels) + 1
        for i, level in enumerate(levels):
            if max(level.width(x) for x, _ in rounds) ** 2 > 4.0 ** -(i + 1) * (1 + TIE):
                at, number = i, i + 1
                break
        x, y = max(rounds, key=lambda entry: levels[at].width(entry[0]))  # the first of equals
        if np.linalg.norm(x) <= 1e-12:
            return
        if self.rule == SINGLE:
            levels[0].add(x, y)
            return
        if number > len(levels):
            levels.append(Level(self.d, self.lam, levels[-1].rounds if self.rule == NESTED else ()))
        for level in levels[number - 1 :] if self.rule == NESTED else [levels[number - 1]]:
            level.add(x, y)


class Plus:
    """UCRL-VTR+ pair by pair, from lists of rounds (x, y, weight) and (z, y²)."""

    def __init__(self, features, rewards, horizon, *, delta, norm, bonus_scale):
        self.phi, self.H, self.delta, self.B, self.scale = (
            np.asarray(features),
            horizon,
            delta,
            norm,
            bonus_scale,
        )
        self.S, self.A, _, self.d = self.phi.shape
        self.r, self.lam, self.k = np.broadcast_to(rewards, (horizon, self.S, self.A)), norm**-2, 1
        self.rounds = [[] for _ in range(horizon)]
        self.squares = [[] for _ in range(horizon)]

    def fit(self, rounds):
        sigma = self.lam * np.eye(self.d) + sum(
            (w * np.outer(x, x) for x, _, w in rounds), np.zeros((self.d, self.d))
        )
        return np.linalg.inv(sigma), np.linalg.inv(sigma) @ sum(
            (w * y * x for x, y, w in rounds), np.zeros(self.d)
        )

    def log(self):
        return math.log(4 * self.k**2 * self.H / self.delta)

    def plan(self):
        d, L = self.d, self.log()
        beta = 8 * math.sqrt(d * math.log(1 + self.k / self.lam) * L) + 4 * math.sqrt(d) * L
        beta = self.scale * (beta + math.sqrt(self.lam) * self.B)
        self.V, self.Q = np.zeros((self.H + 1, self.S)), np.zeros((self.H, self.S, self.A))
        for h in reversed(range(self.H)):
            inverse, theta = self.fit(self.rounds[h])
            for s in range(self.S):
                for a in range(self.A):
                    x = sum(self.phi[s, a, t] * self.V[h + 1, t] for t in range(self.S))
                    self.Q[h, s, a] = min(
                        self.H, self.r[h, s, a] + theta @ x + beta * math.sqrt(x @ inverse @ x)
                    )
            self.V[h] = self.Q[h].max(axis=1)

    def learn(self, states, actions, following):
        d, H, L = self.d, self.H, self.log()
        bias = math.sqrt(self.lam) * self.B
        wide = 8 * d * math.sqrt(math.log(1 + self.k / self.lam) * L) + 4 * math.sqrt(d) * L + bias
        square = (
            8 * math.sqrt(d * H**4 * math.log(1 + self.k * H**4 / (d * self.lam)) * L) + 4 * H**2 * L + bias
        )
        for h, (s, a, t) in enumerate(zip(states, actions, following, strict=True)):
            if h < H - 1:
                V = self.V[h + 1]
                x = sum(self.phi[s, a, i] * V[i] for i in range(self.S))
                z = sum(self.phi[s, a, i] * V[i] ** 2 for i in range(self.S))
                inverse, theta = self.fit(self.rounds[h])
                inverse2, theta2 = self.fit(self.squares[h])
                var = np.clip(theta2 @ z, 0, H**2) - np.clip(theta @ x, 0, H) ** 2
                error = min(H**2, 2 * H * wide * math.sqrt(x @ inverse @ x))
                error += min(H**2, square * math.sqrt(z @ inverse2 @ z))
                self.rounds[h].append((x, V[t], 1 / max(H**2 / d, var + error)))
                self.squares[h].append((z, V[t] ** 2, 1.0))
        self.k += 1

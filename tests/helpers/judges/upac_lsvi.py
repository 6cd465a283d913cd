"""A slow judge of UPACLSVI, and of MonotoneLSVI: pseudo-code in plain NumPy, dense, nothing of the library.

Stages count from 0; the end of an episode is one more outcome, number S, of value 0, if episodes may terminate.
"""

import math

import numpy as np

EPS = np.finfo(float).eps


def kt(n):
    return math.lgamma(n + 1) - math.lgamma(n + 0.5) + 0.5 * math.log(math.pi)


def dirichlet(N, outcomes, log_failures):
    """Threshold of the ball of a mixture, half Dirichlet(1/m), half Dirichlet(1/2), over m outcomes."""
    N = N[N > 0]
    n, lg = N.sum(), np.vectorize(math.lgamma)
    fit = float((N * np.log(N / n)).sum())
    both = []
    for a in (1 / outcomes, 0.5):
        rest = math.lgamma(a * outcomes) - math.lgamma(n + a * outcomes)
        both.append(float((lg(N + a) - math.lgamma(a)).sum()) + rest)
    return log_failures + fit - (np.logaddexp(*both) - math.log(2))


def largest_mean(N, V, threshold):
    """max{q V : n KL(N/n ‖ q) ≤ threshold} over all laws q, by bisection for ν."""
    top, seen = V.max(), N > 0
    p, g, c = N[seen] / N.sum(), V.max() - V[seen], threshold / N.sum()
    if g.max() == 0:
        return float(top)
    if c <= 0:
        return float(p @ V[seen])

    def divergence(x):
        return float(p @ np.log(x + g) + np.log((p / (x + g)).sum()))

    if g.min() > 0 and divergence(0.0) <= c:
        return float(top - np.exp(p @ np.log(g) - c))
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(g.max() * math.exp(middle)) > c else (low, middle)
    q = p / (g.max() * math.exp(high) + g)
    return float(q @ V[seen] / q.sum())


def blocks_of(X):
    """Connected components of x_i · x_j ≠ 0: the number of each feature's block."""
    block = np.arange(len(X))
    for i in range(len(X)):
        for j in range(i):
            if X[i] @ X[j] != 0:
                block[block == block[i]] = block[j]
    return np.unique(block, return_inverse=True)[1]


class Stage:
    """What is known of one stage."""

    def __init__(self, n_features, dim, outcomes, lam):
        self.N = np.zeros((n_features, outcomes))
        self.reward = np.full(n_features, np.nan)
        self.E, self.rho, self.err = np.zeros((0, dim)), np.zeros(0), np.zeros(0)
        self.sigma, self.sums = [lam * np.eye(dim)], [np.zeros((dim, outcomes))]

    def split(self, x):
        """Coefficients in the basis and what is left, in two passes."""
        c = self.E @ x
        v = x - self.E.T @ c
        again = self.E @ v
        return c + again, v - self.E.T @ again


class Judge:
    def __init__(
        self,
        features,
        horizon,
        *,
        delta=0.05,
        regularization=1.0,
        radius="monotone",
        bonus_scale=1.0,
        replan_factor=1.05,
        replan="lazy",
        terminates=True,
        alpha=0.9,
        levelled=True,
    ):
        self.S, self.A, self.d = features.shape
        self.X, index = np.unique(features.reshape(-1, self.d), axis=0, return_inverse=True)
        self.index = index.reshape(self.S, self.A)
        self.H, self.lam, self.alpha, self.radius = horizon, regularization, alpha, radius
        self.scale, self.lazy, self.levelled = bonus_scale, replan == "lazy", levelled
        self.f = replan_factor if self.lazy else 1.0
        self.outcomes = self.S + terminates
        self.block = blocks_of(self.X)
        self.in_block = [np.flatnonzero(self.block == b) for b in range(self.block.max() + 1)]
        many = [b for b, who in enumerate(self.in_block) if len(who) > 1]
        self.ridge = np.isin(self.block, many)
        self.counted = ~self.ridge
        if radius == "auto":
            for b in many:
                who = self.in_block[b]
                self.counted[who] = len(who) <= 2 * np.linalg.matrix_rank(self.X[who])
        stages, sets = max(horizon - 1, 1), max(self.outcomes - 1, 1)
        both = self.ridge.any() and self.counted.any()
        share = delta * (0.5 if both else 1.0) * (1.0 if radius == "vertex" else 0.5)
        every = max(2.0**sets - 1, 1)
        self.log_counted = math.log(stages * max(self.counted.sum(), 1) / share)
        self.log_every = math.log(stages * max(len(many), 1) * every / share)
        self.log_sets = (
            self.log_every if radius == "vertex" else math.log(stages * max(len(many), 1) * sets / share)
        )
        self.stages = [Stage(len(self.X), self.d, self.outcomes, regularization) for _ in range(horizon)]
        self.stale = True

    # -- bounds --------------------------------------------------------------------------------

    def log_det(self, stage, level, b):
        """Of the block: Σ is λI on all that is orthogonal to it."""
        basis = np.linalg.svd(self.X[self.in_block[b]], full_matrices=True)[2]
        rank = np.linalg.matrix_rank(self.X[self.in_block[b]])
        inside = basis[:rank] @ stage.sigma[level - 1] @ basis[:rank].T
        return np.linalg.slogdet(inside / self.lam)[1]

    def rewards(self, stage, x):
        """Lower and upper bound on the reward of a feature."""
        if not np.isnan(stage.reward[x]):
            return stage.reward[x], stage.reward[x]
        c, v = stage.split(self.X[x])
        s = 8 * self.d * EPS * (1 + np.abs(c).sum())
        spent = (np.maximum(np.abs(stage.rho) - stage.err, 0) ** 2).sum()
        room = np.abs(c) @ stage.err + (np.linalg.norm(v) + s) * math.sqrt(max(self.d - spent, 0))
        room += s * math.sqrt(self.d)
        return max(0.0, c @ stage.rho - room), min(1.0, c @ stage.rho + room)

    def levels(self, stage, x, scale):
        """(weights of the outcomes, log det, width, ridge bias, share of δ) of the levels in the min."""
        L = len(stage.sigma)
        for level in range(1, L + 1):
            solved = np.linalg.solve(stage.sigma[level - 1], self.X[x])
            w2 = self.X[x] @ solved
            if scale == 1 or level == L or w2 <= self.f * 4.0**-level * (1 + 1e-6):
                bias = 0.5 * self.lam * math.sqrt(self.d) * np.linalg.norm(solved)
                share = (
                    (self.alpha if self.levelled else 1.0)
                    if level == L
                    else (1 - self.alpha) / (level * (level + 1))
                )
                log_det = self.log_det(stage, level, self.block[x])
                yield solved @ stage.sums[level - 1], log_det, math.sqrt(w2), bias, share

    def upper(self, stage, x, V, scale):
        v, top = V.min(), V.max()
        U = top
        if v == top:
            return v
        n = stage.N[x].sum()
        if self.counted[x] and n > 0:
            threshold = self.log_counted + kt(n)
            if self.radius == "vertex":
                threshold = dirichlet(stage.N[x], self.outcomes, self.log_counted)
            U = min(U, largest_mean(stage.N[x], V, scale**2 * threshold))
        if self.ridge[x]:
            order = np.argsort(-V, kind="stable")
            for p, log_det, w, bias, share in self.levels(stage, x, scale):
                rad = scale * 0.5 * math.sqrt(log_det + 2 * (self.log_sets - math.log(share))) * w + bias
                if self.radius == "vertex":
                    middle = (v + top) / 2
                    U = min(U, middle + p @ (V - middle) + (top - v) * rad)
                else:
                    mass = (1 - p.sum()) / 2 + np.cumsum(np.maximum(p[order], 0)) + rad
                    U = min(U, v + np.clip(mass[:-1], 0, 1) @ -np.diff(V[order]))
        return max(U, v)

    def lower(self, stage, x, V):
        v, top = V.min(), V.max()
        L = v
        if v == top:
            return v
        if self.counted[x] and stage.N[x].sum() > 0:
            threshold = dirichlet(stage.N[x], self.outcomes, self.log_counted)
            L = max(L, -largest_mean(stage.N[x], -V, threshold))
        if self.ridge[x]:
            middle = (v + top) / 2
            for p, log_det, w, bias, share in self.levels(stage, x, 1.0):
                rad = 0.5 * math.sqrt(log_det + 2 * (self.log_every - math.log(share))) * w + bias
                L = max(L, middle + p @ (V - middle) - (top - v) * rad)
        return min(L, top)

    # -- the agent -----------------------------------------------------------------------------

    def values(self, scale):
        """Q (H, S, A) and V (H + 1, outcomes)."""
        Q, V = np.zeros((self.H, self.S, self.A)), np.zeros((self.H + 1, self.outcomes))
        for h in reversed(range(self.H)):
            stage = self.stages[h]
            q = [
                min(self.H - h, self.rewards(stage, x)[1] + self.upper(stage, x, V[h + 1], scale))
                for x in range(len(self.X))
            ]
            Q[h] = np.array(q)[self.index]
            V[h, : self.S] = Q[h].max(axis=1)
        return Q, V

    def plan(self):
        """A new plan if one is due; the first action among equals."""
        if self.stale or not self.lazy:
            self.Q, V = self.values(self.scale)
            self.action = self.Q.argmax(axis=2)
            self.bound = (V if self.scale == 1 else self.values(1.0)[1])[0, : self.S]
            self.certify(self.action)
            self.planned = [(st.N.sum(axis=1), self.log_dets(st)) for st in self.stages]
            self.stale = False
            return True
        return False

    def certify(self, action):
        low = np.zeros((self.H + 1, self.outcomes))
        for h in reversed(range(self.H)):
            for s in range(self.S):
                x = self.index[s, action[h, s]]
                paid = self.rewards(self.stages[h], x)[0]
                low[h, s] = paid + self.lower(self.stages[h], x, low[h + 1])
        self.lower_values = low[0, : self.S]

    def log_dets(self, stage):
        return [
            [self.log_det(stage, level, b) for b in range(len(self.in_block))]
            for level in range(1, len(stage.sigma) + 1)
        ]

    def learn(self, states, actions, rewards, following):
        for h, (s, a, r, t) in enumerate(zip(states, actions, rewards, following, strict=True)):
            stage, x = self.stages[h], self.index[s, a]
            self.learn_reward(stage, x, r)
            if h == self.H - 1:
                continue  # nothing comes after it
            stage.N[x, t] += 1
            n, log_f = stage.N[x].sum(), math.log(self.f) + 1e-9
            if self.counted[x] and math.log((self.lam + n) / (self.lam + self.planned[h][0][x])) > log_f:
                self.stale = True
            if not self.ridge[x]:
                continue
            phi, level = self.X[x], 1
            while (
                self.levelled
                and level <= len(stage.sigma)
                and phi @ np.linalg.solve(stage.sigma[level - 1], phi) <= 4.0**-level * (1 + 1e-9)
            ):
                level += 1
            if level > len(stage.sigma):
                stage.sigma.append(stage.sigma[-1].copy())
                stage.sums.append(stage.sums[-1].copy())
                self.stale = True
            for i in range(level - 1, len(stage.sigma)):
                stage.sigma[i] += np.outer(phi, phi)
                stage.sums[i][:, t] += phi
            if not self.stale:
                before = self.planned[h][1]
                rose = np.array(self.log_dets(stage)) - np.array(before)
                self.stale = bool((rose > log_f).any())

    def learn_reward(self, stage, x, r):
        if not np.isnan(stage.reward[x]):
            return
        stage.reward[x] = r
        self.stale = True
        c, v = stage.split(self.X[x])
        length = np.linalg.norm(v)
        s = 8 * self.d * EPS * (1 + np.abs(c).sum())
        if length > 1e-7:
            err = (np.abs(c) @ stage.err + 2 * s * math.sqrt(self.d)) / length
            if err <= 0.1:
                stage.E = np.vstack([stage.E, v / length])
                stage.rho = np.append(stage.rho, (r - c @ stage.rho) / length)
                stage.err = np.append(stage.err, err)

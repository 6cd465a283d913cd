"""The pseudo-code of the searches for a policy, step by step: slow, obvious, judge of the searches.

Nothing here imports the library: formulas are written a second time on purpose. A search is a generator. It yields
(arms, counts, policy, certificate): what to sample, how often, what it would answer now and by how much that can be
wrong; it is sent the counts of next states of each arm, or of the steps of episodes. It returns (policy, certificate).
"""

from __future__ import annotations

import math

import numpy as np


def spread(values, counts, failure):
    """Mean of a value over counted next states, and how far off on a side that fails with so little probability."""
    drawn = np.repeat(values, counts)
    n, span, log = len(drawn), values.max() - values.min(), math.log(2 / failure)
    hoeffding = span * math.sqrt(log / (2 * n))
    bernstein = math.inf
    if n > 1:
        log = math.log(4 / failure)
        bernstein = math.sqrt(2 * drawn.var(ddof=1) * log / n) + 7 * span * log / (3 * (n - 1))
    return drawn.mean(), min(hoeffding, bernstein)


class World:
    """What a search knows: rewards, discount, how pairs follow from anchors."""

    def __init__(self, rewards, discount, anchors=None, coefficients=None):
        self.r, self.g = np.asarray(rewards), discount
        self.S, self.A = self.r.shape
        pairs = self.S * self.A
        self.anchors = list(range(pairs)) if anchors is None else [int(pair) for pair in anchors]
        self.lam = np.eye(pairs).reshape(self.S, self.A, pairs) if coefficients is None else coefficients

    def q(self, w):
        return np.array(
            [[self.r[s, a] + self.g * sum(self.lam[s, a] * w) for a in range(self.A)] for s in range(self.S)]
        )

    def error(self, e):
        return np.array(
            [[self.g * sum(abs(self.lam[s, a]) * e) for a in range(self.A)] for s in range(self.S)]
        )

    def start(self):
        policy = [int(np.argmax(row)) for row in self.r]
        paid = np.array([self.r[s, policy[s]] for s in range(self.S)])
        later = self.g / (1 - self.g)
        return policy, paid + later * min(paid), later * (max(paid) - min(paid))

    def each(self, m):
        return self.anchors, [m] * len(self.anchors)


def certified_planning(world, eps, delta, first=32):
    g, K = world.g, len(world.anchors)
    best, value, certificate = world.start()
    seen, i = None, 0
    while certificate > eps:
        if seen is None:
            seen = np.array((yield *world.each(first), best, certificate))
            continue
        i += 1
        model = seen / seen.sum(axis=1, keepdims=True)
        value = np.zeros(world.S)
        for _ in range(3000):
            value = np.clip(world.q(model @ value).max(axis=1), 0, 1 / (1 - g))
        policy = world.q(model @ value).argmax(axis=1)
        fresh = np.array((yield *world.each(int(seen[0].sum())), best, certificate))
        found = [spread(value, row, delta / (2 * K * i * (i + 1))) for row in fresh]
        q, e = world.q([w for w, _ in found]), world.error([e for _, e in found])
        up = max((q + e).max(axis=1) - value)
        down = max(value[s] - (q - e)[s, policy[s]] for s in range(world.S))
        if (up + down) / (1 - g) < certificate:
            best, certificate = policy.tolist(), max((up + down) / (1 - g), 0.0)
        seen = seen + fresh
    return best, certificate


def ppq(world, eps, delta):
    g, K = world.g, len(world.anchors)
    L = abs(world.lam).sum(axis=2).max()
    R = math.ceil(math.log(4 / (eps * (1 - g) ** 2)) / (1 - g))
    m = math.ceil(8 * g**2 * L**2 * math.log(2 * K * R / delta) / (eps**2 * (1 - g) ** 6))
    e = math.sqrt(math.log(2 * K * R / delta) / (2 * m)) / (1 - g)
    best, _, certificate = world.start()
    if certificate <= eps:
        return best, certificate
    w = np.zeros(K)
    for i in range(1, R + 1):
        V = np.clip(world.q(w).max(axis=1), 0, 1 / (1 - g))
        counts = np.array((yield *world.each(m), best, certificate))
        w = np.array([sum(row * V) / m for row in counts])
        x = g ** (i + 1) / (1 - g) + sum(g**k for k in range(1, i + 1)) * L * e
        if 2 * x / (1 - g) < certificate:
            best, certificate = world.q(w).argmax(axis=1).tolist(), 2 * x / (1 - g)
    return best, certificate


def oppq(world, eps, delta, trail):
    """``trail`` gets (V, π) after every step: V must stay below the value of π."""
    g, K = world.g, len(world.anchors)
    R = math.ceil(2 * math.log(2) / (1 - g))
    many = max(1, math.ceil(math.log2(1 / (eps * (1 - g)))))
    best, V, certificate = world.start()
    policy, i = list(best), 0
    while certificate > eps:
        i += 1
        failure = delta / (K * (R + 2) * i * (i + 1))
        log = math.log(4 / failure)
        m = 2 ** max(0, i - many) * math.ceil(8 * log / ((1 - g) ** 3 * eps**2))
        V0, pi0 = V.copy(), list(policy)
        base = [spread(V0, row, failure) for row in (yield *world.each(m), best, certificate)]
        found = max(max(world.q([w + e for w, e in base]).max(axis=1) - V0) / (1 - g), 0.0)
        if found < certificate:
            best, certificate = pi0, found
        if certificate <= eps:
            break
        for _ in range(R):
            counts = yield *world.each(math.ceil(32 * log / (1 - g) ** 2)), best, certificate
            more = [spread(V - V0, row, failure) for row in counts]
            w = [
                min(max(w0 + wd - e0 - ed, min(V)), 1 / (1 - g))
                for (w0, e0), (wd, ed) in zip(base, more, strict=True)
            ]
            q = world.q(w)
            for s in range(world.S):
                if max(q[s]) > V[s]:
                    V[s], policy[s] = max(q[s]), int(np.argmax(q[s]))
            trail.append((V.copy(), list(policy)))
    return best, certificate


def olive(functions, rewards, eps, delta, rank):
    """An arm is (f, h): the greedy policy of f, at stage h (1 to H, 0 for none) with a random action."""
    functions = [np.asarray(f) for f in functions]
    N, (H, S, A) = len(functions), functions[0].shape
    greedy = [f.argmax(axis=2) for f in functions]

    def average(steps, h, f, only_greedy):
        total = 0.0
        for s in range(S):
            for a in range(A):
                for t in range(S):
                    after = functions[f][h + 1, t].max() if h + 1 < H else 0.0
                    error = functions[f][h, s, a] - rewards[h, s, a] - after
                    if not only_greedy or a == greedy[f][h, s]:
                        total += steps[h][s, a, t] * error * (A if only_greedy else 1)
        return total / steps[h].sum()

    n = math.ceil(32 / eps**2 * math.log(6 * N / delta))
    steps = yield (0, 0), n, greedy[0], 1.0
    first = steps[0].sum(axis=(1, 2)) / n
    promised = [sum(first[s] * f[0, s].max() for s in range(S)) for f in functions]
    left, t = set(range(N)), 0
    while left:
        t += 1
        f = max(sorted(left), key=lambda g: promised[g])
        n = math.ceil(288 * H**2 / eps**2 * math.log(6 * H * t * (t + 1) / delta))
        steps = yield (f, 0), n, greedy[f], 1.0
        errors = [average(steps, h, f, False) for h in range(H)]
        if sum(errors) <= 5 * eps / 8:
            return greedy[f], max(sum(errors) + 3 * eps / 8, 0.0)
        h = int(np.argmax(errors))
        n = math.ceil(4608 * H**2 * rank * A / eps**2 * math.log(6 * N * t * (t + 1) / delta))
        steps = yield (f, h + 1), n, greedy[f], 1.0
        phi = eps / (12 * H * math.sqrt(rank))
        left = {g for g in left if g != f and abs(average(steps, h, g, True)) <= phi}
    return greedy[f], 1.0

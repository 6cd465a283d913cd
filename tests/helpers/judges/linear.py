"""Cert-LSVI-UCB and ELEANOR with stored transitions and dense solves: judges. Nothing here imports the library."""

from __future__ import annotations

import math

import numpy as np


class CertJudge:
    """Cert-LSVI-UCB, line by line; stages and levels from 1. ``printed``: the paper's constants, else the proven."""

    def __init__(self, features, horizon, delta, lam, printed, scale=1.0):
        self.phi, self.H, self.delta, self.lam = np.asarray(features), horizon, delta, lam
        self.S, self.A, self.d = self.phi.shape
        self.printed, self.scale = printed, scale
        self.C = {}  # (h, l): transitions (s, a, r, s'), s' = None at the end of an episode
        self.k = 1

    def gamma(self, h, level, U, n):
        d, H = self.d, self.H
        if self.printed:
            root = math.sqrt(math.log(16 * level * d * H / self.delta))
            return self.scale * 5 * (level + 20 + math.ceil(math.log(level * d))) * d * H * root
        R = H - h
        if R == 0:
            return self.scale * math.sqrt(self.lam * d)
        j = math.ceil(math.log2(n)) if n > 1 else 0
        logdet = math.log(np.linalg.det(U / self.lam))
        failures = H * level * (level + 1) * (j + 1) * (j + 2) / self.delta
        inside = logdet + 2 * math.log(failures) + 2 * self.S * math.log(1 + R * 2 ** (j / 2))
        return self.scale * (R / 2 * math.sqrt(inside) + 1 + math.sqrt(self.lam * d) * (1 + R))

    def plan(self):
        """Actions, levels to store at (0: none) and values V̂ for all stages; a lower value of the policy."""
        H, S, d = self.H, self.S, self.d
        L = max(math.ceil(math.log(self.k / d, 4) - 1e-9), 0)
        V, low = np.zeros(S), np.zeros(S)
        action, store = np.zeros((H, S), dtype=int), np.zeros((H, S), dtype=int)
        for h in range(H, 0, -1):
            fits = {}
            for level in range(1, L + 2):
                data = self.C.get((h, level), [])
                U = self.lam * np.eye(d)
                b, c = np.zeros(d), np.zeros(d)
                for s, a, r, following in data:
                    x = self.phi[s, a]
                    U += np.outer(x, x)
                    b += x * (r + (0.0 if following is None else V[following]))
                    c += x * (r + (0.0 if following is None else low[following]))
                inverse = np.linalg.inv(U)
                w, v = inverse @ b, inverse @ c
                if self.printed:
                    kappa = 0.01 * 2.0 ** (-4 * level) / d
                    inverse, w = kappa * np.ceil(inverse / kappa), kappa * np.ceil(w / kappa)
                fits[level] = inverse, w, v, self.gamma(h, level, U, len(data))
            upper, lower = np.zeros(S), np.zeros(S)
            for s in range(S):
                upper[s], action[h - 1, s], store[h - 1, s] = self.decide(h, s, L, fits)
                x = self.phi[s, action[h - 1, s]]
                bounds = [v @ x - g * math.sqrt(max(x @ inv @ x, 0)) for inv, _, v, g in fits.values()]
                lower[s] = min(max(max(bounds), 0), H - h + 1)
            V, low = upper, lower
        return action, store, V, low

    def decide(self, h, s, L, fits):
        around, drop = (3, 4) if self.printed else (1, 2)
        left, bottom, top, chosen = list(range(self.A)), 0.0, self.H if self.printed else self.H - h + 1, 0
        level = 1
        while True:
            if level > L:
                return top, chosen, level
            inverse, w, _, gamma = fits[level]
            width = {a: gamma * math.sqrt(max(self.phi[s, a] @ inverse @ self.phi[s, a], 0)) for a in left}
            if max(width.values()) >= 2.0**-level:
                return top, max(left, key=lambda a: (width[a], -a)), level
            q = {a: w @ self.phi[s, a] for a in left}
            best = max(q.values())
            new_top, new_bottom = (
                min(best + around * 2.0**-level, top),
                max(best - around * 2.0**-level, bottom),
            )
            if new_bottom > new_top:
                return top, chosen, 0
            top, bottom = new_top, new_bottom
            chosen = next(a for a in left if q[a] == best)
            left = [a for a in left if q[a] >= best - drop * 2.0**-level]
            level += 1

    def learn(self, steps, store):
        for h, (s, a, r, following) in enumerate(steps, start=1):
            if store[h - 1, s]:
                self.C.setdefault((h, int(store[h - 1, s])), []).append((s, a, r, following))
        self.k += 1


class EleanorJudge:
    """The programme of ELEANOR: V for given u, and the largest V_1 where that has a closed form or few dimensions."""

    def __init__(self, features, horizon, delta, lam, scale=1.0):
        self.phi, self.H, self.delta, self.lam, self.scale = np.asarray(features), horizon, delta, lam, scale
        self.S, self.A, self.d = self.phi.shape
        self.C = [[] for _ in range(horizon)]

    def learn(self, steps):
        for h, step in enumerate(steps):
            self.C[h].append(step)

    def sigma(self, h):
        rows = [np.outer(self.phi[s, a], self.phi[s, a]) for s, a, _, _ in self.C[h - 1]]
        return self.lam * np.eye(self.d) + sum(rows, np.zeros((self.d, self.d)))

    def root_alpha(self, h):
        R, n, d = self.H - h, len(self.C[h - 1]), self.d
        if R == 0:
            return self.scale * math.sqrt(self.lam * d)
        e, D = 1 / math.sqrt(n + 1), 2 * (R + 1) * math.sqrt(d)
        logdet = math.log(np.linalg.det(self.sigma(h) / self.lam))
        inside = (
            logdet + 2 * math.log(self.H * (n + 1) * (n + 2) / self.delta) + 2 * d * math.log(1 + 2 * D / e)
        )
        return self.scale * (
            R / 2 * math.sqrt(inside) + 2 * e * math.sqrt(n) + math.sqrt(self.lam * d) * (1 + R)
        )

    def estimate(self, h, V):
        b = np.zeros(self.d)
        for s, a, r, following in self.C[h - 1]:
            b += self.phi[s, a] * (r + (0.0 if following is None else V[following]))
        return np.linalg.solve(self.sigma(h), b)

    def step(self, h, V, u):
        """V_h from V_{h+1} and u_h."""
        size, axes = np.linalg.eigh(self.sigma(h))
        theta = self.estimate(h, V) + self.root_alpha(h) * axes @ np.diag(size**-0.5) @ axes.T @ u
        return np.clip((self.phi @ theta).max(axis=1), 0, self.H - h + 1)

    def value(self, u):
        V = np.zeros(self.S)
        for h in range(self.H, 0, -1):
            V = self.step(h, V, u[h - 1])
        return V

    def last_step(self, V):
        """The largest V_1 over u_1, from V_2: the bonus of each action."""
        inverse, theta = np.linalg.inv(self.sigma(1)), self.estimate(1, V)
        bonus = self.root_alpha(1) * np.sqrt(np.einsum("sad,de,sae->sa", self.phi, inverse, self.phi))
        return np.clip((self.phi @ theta + bonus).max(axis=1), 0, self.H)

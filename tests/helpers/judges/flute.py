"""FLUTE, NestedFLUTE and LSVI-UCB with stored transitions and dense solves: the judge of the MDP kernels.

Nothing here imports the library. Stages are h = 1, ..., H as in the paper; levels l = 1, 2, ...
"""

from __future__ import annotations

import math

import numpy as np

TIE = 1e-9


class NaiveFLUTE:
    """Algorithm 2 of He, Zhou, Gu (2021), line by line, with the repairs C6 (l = 1) and C7 (clip at zero).

    nested: level l regresses on C^1 u ... u C^l. cap: "H" or "H-h+1". beta(l, Sigma) -> radius.
    single: one set per stage, no levels (LSVI-UCB, Jin et al. 2020). centred: targets are r + V(s') - (H-h)/2.
    """

    def __init__(
        self,
        features,
        horizon,
        beta,
        *,
        regularization=1.0,
        nested=False,
        cap="H",
        single=False,
        centred=False,
    ):
        self.phi = np.asarray(features)  # (states, actions, d)
        self.H, self.beta, self.lam = horizon, beta, regularization
        self.nested, self.single = nested, single
        self.cap = [horizon if cap == "H" else horizon - h + 1 for h in range(1, horizon + 1)]
        self.centre = [(horizon - h) / 2 if centred else 0.0 for h in range(1, horizon + 1)]
        self.C = [{} for _ in range(horizon)]  # C[h-1][l]: list of (s, a, r, s')
        self.S = 1

    def data(self, h, level):
        sets = self.C[h - 1]
        if self.nested:
            return [entry for i in range(1, level + 1) for entry in sets.get(i, [])]
        return sets.get(level, [])

    def gram(self, h, level):
        d = self.phi.shape[2]
        Sigma = self.lam * np.eye(d)
        for s, a, _, _ in self.data(h, level):
            Sigma += np.outer(self.phi[s, a], self.phi[s, a])
        return Sigma

    def plan(self):
        """Lines 3-15: Q[h-1][l-1] of shape (states, actions), from the current data."""
        n_states, n_actions, _ = self.phi.shape
        V = [np.zeros(n_states)] * self.S  # V_{H+1}^l = 0
        self.Q = [None] * self.H
        for h in range(self.H, 0, -1):
            Q = []
            for level in range(1, self.S + 1):
                Sigma = self.gram(h, level)  # line 6
                b = np.zeros(Sigma.shape[0])
                for s, a, r, nxt in self.data(h, level):  # line 7
                    b += self.phi[s, a] * (r + V[level - 1][nxt] - self.centre[h - 1])
                w = np.linalg.solve(Sigma, b)  # line 8
                solved = np.linalg.solve(Sigma, self.phi.reshape(-1, len(b)).T)
                width = np.sqrt((self.phi.reshape(-1, len(b)).T * solved).sum(axis=0))
                values = self.phi.reshape(-1, len(b)) @ w + self.beta(level, Sigma) * width
                values = np.clip(
                    self.centre[h - 1] + values, 0, self.cap[h - 1]
                )  # line 9; the lower clip is repair C7
                Q.append(values.reshape(n_states, n_actions))
            # line 12: V^l = max_a min_{i <= l} Q^i
            V = [np.min(Q[:level], axis=0).max(axis=1) for level in range(1, self.S + 1)]
            self.Q[h - 1] = Q
        return self.Q

    def least_q(self, h, previous):
        """min over 1 <= i <= l_{h-1} - 1 of Q^i; for l_{h-1} = 1 the action is greedy for Q^1 (repair C6)."""
        return np.min(self.Q[h - 1][: max(1, previous - 1)], axis=0)

    def level(self, h, s, a, previous):
        """Lines 18-21, on the current data; also the ratios to the thresholds."""
        if self.single:
            return 1, []
        x = self.phi[s, a]
        level = 1
        ratios = []
        while level <= previous - 1:
            q = x @ np.linalg.solve(self.gram(h, level), x)
            ratios.append(q / (4.0**-level * (1 + TIE)))
            if q > 4.0**-level * (1 + TIE):
                break
            level += 1
        return level, ratios

    def add(self, h, level, s, a, r, nxt):
        self.C[h - 1].setdefault(level, []).append((s, a, r, nxt))

    def end_episode(self):
        """Line 25."""
        self.S = max([1] + [level for level, data in self.C[0].items() if data])

    def logdet(self, h, level):
        return np.linalg.slogdet(self.gram(h, level) / self.lam)[1]


def policy_value(mdp, judge):
    """V_1 of the policy that the judge would execute now, by recursion over (state, previous level).

    mdp has transitions (H, S, A, S) and rewards (H, S, A). The level of the next stage follows from the
    current data (C8 of the audit).
    """
    memo = {}

    def value(h, s, previous):
        if h > judge.H:
            return 0.0
        key = (h, s, previous)
        if key not in memo:
            a = int(judge.least_q(h, previous)[s].argmax())
            level, _ = judge.level(h, s, a, previous)
            following = sum(
                p * value(h + 1, nxt, level) for nxt, p in enumerate(mdp.transitions[h - 1, s, a]) if p > 0
            )
            memo[key] = mdp.rewards[h - 1, s, a] + following
        return memo[key]

    return np.array([value(1, s, judge.S + 1) for s in range(judge.phi.shape[0])])


def mixture(Sigma, lam, R, S, delta):
    _, logdet = np.linalg.slogdet(Sigma / lam)
    return math.sqrt(R**2 * (logdet + 2 * math.log(1 / delta)) + lam * S**2)

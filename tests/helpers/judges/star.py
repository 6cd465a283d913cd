"""StarLSVI from its pseudo-code, with lists of transitions and dense solves: a judge. Nothing here imports the library.

Stages are entries 0, ..., H − 1. A transition is (x, F, paid): the feature taken, the features (A, d) of the next state
or None at the end of an episode, and the reward where it has noise, else 0.

The radii are methods (``kappa_a``, ``kappa_b``, ``kappa_c``), so that a test may put realised norms in their place;
``mutant`` names one mistake, which such a test must see.
"""

from __future__ import annotations

import math

import numpy as np

GRID = 33
TOLERANCE = 1e-9


class Problem:
    """What is known beforehand."""

    def __init__(self, horizon, dim, n_actions, *, delta=0.05, lam=1.0, mixture=False, rewards="deterministic",
                 weights=None, terminates=True, end=0.0, scale=1.0):  # fmt: skip
        self.H, self.d, self.A = horizon, dim, n_actions
        self.delta, self.lam, self.mixture, self.scale = delta, lam, mixture, scale
        self.rewards, self.weights, self.terminates = rewards, weights, terminates
        self.noisy = rewards == "noisy"
        self.R = horizon if self.noisy else horizon - 1  # stages with a regression
        self.tau = end * np.arange(horizon, -1, -1.0)  # the value of an end before stage h
        self.mutant, self.direct = None, True  # tests may leave out the regression of intervals

    def logs(self, failure, grid=1):
        stages = max(self.R, 1)
        return [
            2 * math.log(stages * k / (share * failure)) for k, share in ((1, 0.3), (1, 0.6), (grid, 0.1))
        ]


class Rewards:
    """Rewards of one stage: r̂(z) = z·mu, |r(z) − r̂(z)| ≤ err(z)."""

    def __init__(self, problem, seen, weight):
        self.p = problem
        self.known = problem.rewards != "deterministic"
        d = problem.d
        self.mu = np.zeros(d) if weight is None else np.asarray(weight, float)
        self.perp, self.far, self.full = np.zeros((d, d)), 0.0, True
        if self.known:
            return
        E, rho = [], []
        for x, r in seen:
            v = np.array(x, float)
            for _ in range(2):
                for e in E:
                    v = v - (e @ v) * e
            length = np.linalg.norm(v)
            if length > 1e-7:
                rho.append((r - sum((e @ x) * q for e, q in zip(E, rho, strict=True))) / length)
                E.append(v / length)
        if E:
            self.mu = np.array(rho) @ np.array(E)
        self.perp = np.eye(d) - sum((np.outer(e, e) for e in E), np.zeros((d, d)))
        self.far = math.sqrt(max(d - float(np.square(rho).sum()), 0.0))
        self.full = len(E) == d
        if self.full:
            self.perp = np.zeros((d, d))

    def err(self, Z):
        return self.far * np.sqrt(np.square(Z @ self.perp).sum(-1))

    def bounds(self, X):
        r = X @ self.mu
        if self.known:
            return r, r, r
        e = self.err(X)
        return r, np.minimum(1.0, r + e), np.maximum(0.0, r - e)


class Chain:
    """A chain of ridge regressions, one per stage, and the bound ``error`` on the error of its estimates."""

    def __init__(self, problem, rewards, stages):
        p = self.p = problem
        self.rewards, self.R = rewards, stages  # rewards: a list of Rewards, or None where none are added
        self.stage = [None] * p.H

    # -- radii ---------------------------------------------------------------------------------

    def kappa_a(self, h, f):
        return math.sqrt(f["logdet"] + self.logs[0])

    def kappa_b(self, h, f, W, s):
        return math.sqrt(np.linalg.slogdet(np.eye(self.p.d) + W / s)[1] + self.logs[1])

    def kappa_c(self, h, f):
        return math.sqrt(f["logdet"] + self.logs[2])

    # -- errors --------------------------------------------------------------------------------

    def bias(self, Y):
        p = self.p
        if p.mutant == "no bias":
            return 0.0 * Y.sum(-1)
        return p.lam * (np.abs(Y).sum(-1) if p.mixture else math.sqrt(p.d) * np.sqrt(np.square(Y).sum(-1)))

    def slack(self, norm, Y, length, sums):
        return np.minimum(norm * length, np.abs(Y) @ sums) if self.p.mixture else norm * length

    def solved(self, h, Z):
        f = self.stage[h]
        Y = Z @ f["inverse"]
        return Y, np.sqrt(np.maximum((Y * Z).sum(-1), 0.0))

    def radius(self, h, Y, norm):
        f = self.stage[h]
        r = f["rho"] / 2 * f["kappa_a"] * norm
        if f["spread"] is not None:
            r = np.minimum(r, f["kappa_b"] * np.sqrt(np.maximum(((Y @ f["spread"]) * Y).sum(-1), 0.0)))
        return r + f["lean"] * self.bias(Y)

    def later(self, h, Z):
        if h >= self.R:
            return np.zeros(Z.shape[:-1])
        f = self.stage[h]
        Y, norm = self.solved(h, Z)
        own = self.radius(h, Y, norm)
        if self.p.mutant != "no adv slack":
            own = own + self.slack(norm, Y, f["adv2"], f["adv1"])
        if self.p.mutant == "no propagation" or h + 1 >= self.p.H:
            return own
        return own + self.error(h + 1, Y @ (f["G"].T if self.p.mutant == "G transposed" else f["G"]))

    def error(self, h, Z):
        """|z·(truth − estimate)| at stage h, for each row z."""
        e = self.later(h, Z)
        return e if self.rewards is None else e + self.rewards[h].err(Z)

    def following(self, h, X):
        """[PL, PU] and the estimate of the expected target at features X."""
        f = self.stage[h]
        hat, b = f["c"] + X @ f["om"], self.later(h, X)
        up, low = np.minimum(f["b"], hat + b), np.maximum(f["a"], hat - b)
        if f["direct"]:
            Y, norm = self.solved(h, X)
            first = f["c"] + Y @ f["b1"]
            w = self.radius(h, Y, norm)
            if self.p.mutant != "no R1 slack":
                w = w + self.slack(norm, Y, f["half2"], f["half1"])
            up, low = np.minimum(up, first + w), np.maximum(low, first - w)
        return hat, up, low

    # -- one regression ------------------------------------------------------------------------

    def fit(self, h, X, target, low, up, paid, adv, F, *, value_range, s, g, direct):
        """Stage h: features X (n, d), targets, intervals [low, up] of the next value, rewards, half advantages."""
        p, d, n = self.p, self.p.d, len(X)
        lo, hi = value_range
        a, b = lo, hi + p.noisy * self.pays
        f = self.stage[h] = {"a": a, "b": b, "c": (a + b) / 2, "rho": b - a, "spread": None, "direct": direct}
        f["lean"] = (b - a) / 2 + (1.0 if p.noisy and self.pays and not p.mixture else 0.0)
        Sig = p.lam * np.eye(d) + X.T @ X
        f["sigma"], f["inverse"] = Sig, np.linalg.inv(Sig)
        f["logdet"] = np.linalg.slogdet(Sig / p.lam)[1]
        c = f["c"]
        f["om"] = f["inverse"] @ (X.T @ (target - c))
        f["adv2"], f["adv1"] = math.sqrt((adv**2).sum()), X.T @ adv
        f["G"] = X.T @ F
        U, L = paid + up, paid + low
        f["b1"], f["half2"] = X.T @ ((U + L) / 2 - c), math.sqrt((((U - L) / 2) ** 2).sum())
        f["half1"] = X.T @ ((U - L) / 2)
        f["n"], f["X"], f["g"], f["rs"] = n, X, g, max((hi - g) ** 2, (g - lo) ** 2)
        f["kappa_a"] = self.kappa_a(h, f)
        if n == 0:
            return
        rs, rho = f["rs"], f["rho"]
        squ = np.maximum((up - g) ** 2, (low - g) ** 2)
        sql = np.where((low <= g) & (g <= up), 0.0, np.minimum((up - g) ** 2, (low - g) ** 2))
        mid, half = (squ + sql) / 2 - rs / 2, (squ - sql) / 2
        Y, norm = self.solved(h, X)
        s2u = rs / 2 + Y @ (X.T @ mid) + self.slack(norm, Y, math.sqrt((half**2).sum()), X.T @ half)
        s2u = s2u + rs / 2 * (self.kappa_c(h, f) * norm + self.bias(Y))
        for _ in range(2):
            _, pu, pl = self.following(h, X)
            e2 = np.minimum(rho**2, np.maximum((U - pl) ** 2, (pu - L) ** 2))
            if p.mutant == "e2 of midpoints":
                e2 = ((U + L) / 2 - (pl + pu) / 2) ** 2
            if p.noisy and self.pays:  # Var(r + V) ≤ (sd r + sd V)²
                v = (np.sqrt(np.clip(s2u, 0.0, (hi - lo) ** 2 / 4)) + 0.5) ** 2
            else:
                v = s2u - np.maximum(0.0, np.maximum(pl - g, g - pu)) ** 2
            m = np.clip(c, np.minimum(pl, pu), np.maximum(pl, pu))
            v = np.clip(np.minimum(v, (b - m) * (m - a)), 0.0, rho**2 / 4)
            W = (X * ((e2 + 2 * v) / 3)[:, None]).T @ X
            f["W"] = W
            f["kappa_b"], f["spread"] = self.kappa_b(h, f, W, s), W + s * np.eye(d)


def rows(data, d, A):
    X = np.array([t[0] for t in data], float).reshape(-1, d)
    ended = np.array([t[1] is None for t in data], bool)
    F = np.array([np.zeros((A, d)) if t[1] is None else t[1] for t in data], float).reshape(-1, A, d)
    return X, F, ended, np.array([t[2] for t in data], float)


class Plan(Chain):
    """PLAN and ACT, from all transitions (a list per stage) and from what is known of rewards."""

    pays = True

    def __init__(self, problem, data, seen_rewards):
        p = problem
        weights = [None] * p.H if p.weights is None else p.weights
        super().__init__(p, [Rewards(p, seen_rewards[h], weights[h]) for h in range(p.H)], p.R)
        self.logs = p.logs(0.75 * p.delta, GRID)
        self.refuted = False
        self.data = data
        self.hi, self.lo = np.zeros(p.H + 1), np.zeros(p.H + 1)
        for h in range(p.H - 1, -1, -1):
            if h < p.R:
                self.regress(h)
            corners = np.eye(p.d)
            if p.mutant == "hi, lo of seen features" and h < p.R and len(data[h]):
                corners = self.stage[h]["X"]
            _, up, low = self.bounds(h, corners)
            self.hi[h], self.lo[h] = (up.max(), low.min()) if p.mixture else (p.H - h, 0.0)
            self.refuted |= bool((p.mixture and (low > up + 1e-7).any()) or self.lo[h] > self.hi[h] + 1e-7)
        self.caps = np.maximum(self.hi[: p.H] - self.lo[: p.H], 0.0)
        if p.A == 1:
            self.caps[:] = 0.0
        last = self.rewards[p.H - 1]
        if not p.noisy and (p.rewards == "known" or last.full):
            self.caps[-1] = 0.0

    def regress(self, h):
        p = self.p
        X, F, ended, paid = rows(self.data[h], p.d, p.A)
        n, tau = len(X), p.tau[h + 1]
        low, up, target, adv, Fp = (np.full(n, tau) for _ in range(5))
        adv, Fp = np.zeros(n), np.zeros((n, p.d))
        target = paid + tau
        if n and h + 1 < p.H:
            i = np.arange(n)
            hat, ups, lows = self.bounds(h + 1, F)
            centre = np.clip(hat, lows, ups)
            pi = centre.argmax(1)
            adv = np.where(ended, 0.0, self.advantage(h + 1, F, pi, hat, ups, lows)) / 2
            up, low = np.where(ended, tau, ups.max(1)), np.where(ended, tau, lows.max(1))
            kept = (centre if p.mutant == "clipped" else hat)[i, pi]
            shift = 0.0 if p.mutant == "not centred" else adv
            target = paid + np.where(ended, tau, kept + shift)
            Fp = np.where(ended[:, None], 0.0, F[i, pi])
            self.refuted |= bool((lows > ups + 1e-7)[~ended].any())
        lo, hi = self.lo[h + 1], self.hi[h + 1]
        if p.terminates:
            lo, hi = min(lo, tau), max(hi, tau)
        span = p.H - 1 - h
        step = span / (GRID - 1)
        g = step * math.floor(min(max((lo + hi) / 2, 0.0), span) / step + 0.5) if span else 0.0
        s = 0.05 * (p.R - h) ** 2
        self.fit(h, X, target, low, up, paid, adv, Fp, value_range=(lo, hi), s=s, g=g, direct=p.direct)

    def bounds(self, h, X):
        """Q̂, U and L at features X (..., d)."""
        p = self.p
        shape = X.shape[:-1]
        X = X.reshape(-1, p.d)
        r, rp, rm = self.rewards[h].bounds(X)
        hat = up = low = np.zeros(len(X))
        if h < p.R:
            hat, up, low = self.following(h, X)
        t = TOLERANCE * (p.H - h)
        return (r + hat).reshape(shape), (rp + up + t).reshape(shape), (rm + low - t).reshape(shape)

    def advantage(self, h, F, pi, hat, up, low):
        """At least V*(s) − Q*(s, pi), rows of F (n, A, d)."""
        i = np.arange(len(F))
        chosen = F[i, pi][:, None]
        D = self.error(h, (F - chosen).reshape(-1, self.p.d)).reshape(hat.shape)
        gain = np.minimum(hat - hat[i, pi][:, None] + D, up - low[i, pi][:, None])
        gain[i, pi] = 0.0
        return np.maximum(gain, 0.0).max(1)

    def decide(self, h, F, scale=None):
        """Actions and f for states with features F (n, A, d)."""
        scale = self.p.scale if scale is None else scale
        i = np.arange(len(F))
        hat, up, low = self.bounds(h, F)
        centre = np.clip(hat, low, up)
        best = centre.argmax(1)
        D = self.error(h, (F[i, best][:, None] - F).reshape(-1, self.p.d)).reshape(hat.shape)
        dead = (up < low.max(1)[:, None] - 1e-12) | (hat[i, best][:, None] - hat > D + 1e-12)
        dead[i, best] = False
        pi = np.where(dead, -np.inf, centre + scale * (up - centre)).argmax(1)
        return pi, np.minimum(self.caps[h], self.advantage(h, F, pi, hat, up, low)), up.max(1)


class Evaluation(Chain):
    """EVAL of a plan: of its sum of f ("gain") or of its rewards ("value"), from the transitions after it."""

    def __init__(self, plan, data, what, number):
        p = plan.p
        self.what, self.plan = what, plan
        self.pays = what == "value"
        super().__init__(p, plan.rewards if what == "value" else None, p.R if what == "value" else p.H - 1)
        self.logs = p.logs(p.delta / 4 / (2 * number * (number + 1)))
        if what == "gain":
            self.a, self.b = np.zeros(p.H + 1), np.append(np.cumsum(plan.caps[::-1])[::-1], 0.0)
        else:
            least = [0.0] * p.H
            if not p.noisy and p.mixture:
                least = [r.bounds(np.eye(p.d))[2].min() for r in plan.rewards]
            self.a = np.append(np.cumsum(least[::-1])[::-1], 0.0)
            self.b = plan.hi
        for h in range(self.R - 1, -1, -1):
            X, F, ended, paid = rows(data[h], p.d, p.A)
            paid = paid * self.pays
            n, tau = len(X), p.tau[h + 1] * self.pays
            lo, hi = self.a[h + 1], self.b[h + 1]
            if p.terminates:
                lo, hi = min(lo, tau), max(hi, tau)
            low = up = value = np.full(n, float(tau))
            Fp = np.zeros((n, p.d))
            if n and h + 1 < p.H:
                value, e, Fp = self.at(h + 1, F)
                low, up = (np.where(ended, tau, np.clip(v, lo, hi)) for v in (value - e, value + e))
                value, Fp = np.where(ended, tau, value), np.where(ended[:, None], 0.0, Fp)
                if p.mutant == "policy of the data":
                    Fp = F[:, 0]
            zero = np.zeros(n)
            rho = hi - lo + p.noisy * self.pays
            s = 0.05 * rho**2 + 1e-12
            self.fit(
                h,
                X,
                paid + value,
                low,
                up,
                paid,
                zero,
                Fp,
                value_range=(lo, hi),
                s=s,
                g=(lo + hi) / 2,
                direct=False,
            )

    def at(self, h, F):
        """Estimate of the value at states of stage h with features F (n, A, d), its error, and φ_π."""
        pi, f, _ = self.plan.decide(h, F)
        x = F[np.arange(len(F)), pi]
        value = self.plan.rewards[h].bounds(x)[0] if self.what == "value" else f
        if h < self.R:
            value = value + self.stage[h]["c"] + x @ self.stage[h]["om"]
        return value, self.error(h, x), x

    def first(self, F):
        """Bounds on the value of the plan's policy at first states (n, A, d): low and up."""
        pi, f, _ = self.plan.decide(0, F)
        x = F[np.arange(len(F)), pi]
        up = low = np.zeros(len(F))
        if self.R > 0:
            _, up, low = self.following(0, x)
        _, rp, rm = self.plan.rewards[0].bounds(x) if self.what == "value" else (f, f, f)
        return rm + low, rp + up


def certificate(plan, gain, value, F):
    """Of a plan at first states with features F (n, A, d), by its two evaluations."""
    top = plan.decide(0, F)[2]
    c2 = np.minimum(gain.first(F)[1], gain.b[0])
    c3 = np.minimum(top, plan.hi[0]) - np.maximum(value.first(F)[0], value.a[0])
    return np.maximum(0.0, np.minimum(np.minimum(c2, c3), plan.hi[0] - value.a[0]))


class StarJudge:
    """The agent: plans, waits, evaluates; ``learn`` takes an episode as lists."""

    def __init__(self, problem, *, wait=True, replan_factor=2.0, explore=0):
        p = self.p = problem
        self.wait, self.q, self.explore = wait, replan_factor, explore
        self.data = [[] for _ in range(p.R)]
        self.seen = [[] for _ in range(p.H)]  # rewards that gave a direction
        self.starts, self.k, self.plans = [], 0, 0
        self.current = self.waiting = None
        self.lost = 0.0
        self.newest = self.current = self.made()

    def made(self):
        """A new plan, with its number and its moment."""
        self.plans += 1
        plan = Plan(self.p, [list(stage) for stage in self.data], [list(s) for s in self.seen])
        live = {"plan": plan, "number": self.plans, "t": self.k, "sizes": [len(s) for s in self.data]}
        live |= {"looked": 0, "told": math.inf, "judged": self.evaluated(live)}
        return live

    def evaluated(self, live):
        after = [stage[n:] for stage, n in zip(self.data, live["sizes"], strict=True)]
        return [Evaluation(live["plan"], after, what, live["number"]) for what in ("gain", "value")]

    def mean(self, live, judged):
        return float(certificate(live["plan"], *judged, np.array(self.starts)).mean())

    def explores(self):
        return self.explore > 0 and (self.k + 1) % self.explore == 0

    def act(self, h, F):
        """Action for features F (A, d); the certificate and the bound of a first state."""
        live = self.newest if self.explores() else self.current
        pi, f, top = live["plan"].decide(h, F[None], 1.0 if self.explores() else None)
        return int(pi[0]), float(f[0]), float(top[0])

    def certificate(self, F):
        return float(certificate(self.current["plan"], *self.current["judged"], F[None])[0])

    def learn(self, steps):
        """Steps (F, action, reward in [0, 1], features of the next state or None)."""
        p, fresh = self.p, False
        self.lost += sum(self.act(h, F)[1] for h, (F, *_) in enumerate(steps))
        for h, (F, a, r, following) in enumerate(steps):
            x = np.array(F[a])
            if p.rewards == "deterministic" and not self.spans(self.seen[h], x):
                self.seen[h].append((x, r))
                fresh = True
            if h < p.R:
                self.data[h].append((x, None if h == p.H - 1 else following, r if p.noisy else 0.0))
        self.starts = [*self.starts, np.array(steps[0][0])][-100:]
        self.k += 1
        for live in (self.current, self.waiting):
            if live is not None:
                self.look(live)
        if self.waiting is not None and self.waiting["told"] < self.current["told"] - 1e-6:
            self.current, self.waiting = self.waiting, None
        if fresh or self.grown():
            self.newest = self.made()
            top = self.newest["plan"].decide(0, np.array(self.starts))[2].mean()
            if not self.wait or self.current["told"] > 0.2 * top:
                self.current, self.waiting = self.newest, None
            elif self.waiting is None:
                self.waiting = self.newest

    def look(self, live):
        """Evaluate anew if the episodes since the plan have grown by 5 %; keep the better evaluation."""
        m = self.k - live["t"]
        if m < max(live["looked"] + 1, 1.05 * live["looked"]):
            return
        live["looked"] = m
        judged = self.evaluated(live)
        new, old = self.mean(live, judged), self.mean(live, live["judged"])
        live["told"] = min(new, old)
        if new <= old:
            live["judged"] = judged

    def grown(self):
        ratio = 0.0
        for h in range(self.p.R):
            X = np.array([t[0] for t in self.data[h]]).reshape(-1, self.p.d)
            new = self.p.lam * np.eye(self.p.d) + X.T @ X
            old = self.newest["plan"].stage[h]["sigma"]
            ratio = max(ratio, np.linalg.eigvals(np.linalg.solve(old, new)).real.max())
        return ratio >= self.q - 1e-12

    def spans(self, seen, x):
        E = np.linalg.qr(np.array([y for y, _ in seen]).T)[0] if seen else np.zeros((self.p.d, 0))
        v = x - E @ (E.T @ x)
        return np.linalg.norm(v - E @ (E.T @ v)) <= 1e-7

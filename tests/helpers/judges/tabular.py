"""Slow judges of the tabular agents: their pseudo-code in plain NumPy, with nothing of the library.

An outcome is (next state, reward), next state -1 after the end of an episode. Stages count from 0 here.
"""

import math
from collections import defaultdict

import numpy as np


class Data:
    """What was seen: for every (stage, state, action), the stage 0 if pooled, how often each outcome came."""

    def __init__(self, pooled):
        self.pooled = pooled
        self.outcomes = defaultdict(lambda: defaultdict(int))

    def add(self, states, actions, rewards, following):
        for h, step in enumerate(zip(states, actions, rewards, following, strict=True)):
            s, a, r, t = (int(step[0]), int(step[1]), float(step[2]), int(step[3]))
            self.outcomes[0 if self.pooled else h, s, a][t, r] += 1

    def at(self, h, s, a):
        return self.outcomes.get((0 if self.pooled else h, s, a), {})


def kt(n):
    return math.lgamma(n + 1) - math.lgamma(n + 0.5) + 0.5 * math.log(math.pi)


def largest_mean(weights, values, top, threshold):
    """max{q V : n KL(p ‖ q) ≤ threshold}, q may use the value top: q_j ∝ p_j/(ν − V_j), ν by bisection."""
    weights, values = np.asarray(weights, dtype=float), np.asarray(values, dtype=float)
    values, weights = values[weights > 0], weights[weights > 0]
    p, c = weights / weights.sum(), threshold / weights.sum()
    if values.min() >= top:
        return top
    if c <= 0:
        return float(p @ values)
    g = top - values

    def divergence(x):  # KL(p ‖ q) of the q that belongs to ν = top + x
        return float(p @ np.log(x + g) + np.log((p / (x + g)).sum()))

    if g.min() > 0 and divergence(0.0) <= c:  # the rest of the mass goes to top
        return float(top - np.exp(p @ np.log(g) - c))
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        if divergence(g.max() * math.exp(middle)) > c:
            low = middle
        else:
            high = middle
    q = p / (g.max() * math.exp(high) + g)
    return float(q @ values / q.sum())


def least_mean(weights, values, bottom, threshold):
    return -largest_mean(weights, -np.asarray(values, dtype=float), -bottom, threshold)


def dirichlet(N, failure, outcomes):
    """Half Dirichlet(1/m), half Dirichlet(1/2) on m outcomes."""
    N, n = np.array(N, dtype=float), sum(N)

    def log_mixture(a):
        return (
            math.lgamma(outcomes * a)
            - math.lgamma(n + outcomes * a)
            + sum(math.lgamma(x + a) - math.lgamma(a) for x in N)
        )

    mixture = np.logaddexp(log_mixture(1 / outcomes), log_mixture(0.5)) - math.log(2)
    return math.log(1 / failure) + sum(x * math.log(x / n) for x in N) - mixture


def unknown_outcomes(N, failure):
    """The likelihood of the sequence (seen before: which | new) under a mixture over their number k."""
    n, K = sum(N), len(N)
    likelihood = -math.log(K * (K + 1))
    for first in range(K):  # Dirichlet(1/2) on K outcomes: the i-th new one has what is not seen yet
        likelihood += math.log((K - first) / 2)
    for x in N:
        likelihood += sum(math.log(i + 0.5) for i in range(1, x))
    likelihood -= sum(math.log(i + K / 2) for i in range(n))
    fit = sum((x - 1) * math.log((x - 1) / (n - K)) for x in N if x > 1)
    return math.log(1 / failure) + fit - likelihood


def cert_vi(
    data,
    S,
    A,
    H,
    delta,
    *,
    rewards=None,
    means=False,
    reward_range=(0.0, 1.0),
    return_range=(-math.inf, math.inf),
    scale=1.0,
    policy=None,
    ends=(),
):
    """CertVI: Q (H, S, A) of the choosing pass, upper values (S,), and lower values (S,) of its policy.

    A ``policy`` (H, S) may be given, where actions are tied. In ``ends`` an episode is over.
    """
    stages = max(H - 1, 1) if rewards is not None else H
    low, high = reward_range
    least, most = return_range
    up = 0.45 if means else 0.9
    fail_up = up * delta / (S * stages)
    fail_low = 0.1 * delta / (S * A * (1 if data.pooled else stages))
    fail_reward = up * delta / (S * A * (1 if data.pooled else stages))
    known = None if rewards is None else np.broadcast_to(rewards, (H, S, A))

    def split(h, s, a):
        """Counts, next states, rewards of the outcomes; with apart=True rewards are not part of them."""
        if known is None and not means:
            found = data.at(h, s, a)
        else:
            found = defaultdict(int)
            for (t, _), N in data.at(h, s, a).items():
                found[t, 0.0] += N
        N = np.array(list(found.values()))
        return N, [t for t, _ in found], np.array([r for _, r in found])

    def mean_of_rewards(h, s, a):
        seen = data.at(h, s, a)
        return sum(N * (r - low) / (high - low) for (_, r), N in seen.items()), sum(seen.values())

    def upper(scale):
        Q, V = np.zeros((H, S, A)), np.zeros((H + 1, S))
        for h in reversed(range(H)):
            peak = max(0.0, V[h + 1].max())
            for s in range(S):
                for a in range(A):
                    N, after, r = split(h, s, a)
                    base, top, end = 0.0, high + peak, most
                    if known is not None:
                        base, top, end = known[h, s, a], peak, most - known[h, s, a]
                    if means:
                        total, n = mean_of_rewards(h, s, a)
                        base, top = high, peak
                        if n > 0:
                            bound = scale * (math.log(1 / fail_reward) + kt(n))
                            base = largest_mean([n - total, total], [low, high], high, bound)
                    top = min(top, end)
                    Q[h, s, a] = base + top
                    if len(N):
                        values = np.minimum(r + [V[h + 1, t] if t >= 0 else 0.0 for t in after], end)
                        threshold = scale * (math.log(1 / fail_up) + kt(N.sum()))
                        Q[h, s, a] = base + largest_mean(N, values, top, threshold)
                V[h, s] = min(most, Q[h, s].max())
                if s in ends:
                    V[h, s] = Q[h, s] = 0.0
        return Q, V[0]

    Q, chosen_with = upper(scale)
    policy = Q.argmax(axis=2) if policy is None else policy
    V = np.zeros((H + 1, S))
    for h in reversed(range(H)):
        floor = min(0.0, V[h + 1].min())
        for s in range(S):
            a = policy[h, s]
            N, after, r = split(h, s, a)
            base, bottom, end = 0.0, low + floor, least
            if known is not None:
                base, bottom, end = known[h, s, a], floor, least - known[h, s, a]
            if means:
                total, n = mean_of_rewards(h, s, a)
                base, bottom = low, floor
                if n > 0:
                    base = least_mean([n - total, total], [low, high], low, math.log(1 / fail_reward) + kt(n))
            bottom = max(bottom, end)
            value = bottom
            if len(N):
                values = np.maximum(r + [V[h + 1, t] if t >= 0 else 0.0 for t in after], end)
                if known is None and not means:
                    if N.sum() > len(N):
                        value = least_mean(N - 1, values, bottom, unknown_outcomes(N, fail_low))
                else:
                    value = least_mean(N, values, bottom, dirichlet(N, fail_low, S + 1))
            V[h, s] = max(least, base + value) if s not in ends else 0.0
    return Q, chosen_with if scale == 1.0 else upper(1.0)[1], V[0]


def ubev(data, S, A, H, delta, *, rewards=None, radius="printed"):
    """UBEV, rewards in [0, 1]: Q (H, S, A)."""
    known = None if rewards is None else np.broadcast_to(rewards, (H, S, A))
    Q, V = np.zeros((H, S, A)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        for s in range(S):
            for a in range(A):
                seen = data.at(h, s, a)
                n = sum(seen.values())
                if n == 0:
                    Q[h, s, a] = (1.0 if known is None else known[h, s, a]) + V[h + 1].max()
                    continue
                if radius == "printed":
                    share = delta / (9 if known is None else 7)
                    phi = math.sqrt(
                        (2 * math.log(math.log(max(n, math.e))) + math.log(3 * S * A * H / share)) / n
                    )
                else:
                    v = max(1.0, n / 4)
                    J = S * A * H * (2 if known is None else 1)
                    inside = max(0.0, math.log(math.log(2 * v))) + 0.72 * math.log(5.2 * J / delta)
                    phi = 1.7 * math.sqrt(v * inside) / n
                mean = sum(N * (V[h + 1, t] if t >= 0 else 0.0) for (t, _), N in seen.items()) / n
                reward = sum(N * r for (_, r), N in seen.items()) / n
                reward = min(1.0, reward + phi) if known is None else known[h, s, a]
                Q[h, s, a] = reward + min(V[h + 1].max(), mean + (H - 1 - h) * phi)
            V[h, s] = Q[h, s].max()
    return Q


class UCBVI:
    """UCBVI with known rewards in [0, 1]; Q never rises."""

    def __init__(self, S, A, H, delta, *, rewards, episodes, bonus, third_term=True, pooled=True):
        self.S, self.A, self.H, self.bonus, self.third_term = S, A, H, bonus, third_term
        self.rewards = np.broadcast_to(rewards, (H, S, A))
        self.L = math.log(5 * S * A * episodes * H / delta)
        self.Q = np.full((H, S, A), float(H))
        self.data = Data(pooled)
        self.at_stage = np.zeros((H + 1, S))

    def plan(self):
        H, S, A, L = self.H, self.S, self.A, self.L
        V = np.zeros(S)
        for h in reversed(range(H)):
            for s in range(S):
                for a in range(A):
                    seen = self.data.at(h, s, a)
                    n = sum(seen.values())
                    if n == 0:
                        continue
                    p = np.array(list(seen.values())) / n
                    after = np.array([V[t] if t >= 0 else 0.0 for t, _ in seen])
                    if self.bonus == "hoeffding":
                        b = 7 * H * L / math.sqrt(n)
                    else:
                        variance = p @ (after - p @ after) ** 2
                        b = math.sqrt(8 * L * variance / n) + 14 * H * L / (3 * n)
                        if self.third_term:
                            rest = []
                            for t, _ in seen:
                                N = self.at_stage[h + 1, t] if t >= 0 else math.inf
                                most = 1e4 * H**3 * S**2 * A * L**2
                                rest.append(min(most / N, H**2) if N > 0 else H**2)
                            b += math.sqrt(8 * (p @ np.array(rest)) / n)
                    self.Q[h, s, a] = min(self.Q[h, s, a], H, self.rewards[h, s, a] + p @ after + b)
            V = self.Q[h].max(axis=1)
        return self.Q.argmax(axis=2)

    def learn(self, states, actions, rewards, following):
        self.data.add(states, actions, rewards, following)
        for h, s in enumerate(states):
            self.at_stage[h, s] += 1


class UCBAdvantage:
    """UCB-Advantage (Zhang, Zhou and Ji 2020), rewards in [0, 1]."""

    def __init__(self, S, A, H, delta, *, episodes, reference_factor=1.0):
        self.H, T = H, episodes * H
        self.iota = math.log(8 * T * (H**2 * T**3 + 3) / delta)
        self.N0 = math.ceil(reference_factor * S * A * H**5 * self.iota * H)
        self.Q = np.zeros((H, S, A)) + np.arange(H, 0, -1)[:, None, None]
        self.V = np.vstack([self.Q.max(axis=2), np.zeros(S)])
        self.reference = np.vstack([np.full((H, S), float(H)), np.zeros(S)])
        self.n, self.reward = np.zeros((H, S, A)), np.zeros((H, S, A))
        self.mr, self.sr = np.zeros((H, S, A)), np.zeros((H, S, A))
        self.nc, self.mc, self.sc, self.vc = (np.zeros((H, S, A)) for _ in range(4))
        self.ends, length, total = set(), H, 0
        while total < 10**7:
            total += length
            self.ends.add(total)
            length = math.floor((1 + 1 / H) * length)

    def plan(self):
        return self.Q.argmax(axis=2)

    def learn(self, states, actions, rewards, following):
        H, iota = self.H, self.iota
        for h, (s, a, r, t) in enumerate(zip(states, actions, rewards, following, strict=True)):
            i = h, s, a
            v, ref = (self.V[h + 1, t], self.reference[h + 1, t]) if t >= 0 else (0.0, 0.0)
            self.n[i] += 1
            self.nc[i] += 1
            self.reward[i] += r
            self.mr[i] += ref
            self.sr[i] += ref**2
            self.mc[i] += v - ref
            self.sc[i] += (v - ref) ** 2
            self.vc[i] += v
            if self.n[i] in self.ends:
                n, nc, mean = self.n[i], self.nc[i], self.reward[i] / self.n[i]
                b = 2 * math.sqrt(H**2 * iota / nc)
                bb = 2 * math.sqrt(max(0.0, self.sr[i] / n - (self.mr[i] / n) ** 2) * iota / n)
                bb += 2 * math.sqrt(max(0.0, self.sc[i] / nc - (self.mc[i] / nc) ** 2) * iota / nc)
                bb += 5 * H * (iota / n + iota / nc + (iota / n) ** 0.75 + (iota / nc) ** 0.75)
                first = mean + self.vc[i] / nc + b
                second = mean + self.mr[i] / n + self.mc[i] / nc + bb
                self.Q[i] = min(first, second, self.Q[i])
                self.V[h, s] = self.Q[h, s].max()
                self.nc[i] = self.mc[i] = self.sc[i] = self.vc[i] = 0
            if self.n[h, s].sum() == self.N0:
                self.reference[h, s] = self.V[h, s]


class QLearning:
    """Q(s, a) += α_n (r + γ max_a' Q(s', a') − Q(s, a)), α_n = rate n^-power, in the order of the episode."""

    def __init__(self, S, A, H, *, rate, power, discount=1.0, initial=0.0, pooled=True):
        self.pooled, self.H = pooled, H
        self.Q = np.full((H + 1, S, A), float(initial))
        self.Q[H] = 0.0
        self.n = np.zeros((H + 1, S, A))
        self.rate, self.power, self.discount = rate, power, discount

    def learn(self, states, actions, rewards, following):
        for h, (s, a, r, t) in enumerate(zip(states, actions, rewards, following, strict=True)):
            now, then = (0, 0) if self.pooled else (h, h + 1)
            self.n[now, s, a] += 1
            ahead = self.Q[then, t].max() if t >= 0 else 0.0
            target = r + self.discount * ahead
            self.Q[now, s, a] += self.rate * self.n[now, s, a] ** -self.power * (target - self.Q[now, s, a])


def rlsvi(data, S, A, H, k, normals, *, noise_scale=1.0, reward_range=(0.0, 1.0)):
    """RLSVI (Russo 2019) in episode k = 1, 2, ...: Q (H, S, A) by least squares on perturbed data.

    The algorithm draws a normal for the prior and one for every sample. Here ``normals`` (H, S, A) has their sum, as
    one standard normal times √(n + 1); it is put on the prior. Rewards are scaled to [0, 1], an end has the reward 0.
    """
    low, high = min(reward_range[0], 0.0), max(reward_range[1], 0.0)
    unit = high - low
    beta = S * H**3 * math.log(2 * H * S * A * k) / 2
    Q, V = np.zeros((H, S, A)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        for s in range(S):
            for a in range(A):
                seen = data.at(h, s, a)
                n = sum(seen.values())
                design, target = [1.0], [noise_scale * math.sqrt(beta * (n + 1)) * normals[h, s, a]]
                for (t, r), times in seen.items():
                    over = (H - 1 - h) * (0.0 - low) / unit
                    design += [1.0] * times
                    target += [(r - low) / unit + (V[h + 1, t] if t >= 0 else over)] * times
                Q[h, s, a] = np.linalg.lstsq(np.array(design)[:, None], np.array(target), rcond=None)[0][0]
        V[h] = Q[h].max(axis=1)
    return unit * Q + low * np.arange(H, 0, -1)[:, None, None]

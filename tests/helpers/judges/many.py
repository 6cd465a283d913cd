"""Rounds of many seeds in Python integers and libm, and an agent that plays them: slow, obvious.

Nothing here imports the library: formulas are written a second time on purpose.
"""

from __future__ import annotations

import math

import numpy as np

MASK = 2**32 - 1


def philox(counter, key):
    """Philox 4x32-10."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def normals(a, b):
    """Box and Muller: the length from (a | 1)/2^32; the angle in a quarter, mirrored by bit 30, turned by bit 31."""
    length = math.sqrt(-2 * math.log((a | 1) / 2**32))
    angle = (((b & (2**30 - 1)) + 0.5) / 2**30 - 0.5) * math.pi / 2
    if b >> 30 & 1:
        angle = math.pi / 2 - angle
    if b >> 31:
        angle += math.pi
    return length * math.cos(angle), length * math.sin(angle)


def words(seed, t, position, purpose):
    return philox((t & MASK, t >> 32, position, purpose), (seed & MASK, seed >> 32))


def sphere_round(seed, t, n, d, shortest=1.0):
    """The actions (n, d) and the standard normal noise of a round."""
    X = np.empty((n + 3, d))
    for first in range(0, n, 4):
        for j in range(d):
            w = words(seed, t, first // 4 * d + j, 0)
            X[first : first + 4, j] = [*normals(w[0], w[1]), *normals(w[2], w[3])]
        X[first : first + 4] /= np.linalg.norm(X[first : first + 4], axis=1)[:, None]
        if shortest < 1:
            u = (np.array(words(seed, t, first, 2)) + 0.5) / 2**32
            X[first : first + 4] *= (shortest**u)[:, None]
    w = words(seed, t, 0, 1)
    return X[:n], normals(w[0], w[1])[0]


def gaps(agent, theta, noise, seed, rounds, n, shortest=1.0):
    """The gaps of a judge that chooses the first action with the largest least upper bound, up to rounding."""
    found = []
    for t in range(rounds):
        X, e = sphere_round(seed, t, n, len(theta), shortest)
        means, _, bonuses = agent.evaluate(X)
        ucb = (means + bonuses).min(axis=0)
        k = int((ucb >= ucb.max() - 1e-10 * abs(ucb.max())).argmax())
        true = X @ theta
        found.append(true.max() - true[k])
        agent.add(X[k], true[k] + noise * e)
    return np.array(found)

"""An alarm for rewards that are not linear within ζ; the probability that it ever rings falsely is at most α.

    z_t = (1, x_t/L, products of two entries of x_t/L, their cubes), a function of the action taken
    V = I + Σ zzᵀ, G = Σ zxᵀ, b = Σ zr; after every max(25, length of z) rounds, n in all:
    T² = min_θ ‖b − Gθ‖²_{V⁻¹} + f‖θ‖²
    ζ ≥ [√(T² − fS²) − R √(log det V + 2 log(1/α))] / √n          alarm if this exceeds the agent's ζ

If r_t = ⟨μ*, x_t⟩ + ζ_t + η_t, then b − Gμ* = Σ zη + Σ zζ_t. The first part has ‖Σ zη‖²_{V⁻¹} ≤ R² [log det V + 2
log(1/α)] at all times at once with probability 1 − α (Abbasi-Yadkori, Pál and Szepesvári 2011, Theorem 1), whatever the
policy; the second has a norm of at most ζ√n, as V is at least Σ zzᵀ. The event does not depend on ζ. So the bound holds
for all rounds at once for the least ζ within which rewards are linear, and it may be compared with any ζ. R must bound
the noise, S the norm of μ*, and rounds must come in the order of decisions, or with delays that do not depend on
rewards.

That no alarm rings is no evidence of linearity: there may be too few rounds, or a misfit that these vectors z do not
show. Up to dimension ``MOST_PAIRED`` z has all products of two entries, beyond it only their squares. f is for
directions that were never tried, as in ``drift``.

Rounds are collected until a test is due. Then the kernel ``add`` adds them to the sums of the alarm, and tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import setitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac._arrays import Array
from unipac._atomic import Change
from unipac._jit import jit

EVERY = 25
"""The least number of rounds between two tests."""
MOST_PAIRED = 8
"""Up to this dimension all products of two entries are used."""
FLOOR = 1e-24
"""f, relative to the mean squared entry of G, and at least that of 1."""
ROUNDING = 1e-9
"""A misfit smaller than this, relative to ‖b‖_{V⁻¹}, counts as rounding."""
COUNT, ALARM, LEAST, SEQ, STATISTIC, THRESHOLD = range(6)
"""Entries of ``Sums.last``: rounds; 1 if the alarm rang; the largest bound on ζ so far; the event at which it rang; T
and R √(...) + ζ√n at the last test."""


class Rules(NamedTuple):
    """The constants of an alarm."""

    noise: float
    norm: float
    action_norm: float
    log_share: float
    """log(1/α)."""
    zeta: float


class Sums(NamedTuple):
    """What an alarm has learned."""

    gram: Array
    """(D, D): V."""
    cross: Array
    """(D, d): G."""
    total: Array
    """(D,): b."""
    last: Array
    """(6,)."""
    X: Array
    """(m, d): the rounds since the last test are the first ones, n mod m of them."""
    y: Array
    """(m,)."""


def length(dim: int) -> int:
    """D, the length of z."""
    return 1 + 2 * dim + (dim * (dim + 1) // 2 if dim <= MOST_PAIRED else dim)


@jit
def write_powers(x: Array, scale: float, z: Array) -> None:
    """Write z of an action."""
    d = x.size
    z[0] = 1.0
    k = 1 + d
    for i in range(d):
        u = x[i] / scale
        z[1 + i] = u
        for j in range(i, d if d <= MOST_PAIRED else i + 1):
            z[k] = u * x[j] / scale
            k += 1
    for i in range(d):
        z[k + i] = (x[i] / scale) ** 3


@jit
def misfit(sums: Sums, floor: float, room: Array) -> tuple[float, float, float]:
    """T², log det V and ‖b‖²_{V⁻¹}; ``room`` is (D + d, D + d + 1).

    V = LLᵀ is eliminated from (V | G | b), which leaves L⁻¹(G | b); below come the rows √f I of d columns. One
    reflection for each column of G then leaves what θ cannot explain.
    """
    D, d = sums.cross.shape
    for i in range(D):
        for j in range(D):
            room[i, j] = sums.gram[i, j]
        for j in range(d):
            room[i, D + j] = sums.cross[i, j]
        room[i, D + d] = sums.total[i]
    logdet, size2 = 0.0, 0.0
    for k in range(D):
        pivot = max(room[k, k], 1.0)  # smaller by rounding only, since V is at least I
        logdet += math.log(pivot)
        for j in range(k, D + d + 1):
            room[k, j] /= math.sqrt(pivot)
        for i in range(k + 1, D):
            share = room[k, i]
            for j in range(i, D + d + 1):
                room[i, j] -= share * room[k, j]
        size2 += room[k, D + d] ** 2
    for i in range(d):
        for j in range(d + 1):
            room[D + i, D + j] = 0.0
        room[D + i, D + i] = math.sqrt(floor)
    for k in range(d):
        squares = 0.0
        for i in range(k, D + d):
            squares += room[i, D + k] ** 2
        first = room[k, D + k] + math.copysign(math.sqrt(squares), room[k, D + k])
        scale = 2.0 / (squares - room[k, D + k] ** 2 + first * first)
        room[k, D + k] = first
        for j in range(k + 1, d + 1):
            product = 0.0
            for i in range(k, D + d):
                product += room[i, D + k] * room[i, D + j]
            for i in range(k, D + d):
                room[i, D + j] -= scale * product * room[i, D + k]
    left = 0.0
    for i in range(d, D + d):
        left += room[i, D + d] ** 2
    return left, logdet, size2


@jit
def add(sums: Sums, rules: Rules, seq: int) -> None:
    """Add the collected rounds, the last of which has event ``seq``, and test."""
    D, d = sums.cross.shape
    z = np.empty(D)
    for k in range(sums.y.size):
        x, y = sums.X[k], sums.y[k]
        write_powers(x, rules.action_norm, z)
        for i in range(D):
            sums.total[i] += z[i] * y
            for j in range(d):
                sums.cross[i, j] += z[i] * x[j]
            for j in range(D):
                sums.gram[i, j] += z[i] * z[j]
    sums.last[COUNT] += 1.0
    n = sums.last[COUNT]
    squares = 0.0
    for i in range(D):
        for j in range(d):
            squares += sums.cross[i, j] ** 2
    floor = FLOOR * max(1.0, squares / (D * d))
    left, logdet, size2 = misfit(sums, floor, np.empty((D + d, D + d + 1)))
    statistic = math.sqrt(max(left - floor * rules.norm**2, 0.0)) - ROUNDING * math.sqrt(size2)
    radius = rules.noise * math.sqrt(logdet + 2.0 * rules.log_share)
    sums.last[STATISTIC], sums.last[THRESHOLD] = statistic, radius + rules.zeta * math.sqrt(n)
    sums.last[LEAST] = max(sums.last[LEAST], (statistic - radius) / math.sqrt(n))
    if sums.last[LEAST] > rules.zeta:
        sums.last[ALARM], sums.last[SEQ] = 1.0, float(seq)


class Linearity(NamedTuple):
    """Whether rewards are seen not to be linear within ζ.

    >>> Alarm(2, noise=0.1, alpha=0.01).state.alarm                    # nothing was learned yet
    False
    """

    alarm: bool
    """Whether the alarm rang; it stays on until a new one is made."""
    least: float
    """With probability 1 − α, for all rounds at once, rewards are linear within no smaller ζ than this."""
    statistic: float
    """T at the last test, or when the alarm rang; NaN before the first."""
    threshold: float
    """R √(log det V + 2 log(1/α)) + ζ√n at that test; infinite before the first."""
    seq: int | None
    """The number of the event at which the alarm rang; None if it did not."""


class Alarm:
    """Learns rounds in order and tests them; ``state`` is the latest result.

    >>> rng = np.random.default_rng(0)
    >>> alarm = Alarm(2, noise=0.1, alpha=0.01)
    >>> for k in range(500):
    ...     x = rng.uniform(-0.7, 0.7, 2)
    ...     alarm.learn(x, x[0] ** 2 + 0.1 * rng.standard_normal(), seq=k)
    >>> alarm.state.alarm, alarm.state.least > 0.02
    (True, True)
    """

    def __init__(
        self,
        dim: int,
        noise: float,
        alpha: float,
        norm: float = 1.0,
        action_norm: float = 1.0,
        misspecification: float = 0.0,
    ) -> None:
        self.watches = alpha > 0.0 and noise > 0.0
        share = math.log(1.0 / alpha) if self.watches else 0.0
        self.rules = Rules(noise, norm, action_norm, share, misspecification)
        D = length(dim) if self.watches else 0
        room = max(EVERY, D) if self.watches else 0
        self.sums = Sums(
            np.eye(D), np.zeros((D, dim)), np.zeros(D), np.zeros(6), np.zeros((room, dim)), np.zeros(room)
        )

    def __copy__(self) -> Alarm:
        """Another alarm that has learned the same."""
        other = object.__new__(Alarm)
        other.watches, other.rules = self.watches, self.rules
        other.sums = Sums(*(array.copy() for array in self.sums))
        return other

    def learn(self, x: Array, y: float, seq: int) -> None:
        """Add one round; ``seq`` is the number of the event that brought it."""
        for kernel, *arguments in self.after(x, y, seq):
            kernel(*arguments)

    def after(self, x: Array, y: float, seq: int) -> list[Change]:
        """The changes that add one round, for ``unipac._atomic.commit``. After an alarm nothing is added."""
        sums = self.sums
        if not self.watches or sums.last[ALARM]:
            return []
        count, room = int(sums.last[COUNT]), len(sums.y)
        k = count % room
        kept: list[Change] = [(setitem, sums.X, k, np.array(x)), (setitem, sums.y, k, float(y))]
        if k + 1 < room:
            return [*kept, (setitem, sums.last, COUNT, count + 1.0)]
        return [*kept, (add, sums, self.rules, int(seq))]

    @property
    def state(self) -> Linearity:
        """The result of the last test."""
        last = self.sums.last
        tested = last[COUNT] >= max(EVERY, len(self.sums.total))
        rang = bool(last[ALARM])
        numbers = (float(last[STATISTIC]), float(last[THRESHOLD])) if tested else (math.nan, math.inf)
        return Linearity(rang, float(last[LEAST]), *numbers, int(last[SEQ]) if rang else None)

    # -- files ---------------------------------------------------------------------------------

    def saved(self) -> dict[str, NDArray[Any]]:
        """The state for a file, copied; nothing if nothing is watched."""
        if not self.watches:
            return {}
        return {name: array.copy() for name, array in zip(Sums._fields, self.sums, strict=True)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; raise a ``ValueError`` if no data could have led to it."""
        if not self.watches:
            return
        for name, held in zip(Sums._fields, self.sums, strict=True):
            array = arrays[name]
            if array.shape != held.shape or array.dtype != held.dtype or not np.isfinite(array).all():
                raise ValueError("the alarm of linearity is not that of any data")
        gram, last = arrays["gram"], arrays["last"]
        sound = (
            np.array_equal(gram, gram.T)
            and bool((np.diag(gram) >= 1.0).all())
            and last[COUNT] >= 0.0
            and gram[0, 0] == 1.0 + last[COUNT] // len(self.sums.y) * len(self.sums.y)
            and last[ALARM] in (0.0, 1.0)
            and 0.0 <= last[SEQ] < 2.0**53
        )
        if not sound:
            raise ValueError("the alarm of linearity is not that of any data")
        for name, held in zip(Sums._fields, self.sums, strict=True):
            held[...] = arrays[name]


def last_misspecification(agent: Any) -> float:
    """The largest ζ of an agent, under which its claims are final; claims under smaller ones are provisional."""
    zetas = agent.parameters.get("misspecification", 0.0)
    return float(zetas[-1] if isinstance(zetas, tuple) else zetas)


def alarm_for(agent: Any, alpha: float) -> Alarm:
    """A new alarm under the assumptions of an agent and its largest ζ; without a noise scale it watches nothing."""
    zeta = last_misspecification(agent)
    noise, norm = getattr(agent, "noise", 0.0), getattr(agent, "norm", 1.0)
    return Alarm(agent.dim, noise, alpha, norm, agent.action_norm, zeta)

"""Errors in a log that can be detected in the log itself.

The checks of frequencies compare a sum of T terms with its expectation under the propensities, and warn beyond `LIMIT`
standard errors: for about one sound log in 100,000. They prove nothing, except the test of linear rewards (`misfit`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from unipac import _checks
from unipac.logs.by_weights import weights
from unipac.logs.linearity import misfit
from unipac.logs.log import Log
from unipac.logs.policies import Policy

LIMIT = 4.5
"""Number of standard errors beyond which a check warns."""

FEWEST = 30
"""Frequencies of fewer rounds are not checked."""


class Problem(NamedTuple):
    """One error or oddity in a log.

    >>> log = Log([[1.0], [0.5]], [0, 1], [0.0, 1.0], times=[2.0, 1.0])
    >>> [problem.name for problem in check(log)]
    ['times']
    """

    name: str
    """"propensity", "overlap", "uniform", "holdout", "ids", "times", "features", "rewards", "linearity", "weights" or
    "effective"."""
    message: str
    """The expected and the actual value."""


def check(log: Log, *, noise: SupportsFloat | None = None, policy: Policy | None = None) -> list[Problem]:
    """The errors in a log; the list is empty if all of these hold.

    - propensity: each is in (0, 1].
    - overlap: if every propensity is below 1, the mean of 1/p is about the number of actions offered. If it is
      above, the propensities are too small; if below, they are too large or some action was never possible.
    - uniform: if all propensities are 1/n, each position was taken about equally often.
    - holdout: the share of random rounds is about the requested one.
    - ids: no id occurs twice; times: they never decrease.
    - features: no column is always 0, and at most one is constant; rewards: they are not all equal.
    - linearity, with ``noise``: the rewards can be linear in the vectors (`misfit`, with α = 0.01).
    - weights, with ``policy``: its weights π/p are about 1 on average, and not all 0.
    - effective, with ``policy``: its weights are worth at least 30 rounds of equal weight; they are worth less where
      propensities are small.

    Args:
        log: the log.
        noise: R, the sub-Gaussian scale of the noise; if None, linear rewards are not tested.
        policy: a policy to be valued by weights, as in `value`; if None, weights are not checked.

    Raises:
        ValueError: if the policy cannot be valued by weights, as `value` would say.

    Example:
        >>> log = Log([[1.0, 0.0], [1.0, 0.5]], [0, 1, 0], [0.0, 1.0, 0.5], times=[1.0, 3.0, 2.0])
        >>> check(log)
        [Problem(name='times', message='round 2 was made before round 1, at 2 after 3')]
    """
    _checks.require(isinstance(log, Log), "log", "a Log", log)
    findings = [*_propensities(log), *_holdout(log), *_names(log), *_columns(log)]
    if noise is not None and len(log) > 0:
        tested = misfit(log, noise=noise)
        if tested.found:
            words = f"{tested.statistic:.3g} > {tested.threshold:.3g}, of probability <= 0.01 otherwise"
            findings.append(Problem("linearity", f"rewards are not linear, or noisier than stated: {words}"))
    if policy is not None and "propensity" not in {finding.name for finding in findings}:
        findings += _weights(log, policy)
    return findings


def _weights(log: Log, policy: Policy) -> Iterator[Problem]:
    w = weights(log, policy)
    total = float(w.sum())
    if total == 0.0:
        yield Problem("weights", "the log never took what the policy takes: all weights are 0")
        return
    worth = total * total / float((w * w).sum())
    if worth < FEWEST:
        least = float(np.min(log.propensities))  # type: ignore[arg-type]
        words = f"the weights are worth {worth:.3g} of {len(w):,} rounds; the least propensity is {least:.3g}"
        yield Problem("effective", words)
    elif abs(w.mean() - 1.0) > LIMIT * float(w.std(ddof=1)) / math.sqrt(len(w)) + 1e-9:
        what = "small" if w.mean() > 1.0 else "large, or the log cannot take all that the policy takes"
        yield Problem(
            "weights", f"they are {w.mean():.4g} on average instead of 1: propensities are too {what}"
        )


def _propensities(log: Log) -> Iterator[Problem]:
    p = log.propensities
    if p is None:
        return
    outside = np.flatnonzero((p <= 0.0) | (p > 1.0))
    if len(outside):
        t = int(outside[0])
        yield Problem("propensity", f"{len(outside)} are not in (0, 1], the first in round {t}: {p[t]:g}")
        return
    if len(log) < FEWEST or p.max() == 1.0:
        return
    sizes = log.sizes.astype(np.float64)
    if log.is_uniform:
        for k in range(int(log.sizes.max())):
            offered = log.sizes > k
            expected = float((1.0 / sizes[offered]).sum())
            error = math.sqrt(float(((1.0 / sizes) * (1.0 - 1.0 / sizes))[offered].sum()))
            count = int((log.index == k).sum())
            if abs(count - expected) > LIMIT * error:
                yield Problem(
                    "uniform", f"position {k} was taken {count} times; uniform choices expect {expected:.0f}"
                )
        return
    excess = 1.0 / p - sizes
    mean, error = float(excess.mean()), float(excess.std(ddof=1)) / math.sqrt(len(p))
    if abs(mean) > LIMIT * error + 1e-9:
        what = (
            "propensities are too small"
            if mean > 0
            else "propensities are too large, or some action has none"
        )
        numbers = f"the mean of 1/p is {float((1.0 / p).mean()):.4g} with {float(sizes.mean()):.4g} actions"
        yield Problem("overlap", f"{numbers}: {what}")


def _holdout(log: Log) -> Iterator[Problem]:
    share = log.holdout_share
    if share is None or log.holdout is None or len(log) == 0:
        return
    mean = float(log.holdout.mean())
    if abs(mean - share) > LIMIT * math.sqrt(share * (1.0 - share) / len(log)) + 1e-12:
        yield Problem("holdout", f"{mean:.4g} of the rounds are random instead of {share:.4g}")


def _names(log: Log) -> Iterator[Problem]:
    if log.ids is not None:
        twice = [name for name, count in Counter(log.ids).items() if count > 1]
        if twice:
            yield Problem("ids", f"{len(twice)} come more than once, such as {_checks.shown(twice[0])}")
    if log.times is not None and len(log) > 1:
        back = np.flatnonzero(np.diff(log.times) < 0.0)
        if len(back):
            t = int(back[0])
            first, second = log.times[t], log.times[t + 1]
            yield Problem("times", f"round {t + 1} was made before round {t}, at {second:g} after {first:g}")


def _columns(log: Log) -> Iterator[Problem]:
    if len(log) < 2:
        return
    X: NDArray[np.float64] = log.vectors
    low, high = X.min(axis=0), X.max(axis=0)
    empty = np.flatnonzero((low == 0.0) & (high == 0.0)).tolist()
    constant = np.flatnonzero((low == high) & (low != 0.0)).tolist()
    if empty:
        yield Problem("features", f"columns {_checks.shown(empty)} are always 0")
    if len(constant) > 1:
        yield Problem("features", f"columns {_checks.shown(constant)} are constant; one is enough")
    if len(log) >= FEWEST and float(np.ptp(log.rewards)) == 0.0:
        yield Problem("rewards", f"all are {log.rewards[0]:g}")

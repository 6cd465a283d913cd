"""Compare policies with the decisions that are made: their advantage, and an audit of certificates.

    before the draw of a decision among n actions, with holdout h:
        π, what the policy would take; p(a), the probability of each action, at least h/n
    the action A is taken, of weight w = π(A)/p(A)
    when the reward r is final, in the order of the decisions:
        advantage   ``weights.RunningMean`` takes (w, r) against weight 1: the mean of v(π) − v(p), in [−1, 1]
        audit       x = (w − 1) r − c, where c is the certificate of A:  E[x | past] <= 0 if certificates are right
                    z = −(w − 1) f, where f is the mean reward so far:   E[z | past] = 0
                    wealth_k *= 1 + l_k (x + θ_k z);   Σ_k c_k wealth_k >= 1/α refutes them

Rewards and certificates are scaled by the range of the rewards, so that x >= −2 and z >= −n/h. The mean of (w − 1) r is
v(π) − v(p), which is that of v(π) − v(A); the certificate of A bounds v(π) − v(A), whichever action is drawn. θ_k is
the largest share of z for which no factor is below 0.02; z makes x less noisy. By Ville's inequality, right
certificates are refuted with probability at most α; the k-th policy has the share α/(k (k + 1)). Decisions for which
the policy returns None do not count. If an agent has several ζ, only certificates under the last are audited: the
others are provisional, and the agent moves on by itself.
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from operator import delitem, setitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._actions import Label, label
from unipac._arrays import Array
from unipac._atomic import Change
from unipac._notebook import as_json, from_json
from unipac.deployment.errors import Conflict, Full
from unipac.deployment.log import Decided
from unipac.weights import kernels, running

UNIFORM, FUNCTION = "uniform", "function"
AUDIT = 0.01
"""α of the audit, for all policies together."""
MOST = 100
"""The largest number of policies."""

Policy = Callable[[Any, Sequence[Any]], Any]
"""A function of the context and the ids (or rows) offered; returns the id or row that it would take, or None."""

_BETS, _LOG_PRIORS, _ROOMS = running.grid(2.0, decades=4.0)


class Advantage(NamedTuple):
    """How much more per decision a policy would have earned than what was decided, on the decisions that count.

    >>> from unipac import Deployment, OFUL
    >>> deployment = Deployment(OFUL(2, reward_range=(0, 1)), holdout=0.2, seed=0)
    >>> deployment.compare("always 0", 0)
    >>> for k in range(1000):
    ...     decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id=k)
    ...     first = deployment.reward(k, [0.2, 0.8][decision.index])
    >>> found = deployment.advantage("always 0")
    >>> found.upper < 0.0                                  # the agent is better than always 0
    True
    """

    name: str
    """Of the policy."""
    rounds: int
    """The number of decisions that count: their rewards, and those of all earlier decisions, are final."""
    estimate: float
    """NaN without rounds."""
    lower: float
    """The mean is above this and below ``upper``, at all times at once, with probability 1 − ``alpha``."""
    upper: float
    """See ``lower``."""
    alpha: float
    """The argument of ``advantage``."""


class Compared(NamedTuple):
    """A policy; its arrays are changed in place."""

    policy: Any
    """"uniform", "function", or [the id or row of an action]."""
    mean: running.RunningMean
    wealth: Array
    """(K,): logarithms."""
    share: float
    """α of its audit."""


class Round(NamedTuple):
    """A decision that is not counted yet; it is immutable, and replaced when something changes."""

    weights: dict[str, tuple[float, float]]
    """By policy: the weight of the action taken, and the largest that any could have had."""
    certificate: float
    """NaN if there is none, or if it is provisional."""
    value: float | None
    """The reward; None until it is final, or if the decision was given up."""
    final: bool


class Comparisons:
    """All policies of a deployment, and the decisions that wait for their turn."""

    def __init__(self) -> None:
        self.policies: dict[str, Compared] = {}
        self.queue: OrderedDict[int, Round] = OrderedDict()
        """The decisions that are not counted yet, by the number of their event."""
        self.refuted_by: str | None = None

    # -- what is known -------------------------------------------------------------------------

    def advantage(self, name: str, alpha: float) -> Advantage:
        """The advantage of one policy."""
        mean = self.policies[name].mean
        lower, upper = mean.interval(alpha)
        return Advantage(name, mean.rounds, mean.dr, lower, upper, alpha)

    def check_reward(self, name: str, value: float) -> None:
        """Refuse a reward outside of the range of a policy."""
        for one in self.policies.values():
            low, high = one.mean.reward_range
            words = f"from {low:g} to {high:g}, the range of rewards that a policy is compared with"
            check.require(low <= value <= high, name, words, value)

    # -- what changes --------------------------------------------------------------------------

    def registered(self, name: str, policy: Any, reward_range: Sequence[float]) -> list[Change]:
        """A policy is compared from now on."""
        if name in self.policies:
            raise Conflict(f"name must be new, got {name!r}, by which another policy is compared")
        if len(self.policies) >= MOST:
            raise Full(f"at most {MOST} policies may be compared, got one more")
        rank = len(self.policies) + 1
        mean = running.RunningMean(reward_range=reward_range, difference=True)
        new = Compared(checked(policy), mean, np.zeros(len(_BETS)), AUDIT / (rank * (rank + 1)))
        return [(setattr, self, "policies", {**self.policies, name: new})]

    def decided(self, row: Decided, holdout: float, zeta: float) -> list[Change]:
        """A decision was made; its certificate is audited only if it holds under ``zeta``, the agent's last ζ."""
        if not self.policies:
            return []
        decision, n = row.decision, len(row.offered)
        told = row.policies or {}
        weights: dict[str, tuple[float, float]] = {}
        for name, one in self.policies.items():
            if one.policy == UNIFORM:
                weights[name] = 1.0 / (n * decision.propensity), 1.0 / holdout  # type: ignore[operator]
                continue
            k = told.get(name) if one.policy == FUNCTION else row_of(one.policy[0], row.offered)
            if k is not None:
                w = 1.0 / decision.propensity if k == decision.index else 0.0  # type: ignore[operator]
                weights[name] = w, n / holdout
        audited = decision.certified and (decision.misspecification or 0.0) == zeta
        certificate = decision.certificate if audited else math.nan
        return [(setitem, self.queue, decision.seq, Round(weights, certificate, None, False))]

    def closed(self, seq: int, value: float | None) -> tuple[list[Change], str | None]:
        """The changes when a decision is final, with its reward or None; and the policy that refutes certificates."""
        if seq not in self.queue:
            return [], None
        done = self.queue[seq]._replace(value=value, final=True)
        if next(iter(self.queue)) != seq:  # an earlier decision holds it up
            return [(setitem, self.queue, seq, done)], None
        changes: list[Change] = []
        wealth: dict[str, Array] = {}
        refuting = None
        for key, later in self.queue.items():
            one = done if key == seq else later
            if not one.final:
                break
            changes.append((delitem, self.queue, key))
            if one.value is not None:
                refuting = self._counted(one, one.value, changes, wealth) or refuting
        changes += ((setitem, self.policies[name].wealth, slice(None), new) for name, new in wealth.items())
        if refuting is not None and self.refuted_by is None:
            changes.append((setattr, self, "refuted_by", refuting))
        return changes, refuting

    def _counted(
        self, one: Round, value: float, changes: list[Change], wealth: dict[str, Array]
    ) -> str | None:
        """Count a decision; returns the name of a policy that refutes the certificates, if there is one."""
        refuting = None
        for name, (w, largest) in one.weights.items():
            policy = self.policies[name]
            changes.append(policy.mean.change(w, value, 1.0, max(largest, 1.0)))
            if math.isnan(one.certificate):
                continue
            low, high = policy.mean.reward_range
            bound = min(max(one.certificate / (high - low), 0.0), 1.0)
            x = (w - 1.0) * (value - low) / (high - low) - bound
            z = (1.0 - w) * policy.mean.decided
            before, after = wealth.get(name, policy.wealth), np.empty(len(_BETS))
            mixture = kernels.bet_on(x, z, 1.0 / largest, _BETS, _ROOMS, _LOG_PRIORS, before, after)
            if mixture >= -math.log(policy.share):
                refuting = name
            wealth[name] = after
        return refuting

    def restarted(self) -> list[Change]:
        """Start a new audit, for the certificates of the agent that decides from now on."""
        nothing = np.zeros(len(_BETS))
        changes: list[Change] = [
            (setitem, one.wealth, slice(None), nothing) for one in self.policies.values()
        ]
        unbound = ((key, one._replace(certificate=math.nan)) for key, one in self.queue.items())
        changes += (setattr, self, "queue", OrderedDict(unbound)), (setattr, self, "refuted_by", None)
        return changes

    # -- copies and files ----------------------------------------------------------------------

    def __copy__(self) -> Comparisons:
        clone = Comparisons()
        clone.policies = copy.deepcopy(self.policies)
        clone.queue, clone.refuted_by = self.queue.copy(), self.refuted_by
        return clone

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """For a file: a part for JSON, and arrays, which are copies."""
        rows: list[Any] = []
        arrays: dict[str, NDArray[Any]] = {}
        for k, (name, one) in enumerate(self.policies.items()):
            told, learned = one.mean.described()
            rows.append([name, one.policy, told])
            arrays |= {f"{k}.{field}": array.copy() for field, array in learned.items()}
            arrays[f"{k}.wealth"] = one.wealth.copy()
        queue = [
            [key, {name: list(pair) for name, pair in one.weights.items()}, as_json(one.certificate),
             one.value, one.final]
            for key, one in self.queue.items()
        ]  # fmt: skip
        return {"policies": rows, "queue": queue, "refuted_by": self.refuted_by}, arrays

    @classmethod
    def restored(cls, told: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Comparisons:
        """From a file; a ``ValueError`` if no data could have led to it."""
        made = cls()
        for k, (name, policy, header) in enumerate(told["policies"]):
            for change in made.registered(text("name", name), policy, (0.0, 1.0)):
                change[0](*change[1:])
            mean = running.made(header, {field: arrays[f"{k}.{field}"] for field in running.Totals._fields})
            wealth = arrays[f"{k}.wealth"]
            sound = wealth.shape == _BETS.shape and wealth.dtype == np.float64 and not np.isnan(wealth).any()
            check.require(sound and mean.difference, "policies", "those of a deployment", name)
            made.policies[name] = made.policies[name]._replace(mean=mean, wealth=wealth.copy())
        last = -1
        for key, weights, certificate, value, final in told["queue"]:
            seq = last = check.count("seq", key, least=last + 1)
            check.require(weights.keys() <= made.policies.keys(), "policies", "those compared", list(weights))
            pairs = {
                name: (check.nonnegative("weight", w), check.positive("largest", most))
                for name, (w, most) in weights.items()
            }
            known = None if value is None else check.real("value", value)
            made.queue[seq] = Round(pairs, float(from_json(certificate)), known, check.flag("final", final))
        refuting = told["refuted_by"]
        check.require(refuting is None or refuting in made.policies, "refuted_by", "a policy", refuting)
        made.refuted_by = refuting
        return made


# -- policies --------------------------------------------------------------------------------------


def text(name: str, value: Any) -> str:
    """The name of a policy, checked."""
    check.require(isinstance(value, str) and value == label(name, value), name, "text", value)
    return str(value)


def told(policy: Any) -> Any:
    """A policy as the log has it."""
    if policy == UNIFORM or callable(policy):
        return UNIFORM if policy == UNIFORM else FUNCTION
    return [label("policy", policy)]


def checked(policy: Any) -> Any:
    """A policy from the log, checked."""
    if policy in (UNIFORM, FUNCTION):
        return policy
    check.require(isinstance(policy, list) and len(policy) == 1, "policy", "one of a log", policy)
    return [label("policy", policy[0])]


def row_of(action: Label, offered: Sequence[Any]) -> int | None:
    """The row of an action among those offered; None if it is not there."""
    if type(offered) is range:
        return action if isinstance(action, int) and 0 <= action < len(offered) else None
    return offered.index(action) if action in offered else None


def asked(functions: Mapping[str, Policy], context: Any, offered: Sequence[Any]) -> dict[str, int | None]:
    """The rows that policies given as functions would take; this comes before anything is drawn."""
    found: dict[str, int | None] = {}
    for name, function in functions.items():
        action = function(context, offered)
        found[name] = None if action is None else row_of(label("policy", action), offered)
        words = f"an action that is offered, or None, from policy {name!r}"
        check.require(action is None or found[name] is not None, "policy", words, action)
    return found

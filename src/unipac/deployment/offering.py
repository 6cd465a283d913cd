"""What a decision offers, and the holdout: actions drawn at random, and the decisions for them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unipac._actions import Actions, Label
from unipac._arrays import Array
from unipac._inputs import action_array, check_norms
from unipac.bandits.protocol.agent import BanditAgent
from unipac.bandits.protocol.changes import chosen as prepared
from unipac.bandits.protocol.records import Decision
from unipac.features.ids import excluded_ids
from unipac.features.maps import Features
from unipac.features.tables import is_frame, plain, row_of


class Offer(NamedTuple):
    """What is offered, and what the log has of it."""

    X: Array
    labels: tuple[Label, ...] | None
    vectors: Array | None
    """For the log, unless the features determine them."""
    items: list[Any] | None
    """For the log: the features of the actions, if these determine the vectors."""
    context: Any
    """For the log."""


def offer(
    agent: BanditAgent,
    features: Features | None,
    context: Any,
    actions: Any,
    exclude: Collection[Label],
    written: bool,
) -> Offer:
    """What a decision offers; ``written``: the log has the feature map, which then gives the vectors again."""
    if features is not None:
        given = actions
        if written and is_frame(actions):
            actions = dict(zip(*features._offered(actions), strict=True))
        offered = features(context, actions, exclude)
        alone = features.needs_ids_alone and not isinstance(actions, Mapping)
        array = context is None or isinstance(context, (list, tuple, np.ndarray))
        usual = array or type(context) is dict
        kept = plain("context", context if usual else row_of("context", context))
        X = action_array("actions", offered.vectors, agent.dim)
        if agent.action_norm < 1.0:  # features have norm 1 at most
            check_norms("actions", X, agent.action_norm)
        items = None
        if not alone and written and isinstance(actions, Mapping):
            whole = given is actions
            items = [plain("actions", dict(row_of("actions", actions[key])) if whole else actions[key])
                     for key in offered.labels]  # fmt: skip
        return Offer(X, offered.labels, None if alone or items is not None else X, items, kept)
    labels = actions.labels if type(actions) is Actions else None
    given = agent.fixed_actions if actions is None else actions
    X = action_array("actions", given.vectors if labels is not None else given, agent.dim).copy()
    names = range(len(X)) if labels is None else labels
    if excluded := excluded_ids(exclude, names):
        left = [k for k, name in enumerate(names) if name not in excluded]
        X, labels = X[left], None if labels is None else tuple(labels[k] for k in left)
    check_norms("actions", X, agent.action_norm)
    return Offer(X, labels, X, None, plain("context", context))


def drawn(holdout: float, seed: int, number: int, n: int) -> int | None:
    """The action of the holdout, if this decision belongs to it: a function of (seed, number)."""
    if holdout == 0.0:
        return None
    chance = np.random.default_rng((seed, number))
    return int(chance.integers(n)) if chance.random() < holdout else None


def propensity(holdout: float, n: int, chosen: int, taken: int | None) -> float:
    """The probability of the action taken, one of n; ``taken`` is None if it is the agent's choice."""
    if holdout == 0.0:
        return 1.0
    return (1.0 - holdout) * (taken is None or taken == chosen) + holdout / n


def looked_up(agent: BanditAgent, X: Array, labels: Any, k: int, choice: Decision) -> Decision:
    """A decision for a drawn action, with the agent's bounds on it."""
    mean, width, ucb, lcb = agent._clipped(X)
    certificate = math.nan
    if choice.certified:
        certificate, _ = agent._certify(float(ucb.max()), float(ucb[k]), float(lcb[k]))
    action = X[k].copy()
    action.setflags(write=False)
    said = (float(mean[k]), float(width[k]), float(ucb[k]), float(lcb[k]), certificate, choice.certified)
    made = Decision(choice.id, k, action, 0, *said, None if labels is None else labels[k])
    return made.under(choice.misspecification)


class Chosen(NamedTuple):
    """A choice that is prepared but not yet made."""

    told: Decision
    """The agent's choice, or an action that was drawn; its id is that of the agent's choice."""
    drawn: bool
    propensity: float | None
    refutes: bool
    """Whether it refutes the assumptions."""


def chosen(
    agent: BanditAgent, X: Array, labels: Sequence[Label] | None, holdout: float, seed: int, number: int
) -> Chosen:
    """What decision ``number`` takes: the agent's choice, or an action of the holdout; nothing changes."""
    choice, refutes = prepared(agent, X, labels, False)
    k = drawn(holdout, seed, number, len(X))
    known = None if agent.draws else propensity(holdout, len(X), choice.index, k)
    if k is None:
        return Chosen(choice, False, known, refutes)
    return Chosen(looked_up(agent, X, labels, k, choice), True, known, refutes)

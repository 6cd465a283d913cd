"""The log that the events of a deployment lead to: which decisions count, with which rewards."""

from __future__ import annotations

import importlib
import importlib.util
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from unipac import _checks as check
from unipac._actions import Label, label
from unipac._arrays import Array
from unipac._inputs import check_norms, floats
from unipac.logs.log import Log

Features = Callable[[Any, Any], Any]

REMEMBERED = 100_000
"""The number of closed ids that a deployment remembers; older ones may be used again."""


def from_events(events: Iterable[Mapping[str, Any]], *, features: Features | None = None) -> Log:
    """The log from the events of a deployment, with the decisions in their order.

    A decision is in the log once its reward is final. Without a window, that is when the reward has come. With a
    window, it is when the decision was released, with its reward or else the default; if it has neither, it is left
    out. (Otherwise rewards that come early could be selected by their values.) Forgotten decisions are left out;
    those of the holdout are kept and marked. As in a deployment, an id may be used again after 100,000 others were
    closed.

    Args:
        events: all events, as dicts; the first one is the specification.
        features: the map for events without vectors, as in `read`.

    Raises:
        ValueError: if an event is not one of a deployment; says which one, counted from 1.

    Example:
        >>> decide = {"kind": "decide", "at": 0.0, "vectors": [[1.0], [0.5]], "propensity": 1.0, "holdout": False}
        >>> events = [
        ...     {"seq": 0, "kind": "spec", "window": 5.0, "default": 0.0, "holdout": 0.0},
        ...     {"seq": 1, "id": "a", "index": 0, **decide},
        ...     {"seq": 2, "id": "b", "index": 1, **decide},
        ...     {"seq": 3, "kind": "reward", "id": "b", "value": 1.0},
        ...     {"seq": 4, "kind": "release", "through": 2},
        ... ]
        >>> log = from_events(events)
        >>> log.ids, log.rewards.tolist()
        (('a', 'b'), [0.0, 1.0])
    """
    check.require(hasattr(events, "__iter__"), "events", "a list of dicts", events)
    return log_of(((f"event {number}", event) for number, event in enumerate(events, start=1)), features)


def log_of(placed: Iterable[tuple[str, Any]], features: Features | None = None) -> Log:
    """The log from events, each with the place that an error names."""
    rows = iter(placed)
    place, spec = next(rows, ("", None))
    kind = spec.get("kind") if isinstance(spec, Mapping) else spec
    if kind != "spec":
        raise ValueError(f"events must begin with the specification, got {check.shown(kind)}")
    book: _Book = _at(place, _Book, spec)
    for place, event in rows:
        _at(place, book.take, event, place)
    return book.log(features)


def _at(place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function; its ``ValueError`` names the place."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


class _Decision:
    """A decision of the log, and its reward."""

    __slots__ = ("at", "event", "final", "holdout", "id", "index", "place", "propensity", "value")

    def __init__(self, event: Mapping[str, Any], place: str) -> None:
        self.event, self.place = event, place
        self.id: Label = label("id", _field(event, "id"))
        self.index = check.count("index", _field(event, "index"), least=0)
        self.propensity = _number_or_none("propensity", event.get("propensity"))
        self.at = _number_or_none("at", event.get("at"))
        holdout = event.get("holdout")
        self.holdout = False if holdout is None else check.flag("holdout", holdout)
        self.value: float | None = None
        """The reward, once it came."""
        self.final: float | None = None
        """The reward in the log; None as long as the decision does not count."""


class _Book:
    """Which decisions wait, and which are closed, by the rules of a deployment."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.windowed = _number_or_none("window", spec.get("window")) is not None
        self.default = _number_or_none("default", spec.get("default"))
        self.share = _number_or_none("holdout", spec.get("holdout"))
        self.decisions: list[_Decision] = []
        self.waiting: dict[Label, _Decision] = {}
        self.order: deque[tuple[int, _Decision]] = deque()
        self.closed: OrderedDict[Label, None] = OrderedDict()

    def take(self, event: Any, place: str) -> None:
        check.require(isinstance(event, Mapping), "event", "a dict", event)
        kind = _field(event, "kind")
        if kind == "decide":
            made = _Decision(event, place)
            check.require(made.id not in self.waiting and made.id not in self.closed, "id", "new", made.id)
            self.order.append((check.count("seq", _field(event, "seq"), least=0), made))
            self.waiting[made.id] = made
            self.decisions.append(made)
        elif kind == "reward":
            known = self._waiting(event)
            check.require(known.value is None, "id", "that of a decision without a reward", known.id)
            known.value = check.real("value", _field(event, "value"))
            if not self.windowed:
                self._close(known, known.value)
        elif kind == "release":
            through = check.count("through", _field(event, "through"), least=0)
            while self.order and self.order[0][0] <= through:
                _, known = self.order.popleft()
                if self.waiting.get(known.id) is known:
                    self._close(known, self.default if known.value is None else known.value)
        elif kind == "forget":
            self._close(self._waiting(event), None)
        else:
            others = ("refute", "restart", "spec", "absorb", "watch", "unwatch", "ask", "compare")
            sound = isinstance(kind, str) and kind in others
            check.require(sound, "kind", "one of those of a deployment", kind)

    def _waiting(self, event: Mapping[str, Any]) -> _Decision:
        key = label("id", _field(event, "id"))
        check.require(key in self.waiting, "id", "that of an open decision", key)
        return self.waiting[key]

    def _close(self, known: _Decision, final: float | None) -> None:
        known.final = final
        del self.waiting[known.id]
        self.closed[known.id] = None
        if len(self.closed) > REMEMBERED:
            self.closed.popitem(last=False)

    def log(self, features: Features | None) -> Log:
        """The log of the decisions whose rewards are final."""
        mapped = features if features is not None else _features_of(self.spec)
        kept = [one for one in self.decisions if one.final is not None]
        sets: list[Array] = []
        for one in kept:
            X = _at(one.place, _vectors, one, mapped)
            fits = not sets or X.shape[1] == sets[0].shape[1]
            if not fits:
                raise ValueError(
                    f"{one.place}: vectors must have length {sets[0].shape[1]}, as in {kept[0].place}, "
                    f"got {X.shape[1]}"
                )
            sets.append(X)
        return Log(
            sets,
            np.array([one.index for one in kept], dtype=np.int64),
            np.array([one.final for one in kept], dtype=np.float64),
            if_complete([one.propensity for one in kept]),
            ids=[one.id for one in kept],
            times=if_complete([one.at for one in kept]),
            holdout=np.array([one.holdout for one in kept], dtype=np.bool_),
            holdout_share=self.share,
        )


def _vectors(known: _Decision, features: Features | None) -> Array:
    """The offered vectors of a decision, (n, d); its index is one of them."""
    vectors = known.event.get("vectors")
    if vectors is None:
        if features is None:
            raise ValueError(
                f"features must be given, as decision {known.id!r} has context and ids but no vectors, got None"
            )
        actions, items = _field(known.event, "actions"), known.event.get("items")
        if items is not None:
            actions = dict(zip(actions, items, strict=True))
        made = features(_field(known.event, "context"), actions)
        vectors = getattr(made, "vectors", made)
    return offered_vectors(vectors, known.index)


def offered_vectors(vectors: Any, index: int) -> Array:
    """The vectors of one round as an array (n, d) of finite numbers, of which ``index`` is a row."""
    X = floats("vectors", vectors)
    check.require(X.ndim == 2 and X.size > 0, "vectors", "of shape (n, d), not empty", X.shape)
    check_norms("vectors", X, check.LARGEST)
    check.require(index < len(X), "index", f"from 0 to {len(X) - 1}", index)
    return X


def _field(event: Mapping[str, Any], name: str) -> Any:
    if name not in event:
        raise ValueError(f"{name!r} is missing")
    return event[name]


def _number_or_none(name: str, value: Any) -> float | None:
    return None if value is None else check.real(name, value)


def _features_of(spec: Mapping[str, Any]) -> Features | None:
    """The feature map in a specification; None if there is none, or if this version has no maps."""
    if spec.get("features") is None or importlib.util.find_spec("unipac.features") is None:
        return None
    maker: Features = importlib.import_module("unipac.features").from_json(spec["features"])
    return maker


def if_complete(values: list[Any]) -> Any:
    """The values as an array of numbers; None if one is missing."""
    return None if any(one is None for one in values) else np.array(values, dtype=np.float64)

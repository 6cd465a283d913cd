"""What requests and answers hold, and the strict reading of JSON."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from unipac import _checks as check
from unipac._actions import Actions, unlike
from unipac.bandits.protocol.records import Bounds, Decision
from unipac.features.maps import Features
from unipac.serve.problems import Problem

ID = re.compile(r"[!-~]{1,256}")
MOST_ACTIONS = 1000
MOST_ITEMS = 1000

encode = msgspec.json.Encoder().encode


Id = Annotated[
    str, Meta(pattern="^[!-~]{1,256}$", description="1 to 256 printable ASCII characters", examples=["r1"])
]
Name = Annotated[str, Meta(min_length=1, max_length=256)] | int
"""The name of an action."""
Context = dict[str, Any] | list[float] | None
Actions_ = Annotated[list["Name | Action"], Meta(min_length=1, max_length=MOST_ACTIONS)] | None


# -- requests --------------------------------------------------------------------------------------------


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """An action that brings what is known of it."""

    id: Name
    vector: list[float] | None = None
    """Required if the deployment has no features."""
    features: dict[str, Any] | list[float] | None = None
    """Used if the features of the deployment depend on the action, too."""


class Offer(msgspec.Struct, forbid_unknown_fields=True):
    """What can be done in a context."""

    context: Context = None
    """A row for the features; without features it is only logged."""
    actions: Actions_ = None
    """Ids, or objects with the vector or the features of each; null for the fixed actions of the agent."""
    exclude: list[Name] = []
    """Ids of actions that must not be taken."""


class Decide(Offer, forbid_unknown_fields=True):
    """A question."""

    id: Id | None = None
    """The reward will name this id; if it is missing, the service makes one."""


class Reward(msgspec.Struct, forbid_unknown_fields=True):
    """What came of a decision."""

    id: Id
    value: float


class Item(msgspec.Struct, forbid_unknown_fields=True):
    """One of a batch: a question or a reward."""

    decide: Decide | None = None
    reward: Reward | None = None


class RawItem(msgspec.Struct, forbid_unknown_fields=True):
    """An item of a batch that is not yet read: an error in one item does not affect the others."""

    decide: msgspec.Raw = msgspec.Raw(b"null")
    reward: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def asks_once(self) -> bool:
        """Whether it has one question or one reward."""
        return (self.decide != _NULL) != (self.reward != _NULL)

    def read(self) -> Decide | Reward:
        """The question or the reward."""
        if not self.asks_once:
            raise Problem(422, 'an item must be {"decide": ...} or {"reward": ...}')
        return _decide(self.decide) if self.decide != _NULL else _reward(self.reward)


class WrongItem:
    """An item of a batch that has another form."""

    asks_once = False

    def __init__(self, error: msgspec.ValidationError) -> None:
        self.error = error

    def read(self) -> Decide | Reward:
        """Raise the error."""
        raise self.error


_NULL = msgspec.Raw(b"null")
_decide, _reward = msgspec.json.Decoder(Decide).decode, msgspec.json.Decoder(Reward).decode


class Watch(Offer, forbid_unknown_fields=True, kw_only=True):
    """A set of actions to look at."""

    eps: Annotated[float, Meta(gt=0)]


class Reader:
    """Reads JSON of one type; it refuses objects with a key twice, and halves of surrogate pairs."""

    def __init__(self, decode: Callable[[bytes], Any]) -> None:
        self._decode = decode

    def __call__(self, data: bytes) -> Any:
        """What the text says."""
        found = self._decode(data)
        keys = [text for text, colon in _STRINGS.findall(data) if colon]
        if b"\\" in data or self._perhaps_twice(found, keys):
            _read_slowly(data)
        return found

    def _perhaps_twice(self, found: Any, keys: list[bytes]) -> bool:
        """Whether some object may have a key twice; False only if none has."""
        return len(set(keys)) < len(keys)


class BatchReader(Reader):
    """A reader of batches, in which different items have the same keys, and some may be wrong."""

    def _perhaps_twice(self, found: Any, keys: list[bytes]) -> bool:
        """As above, item by item: the first key of each item is "decide" or "reward"."""
        begins = [k for k, key in enumerate(keys) if key in (b"decide", b"reward")]
        if len(begins) != len(found) or not all(item.asks_once for item in found):
            return True
        pairs = itertools.pairwise([*begins, len(keys)])
        return any(len(set(keys[a:b])) < b - a for a, b in pairs)


_usual_items = msgspec.json.Decoder(list[RawItem]).decode
_raw_items = msgspec.json.Decoder(Annotated[list[msgspec.Raw], Meta(max_length=MOST_ITEMS)]).decode
_item = msgspec.json.Decoder(RawItem).decode


def _items(data: bytes) -> Sequence[RawItem | WrongItem]:
    with contextlib.suppress(msgspec.ValidationError):
        found = _usual_items(data)
        if len(found) <= MOST_ITEMS:
            return found
    return [_right_or_wrong(raw) for raw in _raw_items(data)]


def _right_or_wrong(raw: msgspec.Raw) -> RawItem | WrongItem:
    try:
        return _item(raw)
    except msgspec.ValidationError as error:
        return WrongItem(error)


_STRINGS = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)


def _read_slowly(data: bytes) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise Problem(400, "JSON is malformed: an object has a key twice")
        return made

    try:
        whole = json.loads(data, object_pairs_hook=once)
        if b"\\u" in data:  # half of a pair can only come from an escape
            json.dumps(whole, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Problem(400, "JSON is malformed: it has half of a surrogate pair") from None
    except (ValueError, RecursionError):
        raise Problem(400, "JSON is malformed") from None


read_decide, read_reward, read_batch = Reader(_decide), Reader(_reward), BatchReader(_items)
read_offer, read_watch, read_table = (
    Reader(msgspec.json.Decoder(kind).decode) for kind in (Offer, Watch, dict[str, Any])
)


# -- what they mean -----------------------------------------------------------------------------------------


def checked_id(id_: str) -> str:
    """Check that every store accepts an id: a store must not refuse it after the memory has changed."""
    check.require(
        ID.fullmatch(id_) is not None, "id", "1 to 256 printable ASCII characters without space", id_
    )
    return id_


def new_id() -> str:
    """An id nobody can guess."""
    return secrets.token_urlsafe(16)


def offered(offer: Offer, features: Features | None) -> Any:
    """The actions of a request, as ``Deployment.decide`` takes them."""
    actions = offer.actions
    if actions is None:
        return None
    check.require(len(actions) <= MOST_ACTIONS, "actions", f"at most {MOST_ACTIONS}", len(actions))
    whole = [one for one in actions if isinstance(one, Action)]
    if not whole and features is not None:
        return actions
    ids = unlike("actions", [one.id if isinstance(one, Action) else one for one in actions])
    if features is None:
        vectors = [one.vector for one in whole]
        fits = len(whole) == len(actions) and all(vector is not None for vector in vectors)
        check.require(fits, "actions", 'objects {"id", "vector"}, as there are no features', "others")
        lengths = {len(vector) for vector in vectors if vector is not None}
        check.require(len(lengths) == 1, "actions", "with vectors of one length", sorted(lengths))
        return Actions(vectors, ids)  # type: ignore[arg-type]
    fits = len(whole) == len(actions) and all(one.vector is None for one in whole)
    check.require(fits, "actions", 'ids, or objects {"id", "features"} alone', "others")
    return dict(zip(ids, (one.features for one in whole), strict=True))


# -- answers ----------------------------------------------------------------------------------------------


def number(value: float) -> float | None:
    """The value, or None for NaN and infinities, which JSON does not have."""
    return value if math.isfinite(value) else None


def decided(decision: Decision) -> bytes:
    """The answer to a question; if it is made again from the log, it has the same bytes."""
    told = {
        "id": decision.id,
        "action": decision.index if decision.label is None else decision.label,
        "mean": number(decision.mean),
        "lcb": number(decision.lcb),
        "ucb": number(decision.ucb),
        "certificate": number(decision.certificate),
        "certified": decision.certified,
        "propensity": decision.propensity,
        "holdout": decision.holdout,
        "seq": decision.seq,
    }
    if decision.misspecification:
        told["misspecification"] = decision.misspecification
    return encode(told)


def bounds(found: Bounds, ids: Iterable[Any]) -> bytes:
    """Mean and bounds of each action."""
    rows = zip(ids, found.mean.tolist(), found.lcb.tolist(), found.ucb.tolist(), strict=True)
    return encode([
        {"action": name, "mean": number(mean), "lcb": number(lcb), "ucb": number(ucb)}
        for name, mean, lcb, ucb in rows
    ])  # fmt: skip


def plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with None in place of NaN and infinities."""
    return {key: number(value) if isinstance(value, float) else value for key, value in found.items()}

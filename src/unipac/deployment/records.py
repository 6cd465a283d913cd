"""Events as records of a store, and back.

The JSON of a decision leaves out what is long or personal. Vectors are base64 of little-endian float64: the one taken,
and those offered unless the features determine them. Actions that are offered repeatedly get a record of their own,
written once per segment (kind ``actions``, no event); decisions then name them by their hash.
"""

from __future__ import annotations

import binascii
import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac._notebook import as_json
from unipac.deployment.log import Decided, Event, decision_of, policies_of
from unipac.deployment.store import Record

SHORT = 64
"""Lists of ids that take fewer bytes than this are written with each decision."""
SEEN = 1000
"""The number of offers that are remembered; an older one counts as new when it comes again."""

LITTLE = np.dtype("<f8")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def based(array: Array) -> bytes:
    """Vectors as text."""
    if array.dtype != LITTLE:
        array = array.astype(LITTLE)
    return binascii.b2a_base64(array.tobytes(), newline=False)


def unbased(text: bytes) -> Array:
    """The vector of a text."""
    return np.frombuffer(binascii.a2b_base64(text, strict_mode=True), dtype=LITTLE).astype(np.float64)


class Encoder:
    """Makes records of events; it knows which offers the segment has."""

    def __init__(self) -> None:
        self.segment = -1
        self.known: set[bytes] = set()
        """Hashes of offers that are in the segment."""
        self.seen: OrderedDict[bytes, None] = OrderedDict()
        """Hashes of offers that came before."""
        self.ids: tuple[Any, bytes | None] = ((), None)
        """The ids of the last decision, and their name if they are long."""

    def records(self, event: Event, segment: int) -> list[Record]:
        """The records of an event, the last of which is its own."""
        if segment != self.segment:
            self.segment, self.known = segment, set()
        try:
            if type(event) is Decided:
                return self._decision(event)
            return [_other(event)]  # type: ignore[arg-type]
        except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, TypeError) as error:
            raise ValueError(
                f"event must be what JSON can express, got one that it cannot ({error})"
            ) from None

    def _decision(self, row: Decided) -> list[Record]:
        d = row.decision
        answer = d[4:9]
        if not math.isfinite(sum(answer)):
            answer = tuple(map(as_json, answer))
        told: dict[str, Any] = {
            "seq": d.seq, "kind": "decide", "id": d.id, "at": row.at, "wall": row.wall, "index": d.index,
            "level": d.level, "propensity": d.propensity, "holdout": d.holdout,
            "answer": (*answer, d.certified, d.label),
        }  # fmt: skip
        if row.hash is not None:
            told["hash"] = row.hash.hex()
        if row.policies is not None:
            told["policies"] = row.policies
        if d.misspecification:
            told["misspecification"] = d.misspecification
        made: list[Record] = []
        plain = type(row.offered) is range
        if row.vectors is not None:
            name = row.hash
            if name is not None and self._again(name):
                if name not in self.known:
                    made.append(_offer(d.seq, name, row.offered, row.vectors))
                told["offer"] = told["hash"]
                vectors = b""
            else:
                told["actions"] = len(row.offered) if plain else row.offered
                vectors = b"%b %b" % (based(d.action), based(row.vectors))
        else:
            vectors = based(d.action)
            if row.items is not None or row.offered != self.ids[0]:
                ids = _encode(row.offered if row.items is None else (row.offered, row.items))
                name = None if len(ids) < SHORT else hashlib.blake2b(ids, digest_size=8).digest()
                self.ids = row.offered if row.items is None else None, name
            name = self.ids[1]
            if name is not None and self._again(name):
                if name not in self.known:
                    made.append(_offer(d.seq, name, row.offered, None, row.items))
                told["offer"] = name.hex()
            else:
                told["actions"] = row.offered
                if row.items is not None:
                    told["items"] = row.items
        context = b"" if row.context is None else _encode(row.context)
        made.append(tuple.__new__(Record, (d.seq, "decide", d.id, row.wall, _encode(told), context, vectors)))
        return made

    def _again(self, name: bytes) -> bool:
        """Whether an offer came before."""
        if name in self.known or name in self.seen:
            return True
        self.seen[name] = None
        if len(self.seen) > SEEN:
            self.seen.popitem(last=False)
        return False

    def written(self, records: Sequence[Record]) -> None:
        """These records are in the segment."""
        for record in records:
            if record.kind == "actions":
                self.known.add(bytes.fromhex(_decode(record.rest)["offer"]))


def _offer(seq: int, name: bytes, offered: Iterable[Any], vectors: Array | None, items: Any = None) -> Record:
    ids = len(offered) if type(offered) is range else offered
    told = {"seq": seq, "kind": "actions", "offer": name.hex(), "actions": ids}
    rest = _encode(told if items is None else {**told, "items": items})
    return Record(seq, "actions", None, None, rest, b"", b"" if vectors is None else based(vectors))


def _other(event: dict[str, Any]) -> Record:
    vectors = b""
    if event["kind"] == "absorb":
        event = dict(event)
        taken = [event.pop("vectors"), event.pop("rewards"), event.pop("noise")]
        vectors = b" ".join(based(np.array(part).ravel()) for part in taken if part is not None)
    parts = event["seq"], event["kind"], None, None, _encode(event), b"", vectors
    return tuple.__new__(Record, parts)


# -- back ----------------------------------------------------------------------------------------


class Blanked(ValueError):  # noqa: N818
    """A vector that an event needs was blanked."""


class Decoder:
    """Makes events of records that come in order; it knows the offers of the segment."""

    def __init__(self, dim: int, blanks: bool = False) -> None:
        self.dim, self.blanks = dim, blanks
        self.offers: dict[str, tuple[Sequence[Any], Array | None, Any]] = {}

    def events(self, records: Iterable[Record]) -> Iterator[Event]:
        """The events of records; a vector taken that was blanked is a ``ValueError``, or NaN where ``blanks``."""
        for record in records:
            found = self.event(record)
            if found is not None:
                yield found

    def event(self, record: Record) -> Event | None:
        """The event of a record; None if it is an offer, which is noted."""
        told = _read(record)
        kind = told["kind"]
        if kind == "actions":
            X = None if not record.vectors else unbased(record.vectors).reshape(-1, self.dim)
            self.offers[told["offer"]] = _ids(told["actions"]), X, told.get("items")
            return None
        if kind == "absorb":
            X, y, *noise = map(unbased, (record.vectors or b"").split(b" "))
            return {**told, "vectors": X.reshape(-1, self.dim).tolist(), "rewards": y.tolist(),
                    "noise": noise[0].tolist() if noise else None}  # fmt: skip
        return self.decided(record, told) if kind == "decide" else told

    def decided(self, record: Record, told: Mapping[str, Any]) -> Decided:
        """The event of a decision."""
        offered, X = None, None
        if "offer" in told:
            check.require(told["offer"] in self.offers, "offer", "one that the segment has", told["offer"])
            offered, X, items = self.offers[told["offer"]]
        else:
            offered, items = _ids(told["actions"]), told.get("items")
        if X is not None:
            index = check.count("index", told["index"], least=0, most=len(X) - 1)
            x = X[index]
        else:
            known = record.vectors
            if known is None:
                if not self.blanks:
                    raise Blanked(f"the vectors of event {record.seq} were blanked")
                known = based(np.full(self.dim, np.nan))
            taken, *rest = known.split(b" ")
            x = unbased(taken)
            X = unbased(rest[0]).reshape(-1, self.dim) if rest else None
        name = bytes.fromhex(told["hash"]) if "hash" in told else None
        context = _decode(record.context) if record.context else None
        decision = decision_of(told, told["answer"], x, self.dim)
        at, policies = check.real("at", told["at"]), policies_of(told, len(offered))
        return Decided(decision, at, told["wall"], context, offered, X, name, items, policies)


def _ids(told: Any) -> Sequence[Any]:
    return range(told) if isinstance(told, int) else tuple(told)


def _read(record: Record) -> dict[str, Any]:
    told: dict[str, Any] = _decode(record.rest)
    check.require(isinstance(told, dict) and told.get("kind") == record.kind, "record", "an event", told)
    return told


def spec_of(record: Record) -> dict[str, Any]:
    """The specification, from the first record."""
    told = _read(record)
    check.require(told["kind"] == "spec", "log", "one that begins with the specification", told["kind"])
    return told

"""Entries: decisions with their reward, if it has come; how they are saved and restored."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._actions import Label, label
from unipac._inputs import read_only
from unipac.bandits.protocol.records import Decision
from unipac.deployment.log import ANSWER as VALUES, reward_value

REMEMBERED = 100_000
"""The number of closed ids that are remembered."""
SLICE, BREATH = 256, 2e-4
"""How many entries are prepared for a file at once, which takes about a millisecond, and the seconds of pause after."""
_FIRST = Decision._fields.index(VALUES[0])
_VALUES = slice(_FIRST, _FIRST + len(VALUES))
"""The fields of a decision that are numbers."""


class Entry(NamedTuple):
    """A decision, what was offered, and the reward; it is immutable, and replaced when something changes."""

    decision: Decision
    body: bytes
    """A hash of the vectors and ids that were offered."""
    closes: float | None
    """The time at which the window for its reward ends; None if it never ends or the decision is closed."""
    number: int | None
    """The id of the decision in the agent; None if the agent learns nothing from it, or nothing more."""
    value: float | None
    """The reward; None until it comes."""


Entries = OrderedDict[Label, Entry]
"""Entries by id, oldest first; an ordered dict finds the first one at once, however many were deleted before it."""


_NUMBERS = struct.Struct("<Qd?").pack


def chained(history: bytes, entry: Entry) -> bytes:
    """The hash of all closed decisions after one more, from the hash before and the entry."""
    value = entry.value
    told = _NUMBERS(entry.decision.seq, 0.0 if value is None else value, value is None)
    return hashlib.sha256(history + entry.body + told + repr(entry.decision.id).encode()).digest()


def first_ended(entries: Entries, now: float) -> tuple[Label, Entry] | None:
    """The first decision, if its window has ended: windows end in the order of the decisions."""
    if not entries:
        return None
    key, entry = next(iter(entries.items()))
    return (key, entry) if entry.closes is not None and entry.closes <= now else None


def slices(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """All entries, some at a time, with pauses in which other threads run."""
    for begin in range(0, len(entries), SLICE):
        if begin:
            time.sleep(BREATH)
        yield entries[begin : begin + SLICE]


def own_number(entry: Entry) -> int | None:
    """The number of an entry, as it is."""
    return entry.number


def saved(
    entries: Sequence[Entry], dim: int, number: Callable[[Entry], int | None] = own_number
) -> dict[str, NDArray[Any]]:
    """Entries for a file, as arrays, one of which is JSON; ``number`` gives the number to write for an entry."""
    texts, actions, values = [], [np.empty((0, dim))], [np.empty((0, len(VALUES)))]
    for part in slices(entries):
        rows = [_row(entry, number(entry)) for entry in part]
        texts.append(json.dumps(rows, allow_nan=False)[1:-1])
        actions.append(np.array([entry.decision.action for entry in part]))
        values.append(np.array([entry.decision[_VALUES] for entry in part], dtype=np.float64))
    text = f"[{', '.join(texts)}]".encode()
    return {
        "rows": np.frombuffer(text, dtype=np.uint8),
        "actions": np.concatenate(actions),
        "values": np.concatenate(values),
    }


def _row(entry: Entry, number: int | None) -> list[Any]:
    d, body, closes, _, value = entry
    row = [d.id, d.index, d.level, d.certified, d.label, d.propensity, d.holdout, d.seq]
    row += body.hex(), closes, number, value
    return [*row, d.misspecification] if d.misspecification else row


def restored(arrays: Mapping[str, NDArray[Any]], dim: int) -> Entries:
    """Entries from a file, by id; raise a ``ValueError`` if no data could have led to them."""
    rows, X, values = json.loads(arrays["rows"].tobytes()), arrays["actions"], arrays["values"]
    sound = X.shape == (len(rows), dim) and values.shape == (len(rows), len(VALUES))
    if not sound or X.dtype != np.float64 or values.dtype != np.float64 or not np.isfinite(X).all():
        raise ValueError("the decisions are not those of any data")
    entries: Entries = OrderedDict()
    for row, x, numbers in zip(rows, X, values.tolist(), strict=True):
        id_, index, level, certified, name, propensity, holdout, seq, body, closes, number, value, *zeta = row
        key = label("id", id_)
        check.require(key not in entries, "id", "of one decision only", key)
        decision = Decision(
            key,  # type: ignore[arg-type]
            check.count("index", index, least=0),
            read_only(x.copy()),
            check.count("level", level, least=0),
            *(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]),
            check.flag("certified", certified),
            None if name is None else label("label", name),
            None if propensity is None else check.real("propensity", propensity),
            check.flag("holdout", holdout),
            check.count("seq", seq),
        )
        entries[key] = Entry(
            decision.under(check.positive("misspecification", zeta[0]) if zeta else None),
            bytes.fromhex(body),
            None if closes is None else check.real("closes", closes),
            None if number is None else check.identity("number", number),
            None if value is None else reward_value("value", value),
        )
    return entries

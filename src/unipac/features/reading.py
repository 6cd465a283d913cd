"""Feature maps from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unipac import _checks as check
from unipac.features.columns import Columns
from unipac.features.encoders import Constant, Encoder, Joined, Numbers
from unipac.features.maps import Blocks, Features, Interactions, Sum


def from_json(text: str) -> Features:
    """The map that ``to_json`` wrote; it takes no more memory than a few times the text.

    >>> from unipac import features
    >>> features.from_json(features.Blocks(3).to_json())
    <Blocks: 3 features>
    """
    try:
        return _features(json.loads(text))
    except (TypeError, KeyError, IndexError, AttributeError, RecursionError, ValueError) as error:
        raise ValueError(f"text must be written by to_json(), got one that is not ({error})") from None


DEFAULTS: dict[str, dict[str, Any]] = {
    "Columns": {
        "ranges": {}, "categories": {}, "booleans": [], "missing": "column", "unknown": "column", "scale": "bound",
        "constant": True,
    },
    "Numbers": {"low": -1.0, "high": 1.0, "constant": True},
    "Constant": {}, "Joined": {}, "Blocks": {"of": {"kind": "Constant"}}, "Interactions": {}, "Sum": {},
}  # fmt: skip
"""What a table may leave out, by kind: the defaults of the constructors."""
NEEDED = {
    "Columns": (), "Numbers": ("length",), "Constant": (), "Joined": ("parts",), "Blocks": ("ids",),
    "Interactions": ("context", "action"), "Sum": ("parts",),
}  # fmt: skip
"""What a table must have."""


def from_table(table: Any) -> Features:
    """The map of a table written by hand: as ``to_json`` has it, without what has its default.

    >>> from_table({"kind": "Blocks", "ids": ["a", "b"], "of": {"kind": "Columns", "ranges": {"age": [18, 90]}}}).dim
    6
    """
    try:
        return _features(_filled(table))
    except KeyError as error:
        raise ValueError(f"features must have {error}, got a table without it") from None
    except (TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"features must be a table as to_json() writes it, got another ({error})") from None


PARTS = ("of", "context", "action", "parts")
"""Where a table has tables of other maps."""


def _filled(table: Any) -> Any:
    """The table with its defaults, and those of its parts."""
    if isinstance(table, list):
        return [_filled(one) for one in table]
    check.require(isinstance(table, Mapping), "features", "a table", table)
    kind = check.one_of("kind", table["kind"], tuple(DEFAULTS))
    known = {"kind", *DEFAULTS[kind], *NEEDED[kind]}
    for key in table:
        check.require(key in known, kind, f"made of {', '.join(sorted(known))}", key)
    parts = {key: _filled(value) if key in PARTS else value for key, value in table.items()}
    return {**DEFAULTS[kind], **parts}


def _features(spec: Mapping[str, Any]) -> Features:
    kind = spec["kind"]
    if kind == "Blocks":
        check.require(isinstance(spec["ids"], list), "ids", "a list", spec["ids"])
        return Blocks(spec["ids"], _encoder(spec["of"]))
    if kind == "Interactions":
        return Interactions(_encoder(spec["context"]), _encoder(spec["action"]))
    if kind == "Sum":
        return Sum(*(_features(part) for part in spec["parts"]))
    raise ValueError(f"there is no map {kind!r}")


def _encoder(spec: Mapping[str, Any]) -> Encoder:
    kind = spec["kind"]
    if kind == "Constant":
        return Constant()
    if kind == "Numbers":
        return Numbers(spec["length"], spec["low"], spec["high"], constant=spec["constant"])
    if kind == "Columns":
        return Columns.from_description(spec)
    if kind == "Joined":
        return Joined(*(_encoder(part) for part in spec["parts"]))
    raise ValueError(f"there is no encoder {kind!r}")

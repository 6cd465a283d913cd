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

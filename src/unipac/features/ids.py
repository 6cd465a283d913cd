"""Ids that users list: which actions are left out, and lists that must have an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unipac import _checks as check
from unipac._actions import Label, label


def excluded_ids(exclude: Iterable[Label] | None, ids: Sequence[Label]) -> frozenset[Label]:
    """The ids to leave out, checked: each is offered, and at least one offered action is left.

    >>> sorted(excluded_ids(iter(["b"]), ["a", "b"]))
    ['b']
    >>> excluded_ids(["c"], ["a", "b"])
    Traceback (most recent call last):
    ValueError: exclude must be ids among ['a', 'b'], got 'c'

    Args:
        exclude: a list, a set or any other iterable of ids, not text; None for none.
        ids: the ids that are offered, all different; a range if actions are known by their rows.
    """
    if exclude is None or (type(exclude) in (tuple, list) and not exclude):
        return frozenset()  # the usual case
    listed = _listed(exclude)
    check.require(listed is not None, "exclude", "a list of ids", exclude)
    offered = ids if isinstance(ids, range) else frozenset(ids)
    named = [label("exclude", value) for value in listed or ()]
    for value in named:
        check.require(value in offered, "exclude", f"ids among {check.shown(list(ids))}", value)
    chosen = frozenset(named)
    check.require(len(chosen) < len(ids), "exclude", "such that an action is left", named)
    return chosen


def refuse_set(name: str, value: Any) -> None:
    """Refuse a set where the order of the entries counts."""
    if isinstance(value, (set, frozenset)):
        raise ValueError(
            f"{name} must be a list, since a set has another order in every process, got {check.shown(value)}"
        )


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        return None
    try:
        return list(value)
    except TypeError:
        return None

"""What a deployment refuses; all are ValueErrors, and a call that fails changes nothing."""

from __future__ import annotations


class Conflict(ValueError):  # noqa: N818
    """The id is known, with other actions or another reward."""


class Closed(ValueError):  # noqa: N818
    """The decision takes no reward any more: its window ended without one, or it was forgotten."""


class Unknown(ValueError):  # noqa: N818
    """There is no decision of this id, or not any more."""


class Full(ValueError):  # noqa: N818
    """There are as many pending decisions, or sets of actions, as there may be."""

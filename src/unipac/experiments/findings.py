"""A prediction, and whether it was seen in the results."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A prediction and the result of its test on data.

    >>> print(Finding("Regret stays below 100.", True, "12 at most."))
    Regret stays below 100. Seen: 12 at most.
    """

    prediction: str
    """One sentence."""
    seen: bool | None
    """Whether the data show it; None if they cannot decide."""
    observation: str
    """What was measured, with numbers."""

    @property
    def verdict(self) -> str:
        """``seen`` in words."""
        if self.seen is None:
            return "not decided"
        return "seen" if self.seen else "NOT seen"

    def __str__(self) -> str:
        return f"{self.prediction} {self.verdict[0].upper()}{self.verdict[1:]}: {self.observation}"

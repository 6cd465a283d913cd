"""The base class of encoders and maps: they have named features and can be added to others of their kind."""

from __future__ import annotations

from typing import Any, Self

from unipac import _checks as check

MOST = 2**17
"""The most features of a map; a matrix of an agent would have 137 GB."""


class Summand:
    """An object with named features that can be added; a sum of sums is one flat sum of all their parts."""

    @property
    def dim(self) -> int:
        """The number of features; for a map, this is the ``dim`` of an agent."""
        return len(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """A description for JSON, from which it can be rebuilt."""
        raise NotImplementedError

    def _summands(self) -> tuple[Self, ...]:
        """Its parts in a sum: those of a sum, or itself."""
        parts: tuple[Self, ...] = getattr(self, "parts", (self,))
        return parts

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.dim} features>"


class OfParts(Summand):
    """A summand that has the features of all its parts."""

    parts: tuple[Any, ...]

    @property
    def dim(self) -> int:
        """The number of features."""
        return sum(part.dim for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(name for part in self.parts for name in part.names)


def checked_dim(made: Summand) -> None:
    """Refuse a map with more than ``MOST`` features, before anything of that size is made."""
    check.require(made.dim <= MOST, "features", f"at most {MOST:,}", made.dim)

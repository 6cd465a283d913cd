"""What encoders and maps share: they have named features, and can be added to others of their kind."""

from __future__ import annotations

from typing import Any, Self


class Summand:
    """Has named features; a sum of sums is one sum, of the parts of all of them."""

    @property
    def dim(self) -> int:
        """How many features; of a map, the ``dim`` of an agent."""
        return len(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each feature."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """What JSON needs to make it again."""
        raise NotImplementedError

    def _summands(self) -> tuple[Self, ...]:
        """What it adds to a sum: the parts of a sum, or itself."""
        parts: tuple[Self, ...] = getattr(self, "parts", (self,))
        return parts

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.dim} features>"

"""What encoders and maps share: they can be added to others of their kind."""

from __future__ import annotations

from typing import Self


class Summand:
    """Has ``dim`` features; a sum of sums is one sum, of the parts of all of them."""

    @property
    def dim(self) -> int:
        """How many features."""
        raise NotImplementedError

    def _summands(self) -> tuple[Self, ...]:
        """What it adds to a sum: the parts of a sum, or itself."""
        parts: tuple[Self, ...] = getattr(self, "parts", (self,))
        return parts

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.dim} features>"

"""Actions with labels: what feature maps hand to agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac._arrays import Array
from unipac._inputs import floats

Label = str | int


class Actions:
    """n actions as vectors (n, d), each with the id by which it is known outside.

    >>> actions = Actions(np.eye(2), ["left", "right"])
    >>> len(actions), actions.labels, np.asarray(actions).shape
    (2, ('left', 'right'), (2, 2))
    """

    __slots__ = ("labels", "vectors")

    vectors: Array
    """(n, d)."""
    labels: tuple[Label, ...]
    """The ids, in the same order."""

    def __init__(self, vectors: ArrayLike, labels: Sequence[Label]) -> None:
        self.vectors, self.labels = floats("vectors", vectors), unlike("labels", labels)
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.labels):
            raise ValueError(
                f"vectors must have shape ({len(self.labels)}, d), one for each label, got {self.vectors.shape}"
            )

    @classmethod
    def _of(cls, vectors: Array, labels: tuple[Label, ...]) -> Actions:
        """The same from what is known to be sound, in less time."""
        made = cls.__new__(cls)
        made.vectors, made.labels = vectors, labels
        return made

    def __len__(self) -> int:
        return len(self.labels)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.vectors, dtype=dtype) if copy else np.asarray(self.vectors, dtype=dtype)

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:5]) + (", ..." if len(self) > 5 else "")
        return f"<Actions: {len(self)} of dimension {self.vectors.shape[1]}, {shown}>"


def label(name: str, value: object) -> Label:
    """An id: text or an integer, as Python has them."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise ValueError(f"{name} must be text or an integer, got {value!r}")


def unlike(name: str, values: Sequence[object]) -> tuple[Label, ...]:
    """Ids, at least one, each once."""
    found = tuple(label(name, value) for value in values)
    if not found:
        raise ValueError(f"{name} must be at least one id, got none")
    if len(set(found)) < len(found):
        twice = next(value for k, value in enumerate(found) if value in found[:k])
        raise ValueError(f"{name} must be different from each other, got {twice!r} twice")
    return found

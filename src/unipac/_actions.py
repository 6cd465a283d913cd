"""Actions with labels: what feature maps hand to agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac._arrays import Array
from unipac._checks import shown
from unipac._inputs import floats

Label = str | int


class Actions:
    """n actions as vectors (n, d), each with an id that the user chose.

    >>> actions = Actions(np.eye(2), ["left", "right"])
    >>> len(actions), actions.labels, np.asarray(actions).shape
    (2, ('left', 'right'), (2, 2))
    """

    __slots__ = ("labels", "vectors")

    vectors: Array
    """One row for each action: shape (n, d)."""
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
        """Build actions from arguments that were checked before; it saves the time of the checks."""
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


LONGEST = 1024
"""The most bytes of an id that is text."""


def label(name: str, value: object) -> Label:
    """Check an id and return it as a Python string or integer: 64 bits, or text of at most 1 kB."""
    if isinstance(value, str):
        text = str.__str__(str(value))  # a plain one
        if 4 * len(text) > LONGEST and len(text.encode(errors="surrogatepass")) > LONGEST:
            raise ValueError(f"{name} must be text of at most {LONGEST} bytes, got {shown(text)}")
        return text
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if -(2**63) <= number < 2**64:
            return number
        raise ValueError(f"{name} must be an integer of 64 bits, got {shown(number)}")
    raise ValueError(f"{name} must be text or an integer, got {shown(value)}")


def unlike(name: str, values: Sequence[object]) -> tuple[Label, ...]:
    """Check ids: there must be at least one, and all must differ."""
    ids = tuple(label(name, value) for value in values)
    if not ids:
        raise ValueError(f"{name} must be at least one id, got none")
    if len(set(ids)) < len(ids):
        twice = next(value for k, value in enumerate(ids) if value in ids[:k])
        raise ValueError(f"{name} must be different from each other, got {twice!r} twice")
    return ids

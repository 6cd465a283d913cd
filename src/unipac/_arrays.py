"""Types of arrays, and of parameters that take anything like an array."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray

from unipac._parameters import Converted

ArrayParameter: TypeAlias = Converted[ArrayLike, NDArray[Any]]
"""A parameter that takes anything like an array, and is kept as an array."""

OptionalArrayParameter: TypeAlias = Converted[ArrayLike | None, Any]
"""The same; None says that there is none."""

"""Reads CSV files as columns of numbers."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray


def columns(contents: bytes) -> dict[str, NDArray[np.float64]]:
    """The columns, by their names in the first row; NaN where an entry is not a number."""
    rows = csv.reader(io.StringIO(contents.decode()))
    names = next(rows)
    values = [[_number(text) for text in row] for row in rows]
    table = np.array(values, dtype=np.float64)
    return {name: table[:, k] for k, name in enumerate(names)}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # "NA"
        return float("nan")

"""Values and traces as JSON, HTML tables and frames; polars and the module of charts are imported when needed."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_ROWS = 20


def as_json(value: Any) -> Any:
    """Convert a number, text or array to JSON: NaN becomes None, infinities "inf" and "-inf"."""
    if isinstance(value, np.ndarray):
        return [as_json(entry) for entry in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def from_json(value: Any) -> float:
    """Convert back a number that ``as_json`` converted."""
    return math.nan if value is None else float(value)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table of the first ``MOST_ROWS`` rows, with all text escaped."""
    listed = list(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    lines = [f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>"]
    for row in listed[:MOST_ROWS]:
        cells = "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    if len(listed) > MOST_ROWS:
        lines.append(f'<tr><td colspan="{len(header)}">and {len(listed) - MOST_ROWS:,} more</td></tr>')
    return "".join([*lines, "</tbody></table>"])


def _shown(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, (list, np.ndarray)):
        return np.array2string(np.asarray(value), precision=4, threshold=8)
    return str(value)


def agent_table(title: str, facts: Mapping[str, Any], levels: Sequence[Any]) -> str:
    """What is known of an agent, and its levels, which are named tuples."""
    text = table(title.strip("<>"), ("", ""), facts.items())
    return text + (table("Levels", levels[0]._fields, levels) if levels else "")


def _columns(trace: Any, count: str, names: Sequence[str]) -> dict[str, Any]:
    columns = {name: getattr(trace, name) for name in names}
    return {count: np.arange(len(trace)), **{k: v for k, v in columns.items() if v is not None}}


def trace_table(trace: Any, count: str, names: Sequence[str]) -> str:
    """An HTML table of the first rows of a trace; its caption is the trace in a line."""
    columns = _columns(trace, count, names)
    rows = list(zip(*(column[:MOST_ROWS].tolist() for column in columns.values()), strict=True))
    return table(repr(trace).strip("<>"), tuple(columns), rows)


def frame(trace: Any, count: str, names: Sequence[str]) -> Any:
    """A trace as a polars frame: the number of each row, called ``count``, and the columns of these names."""
    return needed("polars").DataFrame(_columns(trace, count, names))


def charts() -> Any:
    """The module that draws; imported by its name, so that changes to it do not recompile the kernels of traces."""
    return importlib.import_module("unipac._charts")


def needed(module: str) -> Any:
    """Import a package that only the extra ``experiments`` brings, or say so."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'this needs {module}: pip install "unipac[experiments]"') from None

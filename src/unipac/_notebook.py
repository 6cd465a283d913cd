"""Values and traces as JSON, HTML tables, frames and charts; polars and altair are imported when they are needed."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

MOST_ROWS = 20
MOST_POINTS = 1000


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


def _columns(trace: Any) -> dict[str, Any]:
    names = ("index", "level", "certificate", "reward", "gap", "covered")
    columns = {name: getattr(trace, name) for name in names}
    return {"round": np.arange(len(trace)), **{k: v for k, v in columns.items() if v is not None}}


def trace_table(caption: str, trace: Any) -> str:
    """An HTML table of the first rounds of a trace."""
    columns = _columns(trace[:MOST_ROWS])
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    return table(caption, tuple(columns), rows)


def _needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'this needs {module}: pip install "unipac[experiments]"') from None


def frame(trace: Any) -> Any:
    """A trace as a polars frame."""
    return _needed("polars").DataFrame(_columns(trace))


def chart(trace: Any) -> Any:
    """A chart of the certificates and gaps of a trace, with at most ``MOST_POINTS`` points each."""
    alt = _needed("altair")
    step = max(1, math.ceil(len(trace) / MOST_POINTS))
    kinds = [name for name in ("certificate", "gap") if getattr(trace, name) is not None]
    rows = [
        {"round": k, "kind": name, "value": as_json(float(getattr(trace, name)[k]))}
        for name in kinds
        for k in range(0, len(trace), step)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("round:Q", title="round"),
            y=alt.Y("value:Q", title="loss against the best action"),
            color=alt.Color("kind:N", title=None),
        )
        .properties(width=480, height=240)
    )

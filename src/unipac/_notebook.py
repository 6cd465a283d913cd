"""Values and traces as JSON, HTML tables, frames and charts; polars and altair are imported when they are needed."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 20
MOST_POINTS = 150
OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#b8a800")
"""The palette of Okabe and Ito (2008), for all kinds of colour vision; the yellow is darker, to show on white."""


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


Panels = Mapping[str, Mapping[str, Any]]
"""By the title of a panel, its lines by name: arrays over the same rounds, all of one length."""


def trace_chart(trace: Any) -> Any:
    """A chart of the rewards, certificates and gaps of a trace, and of the share that it explored."""
    losses = {
        name: getattr(trace, name) for name in ("certificate", "gap") if getattr(trace, name) is not None
    }
    panels: dict[str, dict[str, Any]] = {
        "reward": {"reward": trace.reward},
        "loss against the best action": losses,
    }
    if len(trace) > 0 and (trace.level == 0).any():  # agents that explore now and then
        panels["share explored"] = {"explored": trace.level > 0}
    return chart(panels, np.arange(len(trace)), "round")


def chart(panels: Panels, rounds: NDArray[Any], axis: str) -> Any:
    """Lines over rounds, one panel below the other; each point is the mean of some rounds, of those that are known."""
    alt = _needed("altair")
    drawn = []
    for title, held in panels.items():
        rows = [row for name, values in held.items() for row in _points(name, values, rounds)]
        drawn.append(
            alt.Chart(alt.Data(values=rows))
            .mark_line(strokeWidth=1.5)
            .encode(
                x=alt.X("round:Q", title=axis),
                y=alt.Y("value:Q", title=title),
                color=alt.Color("kind:N", title=None, scale=alt.Scale(range=list(OKABE_ITO))),
            )
            .properties(width=480, height=160)
        )
    return alt.vconcat(*drawn).resolve_scale(x="shared", color="independent")


def _points(name: str, values: Any, rounds: NDArray[Any]) -> list[dict[str, Any]]:
    y = np.asarray(values, dtype=np.float64)
    step = max(1, math.ceil(len(y) / MOST_POINTS))
    rows = []
    for k in range(0, len(y), step):
        part = y[k : k + step]
        known = part[np.isfinite(part)]
        if len(known) > 0:
            rows.append({"round": float(rounds[k]), "kind": name, "value": float(known.mean())})
    return rows

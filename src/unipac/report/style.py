"""How the report looks: colours, symbols, numbers, ticks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from unipac._notebook import OKABE_ITO as OKABE_ITO

REFERENCE = "#5b646d"
"""The grey of a line that belongs to no agent, such as a lower bound."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, 'Liberation Sans', sans-serif"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 6

CONFIG: dict[str, Any] = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domainColor": "#9aa1a9",
        "tickColor": "#9aa1a9",
        "gridColor": "#eceff2",
        "labelColor": "#3c434a",
        "titleColor": "#1d2329",
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "legend": {
        "labelLimit": 0,
        "labelFontSize": 12,
        "labelColor": "#1d2329",
        "title": None,
        "symbolOpacity": 1,
    },
    "title": {"fontSize": 15, "fontWeight": 600, "color": "#1d2329", "subtitleColor": "#5b646d", "limit": 0},
}
"""The Vega-Lite configuration that all charts share."""
PICTURE_CONFIG: dict[str, Any] = {
    **CONFIG,
    "font": "Helvetica, Arial, 'Liberation Sans', sans-serif",
    "axis": {**CONFIG["axis"], "labelFont": "'DejaVu Sans', Verdana, Arial, sans-serif", "labelFontSize": 11},
}
"""The same for pictures, with other fonts: one that lacks superscript digits would be replaced by a serif font."""


class Look(NamedTuple):
    """How the lines of one agent are drawn."""

    color: str
    shape: str


Looks = Mapping[str, Look]


HOMES: Looks = {
    name: Look(OKABE_ITO[color], SHAPES[shape])
    for name, (color, shape) in {
        "NestedOFUL": (0, 0),
        "OFUL": (1, 1),
        "Guarded": (2, 2),
        "LinUCB": (3, 3),
        "CertVI": (4, 4),
        "QLearning": (5, 5),
        "UBEV": (6, 0),
        "UPACOFUL": (7, 1),
        "UPACLSVI": (2, 4),
        "LSVIUCB": (3, 1),
        "NestedFLUTE": (0, 3),
        "FLUTE": (1, 5),
        "NestedVTR": (4, 0),
        "PhasedElimination": (6, 4),
    }.items()
}
"""Agents that have the same look everywhere: on every page, in the docs, in a user's own report."""


def looks(agents: Iterable[str], names: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A colour and a symbol for each agent: its own from `HOMES`, or the next that is free.

    Args:
        agents: labels, in the order of the report.
        names: the registered name of each agent, by its label; by default the first word of the label.

    If several labels have the same name, the first one gets its look. Looks repeat only beyond 24 agents.

    Example:
        >>> looks(["mine", "OFUL (mixture)"])["OFUL (mixture)"] == HOMES["OFUL"]
        True
    """
    unique = list(dict.fromkeys(agents))
    registered = names or {}
    chosen: dict[str, Look] = {}
    for agent in unique:
        home = HOMES.get(registered.get(agent, re.split(r"[ (]", agent)[0]))
        if home is not None and home not in chosen.values():
            chosen[agent] = home
    rest = [agent for agent in unique if agent not in chosen]
    pairs = [Look(OKABE_ITO[i % len(OKABE_ITO)], SHAPES[i % len(SHAPES)]) for i in range(24)]
    colors = {look.color for look in chosen.values()}
    free = [pair for pair in pairs if pair not in chosen.values()]
    free.sort(key=lambda pair: pair.color in colors)  # unused colours come first
    for i, agent in enumerate(rest):
        chosen[agent] = free[i % len(free)]
    return {agent: chosen[agent] for agent in unique}


def power_of_ten(exponent: int) -> str:
    """The text of 10 to the power ``exponent``.

    Example:
        >>> power_of_ten(-12), power_of_ten(0), power_of_ten(1)
        ('10⁻¹²', '1', '10')
    """
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(SUPERSCRIPTS))


def number(value: float | None, digits: int = 3) -> str:
    """A number for readers: few digits, and a power of ten if it is very large or very small.

    Example:
        >>> [number(x) for x in (0, 23, 58890, 0.12345, 1.234e-5, 10**18, float("inf"), None)]
        ['0', '23', '58,890', '0.123', '1.23·10⁻⁵', '10¹⁸', '∞', '–']
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}".replace("-", "−")
    if 1e-3 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{decimals}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    power = power_of_ten(int(exponent))
    return power if mantissa == "1" else f"{mantissa}·{power}"


def accuracy(eps: float) -> str:
    """An ε as text; powers of 1/2 are written as fractions.

    Example:
        >>> accuracy(1.0), accuracy(0.03125), accuracy(0.1)
        ('1', '1/32', '0.1')
    """
    halvings = -math.log2(eps)
    return f"1/{2 ** int(halvings):,}" if halvings >= 1 and halvings == int(halvings) else number(eps)


def duration(seconds: float | None) -> str:
    """A duration with its unit.

    Example:
        >>> duration(1.5e-6), duration(0.25), duration(75.0)
        ('1.5 µs', '250 ms', '75 s')
    """
    if seconds is None or not math.isfinite(seconds):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 1e-9)} ns"


def log_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Positions and labels of the ticks of a log axis: powers of ten, or 1-2-5 steps if those are too few.

    Example:
        >>> log_ticks(1, 2e18)[1]
        ['1', '10⁴', '10⁸', '10¹²', '10¹⁶']
        >>> log_ticks(30, 300)[1]
        ['50', '100', '200']
    """
    slack = 1e-9
    first, last = math.ceil(math.log10(low) - slack), math.floor(math.log10(high) + slack)
    if last - first < 1:
        steps = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        places = [step for step in steps if low * (1 - slack) <= step <= high * (1 + slack)]
        return places, [number(place) for place in places]
    step = math.ceil((last - first + 1) / MOST_TICKS)
    exponents = [k for k in range(first, last + 1) if k % step == 0]
    if exponents[0] >= -3 and exponents[-1] <= 3:
        return [10.0**k for k in exponents], [number(10.0**k) for k in exponents]
    return [10.0**k for k in exponents], [power_of_ten(k) for k in exponents]


def count_ticks(high: float) -> tuple[list[float], list[str]]:
    """Positions and labels of the ticks of an axis of counts: 0 and powers of ten.

    Example:
        >>> count_ticks(2e3)[1]
        ['0', '1', '10', '100', '1,000']
    """
    places, labels = log_ticks(1.0, max(high, 10.0))
    return [0.0, *places], ["0", *labels]

"""How all pictures look: colours, fonts, numbers, ticks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#b8a800")
"""The palette of Okabe and Ito (2008), for all kinds of colour vision; the yellow is darker, to show on white."""
REFERENCE = "#5b646d"
"""The grey of a line that belongs to no agent, such as a lower bound."""
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


def tick_labels(places: Sequence[float], labels: Sequence[str]) -> str:
    """The expression that gives ticks at these places these labels: Vega-Lite takes labels in no other way."""
    return f"{json.dumps(labels, ensure_ascii=False)}[indexof({json.dumps(places)}, datum.value)]"

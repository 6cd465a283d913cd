"""How the report looks: what all pictures share (`unipac._style`), and looks of agents, accuracies, durations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from unipac._style import (
    CONFIG as CONFIG,
    MOST_TICKS as MOST_TICKS,
    OKABE_ITO as OKABE_ITO,
    PICTURE_CONFIG as PICTURE_CONFIG,
    REFERENCE as REFERENCE,
    count_ticks as count_ticks,
    log_ticks as log_ticks,
    number as number,
    tick_labels as tick_labels,
)

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


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

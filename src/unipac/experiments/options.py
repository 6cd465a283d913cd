"""Options of a report on an experiment; a file sets them under ``[report]``, as do Python and the command line.

For example::

    [report]
    lines = "mean"                    # ± one standard error; "median" (with a band of 80 %) by default
    x = "linear"                      # or "log"; by default what suits the figure. Also y
    width = 400                       # of a picture, in pixels; also height, which applies to the page as well
    figures = ["regret", "mistakes"]  # the figures to draw, in this order; all usual ones by default
    order = ["oful", "nested"]        # agents that come first in legends and tables; the others follow

    [report.labels]                   # new labels for agents and instances
    nested = "NestedOFUL, δ = 0.05"

    [report.regret]                   # for one figure only: lines, x, y, width, height, title, instances
    y = "linear"
    instances = ["contexts dim=3"]    # labels or families
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from unipac._text import control_character, printable
from unipac.experiments.registry import SpecError, nearest

FIGURES = (
    "reward",
    "regret",
    "promises",
    "explored",
    "mistakes",
    "mistakes-over-time",
    "levels",
    "certificates",
    "pulls",
    "times",
)
"""All figures, in their order on a page."""
LINES = ("median", "mean")
SCALES = ("linear", "log")
SIZES = (100, 4000)
"""The smallest and the largest width or height, in pixels."""
LONGEST_TEXT = 200

_OF_A_FIGURE = ("lines", "x", "y", "width", "height", "title", "instances")


@dataclass(frozen=True)
class Options:
    """What a report should look like; for options that are None, the report decides.

    Args:
        lines: "median", with a band that holds 80 % of the runs, or "mean", ± one standard error.
        x: the scale of the rounds or ε, "linear" or "log".
        y: the scale of the values, "linear" or "log".
        width: the width of a picture, in pixels from 100 to 4000.
        height: the height of a picture or of a chart on the page, in pixels from 100 to 4000.
        figures: names from ``experiments.options.FIGURES``, in the order in which to draw them.
        order: labels of the agents that come first; the others follow.
        labels: new labels for agents and instances, by their old ones.
        title: the title of the figure; only for a single figure.
        instances: labels or families to draw; only for a single figure.
        each: for each name of a figure, options for this figure only.

    Example:
        >>> Options(lines="mean", each={"regret": {"y": "linear"}}).of("regret").y
        'linear'
        >>> Options(lines="average")
        Traceback (most recent call last):
        unipac.experiments.registry.SpecError: lines: must be 'median' or 'mean', got 'average'
    """

    lines: str | None = None
    x: str | None = None
    y: str | None = None
    width: int | None = None
    height: int | None = None
    figures: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    title: str | None = None
    instances: tuple[str, ...] | None = None
    each: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("figures", "order", "instances"):
            value = getattr(self, name)
            if isinstance(value, list):  # TOML and JSON have lists
                object.__setattr__(self, name, tuple(value))
        _check(self)
        for figure, table in self.each.items():
            _known("each", figure, FIGURES)
            if not isinstance(table, Mapping):
                raise SpecError(f"{figure}: must be a table, got {table!r}")
            for key in table:
                if key not in _OF_A_FIGURE:
                    raise SpecError(
                        f"{figure}.{printable(str(key))}: no such key; {nearest(str(key), _OF_A_FIGURE)}"
                    )
            try:
                Options(**table)
            except SpecError as error:
                raise SpecError(f"{figure}.{error}") from None

    def of(self, figure: str) -> Options:
        """The options for one figure: its own, and the general ones otherwise."""
        own = dict(self.each.get(figure, {}))
        return replace(self, **own, each={})

    def over(self, other: Options) -> Options:
        """These options; those that are None are taken from ``other``."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in _MERGED}
        kept = {name: value for name, value in own.items() if value is not None}
        each = {name: dict(table) for name, table in other.each.items()}
        for table in each.values():  # a general option here overrides a figure's own option there
            for name in kept:
                table.pop(name, None)
        for name, single in self.each.items():
            each[name] = {**each.get(name, {}), **single}
        return replace(other, **kept, labels={**other.labels, **self.labels}, each=each)

    def as_dict(self) -> dict[str, Any]:
        """The options as in a file; those that are None are left out."""
        table: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None and entry.name not in _MERGED:
                table[entry.name] = list(value) if isinstance(value, tuple) else value
        if self.labels:
            table["labels"] = dict(self.labels)
        figures = {name: dict(single) for name, single in self.each.items() if single}
        return {**table, **figures}


_MERGED = ("labels", "each")


def read(table: object, *, agents: Iterable[str], instances: Iterable[str]) -> Options:
    """Read and check the table ``[report]`` of a file.

    Args:
        table: the table of the file.
        agents: labels and families of agents.
        instances: labels and families of instances.
    """
    if not isinstance(table, Mapping):
        raise SpecError(f"[report]: must be a table, got {table!r}")
    for_all = [entry.name for entry in fields(Options) if entry.name not in ("each", "title", "instances")]
    general: dict[str, Any] = {}
    each: dict[str, Any] = {}
    for key, value in table.items():
        if key in FIGURES:
            each[key] = value
        elif key in for_all:
            general[key] = value
        else:
            hint = nearest(str(key), [*for_all, *FIGURES])
            raise SpecError(f"[report] {printable(str(key))}: no such key; {hint}")
    try:
        options = Options(**general, each=each)
        check_labels(options, agents, instances)
    except SpecError as error:
        raise SpecError(f"[report] {error}") from None
    return options


def check_labels(options: Options, agents: Iterable[str], instances: Iterable[str]) -> None:
    """Refuse labels that an experiment does not have."""
    players, places = list(agents), list(instances)
    for label in options.order or ():
        _known("order", label, players)
    for label in options.labels:
        _known("labels", label, [*players, *places])
    if len(set(options.labels.values())) < len(options.labels):
        raise SpecError(f"labels: must differ, got {list(options.labels.values())}")
    for old, new in options.labels.items():
        if new in players + places and new not in options.labels and new != old:
            raise SpecError(f"labels: {new!r} is the label of another agent or instance")
    for figure in options.each:
        for label in options.of(figure).instances or ():
            _known(f"{figure}.instances", label, places)


def _check(options: Options) -> None:
    _choice("lines", options.lines, LINES)
    _choice("x", options.x, SCALES)
    _choice("y", options.y, SCALES)
    for name in ("width", "height"):
        value = getattr(options, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and SIZES[0] <= value <= SIZES[1]):
            raise SpecError(f"{name}: must be an integer from {SIZES[0]} to {SIZES[1]:,}, got {value!r}")
    for name in ("figures", "order", "instances"):
        value = getattr(options, name)
        if value is None:
            continue
        if not isinstance(value, tuple) or not all(isinstance(entry, str) for entry in value):
            raise SpecError(f"{name}: must be a list of names, got {value!r}")
        if len(set(value)) < len(value):
            raise SpecError(f"{name}: must not name one twice, got {list(value)}")
    for figure in options.figures or ():
        _known("figures", figure, FIGURES)
    if not isinstance(options.labels, Mapping):
        raise SpecError(f"labels: must be a table, got {options.labels!r}")
    if not isinstance(options.each, Mapping):
        raise SpecError(f"each: must be a mapping, got {options.each!r}")
    texts = {
        "title": options.title,
        **{f"labels.{printable(str(key))}": v for key, v in options.labels.items()},
    }
    for name, text in texts.items():
        if name == "title" and text is None:
            continue
        if (
            not isinstance(text, str)
            or not text.strip()
            or len(text) > LONGEST_TEXT
            or control_character(text)
        ):
            words = f"text of at most {LONGEST_TEXT} characters, none of them a control character"
            raise SpecError(f"{name}: must be {words}, got {text!r}")


def _choice(name: str, value: object, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise SpecError(f"{name}: must be {' or '.join(map(repr, known))}, got {value!r}")


def _known(name: str, value: object, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise SpecError(f"{name}: must be a known name, got {value!r}; {nearest(str(value), known)}")

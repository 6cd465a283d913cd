"""How the parameters of an agent are declared.

An agent is a class whose fields are its parameters::

    @agent
    class Mine(BanditAgent):
        \"\"\"One line on what it does.

        {parameters}
        \"\"\"

        alpha: float = parameter(default=1.0, check=check.nonnegative, words="how much to explore")

Parameters are declared, described and checked once, by the class that owns them; derived classes inherit
them. They become the agent's attributes, its repr, the header of its file, and names that a sweep may use.
Classes that derive from one with an ``_example`` can show it, with their own name, in place of ``{example}``.
"""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, dataclass_transform

from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=type)
Given = TypeVar("Given", contravariant=True)
Kept = TypeVar("Kept", covariant=True)
Check = Callable[[str, Any], Any]

REQUIRED: Any = dataclasses.MISSING


class Converted(Generic[Given, Kept]):
    """The type of a parameter that the constructor takes as one type and the agent keeps as another.

    This is for type checkers, which read it as a descriptor; at run time the attribute is a plain one.
    """

    if TYPE_CHECKING:

        def __get__(self, holder: object, owner: Any = None) -> Kept: ...
        def __set__(self, holder: object, value: Given) -> None: ...


ArrayParameter: TypeAlias = Converted[ArrayLike, NDArray[Any]]
"""A parameter that takes anything like an array, and is kept as an array."""

OptionalArrayParameter: TypeAlias = Converted[ArrayLike | None, Any]
"""Like ``ArrayParameter``, or None if there is no array."""


def parameter(
    *, default: Any = REQUIRED, check: Check | None = None, words: str = "", kw_only: bool = True
) -> Any:
    """A parameter of an agent; type checkers read ``default`` and ``kw_only`` (PEP 681).

    Args:
        default: its default value; without one the parameter is required.
        check: called with name and value, returns the value to keep or raises a ``ValueError``.
        words: its description in the documentation.
        kw_only: whether it must be passed by name.
    """
    return dataclasses.field(default=default, kw_only=kw_only, metadata={"check": check, "words": words})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, dataclasses.field))
def agent(cls: T) -> T:
    """Turn a class with parameters into an agent: add its constructor, and the arguments to its docstring."""
    made: Any = dataclasses.dataclass(kw_only=True, repr=False, eq=False)(cls)
    if made.__doc__:
        example = getattr(made, "_example", "").strip().replace("{name}", made.__name__)
        made.__doc__ = made.__doc__.replace("{parameters}", _arguments(made)).replace("{example}", example)
    if moved := _moved(made):
        made.__init__ = _refusing(moved, made.__init__)
    return cast(T, made)


def _moved(cls: type) -> dict[str, str]:
    """Keywords that a class no longer takes, each with the sentence that says what to use."""
    moved: dict[str, str] = {}
    taken = {entry.name for entry in declared(cls)}
    for base in reversed(cls.__mro__):
        moved |= vars(base).get("moved", {})
    return {name: sentence for name, sentence in moved.items() if name not in taken}


def _refusing(moved: Mapping[str, str], init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that refuses keywords which have moved, with their sentence."""

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        for name in named:
            if name in moved:
                raise ValueError(f"{type(self).__name__} takes no {name}: {moved[name]}")
        init(self, *values, **named)

    return checked


def _arguments(cls: type) -> str:
    """The section ``Args`` of the docstring of this class."""
    lines = ["Args:"]
    for entry in in_order(cls):
        if entry.metadata.get("words"):
            default = (
                "" if entry.default is REQUIRED or entry.default is None else f" Default {entry.default!r}."
            )
            text = f"{entry.name}: {entry.metadata['words']}.{default}"
            lines += textwrap.wrap(text, 100, initial_indent=" " * 8, subsequent_indent=" " * 12)
    return "\n".join(lines)


def declared(cls: Any) -> list[dataclasses.Field[Any]]:
    """The parameters of a class or of an agent."""
    return [entry for entry in dataclasses.fields(cls) if entry.init]


def in_order(cls: Any) -> list[dataclasses.Field[Any]]:
    """The parameters of a class or of an agent, those that may be passed by position first."""
    return sorted(declared(cls), key=lambda entry: bool(entry.kw_only))


def accepted(cls: Any, **arguments: Any) -> dict[str, Any]:
    """The arguments that a class takes; arguments that are None are left out."""
    names = {entry.name for entry in declared(cls)}
    return {name: value for name, value in arguments.items() if name in names and value is not None}

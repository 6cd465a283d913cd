"""Predictions that an experiment states itself, in tables of its file.

For example::

    [predictions.keeps-up]
    measure = "reward"                # one of MEASURES
    agent = "guarded"                 # a label in [agents]
    instance = "contexts dim=3"       # a label or a family in [instances]; by default all that the agent plays
    at_least = 0.98                   # or at_most: the threshold
    times = "LinUCB"                  # optional: multiply the threshold by the measure of this other agent
    says = "A guard costs at most two per cent of the reward."   # optional: the sentence in the report
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unipac._text import control_character, printable
from unipac.experiments.registry import SpecError, nearest

MEASURES = {
    "reward": "mean reward of a round",
    "regret": "regret at the end",
    "gap": "mean gap of the last fifth of the rounds",
    "certificate": "mean certificate of the last fifth of the rounds",
    "mistakes": "rounds with a gap above eps",
    "explored": "rounds in which the guard explored",
    "pulls": "pulls of a search",
}
"""The measures that a prediction can be about, with their meaning."""

KEYS = ("measure", "agent", "instance", "at_least", "at_most", "times", "eps", "says")


@dataclass(frozen=True)
class Prediction:
    """One prediction; see the module for its form in a file."""

    name: str
    measure: str
    agent: str
    instance: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    times: str | None = None
    eps: float | None = None
    says: str | None = None

    @property
    def threshold(self) -> float:
        """The number in ``at_least`` or ``at_most``."""
        number = self.at_least if self.at_least is not None else self.at_most
        assert number is not None
        return number

    @property
    def sentence(self) -> str:
        """The prediction in words."""
        if self.says:
            return self.says
        of = MEASURES[self.measure] + (f" = {self.eps:g}" if self.eps is not None else "")
        side = "at least" if self.at_least is not None else "at most"
        other = f" times that of {self.times}" if self.times is not None else ""
        where = f" on {self.instance}" if self.instance is not None else ""
        return f"{of[0].upper()}{of[1:]}, {self.agent}{where}: {side} {self.threshold:g}{other}."

    def as_dict(self) -> dict[str, Any]:
        """The keys of its table in a file, and its name."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def read(
    tables: object,
    *,
    agents: Mapping[str, Sequence[str]],
    instances: Mapping[str, Sequence[str]],
    eps: Sequence[float],
) -> tuple[Prediction, ...]:
    """Read and check the predictions of a file.

    Args:
        tables: the tables below ``predictions`` in the file.
        agents: for each label of an agent, the labels of the instances that it plays.
        instances: for each label and each family of instances, the labels that it stands for.
        eps: the grid of ε.
    """
    if not isinstance(tables, Mapping):
        raise SpecError(f"[predictions]: must hold tables, as [predictions.some-name], got {tables!r}")
    return tuple(_read(str(name), table, agents, instances, eps) for name, table in tables.items())


def _read(
    name: str,
    table: object,
    agents: Mapping[str, Sequence[str]],
    instances: Mapping[str, Sequence[str]],
    eps: Sequence[float],
) -> Prediction:
    where = f"[predictions.{printable(name)}]"
    if not isinstance(table, Mapping):
        raise SpecError(f"{where}: must be a table, got {table!r}")
    for key in table:
        if key not in KEYS:
            raise SpecError(f"{where} {printable(str(key))}: no such key; {nearest(str(key), KEYS)}")
    for key in ("measure", "agent"):
        if key not in table:
            raise SpecError(f"{where}: {key} must be given")
    _one_of(f"{where} measure", table["measure"], MEASURES)
    _one_of(f"{where} agent", table["agent"], agents)
    if "times" in table:
        _one_of(f"{where} times", table["times"], agents)
    if "instance" in table:
        _one_of(f"{where} instance", table["instance"], instances)
    sides = [key for key in ("at_least", "at_most") if key in table]
    if len(sides) != 1:
        raise SpecError(
            f"{where}: one of at_least and at_most must be given, got {' and '.join(sides) or 'none'}"
        )
    _finite(f"{where} {sides[0]}", table[sides[0]])
    counts = table["measure"] == "mistakes"
    if counts != ("eps" in table):
        raise SpecError(f'{where} eps: must be given for measure = "mistakes", and for no other')
    if counts and float(_finite(f"{where} eps", table["eps"])) not in eps:
        raise SpecError(f"{where} eps: must be one of the grid, {list(eps)}, got {table['eps']!r}")
    says = table.get("says")
    if says is not None and (not isinstance(says, str) or control_character(says) is not None):
        raise SpecError(f"{where} says: must be text without control characters, got {says!r}")
    prediction = Prediction(name=name, **table)
    _check_pairs(where, prediction, agents, instances)
    return prediction


def _check_pairs(
    where: str,
    prediction: Prediction,
    agents: Mapping[str, Sequence[str]],
    instances: Mapping[str, Sequence[str]],
) -> None:
    """Refuse a prediction about an instance that one of its agents does not play."""
    for key in ("agent", "times"):
        agent = getattr(prediction, key)
        if agent is None:
            continue
        about = instances.get(prediction.instance or "", agents[agent])
        absent = [label for label in about if label not in agents[agent]]
        if absent:
            raise SpecError(f"{where} {key}: {agent} does not play {absent[0]}")
    if prediction.times is not None and not set(agents[prediction.agent]) & set(agents[prediction.times]):
        raise SpecError(
            f"{where} times: {prediction.agent} and {prediction.times} play no instance in common"
        )


def _one_of(where: str, value: object, known: Mapping[str, Any]) -> None:
    if not isinstance(value, str) or value not in known:
        raise SpecError(f"{where}: must be a known name, got {value!r}; {nearest(str(value), known)}")


def _finite(where: str, value: object) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number:
        raise SpecError(f"{where}: must be a finite number, got {value!r}")
    return value  # type: ignore[return-value]

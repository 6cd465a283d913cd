"""What files and snapshots of a deployment share: everything but its log, as a header and arrays, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unipac import _agents as agents, _checks as check
from unipac.deployment import entries, watching
from unipac.deployment.comparing import Comparisons
from unipac.deployment.settings import Settings
from unipac.features.maps import Features
from unipac.features.reading import from_json

Arrays = dict[str, NDArray[Any]]


def packed(value: Any) -> NDArray[Any]:
    """JSON as an array of bytes."""
    return np.frombuffer(json.dumps(value, allow_nan=False).encode(), dtype=np.uint8)


def unpacked(array: NDArray[Any]) -> Any:
    """What was packed."""
    return json.loads(array.tobytes())


def below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def above(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays with a prefix before their names."""
    return {prefix + name: array for name, array in arrays.items()}


class Contents(NamedTuple):
    """A deployment without its log at one moment: immutable parts are shared, the others are copied."""

    agent: tuple[dict[str, Any], Arrays]
    dim: int
    pending: list[entries.Entry]
    alarm: tuple[dict[str, Any], Arrays]
    line: Arrays
    watches: watching.Watches
    comparisons: tuple[dict[str, Any], Arrays]
    numbers: dict[str, Any]

    @classmethod
    def of(cls, d: Any, agent: Any) -> Self:
        """The deployment as it is now, with its agent bare or full (``holding``); its lock is held."""
        numbers = {"decided": d._decided, "seq": d._seq, "asked": d._asked, "history": d._history.hex()}
        return cls(
            agents.described(agent), agent.dim, list(d._entries.values()), d._alarm.saved(), d._line.saved(),
            d._watches, d._comparisons.saved(), numbers,
        )  # fmt: skip

    def told(
        self, number: Callable[[entries.Entry], int | None] = entries.own_number
    ) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays; ``number`` as in ``entries.saved``."""
        rows, sets = watching.saved(self.watches)
        arrays = {
            **above("agent.", self.agent[1]),
            **above("pending.", entries.saved(self.pending, self.dim, number)),
            **above("drift.", self.alarm[1]),
            **above("line.", self.line),
            **above("watch.", sets),
            **above("compare.", self.comparisons[1]),
        }
        header = {
            "agent": self.agent[0],
            **self.numbers,
            "drift": self.alarm[0],
            "watches": rows,
            "comparisons": self.comparisons[0],
        }
        return header, arrays


class Maker(NamedTuple):
    """The class of a deployment that is read, and the parts that neither files nor logs can hold."""

    cls: type[Any]
    agent: type[Any] | None
    """The class of the agent, for one of the user's own."""
    features: Features | None
    """The features, for a map that has no JSON."""
    clock: Callable[[], float]

    def empty(self, agent: Any, spec: Mapping[str, Any]) -> Any:
        """A deployment that has decided nothing yet, with the settings of the first event of a log."""
        features = self.features
        if features is None and spec["features"] is not None:
            features = from_json(spec["features"])
        return self.cls(agent, features, clock=self.clock, **Settings.told(spec))

    def filled(self, spec: Mapping[str, Any], header: Mapping[str, Any], arrays: Arrays) -> Any:
        """The deployment of a header and arrays, but for its decisions and its time."""
        learned = agents._from_file(header["agent"], below("agent.", arrays), self.agent, {})
        d = self.empty(type(learned)(**learned.parameters), spec)
        d._agent, d._events = learned, [spec]
        d._decided = check.count("decided", header["decided"], least=0)
        d._seq = check.count("seq", header["seq"], least=0)
        d._asked = check.count("asked", header["asked"], least=0)
        d._history = bytes.fromhex(header["history"])
        d._alarm.restore(header["drift"], below("drift.", arrays))
        d._line.restore(below("line.", arrays))
        d._watches = watching.restored(header["watches"], below("watch.", arrays), learned.dim, d._seq)
        d._comparisons = Comparisons.restored(header["comparisons"], below("compare.", arrays))
        return d

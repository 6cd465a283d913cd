"""Linear bandit agents, one algorithm per file."""

from __future__ import annotations

import os

from unipac import _storage as storage
from unipac.bandits.agent import Bounds, Decision, Level, LinearAgent, Trace
from unipac.bandits.ball_oful import BallOFUL
from unipac.bandits.linucb import LinUCB
from unipac.bandits.nested_oful import NestedOFUL
from unipac.bandits.oful import OFUL
from unipac.bandits.upac_oful import UPACOFUL

AGENTS: dict[str, type[LinearAgent]] = {
    "NestedOFUL": NestedOFUL,
    "UPACOFUL": UPACOFUL,
    "OFUL": OFUL,
    "BallOFUL": BallOFUL,
    "LinUCB": LinUCB,
}

__all__ = [
    "AGENTS",
    "OFUL",
    "UPACOFUL",
    "BallOFUL",
    "Bounds",
    "Decision",
    "Level",
    "LinUCB",
    "LinearAgent",
    "NestedOFUL",
    "Trace",
    "load",
]


def load(path: str | os.PathLike[str]) -> LinearAgent:
    """The agent that ``save`` wrote, to go on exactly where it stopped.

    Reads plain arrays and JSON only: a file cannot make it run code.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated or was not written by ``save``.
    """
    header, arrays = storage.read(path)
    try:
        fixed = arrays["table.actions"]
        agent = AGENTS[header["agent"]](
            header["dim"], **header["parameters"], fixed_actions=fixed if len(fixed) else None
        )
        agent._restore(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"path must name a file written by save(), got {os.fspath(path)!r}, "
            f"which does not hold an agent of this version ({error})"
        ) from None
    return agent

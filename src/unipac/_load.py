"""Agents from disk, of whatever kind."""

from __future__ import annotations

import os

from unipac import _storage as storage
from unipac import bandits, mdp
from unipac.bandits.base import saved as saved_bandit
from unipac.mdp.base import saved as saved_mdp
from unipac.mdp.base.agent import FeatureFunction


def load(
    path: str | os.PathLike[str], *, feature_map: FeatureFunction | None = None
) -> bandits.LinearAgent | mdp.EpisodicAgent:
    """The agent that ``save`` wrote, to go on exactly where it stopped.

    Reads plain arrays and JSON only: a file cannot make it run code. An agent with a feature map of the
    user's own needs the same function again, as ``feature_map``.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated or was not written by ``save``.
    """
    header, arrays = storage.read(path)
    try:
        if header["agent"] in mdp.AGENTS:
            return saved_mdp.restore(header, arrays, mdp.AGENTS, feature_map)
        return saved_bandit.restore(header, arrays, bandits.AGENTS)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"path must name a file written by save(), got {os.fspath(path)!r}, "
            f"which does not hold an agent of this version ({error})"
        ) from None

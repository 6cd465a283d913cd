"""Numbers for the observations of a Gymnasium environment, in the order in which they are seen."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from unipac import _checks as check
from unipac._storage import write_atomically

FORMAT = "unipac numbering"
VERSION = 1

LARGEST_DEFAULT = 100_000
"""The largest number of observations that is taken from the space; a larger one must be given."""

KINDS = "numbers, text, arrays, tuples, lists and dicts with text as keys"


class Numbered(
    gymnasium.ObservationWrapper[np.int64, Any, Any],
    gymnasium.utils.RecordConstructorArgs,
):
    """An environment whose observations are numbered from 0 in the order in which they are seen; see `numbered`.

    Attributes:
        most: the largest number of different observations.

    >>> env = Numbered(gymnasium.make("Blackjack-v1"))
    >>> observation, _ = env.reset(seed=0)
    >>> int(observation), env.seen, env.most
    (0, 1, 704)
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, most: int | None = None) -> None:
        check.require(isinstance(env, gymnasium.Env), "env", "a Gymnasium environment", env)
        if most is None:
            size = _size(env.observation_space)
            words = f"given, since the space has no finite number of at most {LARGEST_DEFAULT:,} observations"
            check.require(size <= LARGEST_DEFAULT, "most", words, env.observation_space)
            most = int(size)
        self.most = check.count("most", most, most=2**31)
        gymnasium.utils.RecordConstructorArgs.__init__(self, most=self.most)
        gymnasium.ObservationWrapper.__init__(self, env)
        self.observation_space = spaces.Discrete(self.most)
        self._number: dict[str, int] = {}

    @property
    def seen(self) -> int:
        """How many different observations were seen, here or before the numbering was saved."""
        return len(self._number)

    def observation(self, observation: Any) -> np.int64:
        """The number of an observation; a new one gets the next number."""
        key = _key(observation)
        number = self._number.get(key)
        if number is None:
            if self.seen == self.most:
                raise ValueError(
                    f"most must be larger than {self.most}, got a new observation after {self.most} different ones: "
                    f"{check.shown(observation)}"
                )
            number = self._number[key] = self.seen
        return np.int64(number)

    def observations(self) -> list[Any]:
        """The observations by their numbers, as JSON has them: tuples and arrays are lists."""
        return [json.loads(key) for key in self._number]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the numbering as JSON; keep it beside the file of the agent that learned with it."""
        content = {"format": FORMAT, "version": VERSION, "observations": self.observations()}
        write_atomically(Path(path), json.dumps(content).encode())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue with a saved numbering; what was seen here must have the same numbers there."""
        shown = os.fspath(path)
        try:
            content = json.loads(Path(path).read_bytes())
            known = isinstance(content, dict) and content.get("format") == FORMAT
            keys = [_key(observation) for observation in content["observations"]] if known else []
        except OSError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError):
            known = False
        if not known or content.get("version") != VERSION or len(set(keys)) < len(keys):
            raise ValueError(f"path must name a file written by Numbered.save(), got {shown!r}")
        check.require(
            len(keys) <= self.most, "most", f"at least {len(keys)}, as many as {shown!r} has", self.most
        )
        here = list(self._number)
        if keys[: len(here)] != here:
            raise ValueError(
                f"path must name a numbering that continues the one of this environment, got {shown!r}, which numbers "
                f"differently: load it before the first reset"
            )
        self._number = {key: number for number, key in enumerate(keys)}


def numbered(env: gymnasium.Env[Any, Any], *, most: int | None = None) -> Numbered:
    """The environment with its observations, tuples or dicts, numbered from 0 in the order in which they are seen.

    Agents for tables (`CertVI`, `UBEV`, ...) take numbers. Equal observations have equal numbers; two observations
    that differ anywhere are two states. The numbers depend on what is seen first, so an agent that is saved needs the
    numbering as well: `save` and `load` of what is returned.

    Args:
        env: the environment. Observations are made of numbers, text, arrays, tuples and dicts.
        most: the largest number of different observations, which is the number of states of the agent. One more is
            refused. By default as many as the space has, if it is finite and has at most 100,000.

    Example:
        >>> env = numbered(gymnasium.make("Blackjack-v1"))      # (own sum, dealer's card, usable ace)
        >>> env.observation_space                               # 32 · 11 · 2
        Discrete(704)
        >>> env.reset(seed=0)[0], env.observations()
        (np.int64(0), [[11, 10, 0]])
        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> int(observation), env.seen
        (1, 2)
    """
    return Numbered(env, most=most)


def _size(space: gymnasium.Space[Any]) -> float:
    """How many elements a space has; infinite if it is not one of those that are counted here."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return math.prod(int(n) for n in space.nvec.ravel())
    if isinstance(space, spaces.MultiBinary):
        return math.ldexp(1.0, min(math.prod(space.shape), 1000))
    if isinstance(space, spaces.Tuple):
        return math.prod(map(_size, space.spaces))
    if isinstance(space, spaces.Dict):
        return math.prod(map(_size, space.spaces.values()))
    return math.inf


def _key(observation: Any) -> str:
    """An observation as text, the same for equal ones."""
    return json.dumps(_plain(observation), sort_keys=True, separators=(",", ":"))


def _plain(part: Any) -> Any:
    """The same in lists, dicts, integers, floats and text; True is 1."""
    if isinstance(part, (np.ndarray, np.generic)):
        part = part.tolist()
    if part is None or isinstance(part, str):
        return part
    if isinstance(part, int):
        return int(part)
    if isinstance(part, float):
        check.require(math.isfinite(part), "observation", "of finite numbers", part)
        return part + 0.0  # -0.0 is 0.0
    if isinstance(part, (list, tuple)):
        return [_plain(entry) for entry in part]
    if isinstance(part, Mapping):
        check.require(all(isinstance(name, str) for name in part), "observation", f"made of {KINDS}", part)
        return {name: _plain(entry) for name, entry in part.items()}
    raise ValueError(f"observation must be made of {KINDS}, got {check.shown(part)} in it")

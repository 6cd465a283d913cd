"""Checks that the environments share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import gymnasium

from unipac import _checks as check

MDP = TypeVar("MDP")


def mdp_of(
    cls: type[MDP],
    factories: Mapping[str, Callable[..., MDP]],
    mdp: MDP | str,
    render_mode: str | None,
    arguments: Mapping[str, Any],
) -> MDP:
    """The MDP of an environment, from itself or from the name of its factory."""
    check.require(render_mode is None, "render_mode", "None", render_mode)
    if isinstance(mdp, str):
        return factories[check.one_of("mdp", mdp, tuple(factories))](**arguments)
    check.require(isinstance(mdp, cls), "mdp", f"a {cls.__name__} or the name of one", mdp)
    check.require(not arguments, "arguments", "given with a name only", arguments)
    return mdp


def checked_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The options of ``reset``: at most the first state."""
    options = options or {}
    unknown = sorted(map(str, options.keys() - {"state"}))
    check.require(not unknown, "options", "a dict with at most the key 'state'", options)
    return options


def checked_action(mdp: Any, stage: int, action: Any) -> int:
    """The action of ``step``, unless the episode has ended."""
    if stage > mdp.horizon:
        raise gymnasium.error.ResetNeeded("reset the environment before the first step of an episode")
    return check.count("action", action, least=0, most=mdp.n_actions - 1)

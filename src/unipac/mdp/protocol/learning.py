"""Learning from a Gymnasium environment: the loop, its record, and warnings about what nothing can be learned from."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import gymnasium
import numpy as np

from unipac._arrays import Array
from unipac._progress import shown
from unipac._warnings import warn
from unipac.mdp.protocol.records import LearningTrace

TRIES = 25
"""How often each action must lead back to an observation before that counts as an end that nobody announced."""

MOST_REPEATED = 10_000
"""How many observations are looked at for this."""


def learn_from(
    agent: Any, env: gymnasium.Env[Any, Any], episodes: int, seed: int | None, progress: bool
) -> LearningTrace:
    """Play and learn episodes of at most H steps; an exception drops the episode under way, and has ``trace``."""
    H: int = agent.horizon
    warned = _warn_of_limit(env, H)
    repeated = Repeated(agent.n_actions)
    trace = LearningTrace(
        H,
        np.zeros(episodes),
        np.zeros(episodes, dtype=np.int64),
        np.zeros(episodes, dtype=np.bool_),
        np.zeros(episodes, dtype=np.bool_),
    )
    first = agent.episodes
    try:
        for k in shown(range(episodes), "learning", progress):
            observation, _ = env.reset(seed=seed if k == 0 else None)
            while agent.episodes == first + k:
                before, action = observation, agent.act(observation)
                observation, reward, terminated, truncated, _ = env.step(action)
                agent.observe(float(reward), observation, bool(terminated), bool(truncated))
                trace.returns[k] += float(reward)
                trace.lengths[k] += 1
                if agent.episodes == first + k:
                    repeated.add(before, action, float(reward), observation)
            trace.terminated[k] = terminated
            trace.truncated[k] = truncated and not terminated and trace.lengths[k] < H
            warned = warned or (bool(trace.truncated[k]) and _warn_of_cut(int(trace.lengths[k]), H))
    except BaseException as error:
        agent._ledger.steps, agent._ledger.waiting, agent._ledger.plan = [], None, None
        error.trace = trace[: agent.episodes - first]  # type: ignore[attr-defined]
        raise
    return trace


def _warn_of_limit(env: gymnasium.Env[Any, Any], horizon: int) -> bool:
    """Warn, and say so, if the environment stops episodes before stage H."""
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    if limit is None or limit >= horizon:
        return False
    warn(
        f"env stops episodes after {limit} steps (env.spec.max_episode_steps), the horizon is {horizon}: the agent "
        f"plans for stages that it never plays, and may learn nothing. Take horizon={limit}, or make the environment "
        f"with max_episode_steps={horizon}",
        UserWarning,
    )
    return True


def _warn_of_cut(length: int, horizon: int) -> bool:
    warn(
        f"env truncated an episode after {length} of {horizon} stages (horizon): the agent counts on what follows, "
        f"which it does not see. If many episodes end so, take a horizon that they reach; `truncated` of the trace "
        f"that learn returns says which did",
        UserWarning,
    )
    return True


class Repeated:
    """Looks for an observation that no action leaves and that pays nothing: an end that is not ``terminated``."""

    def __init__(self, n_actions: int) -> None:
        self._n_actions = n_actions
        self._tries: dict[Hashable, Array | None] = {}  # of each action; None once it was left, or paid
        self._warned = False

    def add(self, before: Any, action: int, reward: float, after: Any) -> None:
        """Count a step after which the episode goes on; warn once."""
        if self._warned:
            return
        key = _key(before)
        tries = self._tries.get(key)
        if key is None or (tries is None and key in self._tries):
            return
        if reward > 0 or key != _key(after):
            if tries is not None:
                self._tries[key] = None
            return
        if tries is None:
            if len(self._tries) == MOST_REPEATED:
                return
            tries = self._tries[key] = np.zeros(self._n_actions)
        tries[action] += 1
        if tries[action] == TRIES and tries.min() >= TRIES:
            self._warned = True
            warn(
                f"observation {before!s:.60} repeats without end: {tries.sum():.0f} steps, {TRIES} or more by each "
                f"action, led from it to itself and paid nothing. If this is the end of a task, env must say "
                f"terminated; otherwise the agent explores there at every stage",
                UserWarning,
            )


def _key(observation: Any) -> Hashable | None:
    """The same for equal observations; None where that cannot be told cheaply."""
    if isinstance(observation, np.ndarray):
        return None if observation.dtype == object else observation.tobytes()
    try:
        hash(observation)
    except TypeError:
        return None
    found: Hashable = observation
    return found

"""The agent of a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unipac.bandits.protocol.agent import BanditAgent
from unipac.deployment.deployment import Deployment


def fold(
    events: Iterable[Mapping[str, Any]], *, start: Any = None, agent: type[Any] | None = None
) -> BanditAgent:
    """The agent that a log leads to: released rewards are learned in order, at the logged levels.

    It is the agent of ``Deployment.replay(events)``.

    Args:
        events: of a deployment, from the first one on, as dicts (one JSON object per line of a file).
        start: the agent that the deployment was made with, if it had learned before.
        agent: its class, for one of your own.

    Example:
        >>> from unipac import Deployment, OFUL
        >>> deployment = Deployment(OFUL(2))
        >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
        >>> first = deployment.reward("a", 1.0)
        >>> fold(deployment.events()).digest() == deployment.agent.digest()
        True
    """
    return Deployment.replay(events, start=start, agent=agent).agent

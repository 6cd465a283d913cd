"""Errors of a deployment; all are ValueErrors, and a call that fails changes nothing."""

from __future__ import annotations


class Conflict(ValueError):  # noqa: N818
    """The id was used before, with other actions or another reward.

    >>> from unipac import Deployment, OFUL
    >>> deployment = Deployment(OFUL(2))
    >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
    >>> deployment.reward("a", 1.0), deployment.reward("a", 1.0)             # the same again is no conflict
    (True, False)
    >>> deployment.reward("a", 0.0)
    Traceback (most recent call last):
    unipac.deployment.errors.Conflict: value must be the same every time, got 0.0 after 1.0
    """


class Closed(ValueError):  # noqa: N818
    """The decision no longer takes a reward: its window ended without one, or it was forgotten.

    >>> from unipac import Deployment, OFUL
    >>> deployment = Deployment(OFUL(2))
    >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
    >>> deployment.forget("a")
    >>> deployment.reward("a", 1.0)
    Traceback (most recent call last):
    unipac.deployment.errors.Closed: id must be of a decision that takes rewards, got 'a', which is closed
    """


class Unknown(ValueError):  # noqa: N818
    """No decision has this id, or it was closed too long ago to be remembered.

    >>> from unipac import Deployment, OFUL
    >>> Deployment(OFUL(2)).reward("a", 1.0)
    Traceback (most recent call last):
    unipac.deployment.errors.Unknown: id must be of a decision made here, got 'a', which is none, or long closed
    """


class Full(ValueError):  # noqa: N818
    """The largest number of pending decisions, or of sets of actions, is reached.

    >>> from unipac import Deployment, OFUL
    >>> deployment = Deployment(OFUL(2), max_pending=1)
    >>> decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a")
    >>> deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id="b")
    Traceback (most recent call last):
    unipac.deployment.errors.Full: at most 1 decisions may wait (max_pending), got one more
    """


class LogClosed(ValueError):  # noqa: N818
    """The log of this deployment cannot be trusted any more, so nothing is decided: ``Deployment.open`` reads it again.

    The disk did not confirm what was written, the deployment was closed, or this process is a fork of the one that
    writes the log.

    >>> import tempfile
    >>> from unipac import Deployment, OFUL
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     deployment = Deployment(OFUL(2), log=f"{folder}/log")
    ...     deployment.shut()
    ...     deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]])
    Traceback (most recent call last):
    unipac.deployment.errors.LogClosed: ...
    """

"""Decisions in production: late, lost and repeated rewards, verdicts, an alarm, a log that determines all of it.

>>> from unipac import OFUL, deployment
>>> deployment.Deployment(OFUL(2)).decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a").index
0

How it is built: **events are the truth, and a deployment is what they lead to.**

1. ``log``: the kinds of events and what each holds. ``spec`` comes first; ``decide``, ``reward``, ``release`` (a window
   has ended), ``forget``, ``restart``, ``absorb``, ``watch``, ``unwatch`` and ``ask`` follow, each with its time.
2. Every call that changes something prepares (nothing changes), makes an event, then commits in one step in C
   (``unipac._atomic``). With a log on disk the event is appended between the two.
3. ``effects``: what an event does, as a list of changes; a function of the deployment and the event that changes and
   chooses nothing. Calls and ``apply`` use the same, so all events applied to an empty deployment give the same
   ``digest()`` and the same further decisions, bit for bit.
4. ``store``: where events go. ``append``, ``sync``, ``read``, ``find`` and snapshots, whatever lies beneath; ``folder``
   is the one with files. A mark says that the log may have more than the memory; the next call applies it.
5. ``snapshots``: a deployment without its log, at one event. ``open`` is the last sound one and the events after it.
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "deployment.comparing": "Advantage",
        "deployment.deployment": "Deployment",
        "deployment.drift": "Drift",
        "deployment.errors": "Closed Conflict Full LogClosed Unknown",
        "deployment.folding": "fold",
        "deployment.linearity": "Linearity",
        "deployment.watching": "Settled",
    },
)

"""Decisions in production: late, lost and repeated rewards, verdicts, an alarm, a log that determines all of it.

>>> from unipac import OFUL, deployment
>>> deployment.Deployment(OFUL(2)).decide(None, [[1.0, 0.0], [0.0, 1.0]], id="a").index
0

How it is built: **events are the truth, and a deployment is what they lead to.**

1. ``log``: the kinds of events and what each holds. ``spec`` comes first; ``decide``, ``reward``, ``release`` (a window
   has ended), ``forget``, ``restart``, ``absorb``, ``watch``, ``unwatch`` and ``ask`` follow, each with its time.
2. Every call that changes something first prepares (nothing changes), then makes an event, then commits in one step in
   C (``unipac._atomic``). With a log on disk, the event is appended before the commit.
3. ``effects``: what an event does, as a list of changes, computed from the deployment and the event; this itself
   changes nothing and chooses nothing. Calls and ``apply`` use the same lists, so applying all events to an empty
   deployment gives the same ``digest()`` and the same further decisions, bit for bit.
4. ``store``: where events go: ``append``, ``sync``, ``read``, ``find`` and snapshots; ``folder`` is a store in files. A
   mark in the deployment says that the log may have more events than the memory; the next call applies these.
5. ``snapshots``: a deployment without its log, at one event. ``open`` reads the last sound one, and applies the events
   after it.
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

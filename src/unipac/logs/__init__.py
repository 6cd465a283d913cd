"""Logs of decisions: what another policy would have earned, with intervals that are proven, and whether a log is sound.

- `Log`: the actions offered, the one taken, and its reward; `read` reads a log from a file, `uniform` draws one.
- `value` and `compare`: what any policy earns on the contexts of a log, from the confidence set of an agent that has
  learned it. The intervals hold for all policies at once, also for one that was chosen after looking at the log, and
  need no propensities; they assume that expected rewards are linear in the vectors, which `misfit` tests. With
  ``by="weights"`` they come from importance weights instead: these need propensities, and assume no model.
- `replay`: what a learning agent would have earned, from a log of uniform choices (Li et al. 2011).
- `check`: what is wrong with a log.

>>> from unipac import logs
>>> logs.Log([[1.0, 0.0], [0.0, 1.0]], index=[0, 1, 1], rewards=[0.0, 1.0, 1.0])
<Log: 3 rounds, 2 actions in dimension 2, mean reward 0.666667>
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "logs.checking": "check Problem",
        "logs.linearity": "Misfit misfit",
        "logs.log": "Log uniform",
        "logs.events": "from_events",
        "logs.reading": "read from_frame",
        "logs.replaying": "Replay replay",
        "logs.intervals": "Comparison Interval WeightedInterval",
        "logs.values": "compare value",
    },
)

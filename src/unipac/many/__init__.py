"""Many seeds at once, on cores or a GPU: the same kernels, round by round, for every seed.

run           ``play_many``
runs          what it returns
settings      agents and instances as arrays and numbers, and which of them can be played
draws         random numbers that are functions of (seed, round, position)
worlds        what is offered in a round; ``offers``: four actions at a time
optimistic    the rounds of one seed: UPACOFUL, NestedOFUL, OFUL, LinUCB
guarded       the rounds of one seed: Guarded over LinUCB
record        the results of a seed
cores, cuda   the loop over seeds

>>> import unipac
>>> runs = unipac.many.play_many(unipac.LinUCB(2), unipac.envs.sphere(2, 3), rounds=10, seeds=3)
>>> runs.regret.shape
(3, 1)
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__, {"many.run": "DeviceError play_many", "many.runs": "Estimate Runs"}
)

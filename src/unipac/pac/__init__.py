"""Searches that stop: best arms, and planning with a simulator, each with a certificate of the answer.

>>> from unipac import pac
>>> pac.LinGapE([[1.0, 0.0], [0.0, 1.0]]).theorem
'PAC'
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "pac.base": "Answer Batch BestArm Search",
        "pac.episodes": "FunctionSearch",
        "pac.planning": "Planner Solution",
    },
)

"""Linear bandit agents, one algorithm per file.

>>> from unipac import bandits
>>> bandits.NestedOFUL(dim=2, noise=0.1).guarantee
'uniform-PAC'
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "bandits.protocol.agent": "BanditAgent",
        "bandits.protocol.records": "Bounds Decision Level Trace",
    },
)

"""Decisions that provably converge, with a bound on each of them.

>>> import unipac
>>> agent = unipac.NestedOFUL(dim=2, noise=0.1)
>>> decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
>>> agent.update(decision, reward=0.5)

Everything is imported when it is first asked for: ``import unipac`` alone loads neither NumPy nor Numba.
"""

import importlib
import sys

from unipac import _lazy

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "": "bandits data deployment envs features logs many mdp metrics pac registry theory weights",
        "registry": "AGENTS",
        "_agents": "load",
        "bandits.protocol.records": "Bounds Decision Level Trace",
        "mdp.protocol.records": "EpisodeTrace",
        "pac.protocol.records": "Answer Batch",
        "deployment.deployment": "Deployment",
        "many.run": "play_many",
    },
)

if sys.modules.get("gymnasium") is not None:
    importlib.import_module("unipac.envs.gymnasium")  # registers our environments

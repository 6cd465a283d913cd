"""Compile all kernels once, before several processes need the same ones: ``python tests/helpers/warm.py``.

Agents of one package share their kernels, so a package is the work of one process.
"""

from __future__ import annotations

import multiprocessing
import os

from unipac import _warm
from unipac.registry import AGENTS

PACKAGES = ("mdp.linear", "bandits", "mdp.mixture", "mdp.tabular", "pac")
"""Those with the most kernels first."""


def of(package: str) -> dict[str, type]:
    return {name: cls for name, cls in AGENTS.items() if cls.__module__.startswith(f"unipac.{package}.")}


def warm(package: str) -> None:
    _warm.AGENTS = of(package)
    _warm.warm()


if __name__ == "__main__":
    assert sum(len(of(package)) for package in PACKAGES) == len(AGENTS)
    with multiprocessing.get_context("spawn").Pool(min(os.cpu_count() or 1, len(PACKAGES))) as pool:
        pool.map(warm, PACKAGES, chunksize=1)

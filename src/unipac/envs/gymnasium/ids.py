"""Gymnasium ids of the MDPs of this library; this module does not import Gymnasium."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

IDS = {
    "unipac/RiverSwim-v0": "river_swim",
    "unipac/RandomSimplex-v0": "random_simplex",
    "unipac/DeepSea-v0": "deep_sea",
    "unipac/GridWorld-v0": "grid_world",
    "unipac/FrozenLake-v0": "frozen_lake",
    "unipac/Hypercube-v0": "hypercube",
    "unipac/LSVIKiller-v0": "lsvi_killer",
    "unipac/MixtureSwim-v0": "mixture_swim",
    "unipac/RandomMixture-v0": "random_mixture",
    "unipac/HypercubeMixture-v0": "hypercube_mixture",
    "unipac/VTRKiller-v0": "vtr_killer",
}
"""Gymnasium's id of each factory in ``unipac.envs.MDPS``."""


def register() -> None:
    """Register all `IDS` with Gymnasium; ids that are already registered stay as they are."""
    import gymnasium

    for name, factory in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name, entry_point="unipac.envs.gymnasium.env:LinearMDPEnv", kwargs={"mdp": factory}
            )


def register_in_time() -> None:
    """Register now if Gymnasium is already imported, else upon its import, which is slow and not forced here."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Waits for the import of Gymnasium, then removes itself."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Loads Gymnasium with its own loader, then registers the ids."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        register()

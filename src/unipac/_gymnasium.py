"""``gymnasium.make("unipac/RiverSwim-v0")`` works after ``import unipac``, which does not import Gymnasium.

Our environments are registered at the moment when both are there: at once if Gymnasium was imported before
us, else when somebody imports it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def register_when_imported() -> None:
    """Register our environments with Gymnasium, now or when it is imported."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Watch())


def _register() -> None:
    importlib.import_module("unipac.envs.gym")  # it registers them at its end


class _Watch:
    """Waits for the import of Gymnasium, once; everything else is left to others."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The way in which Gymnasium would be imported anyway, and then our environments."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec

"""Completion by the tab key of names of experiments, engines and data sets, and of files."""

from __future__ import annotations

from pathlib import Path


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Built-in experiments with their titles, and TOML files."""
    from unipac.experiments.builtin import EXPERIMENTS

    named = [
        (name, parts[0].title if len(parts) == 1 else "all of them") for name, parts in EXPERIMENTS.items()
    ]
    return [pair for pair in named if pair[0].startswith(incomplete)] + _files(incomplete, ".toml")


def folders(incomplete: str) -> list[tuple[str, str]]:
    """Folders, for the folder of a run."""
    return _files(incomplete, None)


def engines(incomplete: str) -> list[tuple[str, str]]:
    """Engines that run cells, with a description."""
    descriptions = {
        "serial": "one after the other, in this process",
        "processes": "on the cores of this machine",
        "dask": "on a local Dask cluster",
        "dask=tcp://": "on a cluster of yours",
        "many": "all seeds of an agent at once, on the cores",
        "cuda": "all seeds of an agent at once, on a GPU",
    }
    return [pair for pair in descriptions.items() if pair[0].startswith(incomplete)]


def agents(incomplete: str) -> list[str]:
    """Registered agents."""
    from unipac.registry import AGENTS

    return [name for name in AGENTS if name.startswith(incomplete)]


def data_sets(incomplete: str) -> list[str]:
    """Data sets that can be fetched."""
    from unipac.data.files import FILES

    return [name for name in FILES if name.startswith(incomplete)]


def _files(incomplete: str, suffix: str | None) -> list[tuple[str, str]]:
    """Folders, and files with this suffix, whose path begins with ``incomplete``."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    paths = [f"{entry}/" if entry.is_dir() else str(entry) for entry in entries]
    return [
        (path, "") for path in paths if path.startswith(incomplete) and path.endswith(("/", suffix or "/"))
    ]

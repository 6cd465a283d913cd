"""The sections of a report from the folders of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unipac.experiments.builtin import EXPERIMENTS
from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, load
from unipac.experiments.store import SPEC, Store, StoreError
from unipac.report.content import Section
from unipac.report.style import accuracy, number


def sections(folder: str | os.PathLike[str]) -> list[Section]:
    """All experiments of a folder, its own or those of the folders in it, that have a finished cell."""
    root = Path(folder)
    if (root / SPEC).exists():
        return [section(root)]
    found = sorted(file.parent for file in root.glob(f"*/{SPEC}") if any(file.parent.glob("*/*.parquet")))
    if not found:
        raise StoreError(
            f"{root}: holds no run with a finished cell; give the folder that `unipac run` wrote"
        )
    return [section(part) for part in found]


def section(folder: str | os.PathLike[str]) -> Section:
    """The experiment of one folder."""
    store = Store(folder)
    spec = store.spec()
    results = load(folder)
    runs = [line["run"] for line in store.machine() if "run" in line]
    commands = dict.fromkeys(run["command"] for run in runs if run.get("command"))
    return Section(
        name=spec["name"],
        title=spec.get("title") or spec["name"],
        description=spec.get("description") or "",
        results=results,
        findings=_predicted(spec, results),
        parameters=_parameters(spec),
        command="\n".join(commands),
    )


def _predicted(spec: Mapping[str, Any], results: Results) -> list[Finding]:
    """What a built-in experiment predicts; nothing for one of the user's own, whatever its name."""
    known = EXPERIMENTS.get(spec["name"], ())
    ours = len(known) == 1 and known[0].title == spec.get("title")
    return known[0].predict(results) if ours else []


def _parameters(spec: dict[str, Any]) -> dict[str, str]:
    """What was run, by label; the members of a sweep together."""
    told = {"seeds": f"{spec['seeds']:,}"}
    if spec["eps"]:
        told["ε"] = " to ".join(dict.fromkeys(accuracy(end(spec["eps"])) for end in (max, min)))
    families: dict[str, list[dict[str, Any]]] = {}
    for entry in (*spec["agents"], *spec["instances"]):
        families.setdefault(entry["family"], []).append(entry)
    for family, members in families.items():
        kind = members[0].get("agent") or members[0]["instance"]
        names = dict.fromkeys(name for member in members for name in member["parameters"])
        values = {
            name: dict.fromkeys(_short(member["parameters"].get(name)) for member in members)
            for name in names
        }
        arguments = [f"{name}={' | '.join(values[name])}" for name in names]
        told[family] = f"{kind}({', '.join(arguments)})"
    return told


def _short(value: object) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)

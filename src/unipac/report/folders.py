"""The sections of a report from the folders of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unipac.experiments.builtin import EXPERIMENTS
from unipac.experiments.findings import Finding
from unipac.experiments.results import Results, load
from unipac.experiments.store import SPEC, Store, StoreError
from unipac.report.content import Section
from unipac.report.style import accuracy


def sections(folder: str | os.PathLike[str]) -> list[Section]:
    """All experiments of a folder: its own, or those of the folders in it."""
    root = Path(folder)
    if (root / SPEC).exists():
        return [section(root)]
    found = sorted(file.parent for file in root.glob(f"*/{SPEC}"))
    if not found:
        raise StoreError(f"{root}: holds no run; give the folder that `unipac run` wrote")
    return [section(part) for part in found]


def section(folder: str | os.PathLike[str]) -> Section:
    """The experiment of one folder."""
    store = Store(folder)
    spec = store.spec()
    results = load(folder)
    runs = [line["run"] for line in store.machine() if "run" in line]
    commands = dict.fromkeys(run["command"] for run in runs if run["command"])
    return Section(
        name=spec["name"],
        title=spec.get("title") or spec["name"],
        description=spec.get("description") or "",
        results=results,
        findings=_predicted(spec["name"], results),
        parameters=_parameters(spec),
        command="\n".join(commands),
    )


def _predicted(name: str, results: Results) -> list[Finding]:
    """What a built-in experiment predicts; nothing for one of the user's own."""
    known = EXPERIMENTS.get(name, ())
    return known[0].predict(results) if len(known) == 1 else []


def _parameters(spec: dict[str, Any]) -> dict[str, str]:
    """What was run, in words, by label."""
    told = {"seeds": f"{spec['seeds']:,}"}
    if spec["eps"]:
        told["ε"] = f"{accuracy(max(spec['eps']))} to {accuracy(min(spec['eps']))}"
    for entry in (*spec["agents"], *spec["instances"]):
        kind = entry.get("agent") or entry["instance"]
        arguments = ", ".join(f"{key}={value!r}" for key, value in entry["parameters"].items())
        told[entry["label"]] = f"{kind}({arguments})"
    return told

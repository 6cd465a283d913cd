"""Read the sections of a report from the folders of a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unipac.experiments.builtin import EXPERIMENTS
from unipac.experiments.experiment import Experiment
from unipac.experiments.judging import judge
from unipac.experiments.options import Options, check_labels
from unipac.experiments.reading import restored
from unipac.experiments.registry import SpecError
from unipac.experiments.results import load
from unipac.experiments.spec import Spec, digest, meets
from unipac.experiments.store import SPEC, Store, StoreError
from unipac.report.content import Section
from unipac.report.style import accuracy, number


def sections(folder: str | os.PathLike[str], options: Options | None = None) -> list[Section]:
    """The experiment of a folder, or all experiments of its subfolders that have a finished cell.

    Args:
        folder: the folder of one run, or of several runs.
        options: what the report should look like; options that are None are taken from the experiment's file.

    Example:
        With the ``folder`` of a finished run:

        >>> [part.name for part in sections(folder)]
        ['mine']
    """
    root = Path(folder)
    if (root / SPEC).exists():
        return [section(root, options)]
    parts = sorted(file.parent for file in root.glob(f"*/{SPEC}") if any(file.parent.glob("*/*.parquet")))
    if not parts:
        raise StoreError(
            f"{root}: holds no run with a finished cell; give the folder that `unipac run` wrote"
        )
    if options is None or len(parts) == 1:
        return [section(part, options) for part in parts]
    labels = {part: _labels(Store(part).spec()) for part in parts}
    everywhere = list(dict.fromkeys(label for several in labels.values() for label in several))
    check_labels(replace(options, each={}), everywhere, everywhere)
    return [section(part, _about(options, labels[part])) for part in parts]


def _labels(spec: Mapping[str, Any]) -> list[str]:
    entries = (*spec["agents"], *spec["instances"])
    return [entry[key] for entry in entries for key in ("label", "family")]


def _about(options: Options, labels: list[str]) -> Options:
    """The options, without those for labels that this experiment does not have."""
    order = tuple(label for label in options.order or () if label in labels)
    words = {label: word for label, word in options.labels.items() if label in labels}
    return replace(options, order=order or None, labels=words)


def section(folder: str | os.PathLike[str], options: Options | None = None) -> Section:
    """The experiment of one folder; for the options see `sections`.

    With the ``folder`` of a finished run:

    >>> section(folder).name
    'mine'
    """
    store = Store(folder)
    kept = store.spec()
    try:
        spec = restored(kept)
    except (SpecError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{store.root / SPEC}: of another form ({error}); delete it and run again: finished cells are kept"
        ) from None
    results = load(folder)
    runs = [line["run"] for line in store.machine() if "run" in line]
    commands = dict.fromkeys(run["command"] for run in runs if run.get("command"))
    ours = _built_in(kept)
    stated = [judge(p, _places(spec, p.instance, p.agent, p.times), results) for p in spec.predictions]
    return Section(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        results=results,
        findings=[*stated, *(ours.predict(results) if ours else [])],
        parameters=_parameters(kept),
        command="\n".join(commands),
        options=(options or Options()).over(spec.report),
        agents={agent.label: agent.agent for agent in spec.agents},
        conclusion=ours.conclude(results) if ours else [],
        made=_made(kept, runs),
        general=ours is not None and not spec.predictions,
        missing=_missing(spec, store),
    )


def _missing(spec: Spec, store: Store) -> str:
    """How many cells have no result, of which agents; empty if none is missing."""
    done = {table.stem for table in store.cells.glob("*.parquet")}
    lacking = Counter(cell.agent.label for cell in spec.cells() if cell.name not in done)
    if not lacking:
        return ""
    words = ", ".join(f"{count:,} of {label}" for label, count in lacking.items())
    return f"Cells without a result, because they failed or were not run: {words}."


def _built_in(spec: Mapping[str, Any]) -> Experiment | None:
    """The built-in experiment of a folder; None for a user's own, even if it has the name of a built-in one."""
    named = EXPERIMENTS.get(spec["name"], ())
    return named[0] if len(named) == 1 and named[0].title == spec.get("title") else None


def _places(spec: Spec, instance: str | None, *agents: str | None) -> list[str]:
    """The labels of the instances that a prediction is about: those that all its agents play."""
    players = [agent for agent in spec.agents if agent.label in agents]
    return [
        place.label
        for place in spec.instances
        if instance in (None, place.label, place.family) and all(meets(agent, place) for agent in players)
    ]


def _made(spec: Mapping[str, Any], runs: list[dict[str, Any]]) -> dict[str, str]:
    """When, where and by what the results were computed; runs that agree are listed once."""
    details = {
        "computed": [str(run["started"]) for run in runs if run.get("started")],
        "machine": [
            ", ".join(str(run[key]) for key in ("processor", "machine", "system") if run.get(key))
            for run in runs
        ],
        "versions": [
            ", ".join(
                f"{name} {version}"
                for name, version in {**_mapping(run.get("versions")), "python": run.get("python")}.items()
                if version
            )
            for run in runs
        ],
        "engine": [
            str(run["engine"]) + (f", {run['workers']} workers" if run.get("workers") else "")
            for run in runs
            if run.get("engine")
        ],
    }
    joined = {name: "; ".join(dict.fromkeys(filter(None, lines))) for name, lines in details.items()}
    present = {name: text for name, text in joined.items() if text}
    return present | {"digest of the spec": f"sha256:{digest(spec)}"}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _parameters(spec: dict[str, Any]) -> dict[str, str]:
    """What was run, by label; the members of a sweep share one entry."""
    listed = {"seeds": f"{spec['seeds']:,}"}
    if spec["eps"]:
        listed["ε"] = " to ".join(dict.fromkeys(accuracy(end(spec["eps"])) for end in (max, min)))
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
        listed[family] = f"{kind}({', '.join(arguments)})"
    return listed


def _short(value: object) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)

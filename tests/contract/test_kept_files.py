"""Files and logs of every version that is read: their agents load, and decide what they would have decided then."""

import dataclasses
import json

import numpy as np
import pytest

import unipac
from helpers import kept
from unipac import _storage, _versions
from unipac.deployment import fold

FILES = sorted(kept.FOLDER.glob("*.npz"))
REFUSED = [path for path in FILES if "refused" in path.name]
LOADED = [path for path in FILES if path not in REFUSED]
NAME = {"ids": lambda path: path.stem}


def recorded(path):
    return json.loads(path.with_suffix(".json").read_text())


def same(found, expected):
    """Whole numbers are equal; others may differ as processors do."""
    assert [len(row) for row in found] == [len(row) for row in expected]
    for row, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(row, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("path", LOADED, **NAME)
def test_an_agent_of_an_older_file_decides_what_it_would_have_decided(path, tmp_path):
    same(kept.decided(kept.load(path)), recorded(path)["decided"])
    again = tmp_path / path.name
    kept.load(path).save(again)
    assert _storage.read(again)[0]["version"] == _storage.VERSION
    same(kept.decided(kept.load(again)), recorded(path)["decided"])


@pytest.mark.parametrize("path", [path for path in LOADED if "deployment" in path.name], **NAME)
def test_older_events_lead_to_the_same_agent(path):
    deployment = kept.load(path)
    events = recorded(path)["events"]
    assert events == deployment.events()
    assert fold(events).digest() == deployment.agent.digest()
    assert len(unipac.logs.from_events(events)) > 0
    kept.decided(deployment)
    assert fold(deployment.events()).digest() == deployment.agent.digest()


@pytest.mark.parametrize("path", REFUSED, **NAME)
def test_what_cannot_go_on_is_refused_with_a_sentence(path):
    with pytest.raises(ValueError, match="is gone; BallOFUL"):
        unipac.load(path)


@pytest.mark.parametrize("version", _storage.READ)
def test_files_of_each_kind_are_kept_of_every_version(version):
    headers = [_storage.read(path)[0] for path in FILES if path.name.startswith(f"v{version}-")]
    assert {header["version"] for header in headers} == {version}
    assert {header["kind"] for header in headers} == {"bandit", "mdp", "search", "deployment"}


def test_every_changed_class_has_a_file():
    """A line of the table without a file would be a promise that nobody checks."""
    held = [_storage.read(path)[0] for path in FILES]
    for change in _versions.CHANGES:
        assert any(
            header["version"] == 2 and _versions._fits(change, header["agent"], header.get("parameters", {}))
            for header in held
        ), change


WRAPPED = {
    "parameters.": lambda agent: {"kind": "bandit", **agent},
    "parameters.inner.parameters.": lambda agent: {
        "kind": "bandit", "agent": "Outer", "parameters": {"inner": agent, "map": {"map": "Old"}},
    },
    "agent.parameters.": lambda agent: {"kind": "deployment", "agent": agent},
}  # fmt: skip
"""An agent alone, within another, and in a deployment, by the prefix of its arrays."""


@pytest.mark.parametrize("prefix", WRAPPED)
def test_classes_and_parameters_change(prefix, monkeypatch):
    """Where the line fits, and nowhere else."""
    monkeypatch.setattr(_versions, "AGENTS", {"New": dataclasses.make_dataclass("New", ["kept", "now"])})
    change = _versions.Change("Old", {"mode": (1, 2)}, "New", ("gone", "mode", "kept"), {"then": "now"})
    monkeypatch.setattr(_versions, "CHANGES", (change,))
    wrap = WRAPPED[prefix]
    old = {"agent": "Old", "parameters": {"mode": 2, "then": 3, "kept": 4}, "progress": 5}
    new = {"agent": "New", "parameters": {"now": 3, "kept": 4}, "progress": 5}
    header, arrays = _versions.current(
        {"version": 2, **wrap(old)}, {f"{prefix}gone": np.ones(2), f"{prefix}kept": np.ones(3)}
    )
    assert header == {"version": _storage.VERSION, **wrap(new)}
    assert list(arrays) == [f"{prefix}kept"]
    other = {**old, "parameters": {"mode": 3}}
    assert _versions.current({"version": 2, **wrap(other)}, {})[0] == {
        "version": _storage.VERSION,
        **wrap(other),
    }
    assert _versions.current({"version": _storage.VERSION, **wrap(old)}, {})[0] == {
        "version": _storage.VERSION,
        **wrap(old),
    }


def test_an_altered_file_of_an_older_version_is_refused(tmp_path):
    """The control: what the table does not say is compared, not dropped."""
    header, arrays = _storage.read(kept.FOLDER / "v2-guarded.npz")
    header["parameters"]["heuristic"]["parameters"]["another"] = 1
    stream = {**header, "digest": _storage.digest(header, arrays)}
    text = np.frombuffer(json.dumps(stream).encode(), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", header=text, **arrays)
    with pytest.raises(ValueError, match="holds more than what"):
        unipac.load(tmp_path / "a.npz")

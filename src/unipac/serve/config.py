"""The file of the service, in TOML."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unipac import _checks as check
from unipac.serve import specs
from unipac.serve.specs import Spec

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MOST_DEPLOYMENTS = 100
KEYS = (
    "listen", "store", "tokens", "address", "lease", "max_body", "snapshot_every", "linger", "deployments"
)  # fmt: skip


class Config(NamedTuple):
    """What the file says, checked."""

    host: str
    port: int
    store: str
    tokens: Path | None
    address: str
    """Where other instances and their clients reach this one."""
    lease: float
    """Seconds after which another instance may take over, with PostgreSQL."""
    max_body: int
    """The most bytes of a request's body."""
    snapshot_every: int
    """The number of events after which a snapshot is due."""
    linger: float
    """Seconds for which a commit waits for more rows, if several answers wait for it."""
    deployments: dict[str, Spec]


def read(path: Path) -> Config:
    """The configuration of a file; paths in it are relative to its folder."""
    try:
        table = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be TOML, got text that is not ({error})") from None
    return made(table, path.parent)


def made(table: Mapping[str, Any], folder: Path) -> Config:
    """The configuration of a table."""
    for key in table:
        check.require(key in KEYS, "config", f"made of {', '.join(KEYS)}", key)
    host, port = _listen(table.get("listen", "127.0.0.1:8080"))
    tokens = None if table.get("tokens") is None else folder / _text("tokens", table["tokens"])
    if tokens is None and not loopback(host):
        raise ValueError(f"listen must be a loopback address where there are no tokens, got {host!r}")
    shown = f"[{host}]" if ":" in host else host
    listed = table.get("deployments", {})
    check.require(isinstance(listed, Mapping), "deployments", "tables", listed)
    check.require(len(listed) <= MOST_DEPLOYMENTS, "deployments", f"at most {MOST_DEPLOYMENTS}", len(listed))
    return Config(
        host,
        port,
        _store(table.get("store"), folder),
        tokens,
        _text("address", table.get("address", f"http://{shown}:{port}")),
        check.positive("lease", table.get("lease", 5.0)),
        check.count("max_body", table.get("max_body", 2**20), least=1024, most=2**28),
        check.count("snapshot_every", table.get("snapshot_every", 50_000)),
        check.nonnegative("linger", table.get("linger", 0.002)),
        {named("deployments", name): _spec(name, one) for name, one in listed.items()},
    )


def named(argument: str, name: Any) -> str:
    """The name of a deployment."""
    fits = isinstance(name, str) and NAME.fullmatch(name) is not None and set(name) != {"."}
    check.require(fits, argument, "1 to 64 letters, digits, '_', '.' or '-'", name)
    return str(name)


def loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _spec(name: str, table: Any) -> Spec:
    try:
        return specs.made(table, modules=True)
    except ValueError as error:
        raise ValueError(f"deployments.{name}: {error}") from None


def _text(name: str, value: Any) -> str:
    check.require(isinstance(value, str) and value != "", name, "text", value)
    return str(value)


def _listen(value: Any) -> tuple[str, int]:
    host, _, port = _text("listen", value).rpartition(":")
    fits = host != "" and port.isascii() and port.isdigit() and int(port) < 65536
    check.require(fits, "listen", "host:port", value)
    return host.removeprefix("[").removesuffix("]"), int(port)


def _store(value: Any, folder: Path) -> str:
    text = _text("store", value)
    kind, _, rest = text.partition(":")
    if kind == "sqlite" and rest:
        return f"sqlite:{folder / rest}"
    fits = kind in ("postgresql", "postgres")
    check.require(fits, "store", "sqlite:FILE or postgresql://...", kind)
    return text

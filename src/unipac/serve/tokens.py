"""Tokens: 32 random bytes, shown once; the file holds only their SHA-256.

A line of the file: name, scopes, deployment (``*`` for all), SHA-256 in hex, separated by spaces.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from unipac import _checks as check, _storage as storage

SCOPES = ("read", "decide", "reward", "export", "metrics", "admin")
ALL = "*"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Token(NamedTuple):
    """What is kept of a token."""

    name: str
    scopes: frozenset[str]
    deployment: str
    """Its name, or ``*``."""
    digest: bytes

    def allows(self, scope: str, deployment: str | None) -> bool:
        """Whether it allows this; what is not about a single deployment needs a token for all of them."""
        return scope in self.scopes and self.deployment in (ALL, deployment)

    def line(self) -> str:
        """As the file has it."""
        return f"{self.name} {','.join(sorted(self.scopes))} {self.deployment} {self.digest.hex()}\n"


def made(name: str, scopes: Iterable[str], deployment: str = ALL) -> tuple[str, Token]:
    """A new token, and what is kept of it."""
    check.require(_NAME.fullmatch(name) is not None, "name", "1 to 64 letters, digits, '_', '.' or '-'", name)
    told = frozenset(scopes)
    unknown = sorted(told - set(SCOPES))
    check.require(bool(told) and not unknown, "scopes", f"of {', '.join(SCOPES)}", unknown or "none")
    fits = deployment == ALL or _NAME.fullmatch(deployment) is not None
    check.require(fits, "deployment", "the name of a deployment, or *", deployment)
    secret = secrets.token_urlsafe(32)
    return secret, Token(name, told, deployment, digest_of(secret))


def digest_of(secret: str) -> bytes:
    """The SHA-256 of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def read(path: Path) -> list[Token]:
    """The tokens of a file that only its owner may read."""
    mode = os.stat(path).st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(
            f"tokens must be a file that only its owner can read (chmod 600 {path}), got {mode & 0o777:o}"
        )
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, scopes, deployment, digest = line.split()
            token = Token(name, frozenset(scopes.split(",")), deployment, bytes.fromhex(digest))
            if len(token.digest) != 32 or not token.scopes <= set(SCOPES):
                raise ValueError
        except ValueError:
            raise ValueError(
                f"tokens must have lines 'name scopes deployment sha256', got another in line {number}"
            ) from None
        found.append(token)
    return found


def add(path: Path, token: Token) -> None:
    """Put a token into a file; one of the same name is replaced."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    kept = [one for one in read(path) if one.name != token.name]
    storage.write_atomically(path, "".join(one.line() for one in (*kept, token)).encode())


def find(tokens: Iterable[Token], header: str) -> Token | None:
    """The token of an ``Authorization`` header; all are compared, each in constant time."""
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        return None
    digest, found = digest_of(secret), None
    for token in tokens:
        if hmac.compare_digest(digest, token.digest):
            found = token
    return found

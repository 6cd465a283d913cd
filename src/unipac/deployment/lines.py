"""Records as lines of a file: checksum, chain, and the three parts; blanked parts leave their digest.

    crc32 <tab> chain <tab> rest <tab> context <tab> vectors <newline>

The chain after a record is the SHA-256 of the chain before it, the digests of context and vectors, and the rest; the
line holds its first 8 bytes. So a changed, missing or moved record is noticed, while a part can be blanked without
breaking the chain. No part contains a tab or an end of line, since JSON escapes them.
"""

from __future__ import annotations

import binascii
import hashlib
import zlib
from typing import NamedTuple

import msgspec

from unipac._actions import Label
from unipac.deployment.store import Record

FORMAT = "unipac log"
VERSION = 1
BEGIN = bytes(16)
"""The chain before the first record."""
EMPTY = bytes(16)
"""The digest of a part that is not there."""
EMPTY_BOTH = EMPTY + EMPTY
BLANK = b"~"


class Head(msgspec.Struct):
    """The fields of a record that a store needs."""

    seq: int
    kind: str
    id: str | int | None = None
    wall: float | None = None


head = msgspec.json.Decoder(Head).decode
"""The head of a record's rest."""


class Line(NamedTuple):
    """A line that was read."""

    record: Record
    chain: bytes
    """The chain after the line."""


def header(segment: int, after: int, chain: bytes) -> bytes:
    """The first line of a segment, which begins after an event."""
    told = {"format": FORMAT, "version": VERSION, "segment": segment, "after": after, "chain": chain.hex()}
    return msgspec.json.encode(told) + b"\n"


def begun(line: bytes) -> tuple[int, int, bytes]:
    """Segment, event and chain of a first line; a ``ValueError`` if it is not one."""
    try:
        told = msgspec.json.decode(line)
        found = told["segment"], told["after"], bytes.fromhex(told["chain"])
        if header(*found) == line:
            return found
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):
        pass
    raise ValueError("the first line must be that of a segment of this version") from None


def _digest(part: bytes) -> bytes:
    if not part:
        return EMPTY
    if part.startswith(BLANK):
        return bytes.fromhex(part[1:].decode())
    return hashlib.sha256(part).digest()[:16]


def blanked(part: bytes) -> bytes:
    """The part after blanking: its digest."""
    return part if not part or part.startswith(BLANK) else BLANK + _digest(part).hex().encode()


def chained(rest: bytes, context: bytes, vectors: bytes, chain: bytes) -> bytes:
    """The chain after a record of these parts."""
    both = EMPTY_BOTH if not context and not vectors else _digest(context) + _digest(vectors)
    return hashlib.sha256(chain + both + rest).digest()[:16]


def joined(rest: bytes, context: bytes, vectors: bytes, chain: bytes) -> tuple[bytes, bytes]:
    """The line of these parts, after a chain, and the chain after it."""
    after = chained(rest, context, vectors, chain)
    content = b"\t".join((binascii.hexlify(after[:8]), rest, context, vectors)) + b"\n"
    return b"%08x\t" % zlib.crc32(content) + content, after


def parts(line: bytes) -> list[bytes]:
    """Rest, context and vectors of a line whose checksum is right."""
    if line[8:9] != b"\t" or b"%08x" % zlib.crc32(line[9:]) != line[:8]:
        raise ValueError("its checksum is another")
    told = line[:-1].split(b"\t")
    if len(told) != 5 or not line.endswith(b"\n"):
        raise ValueError("it does not have five parts")
    return told[1:]


def record_of(told: list[bytes]) -> Record:
    """The record of a line's parts."""
    _, rest, context, vectors = told
    try:
        first = head(rest)
    except msgspec.MsgspecError as error:
        raise ValueError(f"it is no event ({error})") from None
    name: Label | None = first.id if first.kind == "decide" else None
    gone = context.startswith(BLANK), vectors.startswith(BLANK)
    return Record(first.seq, first.kind, name, first.wall, rest, *(
        None if blank else part for blank, part in zip(gone, (context, vectors), strict=True)
    ))  # fmt: skip


def read(line: bytes, chain: bytes) -> Line:
    """The record of a line that follows on a chain; a ``ValueError`` if it does not."""
    told = parts(line)
    check, rest, context, vectors = told
    after = chained(rest, context, vectors, chain)
    if binascii.hexlify(after[:8]) != check:
        raise ValueError("it does not follow on the record before it")
    return Line(record_of(told), after)

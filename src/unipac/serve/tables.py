"""What both databases share: the tables, and how parts of a record are blanked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any

from unipac.deployment import lines

TABLES = """
create table if not exists format(version {integer} not null);
create table if not exists deployment(number {identity}, name text not null unique, spec text not null);
create table if not exists event(
    deployment {integer} not null, seq {integer} not null, kind text not null, id text, wall {real},
    body {bytes} not null, context {bytes} not null, vectors {bytes} not null, chain {bytes} not null,
    primary key(deployment, seq, kind)){clustered};
create unique index if not exists event_of_id on event(deployment, id, kind) where id is not null;
create table if not exists snapshot(
    deployment {integer} not null, seq {integer} not null, body {bytes} not null, series {bytes} not null,
    primary key(deployment, seq));
create table if not exists piece(
    deployment {integer} not null, name {bytes} not null, place {integer} not null, body {bytes} not null,
    primary key(deployment, name, place));
"""
"""The index allows one event per id and kind: nothing is decided or rewarded twice, whatever a writer believes.

A snapshot is stored in pieces, so that writing it delays nobody for long, and its body is the name of the pieces. In
older files the body is the whole snapshot.
"""

NAME = 16
"""The length of the random name of pieces; a body that is a whole snapshot is longer."""
ADD_PIECE = "insert into piece values(?, ?, ?, ?)"
DROP_PIECE = """delete from piece where deployment = ? and (name, place) in (select name, place from piece
    where deployment = ? and name not in (select body from snapshot where deployment = ?) limit 1)"""
KEEP = """insert into snapshot select ?, ?, ?, ?
    where (select count(*) from piece where deployment = ? and name = ?) = ?
    on conflict(deployment, seq) do update set body = excluded.body, series = excluded.series"""
DROP_OLD = """delete from snapshot where deployment = ? and seq not in
    (select seq from snapshot where deployment = ? order by seq desc limit ?)"""
SNAPSHOTS_OF = "select seq, body from snapshot where deployment = ? order by seq desc"
PIECES_OF = "select body from piece where deployment = ? and name = ? order by place"
KEPT = "select seq from snapshot where deployment = ? order by seq desc"
TO_BLANK = """select seq, wall, context, vectors from event where deployment = ? and kind = 'decide' and seq > ?
    order by seq limit 1000"""
BLANK = "update event set context = ?, vectors = ? where deployment = ? and seq = ? and kind = 'decide'"
LAST_SERIES = "select seq, series from snapshot where deployment = ? order by seq desc limit 1"


def blank(
    read: Callable[[int], list[Any]],
    write: Callable[[list[tuple[bytes, bytes, int]]], object],
    before: float,
    through: int,
    after: int,
) -> tuple[int, int]:
    """As ``Database.blank``; ``read`` gives the rows of ``TO_BLANK``, ``write`` does ``BLANK`` for some rows."""
    count = 0
    last = after
    while rows := read(last):
        old = list(takewhile(lambda row: row[1] < before, rows))
        changed = list(_blanked(old, through))
        if changed:
            write(changed)
        count += len(changed)
        last = old[-1][0] if old else last
        if len(old) < len(rows):
            break
    return count, max(after, min(last, through))


def _blanked(rows: Iterable[tuple[Any, ...]], through: int) -> Iterator[tuple[bytes, bytes, int]]:
    """The blanked context and vectors of the rows that blanking changes, and their numbers."""
    for seq, _, context, vectors in rows:
        told = bytes(context), bytes(vectors)
        left = lines.blanked(told[0]), lines.blanked(told[1]) if seq <= through else told[1]
        if left != told:
            yield *left, seq


def whole(body: bytes, pieces_of: Callable[[bytes], Iterable[tuple[bytes]]]) -> bytes:
    """The whole snapshot, from the body of its row."""
    return b"".join(piece for (piece,) in pieces_of(body)) if len(body) == NAME else body

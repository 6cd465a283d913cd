"""What both databases share: the tables, and how parts of a record are blanked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
LAST_SERIES = "select seq, series from snapshot where deployment = ? order by seq desc limit 1"


def blanked(rows: Iterable[tuple[Any, ...]], through: int) -> Iterator[tuple[int, bytes, bytes]]:
    """The rows (seq, context, vectors) that blanking changes, each with the blanked context and vectors."""
    for seq, context, vectors in rows:
        told = bytes(context), bytes(vectors)
        left = lines.blanked(told[0]), lines.blanked(told[1]) if seq <= through else told[1]
        if left != told:
            yield seq, *left


def whole(body: bytes, pieces_of: Callable[[bytes], Iterable[tuple[bytes]]]) -> bytes:
    """The whole snapshot, from the body of its row."""
    return b"".join(piece for (piece,) in pieces_of(body)) if len(body) == NAME else body

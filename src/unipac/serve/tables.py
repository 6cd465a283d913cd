"""What both databases share: the tables, and how parts of a record are blanked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from unipac.deployment import lines

TABLES = """
create table if not exists format(version {integer} not null);
create table if not exists deployment(number {identity}, name text not null unique, spec text not null);
create table if not exists event(
    deployment {integer} not null, seq {integer} not null, kind text not null, id text, wall {real},
    body {bytes} not null, context {bytes} not null, vectors {bytes} not null, chain {bytes} not null,
    primary key(deployment, seq, kind));
create unique index if not exists event_of_id on event(deployment, id, kind) where id is not null;
create table if not exists snapshot(
    deployment {integer} not null, seq {integer} not null, body {bytes} not null, series {bytes} not null,
    primary key(deployment, seq));
"""
"""The event of an id and kind exists once: nothing is decided or rewarded twice, whatever a writer believes."""


def blanked(rows: Iterable[tuple[Any, ...]], through: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Of rows (seq, context, vectors) those that change: (seq, what is left of the context, of the vectors)."""
    for seq, context, vectors in rows:
        told = bytes(context), bytes(vectors)
        left = lines.blanked(told[0]), lines.blanked(told[1]) if seq <= through else told[1]
        if left != told:
            yield seq, *left

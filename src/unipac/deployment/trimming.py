"""How personal data leaves a segment: contexts and vectors are blanked, their digests stay in the chain."""

from __future__ import annotations

from pathlib import Path

from unipac import _storage as storage
from unipac._actions import Label
from unipac.deployment import lines


def has_older(path: Path, before: float) -> bool:
    """Whether the first decision of a segment was made before a time."""
    with open(path, "rb") as file:
        file.readline()
        for line in file:
            record = lines.record_of(lines.parts(line))
            if record.kind == "decide":
                return (record.wall or 0.0) < before
    return False


def trim(path: Path, before: float, through: int) -> tuple[int, int, list[tuple[Label, int, int]]]:
    """Blank contexts of decisions before a time, and their vectors up to an event.

    Returns:
        How many decisions were blanked; how many still hold a context or vectors; and for each decision that moved,
        (id, offset before, offset after).
    """
    count, left_over, made = 0, 0, []
    moved: list[tuple[Label, int, int]] = []
    with open(path, "rb") as file:
        first = file.readline()
        chain = lines.begun(first)[2]
        made.append(first)
        at = offset = len(first)
        for line in file:
            try:
                told, record = lines.parts(line), lines.read(line, chain).record
            except ValueError as error:
                raise ValueError(
                    f"log must be as it was written, got {path.name}, byte {at}: {error}"
                ) from None
            _, rest, context, vectors = told
            if record.kind == "decide" and (record.wall or 0.0) < before:
                left = lines.blanked(context), lines.blanked(vectors) if record.seq <= through else vectors
                count += left != (context, vectors)
                context, vectors = left
            if record.kind == "decide":
                left_over += any(part and not part.startswith(lines.BLANK) for part in (context, vectors))
            new, chain = lines.joined(rest, context, vectors, chain)
            if offset != at and record.id is not None:
                moved.append((record.id, at, offset))
            at, offset = at + len(line), offset + len(new)
            made.append(new)
    if count:
        storage.write_atomically(path, b"".join(made))
    return count, left_over, moved if count else []

"""Gives the state after the agreed branch's records, at any offset of the branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.check.replay_fold import Watch
from replica.doctor.timeline.branch import Branch
from replica.doctor.timeline.changes import (
    FROM_SNAPSHOT,
    ChangeWalk,
    LoggedChange,
    UnknownOffsets,
)
from replica.metadata.changes.naming import name_of
from replica.metadata.redact import Redactor


class StateEntity(NamedTuple):
    """An entity of the state."""

    entity: str
    """The kind of the entity."""
    key: str
    """The key of the entity in the image, as text."""
    name: str
    """The key of the entity as people read it."""
    value: str
    """The fields of the entity as JSON."""
    offset: int | None
    """The offset of the record that last changed the entity; None if a snapshot gave the entity,
    and no record has changed it since."""
    at: int | None = None
    """The time at which the change at `offset` took effect, in ms since 1970 (UTC); None if
    `offset` is None."""


def state_at(
    branch: Branch,
    end_offset: int,
    redactor: Redactor | None,
    watch: Watch | None = None,
    take: Callable[[LoggedChange], None] | None = None,
) -> list[StateEntity] | UnknownOffsets | None:
    """The entities after the records below `end_offset`, sorted by entity and key. Changes of an
    open transaction are left out. Returns UnknownOffsets if the directories don't show the state,
    and None if they hold nothing below `end_offset`.

    redactor: removes secrets; None to keep them. watch: receives the progress. take: receives each
    change that led to the state.
    """
    pieces = tuple(
        replace(piece, end=min(piece.end, end_offset))
        for piece in branch.pieces
        if piece.start < end_offset
    )
    walk = ChangeWalk(replace(branch, pieces=pieces, tails=()), redactor, watch)
    times = {}
    for change in walk.changes():
        times[change.offset] = change.at
        if take is not None:
            take(change)
    image = walk.image_at(end_offset)
    if image is None:
        return walk.unknown[-1] if walk.unknown else None
    names = image.tables["topics"].values
    found = []
    for kind, key, value in image.items():
        offset = image.tables[kind.table].offsets[key]
        since = None if offset == FROM_SNAPSHOT else offset
        name = name_of(kind, key, value, names)
        text = kind.value_text(key, value)
        at = times.get(offset)
        found.append(StateEntity(kind.name, kind.key_text(key), name, text, since, at))
    return sorted(found, key=lambda held: (held.entity, held.key))


def end_at(branch: Branch, at: int) -> int | None:
    """The end offset (exclusive) of the records up to the time `at` (ms since 1970, UTC;
    inclusive). If times go back, the last batch that begins at `at` or earlier decides. None if no
    record is that old."""
    found = None
    for piece in branch.pieces:
        for segment, batch in piece.batches():
            if batch.header.base_timestamp <= at:
                found = piece, segment, batch
    if found is None:
        return None
    piece, segment, batch = found
    if batch.header.max_timestamp <= at:
        return min(batch.header.next_offset, piece.end)
    ends = [
        record.offset + 1
        for _, record in piece.examined.records(batch.header.base_offset, batch.header.next_offset)
        if record.timestamp <= at
    ]
    return max(ends, default=batch.header.base_offset)


def last_time(branch: Branch) -> int:
    """The newest time of the branch's batches, in ms since 1970 (UTC); 0 without batches. If times
    go back, a batch before the last one may have it."""
    times = (batch.header.max_timestamp for piece in branch.pieces for _, batch in piece.batches())
    return max(times, default=0)

"""The versions and changes of a part, made from its steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pipelines.replay.entries import Entries, LogEntry
from pipelines.replay.partitions import Partitions, PartitionsReplay
from pipelines.replay.parts import Begin, End, LostRecords, Part, Step
from pipelines.replay.written import (
    CHANGE,
    OF_CHANGE,
    OF_RANGE,
    OF_VERSION,
    RANGE,
    VERSION,
    Since,
    written_rows,
)
from replica.metadata.changes.named_changes import ChangeNamer, topic_names_around
from replica.metadata.changes.naming import name_of
from replica.metadata.image.image import Image
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.replay import Refusal, ReplayedRecord
from replica.metadata.image.versions import VersionedReplay, Write
from replica.metadata.record import UnknownRecord

_ROWS_AT_ONCE = 8192


class History:
    """Holds the open versions, and the rows of ended versions. It must get the steps of one part in
    their order."""

    def __init__(self, part: Part) -> None:
        self._versions: list[tuple[Any, ...]] = []
        self._ranges: list[tuple[Any, ...]] = []
        self._part = part
        self._of = PartitionsReplay(part)
        self._partitions = Partitions(part.cluster_id)

    def image(self) -> Image:
        """The state of the run after the last step."""
        self._partitions.hand_over(self._of)
        return self._of.replay.image()

    def read(self, entries: Entries) -> Iterator[tuple[ReplayedRecord, Refusal]]:
        """Applies a step of entries. Gives (record, refusal) for the records that can't be applied,
        in the order of offsets. Records that only `refused` counts are left out."""
        row = 0
        while row < len(entries):
            row = self._partitions.take(entries, row, self._of)
            if row < len(entries):
                entry = entries.entry(row)
                self._partitions.before(entry.record, entries, self._of)
                self._apply(entry, entries, row)
                refusal = self._of.replay.refusal
                if refusal is not None:
                    self._of.is_explained |= self._part.owns_record(entry.record)
                    yield entry.record, refusal
                row += 1
        self._partitions.tell(entries, self._of)

    def refused(self) -> int:
        """The number of records since the last call that can't be applied, and that `read` didn't
        give. All of them belong to this part, and come after the first such record of the run."""
        count, self._of.refused = self._of.refused, 0
        return count

    def take(self, step: Step) -> None:
        """Applies a step other than entries. For LostRecords it reads their entries."""
        if isinstance(step, Begin):
            self._begin(step)
        elif isinstance(step, LostRecords):
            self._tell_tail(step)
        elif isinstance(step, End):
            self._end(step)

    def _begin(self, step: Begin) -> None:
        """Begins a run. The entities of its snapshot are valid from the snapshot's
        last record on."""
        before, replay = self._of, VersionedReplay(step.image)
        self._of = PartitionsReplay(
            self._part, replay, changes=before.changes, batches=before.batches
        )
        self._partitions.forget()
        base = step.run.base
        if step.run.start == 0 or base is None:
            return
        since = Since(base.end_offset - 1, base.timestamp_us, base.epoch, None, None)
        for kind, key, _ in step.image.items():
            self._of.opened[kind.name, key] = kind, since

    def _apply(self, entry: LogEntry, entries: Entries, row: int) -> None:
        writes = self._of.replay.apply(entry.offset, entry.record)
        if not writes:
            return
        names = topic_names_around(writes, self._of.replay.state.topics.values)
        for write in writes:
            self._write(write, entry, names)
        self._partitions.learn(writes, entries, row, self._of)
        self._tell(self._of.namer, writes, entry, names)

    def _tell_tail(self, tail: LostRecords) -> None:
        """Adds the changes of a superseded branch, up to a record that this release doesn't know.
        No version of a superseded branch is ever valid."""
        self._partitions.hand_over(self._of)
        replay, namer = self._of.replay.copy(), ChangeNamer(self._of.namer.former)
        for entry in tail.entries:
            if isinstance(entry.record, UnknownRecord):
                return
            writes = replay.apply(entry.offset, entry.record)
            names = topic_names_around(writes, replay.state.topics.values)
            self._tell(namer, writes, entry, names)

    def _end(self, step: End) -> None:
        """Ends a run. Versions that are open at the log's end stay open. Where a run ends earlier,
        its open versions end with the run, at an unknown time."""
        if self._part.bucket == 0:  # every part sees the same runs
            self._ranges.append((step.run.base_offset, step.run.end))
        to_offset = None if step.is_log_end else step.run.end
        tables = self._of.replay.image().tables
        names = tables["topics"].values
        for (_, key), (kind, since) in self._of.opened.items():
            if not (self._partitions.are_open and kind.name == "partition"):
                value = tables[kind.table].values[key]
                self._add_version(kind, key, value, since, (to_offset, None), names)
        self._of.batches += self._partitions.end(to_offset)
        self._of.opened = {}

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows for a batch."""
        count = len(self._versions) + len(self._of.changes)
        return bool(self._of.batches) or count >= _ROWS_AT_ONCE

    def taken(self) -> Iterator[pa.RecordBatch]:
        """Gives the rows made so far, and then forgets them."""
        yield from self._of.batches
        self._of.batches.clear()
        told = (
            (VERSION, self._versions, OF_VERSION),
            (CHANGE, self._of.changes, OF_CHANGE),
            (RANGE, self._ranges, OF_RANGE),
        )
        for what, rows, columns in told:
            if rows:
                yield written_rows(
                    rows, columns, {"what": what, "cluster_id": self._part.cluster_id}
                )
                rows.clear()

    def _write(self, write: Write, entry: LogEntry, names: Mapping[str, str]) -> None:
        kind, key = write.kind, write.key
        if write.old is not None:
            _, since = self._of.opened.pop((kind.name, key))
            until = entry.offset, entry.timestamp_us
            self._add_version(kind, key, write.old, since, until, names)
        if write.new is not None:
            offset, timestamp_us, leader_epoch = entry[:3]
            since = Since(offset, timestamp_us, leader_epoch, write.offset, write.record_type)
            self._of.opened[kind.name, key] = kind, since

    def _add_version(
        self,
        kind: EntityKind,
        key: Any,
        value: Any,
        since: Since,
        until: tuple[int | None, int | None],
        names: Mapping[str, str],
    ) -> None:
        """Adds a version. until: the offset (exclusive) and the time of the version's end, in us
        since 1970; None where the version is open or the value is unknown."""
        if not self._owns(kind, key):
            return
        name, value_text = name_of(kind, key, value, names), kind.value_text(key, value)
        offset, timestamp_us, leader_epoch, record_offset, record_type = since
        what = kind.name, kind.key_text(key), name, value_text
        when = offset, until[0], timestamp_us, until[1]
        self._versions.append((*what, *when, leader_epoch, record_offset, record_type))

    def _tell(
        self,
        namer: ChangeNamer,
        writes: list[Write],
        entry: LogEntry,
        names: Mapping[str, str],
    ) -> None:
        _, timestamp_us, leader_epoch, commitment, _ = entry
        for write, name, change in namer.named(writes, names):
            kind, key = write.kind, write.key
            if self._owns(kind, key):
                what = kind.name, kind.key_text(key), name
                when = timestamp_us, leader_epoch, write.offset, write.record_type
                self._of.changes.append((*what, *when, *change, commitment))

    def _owns(self, kind: EntityKind, key: Any) -> bool:
        """Whether this part writes the entity's versions. Records that every part gets have state
        only for topics; all other records are here because this part owns their key."""
        return kind.name != "topic" or self._part.owns(kind.name, key)

"""Replays partitions by a kernel, and gives their versions and changes as columns of Arrow.

    replay = PartitionVersions()
    row = replay.take(rows, 0, explained=False)      # replica.scan.version_input; where it stopped
    replay.reported_versions(), replay.reported_changes()

The kernel takes records of partitions whose topics it knows. The caller gives every other record to
a replica.metadata.image.VersionedReplay: before it, `changed` gives the kernel's changes for this
replay, and after it, `learn` gives the result to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from replica.message.primitives import uuid_text
from replica.metadata.image.partition import Partition
from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.columns import bitmap
from replica.scan.compiled import open_versions, write_versions
from replica.scan.native import Bytes, Longs, flat
from replica.scan.replay_slots import SlotArrays, grown
from replica.scan.tables import MAX_WIDTH, SLACK
from replica.scan.version_input import VersionRows

_MIB = 1024 * 1024
_ROOMS = (1 * _MIB, 2 * _MIB, 12 * _MIB, 2 * _MIB, 3 * _MIB, 6 * _MIB, 10 * _MIB)
"""The most bytes of texts in one call, for each kind of text."""
_FIRST_SLOTS, _FIRST_ARENA = 4096, _MIB
_UUID_BYTES = 16


class ValidFrom(NamedTuple):
    """When a version became valid: the SINCE columns of version_tables, and the record's offset."""

    offset: int
    time: int
    epoch: int
    record_offset: int
    record_type: int


class HeldPartition(NamedTuple):
    """A partition in the kernel."""

    key: tuple[str, int]
    """The topic id and the partition id."""
    value: Partition
    since: ValidFrom


class NewTopic(NamedTuple):
    """A topic that the kernel created."""

    topic_id: str
    name: str
    row: int
    """The row that created the topic."""
    offset: int
    """The offset of the row that created the topic."""
    time: int
    """The time of the row that created the topic, in ms since 1970 (UTC)."""
    epoch: int
    """The leader epoch of the row that created the topic."""


class ReportedVersions(NamedTuple):
    """Columns of versions that ended. `offset`, `time`, `epoch`, `record_offset` and `record_type`
    are the fields of ValidFrom; `key`, `name` and `value` are texts."""

    row: Longs
    """The row that ended the version; -1 for a version that is still valid."""
    offset: Longs
    time: Longs
    epoch: Longs
    record_offset: Longs
    record_type: Longs
    key: pa.Array
    name: pa.Array
    value: pa.Array


class ReportedChanges(NamedTuple):
    """Columns of changes. key, name, old and new are texts."""

    row: Longs
    """The row that made the change."""
    change: Longs
    """The index of the type of change in version_tables.CHANGES."""
    key: pa.Array
    name: pa.Array
    old: pa.Array
    """The value before the change; NULL if the partition is new."""
    new: pa.Array


class PartitionVersions(SlotArrays):
    """The partitions of all existing topics, by the records given to `take` and `learn`."""

    def __init__(self) -> None:
        slots = np.empty(_FIRST_SLOTS * t.SLOT_COLUMNS, np.int64)
        super().__init__(slots, np.empty(_FIRST_ARENA, np.uint8), v.STATE_ITEMS)
        ends = np.cumsum(_ROOMS)
        self.state[v.TEXT_FIRST : v.TEXT_FIRST + v.TEXTS] = ends - _ROOMS
        self.state[v.TEXT_END : v.TEXT_END + v.TEXTS] = ends - SLACK
        self._texts: Bytes = np.empty(int(ends[-1]), np.uint8)
        self._numbers: Longs = np.empty(v.NUMBER_COLUMNS * v.MAX_REPORTED, np.int64)
        self._places: Longs = np.zeros(MAX_WIDTH, np.int64)
        self._topics: dict[str, int] = {}
        self._lists: dict[int, tuple[int, ...] | tuple[str, ...]] = {}
        self._topics_known = 0
        self._kernel = write_versions.load()
        self.make_index(with_hashes=True)
        self._flatten()
        self._clear_report()

    def take(self, rows: VersionRows, low: int, *, explained: bool) -> int:
        """Replay the rows from `low` on. Returns the row at which the kernel stopped; `is_full`
        gives the reason.

        explained: whether rows that can't be applied are only counted, in `refused`, instead of
            stopping.
        """
        self.state[v.REPORT_SILENT : v.REPORT_TOPIC + 1] = 0, -1
        self.state[t.STATE_REFUSED : t.STATE_EXPLAINED + 1] = 0, explained
        return self._run(rows, low, rows.count)

    @property
    def refused(self) -> int:
        """The number of rows of the last `take` that can't be applied, without the row at which the
        kernel stopped."""
        return int(self.state[t.STATE_REFUSED])

    @property
    def is_full(self) -> bool:
        """Whether the last `take` stopped for lack of room. If True, `take` can continue after the
        caller has read the reports. If False, the scalar replay must take the row at which the
        kernel stopped."""
        has_reported = self.state[v.REPORT_VERSIONS] or self.state[v.REPORT_CHANGES]
        return bool(self.state[t.STATE_STOP] == v.STOP_FULL and has_reported)

    def learn(self, rows: VersionRows) -> None:
        """Replay rows without giving versions or changes for them. A TOPIC_RECORD or
        REMOVE_TOPIC_RECORD among them removes all partitions of the topic."""
        self.state[v.REPORT_SILENT] = 1
        row = 0
        while row < rows.count:
            end = row + 1 if rows.topics else rows.count
            stopped = self._run(rows, row, end)
            assert stopped == end, "what the scalar replay has from records is sound"
            if rows.topics:
                self._topics[rows.topics[row]] = int(self.state[v.REPORT_TOPIC])
            row = end

    def learn_topic(self, rows: VersionRows, row: int, topic_id: str) -> bool:
        """Do the same as `learn` for one row of a log, which is about this topic. Returns False if
        the kernel can't read the row."""
        self.state[v.REPORT_SILENT], self.state[v.REPORT_TOPIC] = 1, -1
        self._run(rows, row, row + 1)
        topic = int(self.state[v.REPORT_TOPIC])
        if topic >= 0:
            self._topics[topic_id] = topic
        return topic >= 0

    def _run(self, rows: VersionRows, low: int, high: int) -> int:
        row = low
        while True:
            row = self._kernel(*rows.flat, row, high, *self._flat)
            if self.state[t.STATE_STOP] != v.STOP_SLOTS:
                return row
            self._grow(int(rows.sizes[row]))

    def reported_versions(self) -> ReportedVersions:
        """The versions that ended since the last call. Callers read the versions before they read
        the reported changes."""
        count = int(self.state[v.REPORT_VERSIONS])
        numbers = (self._column(k, count) for k in range(v.VERSION_KEY_END))
        texts = (
            self._text(which, self._column(v.VERSION_KEY_END + k, count))
            for k, which in enumerate((v.V_KEY, v.V_NAME, v.V_VALUE))
        )
        return ReportedVersions(*numbers, *texts)

    def reported_changes(self) -> ReportedChanges:
        """The changes since the last call. The kernel then forgets these changes and versions."""
        count = int(self.state[v.REPORT_CHANGES])
        numbers = (self._column(k, count) for k in (v.CHANGE_ROW, v.CHANGE_TYPE))
        texts = [
            self._text(which, self._column(v.CHANGE_KEY_END + k, count))
            for k, which in enumerate((v.C_KEY, v.C_NAME, v.C_OLD, v.C_NEW))
        ]
        row, change = numbers
        texts[2] = _without(texts[2], change == v.CREATED)
        self._clear_report()
        return ReportedChanges(row, change, *texts)

    def open_versions(self) -> Iterator[ReportedVersions]:
        """The versions that are valid now. The caller must have read the earlier reports."""
        slot = 0
        while slot < self.state[t.STATE_SLOTS]:
            before = slot
            slot = open_versions(*self._arrays, slot)
            assert slot > before or self.state[v.REPORT_VERSIONS], "a partition that has no room"
            yield self.reported_versions()
            self._clear_report()

    def new_topics(self) -> Iterator[NewTopic]:
        """The topics that `take` has created since the last call."""
        table = self.table()
        first, self._topics_known = self._topics_known, len(table)
        created = table[first:]
        is_new = (created[:, t.SLOT_KIND] == t.TOPIC) & (created[:, t.SLOT_CHANGED] == 1)
        for k in np.flatnonzero(is_new).tolist():
            slot = created[k].tolist()
            created[k, t.SLOT_CHANGED] = 0
            at = slot[v.TOPIC_TEXT]
            end = at + v.UUID_TEXT_SIZE + slot[v.TOPIC_NAME_SIZE]
            text = self.arena[at:end].tobytes().decode()
            topic_id, name = text[: v.UUID_TEXT_SIZE], text[v.UUID_TEXT_SIZE :]
            self._topics[topic_id] = first + k
            when = slot[t.SLOT_OFFSET], slot[v.TOPIC_TIME], slot[v.TOPIC_EPOCH]
            yield NewTopic(topic_id, name, slot[v.TOPIC_ROW], *when)

    def changed(self, topic_id: str | None = None) -> Iterator[HeldPartition]:
        """The partitions of one topic, or of all topics if `topic_id` is None, that `take` has
        changed since the last call."""
        table = self.table()
        if topic_id is not None:
            slots = [slot for slot in self._partitions_of(topic_id) if table[slot, t.SLOT_CHANGED]]
        else:
            mine = (table[:, t.SLOT_KIND] == t.PARTITION) & (table[:, t.SLOT_CHANGED] == 1)
            numbers = np.flatnonzero(mine)
            topics = table[numbers, t.SLOT_KEY_A]
            alive = table[topics, t.SLOT_LIFE] == table[numbers, t.SLOT_LIFE]
            slots = numbers[alive].tolist()
        names: dict[int, str] = {}
        for slot in slots:
            table[slot, t.SLOT_CHANGED] = 0
            yield self._held(table[slot].tolist(), names)

    def _partitions_of(self, topic_id: str) -> Iterator[int]:
        topic = self._topics.get(topic_id)
        if topic is not None:
            slot = int(self.table()[topic, v.TOPIC_FIRST])
            while slot >= 0:
                yield slot
                slot = int(self.table()[slot, v.PART_NEXT])

    def _held(self, slot: list[int], names: dict[int, str]) -> HeldPartition:
        topic = slot[t.SLOT_KEY_A]
        if topic not in names:
            at = int(self.table()[topic, v.TOPIC_TEXT])
            names[topic] = self.arena[at : at + v.UUID_TEXT_SIZE].tobytes().decode()
        value = Partition._make(
            self._list(slot[column], column) if column >= t.PART_REPLICAS else slot[column]
            for column in t.PARTITION_COLUMNS
        )
        since = slot[v.SINCE_OFFSET], slot[v.SINCE_TIME], slot[v.SINCE_EPOCH]
        key = names[topic], slot[t.SLOT_KEY_B]
        return HeldPartition(key, value, ValidFrom(*since, slot[t.SLOT_OFFSET], slot[v.SINCE_TYPE]))

    def _list(self, slot: int, column: int) -> tuple[int, ...] | tuple[str, ...]:
        found = self._lists.get(slot)
        if found is None:
            at, size = self.table()[slot, [t.SLOT_KEY_A, t.SLOT_KEY_B]].tolist()
            raw = self.arena[at : at + size].tobytes()
            if column == t.PART_DIRECTORIES:
                found = tuple(uuid_text(raw[k : k + 16]) for k in range(0, size, _UUID_BYTES))
            else:
                found = tuple(np.frombuffer(raw, ">i4").tolist())
            self._lists[slot] = found
        return found

    def _column(self, column: int, count: int) -> Longs:
        at = column * v.MAX_REPORTED
        return self._numbers[at : at + count].copy()

    def _text(self, which: int, ends: Longs) -> pa.Array:
        first = int(self.state[v.TEXT_FIRST + which])
        offsets = np.zeros(ends.size + 1, np.int32)
        offsets[1:] = ends
        used = self._texts[first : first + int(offsets[-1])].tobytes()
        buffers = [pa.py_buffer(offsets.tobytes()), pa.py_buffer(used)]
        return pa.StringArray.from_buffers(ends.size, *buffers)

    def _clear_report(self) -> None:
        self.state[[v.REPORT_VERSIONS, v.REPORT_CHANGES]] = 0
        first = self.state[v.TEXT_FIRST : v.TEXT_FIRST + v.TEXTS]
        self.state[v.TEXT_AT : v.TEXT_AT + v.TEXTS] = first

    def _grow(self, size: int) -> None:
        """Make room for a row whose value has `size` bytes, and for many more rows."""
        used = int(self.state[t.STATE_SLOTS])
        if (used + v.SLOTS_OF_ROW) * t.SLOT_COLUMNS > self.slots.size:
            self.slots = grown(self.slots, 2 * self.slots.size)
            self.make_index(with_hashes=True)
        else:
            more = 2 * (v.ARENA_PER_BYTE * size + v.ARENA_PER_REPLICA * (1 << 15)) + v.ARENA_OF_ROW
            self.arena = grown(self.arena, self.arena.size + max(self.arena.size, more))
        self._flatten()

    def _flatten(self) -> None:
        """Note the kernel's arguments that follow the arguments for the rows, in the form that
        machine code takes. Checking these arguments in each call would take longer than replaying a
        short run of rows."""
        table = (self.slots, self.index, self.arena)
        self._arrays = (*table, self._texts, self._numbers, self.state)
        self._flat = flat(*self._arrays, self._places)


def _without(texts: pa.Array, missing: Longs) -> pa.Array:
    """The texts, with NULL in place of each text for which `missing` is true."""
    return pa.StringArray.from_buffers(len(texts), *texts.buffers()[1:], bitmap(~missing))

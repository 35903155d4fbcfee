"""What each record of the agreed branch writes: versions of entities, and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from pipelines.replay.parts import Begin, End, Entry, Part, Step, Tail
from replica.metadata.changes import ChangeTeller, name_of, topic_names_around
from replica.metadata.image import Kind, VersionedReplay, Write
from replica.metadata.record import UnknownRecord

_TIME = pa.timestamp("us", tz="UTC")
WRITTEN = pa.schema(
    [
        ("what", pa.string()),
        *((name, pa.string()) for name in ("cluster_id", "entity", "key", "name", "value")),
        *((name, pa.int64()) for name in ("valid_from_offset", "valid_to_offset")),
        *((name, _TIME) for name in ("valid_from", "valid_to")),
        ("leader_epoch", pa.int32()),
        ("record_offset", pa.int64()),
        *((name, pa.string()) for name in ("record_type", "change", "old", "new", "commitment")),
    ]
)
"""what: VERSION (a row of gold.metadata_history), CHANGE (one of gold.metadata_changes: valid_from
is its `at`, record_offset its `offset`) or RANGE (one of gold.state_ranges: valid_from_offset is
its `from_offset`, valid_to_offset its `to_offset`)."""

VERSION, CHANGE, RANGE = "version", "change", "range"

OF_VERSION = (
    "entity", "key", "name", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "leader_epoch", "record_offset", "record_type",
)  # fmt: skip
OF_CHANGE = (
    "entity", "key", "name", "valid_from", "leader_epoch", "record_offset", "record_type",
    "change", "old", "new", "commitment",
)  # fmt: skip
OF_RANGE = ("valid_from_offset", "valid_to_offset")
_ROWS_AT_ONCE = 8192


class _Since(NamedTuple):
    """Since when a version is valid, and the record that made it."""

    offset: int
    timestamp_us: int | None
    leader_epoch: int
    record_offset: int | None
    record_type: str | None


class History:
    """The versions that are open, and the rows of those that ended: told of the steps of one part,
    which it is given in their order."""

    def __init__(self, part: Part) -> None:
        self._versions: list[tuple[Any, ...]] = []
        self._changes: list[tuple[Any, ...]] = []
        self._ranges: list[tuple[Any, ...]] = []
        self._part = part
        self._replay = VersionedReplay()
        self._teller = ChangeTeller()
        self._open: dict[tuple[str, Any], tuple[Kind, _Since]] = {}

    @property
    def replay(self) -> VersionedReplay:
        """The replay of the run, as the last step left it."""
        return self._replay

    def take(self, step: Step) -> None:
        """The next step, which is no entry; a Tail's entries are read."""
        if isinstance(step, Begin):
            self._begin(step)
        elif isinstance(step, Tail):
            self._tell_tail(step)
        elif isinstance(step, End):
            self._end(step)

    def _begin(self, step: Begin) -> None:
        """What a snapshot holds is valid from its last contained record on."""
        self._replay, self._teller, self._open = VersionedReplay(step.image), ChangeTeller(), {}
        base = step.run.base
        if step.run.start == 0 or base is None:
            return
        since = _Since(base.end_offset - 1, base.timestamp_us, base.epoch, None, None)
        for kind, key, _ in step.image.items():
            self._open[kind.name, key] = kind, since

    def apply(self, entry: Entry) -> None:
        """The next step, where it is an entry."""
        writes = self._replay.apply(entry.offset, entry.record)
        if not writes:
            return
        names = topic_names_around(writes, self._replay.state.topics.values)
        for write in writes:
            self._write(write, entry, names)
        self._tell(self._teller, writes, entry, names)

    def _tell_tail(self, tail: Tail) -> None:
        """The changes of a branch that lost, up to a record that this release doesn't know; nothing
        of such a branch is ever valid."""
        replay, teller = self._replay.copy(), ChangeTeller(self._teller.former)
        for entry in tail.entries:
            if isinstance(entry.record, UnknownRecord):
                return
            writes = replay.apply(entry.offset, entry.record)
            names = topic_names_around(writes, replay.state.topics.values)
            self._tell(teller, writes, entry, names)

    def _end(self, step: End) -> None:
        """Versions that are open at the log's end stay so; behind another end nobody knows."""
        if self._part.bucket == 0:  # every part sees the same runs
            self._ranges.append((step.run.base_offset, step.run.end))
        to_offset = None if step.is_log_end else step.run.end
        tables = self._replay.image().tables
        names = tables["topics"].values
        for (_, key), (kind, since) in self._open.items():
            value = tables[kind.table].values[key]
            self._add_version(kind, key, value, since, (to_offset, None), names)
        self._open = {}

    @property
    def is_full(self) -> bool:
        return len(self._versions) + len(self._changes) >= _ROWS_AT_ONCE

    def taken(self) -> Iterator[pa.RecordBatch]:
        """The rows so far, which are forgotten."""
        told = (
            (VERSION, self._versions, OF_VERSION),
            (CHANGE, self._changes, OF_CHANGE),
            (RANGE, self._ranges, OF_RANGE),
        )
        for what, rows, columns in told:
            if rows:
                yield _batch(rows, columns, {"what": what, "cluster_id": self._part.cluster_id})
                rows.clear()

    def _write(self, write: Write, entry: Entry, names: Mapping[str, str]) -> None:
        kind, key = write.kind, write.key
        if write.old is not None:
            _, since = self._open.pop((kind.name, key))
            until = entry.offset, entry.timestamp_us
            self._add_version(kind, key, write.old, since, until, names)
        if write.new is not None:
            offset, timestamp_us, leader_epoch = entry[:3]
            since = _Since(offset, timestamp_us, leader_epoch, write.offset, write.record_type)
            self._open[kind.name, key] = kind, since

    def _add_version(
        self,
        kind: Kind,
        key: Any,
        value: Any,
        since: _Since,
        until: tuple[int | None, int | None],
        names: Mapping[str, str],
    ) -> None:
        """Adds a version. until: offset and time, None where the version is open."""
        if not self._owns(kind, key):
            return
        name, value_text = name_of(kind, key, value, names), kind.value_text(key, value)
        offset, timestamp_us, leader_epoch, record_offset, record_type = since
        what = kind.name, kind.key_text(key), name, value_text
        when = offset, until[0], timestamp_us, until[1]
        self._versions.append((*what, *when, leader_epoch, record_offset, record_type))

    def _tell(
        self,
        teller: ChangeTeller,
        writes: list[Write],
        entry: Entry,
        names: Mapping[str, str],
    ) -> None:
        _, timestamp_us, leader_epoch, commitment, _ = entry
        for write, name, change in teller.tell(writes, names):
            kind, key = write.kind, write.key
            if self._owns(kind, key):
                what = kind.name, kind.key_text(key), name
                when = timestamp_us, leader_epoch, write.offset, write.record_type
                self._changes.append((*what, *when, *change, commitment))

    def _owns(self, kind: Kind, key: Any) -> bool:
        """Whether this part has to write it. Of the records that every part sees, only topics are
        state; other records are here because this part owns them."""
        return kind.name != "topic" or self._part.owns(kind.name, key)


def _batch(
    rows: list[tuple[Any, ...]], names: tuple[str, ...], same: Mapping[str, Any]
) -> pa.RecordBatch:
    """Rows of the named columns, `same` in each of them, as WRITTEN."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    arrays = [
        _array(columns[field.name], field.type)
        if field.name in columns
        else pa.repeat(pa.scalar(same.get(field.name), field.type), len(rows))
        for field in WRITTEN
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=WRITTEN)


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if kind == _TIME:  # in microseconds
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)

"""Replays and counts the committed part of a node's log as it grows, in slices."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias

from replica.doctor.health.cluster import Beginning, PartitionKey
from replica.errors import DataError
from replica.format.batch import decode_header
from replica.format.control import ControlMessage, UnknownControl, decode_control, type_name
from replica.format.record import Record, records_of
from replica.metadata.codec import decode
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch

UNREADABLE = "UNREADABLE"
"""The type of a record whose bytes don't decode."""
OTHERS = "OTHERS"
"""The type under which records of all further types are counted, because a hostile log may have
many types."""
_MAX_TYPES = 100
_BYTES_AT_ONCE = 1024 * 1024
_RECORDS_AT_ONCE = 200
_MAX_REMOVALS = 50_000
_WITHOUT_STATE = ("NO_OP_RECORD", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER")

_Message: TypeAlias = MetadataRecord | UnknownRecord | ControlMessage | None
"""A record as it was decoded; None for bytes that don't decode."""


class CompleteSnapshots(Protocol):
    """The complete snapshots beside a log."""

    @property
    def newest(self) -> OffsetAndEpoch | None: ...

    def batches(self, snapshot_id: OffsetAndEpoch) -> Iterable[Batch]: ...


class ReadLog(Protocol):
    """The part of a node's log that this module reads."""

    log_start: int
    """The log start offset (inclusive)."""

    @property
    def log_end(self) -> int:
        """The log end offset (exclusive)."""
        ...

    @property
    def snapshots(self) -> CompleteSnapshots: ...

    def batches(self, start_offset: int, end_offset: int) -> Iterable[Batch]: ...


class CommittedReplay:
    """Replays a log from the newest snapshot beside it, or from offset 0. When a newer snapshot
    replaces the log, the replay starts again at that snapshot.

    The replay keeps the state in memory, and 1 MiB of the log or one larger batch.

    next_offset: every record below this offset was read.
    state_offset: every record below this offset is in the state.
    is_whole: False after a record that can't be read.
    state_changes: the number of records that changed the state.
    last_timestamp: the time of the last record in the state, in ms since 1970 (UTC); None if the
        state has no record.
    starts: the offsets at which the current reassignments began.
    counts: by type, the number of records since the first call of `advance`.
    sizes: by type, the bytes of the keys and values of these records.
    """

    def __init__(self, log: ReadLog) -> None:
        self._log = log
        self._steps: Iterator[None] | None = None
        self._counts_from: int | None = None
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self._begin()

    def _begin(self) -> None:
        self._replay = Replay()
        self._is_loaded = False
        self.next_offset = 0
        self.state_offset = 0
        self.is_whole = True
        self.state_changes = 0
        self.last_timestamp: int | None = None
        self.starts: dict[PartitionKey, Beginning] = {}

    def advance(self, end_offset: int, within_s: float) -> bool:
        """Read on for about `within_s` seconds, up to `end_offset` (exclusive), below which every
        record must be committed.

        Returns whether everything was read. Raises the errors of reading the log.
        """
        if self._counts_from is None:
            self._counts_from = end_offset
        if self._log.log_start > self.next_offset and self._is_loaded:
            self._begin()
            self._steps = None
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            if self._steps is None:
                if self._is_loaded and self.next_offset >= end_offset:
                    self._forget_removals()
                    return True
                self._steps = self._read(end_offset)
            if next(self._steps, self) is self:
                self._steps = None
        return False

    def image(self) -> Image:
        """The state at state_offset."""
        image = self._replay.image()
        held = image.tables["partitions"].values
        self.starts = {key: start for key, start in self.starts.items() if key in held}
        return image

    def _read(self, end_offset: int) -> Iterator[None]:
        """Read in steps of a few records: first the snapshot, then batches of the log."""
        if not self._is_loaded:
            yield from self._load()
            return
        found = self._log.batches(self.next_offset, min(end_offset, self._log.log_end))
        for batch in _first(found):
            yield from self._take(batch)
            self.next_offset = batch.end_offset
            if self.is_whole:
                self.state_offset = batch.end_offset

    def _load(self) -> Iterator[None]:
        newest = self._log.snapshots.newest
        if newest is not None and newest.offset > 0 and newest.offset >= self._log.log_start:
            for batch in self._log.snapshots.batches(newest):
                yield from self._take(batch, newest)
            self.next_offset = newest.offset
            self.state_offset = newest.offset if self.is_whole else 0
        else:
            self.next_offset = self._log.log_start
            self.is_whole = self._log.log_start == 0
        self._is_loaded = True

    def _take(self, batch: Batch, snapshot: OffsetAndEpoch | None = None) -> Iterator[None]:
        header = decode_header(batch.data)
        try:
            for number, record in enumerate(records_of(header, batch.data), start=1):
                message = _meaning(record, is_control=header.is_control)
                if snapshot is None:
                    self._count(record, message)
                offset = record.offset if snapshot is None else snapshot.offset - 1
                self._apply(offset, record.timestamp, message)
                if number % _RECORDS_AT_ONCE == 0:
                    yield
        except DataError:  # The batch as a whole is damaged.
            self.is_whole = False
        yield

    def _count(self, record: Record, message: _Message) -> None:
        assert self._counts_from is not None
        if record.offset >= self._counts_from:
            name = _type_of(message)
            if name not in self.counts and len(self.counts) >= _MAX_TYPES:
                name = OTHERS
            self.counts[name] += 1
            self.sizes[name] += len(record.key or b"") + len(record.value or b"")

    def _apply(self, offset: int, timestamp: int, message: _Message) -> None:
        if message is None or isinstance(message, UnknownRecord | UnknownControl):
            self.is_whole = False  # The state after a record that can't be read is unknown.
        if not self.is_whole:
            return
        assert message is not None
        self.last_timestamp = timestamp
        name = _type_of(message)
        if name in _WITHOUT_STATE:
            return
        self.state_changes += 1
        if isinstance(message, MetadataRecord) and "partitionId" in message.fields:
            key = message.fields["topicId"], message.fields["partitionId"]
            was_moved = self._is_moved(key)
            self._replay.apply(offset, message)
            self._note_reassignment(key, was_moved, Beginning(offset, timestamp))
        else:
            self._replay.apply(offset, message)

    def _is_moved(self, key: Any) -> bool:
        partition = self._replay.state.partitions.values.get(key)
        return partition is not None and bool(
            partition.adding_replicas or partition.removing_replicas
        )

    def _note_reassignment(self, key: Any, was_moved: bool, start: Beginning) -> None:
        if not self._is_moved(key):
            self.starts.pop(key, None)
        elif not was_moved:
            self.starts[key] = start

    def _forget_removals(self) -> None:
        """Forget which entities were removed. A replay remembers them to explain why it refuses a
        record; nothing here needs this explanation."""
        if len(self._replay.state.removals) > _MAX_REMOVALS and not self._replay.in_transaction:
            self._replay = Replay(self._replay.image())


def _first(batches: Iterable[Batch]) -> list[Batch]:
    """The first batches, up to the batch with which they reach _BYTES_AT_ONCE. The log may change
    before the last batch is read, but its committed part doesn't."""
    found: list[Batch] = []
    size = 0
    for batch in batches:
        found.append(batch)
        size += len(batch.data)
        if size >= _BYTES_AT_ONCE:
            break
    return found


def _meaning(record: Record, *, is_control: bool) -> _Message:
    """The meaning of a record. None for bytes that don't decode."""
    try:
        if is_control:
            return decode_control(record.key, record.value)
        return decode(record.value or b"")
    except DataError:
        return None


def _type_of(message: _Message) -> str:
    if message is None:
        return UNREADABLE
    if isinstance(message, MetadataRecord | UnknownRecord):
        return message.type
    return type_name(message)

"""The rows of a part: records of the tables in columns, and one by one as values that can be
replayed.

A log is replayed in parts (replica.metadata.image.partitioning). Each record belongs to a bucket by
its key; records that every part needs are in all buckets.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replica.format.control import ControlType, control_key, decode_control
from replica.metadata.codec import decode
from replica.metadata.image.partitioning import PartitionKey
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.json_text import from_plain
from replica.metadata.record import UnknownRecord
from replica.scan.native import Longs
from replica.scan.version_input import NOWHEN, VersionRows
from replica.scan.version_input import rows_of as kernel_rows

SPREAD = pa.schema([
    ("cluster_id", pa.string()), ("bucket", pa.int32()), ("position", pa.int64()),
    ("source", pa.string()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC")),
    ("leader_epoch", pa.int32()), ("commitment", pa.string()),
    ("is_control", pa.bool_()), ("record_type", pa.string()), ("record_version", pa.int32()),
    ("payload", pa.string()), ("value", pa.binary()),
])  # fmt: skip
"""source: the branch or snapshot that has the record (module parts).
position: the log offset at which the part needs the record.
offset: for a snapshot the record's index.
payload: JSON, set only where `value` is NULL.
"""

KNOWN_CONTROL = [control.name for control in ControlType if control > ControlType.COMMIT]
STATEFUL_CONTROL = ("KRAFT_VERSION", "KRAFT_VOTERS")
"""The control records that are part of the state."""


def bucket_of(key: PartitionKey, buckets: int) -> int:
    """The bucket of a key. It is the same on every machine, unlike a bucket by hash().

    The keys of topics are spread over all buckets. Any other family has fewer records in a log, and
    is in one bucket. The type of a record names that bucket, so the record need not be decoded.
    """
    spread = key if key.family == "topic" else PartitionKey(key.family, "")
    return zlib.crc32("\0".join(spread).encode()) % buckets


def stored_record(
    is_control: bool,
    record_type: str,
    record_version: int | None,
    payload: str | None,
    value: bytes | None,
) -> ReplayedRecord:
    """The record of a row, from the last columns of SPREAD. Raises DataError for a row that ingest
    never writes."""
    if value is not None:
        if is_control:
            return decode_control(control_key(ControlType[record_type]), value)
        return decode(value)
    data = json.loads(payload or "")
    if "apiKey" in data:
        return UnknownRecord(data["apiKey"], data["version"], data["body"])
    return from_plain(record_type, -1 if record_version is None else record_version, data)


_RECORD = slice(SPREAD.names.index("is_control"), len(SPREAD.names))


def record_of(row: tuple[Any, ...]) -> ReplayedRecord:
    """The record of a row with the columns of SPREAD. Raises the errors of stored_record."""
    return stored_record(*row[_RECORD])


_MOST_SINGLY = 20
"""The number of rows that are read one by one before all rows are read together."""
_ENTRY = slice(SPREAD.names.index("offset"), SPREAD.names.index("is_control"))


class LogEntry(NamedTuple):
    """A record of the log."""

    offset: int
    timestamp_us: int | None
    """The time in microseconds since 1970; None where Kafka has no time."""
    leader_epoch: int
    commitment: str
    """The commitment as in silver.committed_log; superseded or unproven for a record beside the
    agreed branch."""
    record: ReplayedRecord


class Entries:
    """Consecutive records of the log. rows: the records, with the columns of SPREAD."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self._rows = rows
        self._singly = 0

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def part(self, low: int, high: int) -> Entries:
        """The entries from row `low` (inclusive) to row `high` (exclusive)."""
        return self if (low, high) == (0, len(self)) else Entries(self._rows.slice(low, high - low))

    def each(self) -> Iterator[LogEntry]:
        """The entries one by one."""
        return map(_entry, rows_of(self._rows))

    def entry(self, row: int) -> LogEntry:
        """The entry of a row."""
        if self._is_other[row]:
            return _entry(self._others[row])
        self._singly += 1
        if self._singly > _MOST_SINGLY:
            return _entry(self._all[row])
        (found,) = rows_of(self._rows.slice(row, 1))
        return _entry(found)

    @cached_property
    def kernel_rows(self) -> VersionRows:
        """The rows in the form that replica.scan.partition_versions takes."""
        values, is_control = self._rows.column("value"), self._rows.column("is_control")
        return kernel_rows(values, self.offsets, self.times, self.epochs, is_control)

    @cached_property
    def positions(self) -> Longs:
        return _longs(self._rows.column("position"))

    @cached_property
    def offsets(self) -> Longs:
        return _longs(self._rows.column("offset"))

    @cached_property
    def times(self) -> Longs:
        """The times of the records in microseconds since 1970 (UTC); NOWHEN where Kafka has no
        time."""
        return _longs(pc.fill_null(self._rows.column("timestamp").cast(pa.int64()), NOWHEN))

    @cached_property
    def epochs(self) -> Longs:
        return _longs(self._rows.column("leader_epoch"))

    @property
    def commitments(self) -> pa.Array:
        return self._rows.column("commitment")

    @cached_property
    def _is_other(self) -> npt.NDArray[np.bool_]:
        """For each row, whether the kernel never takes records of the row's type."""
        return ~self.kernel_rows.taken

    @cached_property
    def _all(self) -> list[tuple[Any, ...]]:
        return [*rows_of(self._rows)]

    @cached_property
    def _others(self) -> dict[int, tuple[Any, ...]]:
        """The rows of types that the kernel never takes, all read together."""
        others = self._rows.filter(pa.array(self._is_other))
        return dict(zip(np.flatnonzero(self._is_other).tolist(), rows_of(others), strict=True))


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch with the columns of SPREAD. Times are in microseconds since 1970
    (UTC)."""
    columns = (
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        for column in batch.columns
    )
    return zip(*(column.to_pylist() for column in columns), strict=True)


def stretches(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, cut wherever a value of one of these columns changes. The columns have
    no NULLs."""
    if not batch.num_rows:
        return
    differ = np.zeros(batch.num_rows - 1, np.bool_)
    for name in names:
        column = batch.column(name)
        differ |= mask_of(pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)))
    bounds = [0, *(np.flatnonzero(differ) + 1).tolist(), batch.num_rows]
    for low, high in pairwise(bounds):
        yield batch.slice(low, high - low)


def _entry(row: tuple[Any, ...]) -> LogEntry:
    return LogEntry._make((*row[_ENTRY], record_of(row)))


def mask_of(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """The values of a column of booleans, which has no NULL, as an array of numpy."""
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(found.to_numpy(zero_copy_only=False), np.bool_)


def _longs(column: pa.Array) -> Longs:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)

"""Ranges of segments -> Arrow batches of bronze.log_records, for writing without Spark's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.sources import rows
from pipelines.sources.files import SourceFile
from pipelines.sources.kraft_log import RECORD_COLUMNS
from pipelines.sources.ranges import (
    DEFAULT_RANGE_BYTES,
    RangePartition,
    plan,
    read_range,
    size_of_file,
)
from replica.metadata.redact import Redactor
from replica.types import ReplicaId

_COLUMNS = tuple(column for column in RECORD_COLUMNS if column[0] != "file")
_UNREADABLE = ["file", "position", "base_offset", "leader_epoch", "crc", "error", "value"]
_WORTH_A_TASK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogRange:
    """What one task reads: bytes of a segment, and whose log it is.

    known: the first bytes of batches whose records the table has already.
    """

    range: RangePartition
    replica: ReplicaId
    known: tuple[int, ...] = ()


def log_ranges(
    files: Sequence[tuple[SourceFile, ReplicaId]],
    *,
    range_bytes: int = DEFAULT_RANGE_BYTES,
    at_once: int = 1,
) -> list[LogRange]:
    """The files cut into ranges of about `range_bytes`, or less.

    at_once: tasks that run side by side; they get about the same work, so that none is left alone
    at the end.
    """
    total = sum(size_of_file(file) - file.start for file, _ in files)
    rounds = -(-total // (range_bytes * at_once))
    even = -(-total // max(1, rounds * at_once))
    least = min(range_bytes, _WORTH_A_TASK_BYTES)
    return [
        LogRange(part, replica)
        for file, replica in files
        for part in plan([file], max(even, least))
    ]


def log_record_batches(part: LogRange, redactor: Redactor | None) -> Iterator[pa.RecordBatch]:
    """The rows of the range's records that could be read; redactor None keeps secrets."""
    data = read_range(part.range.path, part.range.start, part.range.end)
    replica = part.replica
    for batch in rows.records(data, part.range, redactor, _COLUMNS):
        readable = _new(_readable(batch), part.known).drop_columns(["position"])
        owner = (
            ("cluster_id", pa.scalar(replica.cluster_id, pa.string())),
            ("node_id", pa.scalar(replica.node_id, pa.int32())),
            ("directory_id", pa.scalar(replica.directory_id, pa.string())),
        )
        names = [*(name for name, _ in owner), *readable.schema.names]
        constants = [pa.repeat(value, readable.num_rows) for _, value in owner]
        yield pa.RecordBatch.from_arrays([*constants, *readable.columns], names)


def _new(batch: pa.RecordBatch, known: Sequence[int]) -> pa.RecordBatch:
    if not known:
        return batch
    is_known = pc.is_in(batch.column("position"), value_set=pa.array(known, pa.int64()))
    return batch.filter(pc.invert(is_known))


def unreadable_records(part: LogRange, redactor: Redactor | None) -> Iterator[dict[str, Any]]:
    """file, position, base_offset, leader_epoch, crc, error and value (the batch's bytes, NULL
    where they may hold a secret) of what could not be read; rare."""
    data = read_range(part.range.path, part.range.start, part.range.end)
    for batch in rows.records(data, part.range, redactor, RECORD_COLUMNS):
        bad = batch.filter(pc.is_valid(batch.column("error")))
        yield from _new(bad, part.known).select(_UNREADABLE).to_pylist()


def _readable(batch: pa.RecordBatch) -> pa.RecordBatch:
    errors = batch.column("error")
    return batch if errors.null_count == len(errors) else batch.filter(pc.is_null(errors))

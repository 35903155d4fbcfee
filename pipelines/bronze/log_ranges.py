"""Reads ranges of segments into Arrow batches with the columns of bronze.log_records and
bronze.log_batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.sources import rows
from pipelines.sources.files import SourceFile
from pipelines.sources.kraft_log import BATCH_COLUMNS, RECORD_COLUMNS
from pipelines.sources.ranges import (
    DEFAULT_RANGE_BYTES,
    RangePartition,
    end_of,
    plan_file,
    range_source,
)
from pipelines.tables.bronze import LOG_RECORDS
from pipelines.tables.keys import REPLICA_KEYS
from replica.format.walk import LocatedBatch
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId
from replica.scan.native import Longs

_OWN_COLUMNS = [name for name in RECORD_COLUMNS if name not in ("file", "position")]
_UNREADABLE = ["file", "position", "base_offset", "leader_epoch", "crc", "error", "value"]
_OWNER = LOG_RECORDS.arrow_columns(REPLICA_KEYS)
Row = dict[str, Any]
MOST_RANGE_BYTES = DEFAULT_RANGE_BYTES
_WORTH_A_TASK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogRange:
    """The bytes of a segment that one task reads, and the replica of the log."""

    range: RangePartition
    replica: ReplicaId
    known: Longs = field(default_factory=lambda: np.zeros(0, np.int64), compare=False)
    """Positions of the first bytes of batches whose records the table has already, ascending."""


def log_ranges(
    files: Sequence[tuple[SourceFile, ReplicaId]],
    batches: Sequence[Sequence[LocatedBatch]] = (),
    *,
    at_once: int = 1,
) -> list[LogRange]:
    """The files cut into ranges of about MOST_RANGE_BYTES bytes or fewer.

    batches: those that a scan has found in each file, as in plan_file; without them the files are
    read. at_once: the number of tasks that run side by side. Their work is about equal, so that no
    task runs alone at the end.
    """
    total = sum(end_of(file) - file.start for file, _ in files)
    rounds = -(-total // (MOST_RANGE_BYTES * at_once))
    even = -(-total // max(1, rounds * at_once))
    least = min(MOST_RANGE_BYTES, _WORTH_A_TASK_BYTES)
    found_in: Sequence[Sequence[LocatedBatch] | None] = batches or [None] * len(files)
    return [
        LogRange(part, replica)
        for (file, replica), found in zip(files, found_in, strict=True)
        for part in plan_file(file, max(even, least), found)
    ]


def log_record_batches(
    part: LogRange, unreadable: list[Row] | None = None, *, redactor: Redactor | None
) -> Iterator[pa.RecordBatch]:
    """The rows of the range's records that could be read. redactor: None keeps secrets.

    unreadable: this list gets a row for each record that could not be read, with REPLICA_KEYS,
    file, position, base_offset, leader_epoch, crc, error and value (the batch's bytes, NULL where
    they may hold a secret). Such records are few.
    """
    with range_source(part.range) as data:
        for batch in rows.records(data, part.range, redactor, RECORD_COLUMNS):
            new = _new(batch, part.known)
            readable, bad = split(new)
            if unreadable is not None:
                unreadable.extend(owned(bad.select(_UNREADABLE), part.replica).to_pylist())
            yield owned(readable.select(_OWN_COLUMNS), part.replica)


def log_batch_rows(part: LogRange, redactor: Redactor | None) -> Iterator[pa.RecordBatch]:
    """A row for each batch of the range, with BATCH_COLUMNS and the replica of the log. redactor:
    None keeps the CRCs of batches that may hold secrets."""
    with range_source(part.range) as data:
        for batch in rows.batches(data, part.range, redactor, BATCH_COLUMNS):
            yield owned(batch, part.replica)


def owned(batch: pa.RecordBatch, replica: ReplicaId) -> pa.RecordBatch:
    """The batch with the three columns that name the replica before its own columns: cluster_id,
    node_id and directory_id."""
    values = [pa.scalar(value, _OWNER.field(name).type) for name, value in asdict(replica).items()]
    constants = [pa.repeat(value, batch.num_rows) for value in values]
    names = [*_OWNER.names, *batch.schema.names]
    return pa.RecordBatch.from_arrays([*constants, *batch.columns], names)


def split(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows of records that could be read, and the rows of those that could not."""
    errors = batch.column("error")
    if errors.null_count == len(errors):
        return batch, batch.slice(0, 0)
    return batch.filter(pc.is_null(errors)), batch.filter(pc.is_valid(errors))


def _new(batch: pa.RecordBatch, known: Longs) -> pa.RecordBatch:
    if not known.size:
        return batch
    is_known = pc.is_in(batch.column("position"), value_set=pa.array(known, pa.int64()))
    return batch.filter(pc.invert(is_known))

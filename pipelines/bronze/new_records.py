"""Records that bronze.log_records lacks: read, decoded and written by Spark's tasks.

Which records these are is read off the table itself, in the same transaction: so a round that was
killed after this step, and is run again, adds nothing twice, whatever the log did meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments, source_file
from pipelines.bronze.log_ranges import (
    LogRange,
    log_ranges,
    log_record_batches,
    unreadable_records,
)
from pipelines.tables.bronze import BATCH_KEYS, LOG_RECORDS, REPLICA_KEYS
from replica.errors import UsageError
from replica.format.directory import SegmentFile
from replica.metadata.redact import Redactor
from replica.types import ReplicaId

APPLICATION = "kraftlake-ingest"
"""Delta's application id of these writes; the version counts them."""

_HEADER_KEYS = BATCH_KEYS[len(REPLICA_KEYS) :]
_Key = tuple[int, int, int, int]
"""A batch: the number of its replica among the round's, base offset, leader epoch, CRC. A large log
has millions of them, so they carry no names."""


def write_new_records(
    spark: SparkSession,
    lake: delta.Lake,
    captured: Sequence[Captured],
    redactor: Redactor | None,
) -> int:
    """Append them in one commit; how many they are. redactor None keeps secrets.

    UsageError: another ingest has written meanwhile, on a machine that doesn't see this one's lock.
    """
    version = delta.last_transaction(spark, lake, LOG_RECORDS, APPLICATION)
    parts = new_ranges(spark, lake, captured, redactor)
    if not parts:
        return 0
    written = delta.append_directly(
        spark,
        lake,
        LOG_RECORDS,
        parts,
        partial(log_record_batches, redactor=redactor),
        transaction=(APPLICATION, version + 1),
    )
    if written.version is None:
        raise UsageError(f"{lake.root}: another ingest wrote to it meanwhile: run this one again")
    return written.rows


def new_ranges(
    spark: SparkSession,
    lake: delta.Lake,
    captured: Sequence[Captured],
    redactor: Redactor | None,
) -> list[LogRange]:
    """What to read so that the table gets each record that it lacks, and none twice.

    redactor: as of the table's rows; whether a batch holds a secret, by which its CRC there is
    another one, is known when it is read.
    """
    segments = list(new_segments(captured))
    lowest = _lowest_offsets(segments)
    seen = _known_keys(spark, lake, lowest)
    number_of = {replica: number for number, replica in enumerate(lowest)}
    files, known = [], {}
    for one, segment in segments:
        positions = []
        wanted = 0
        number = number_of[one.look.replica]
        for batch in segment.scan.new_batches:
            key = (number, *header_key(batch.header))
            if key in seen or _hidden_key(key, redactor) in seen:
                positions.append(batch.position)
            elif batch.crc_valid:
                seen.add(key)
                wanted += 1
        if wanted:
            file = source_file(one, segment)
            files.append((file, one.look.replica))
            known[file.path] = positions
    ranges = log_ranges(files, at_once=spark.sparkContext.defaultParallelism)
    return [replace(part, known=_within(part, known[part.range.path])) for part in ranges]


def unreadable_of(
    spark: SparkSession, parts: Sequence[LogRange], redactor: Redactor | None
) -> list[dict[str, Any]]:
    """The batches, or ends of batches, of the parts that don't decode: see unreadable_records."""
    if not parts:
        return []
    tasks = spark.sparkContext.parallelize(parts, len(parts))
    return tasks.flatMap(partial(unreadable_records, redactor=redactor)).collect()


def header_key(header: Any) -> tuple[int, int, int]:
    """The part of BATCH_KEYS that a batch's header says."""
    return header.base_offset, header.leader_epoch, header.crc


def _hidden_key(key: _Key, redactor: Redactor | None) -> _Key:
    """The key that the table has for a batch with a secret."""
    if redactor is None:
        return key
    number, base_offset, epoch, crc = key
    return number, base_offset, epoch, redactor.batch_crc(base_offset, crc)


def _within(part: LogRange, positions: Sequence[int]) -> tuple[int, ...]:
    return tuple(p for p in positions if part.range.start <= p < part.range.end)


def _lowest_offsets(segments: Sequence[tuple[Captured, SegmentFile]]) -> dict[ReplicaId, int]:
    """How far down the segments' new batches reach."""
    lowest: dict[ReplicaId, int] = {}
    for one, segment in segments:
        replica = one.look.replica
        first = min(batch.header.base_offset for batch in segment.scan.new_batches)
        lowest[replica] = min(first, lowest.get(replica, first))
    return lowest


def _known_keys(
    spark: SparkSession, lake: delta.Lake, lowest: Mapping[ReplicaId, int]
) -> set[_Key]:
    """Batches whose records the table has, from the lowest offset of each replica on; replicas are
    numbered in the order of `lowest`."""
    if not lowest:
        return set()
    table = delta.read(spark, lake, LOG_RECORDS)
    wanted = [of_replica(replica, low) for replica, low in lowest.items()]
    number = F.coalesce(*(F.when(rows, F.lit(at)) for at, rows in enumerate(wanted)))
    found = table.where(reduce(Column.__or__, wanted))
    keys = found.select(number.alias("replica"), *_HEADER_KEYS).distinct().toArrow()
    known: set[_Key] = set()
    for batch in keys.to_batches():
        known.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return known


def of_replica(replica: ReplicaId, lowest: int | None = None) -> Column:
    """Rows of one replica, from a base offset on: literals, by which Delta leaves files out."""
    values = (replica.cluster_id, replica.node_id, replica.directory_id)
    pairs = zip(REPLICA_KEYS, values, strict=True)
    found = reduce(Column.__and__, (F.col(name) == F.lit(value) for name, value in pairs))
    return found if lowest is None else found & (F.col("base_offset") >= F.lit(lowest))

"""Invented parts of a replay, as Spark would give them to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from pipelines.replay.entries import SPREAD, bucket_of
from pipelines.replay.parts import Part
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, ReplayRun
from replica.format.control import encode_control, type_name
from replica.metadata.codec import encode
from replica.metadata.image.partitioning import BROADCAST, key_of
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.record import MetadataRecord, UnknownRecord

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
SECOND = 1_000_000


class Placed(NamedTuple):
    """A record at its place: source "2" is the log, "1..." a tail, "0..." a snapshot."""

    offset: int
    record: ReplayedRecord
    source: str = "2"
    position: int = -1


def batches_of_rows(rows: Sequence[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    """The rows with the columns of SPREAD, whose times are in microseconds."""
    if rows:
        arrays = (
            pa.array(column, pa.int64()).cast(field.type)
            if pa.types.is_timestamp(field.type)
            else pa.array(column, field.type)
            for column, field in zip(zip(*rows, strict=True), SPREAD, strict=True)
        )
        yield pa.RecordBatch.from_arrays([*arrays], schema=SPREAD)


def snapshot_id(end_offset: int, epoch: int = 1) -> PlannedSnapshot:
    return PlannedSnapshot(end_offset, epoch, f"sha-{end_offset}", epoch, end_offset * SECOND)


def of_snapshot(snapshot: PlannedSnapshot, records: Sequence[ReplayedRecord]) -> list[Placed]:
    source = f"0{snapshot.epoch:010d}{snapshot.content_sha256}"
    return [Placed(n, record, source, snapshot.end_offset) for n, record in enumerate(records)]


def part(
    placed: Iterable[Placed],
    runs: Sequence[ReplayRun],
    bucket: int = 0,
    buckets: int = 1,
    log_end: int | None = None,
) -> Part:
    """The part of a bucket. Its snapshots are the runs' bases. Record N is N seconds old. log_end:
    by default that of the last run."""
    rows = [_row(one, bucket) for one in placed if _is_in(one.record, bucket, buckets)]
    rows.sort(key=lambda row: row[2:5])
    bases = tuple(run.base for run in runs if run.base is not None)
    plan = ReplayPlan(tuple(runs), bases, runs[-1].end if log_end is None else log_end)
    return Part(CLUSTER, bucket, buckets, plan, batches_of_rows(rows))


def _is_in(record: ReplayedRecord, bucket: int, buckets: int) -> bool:
    is_everywhere = isinstance(record, MetadataRecord) and record.type in BROADCAST
    return is_everywhere or bucket_of(key_of(record), buckets) == bucket


def _row(one: Placed, bucket: int) -> tuple[Any, ...]:
    position = one.offset if one.source == "2" else one.position
    commitment = "superseded" if one.source[0] == "1" else "proven"
    where = CLUSTER, bucket, position, one.source, one.offset, one.offset * SECOND, 1, commitment
    if isinstance(one.record, MetadataRecord):
        return (*where, False, one.record.type, one.record.version, None, encode(one.record))
    if isinstance(one.record, UnknownRecord):
        value = bytes([1, one.record.api_key, one.record.version])
        return (*where, False, one.record.type, one.record.version, None, value)
    return (*where, True, type_name(one.record), None, None, encode_control(one.record)[1])

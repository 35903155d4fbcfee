"""gold.retention_forecast: when Kafka's default retention deletes the head of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from pipelines.cluster.aggregates import by_capture, grouped, rounded, smallest
from pipelines.cluster.branch_facts import Recent
from pipelines.cluster.rows import Row, milliseconds, nulls_first
from pipelines.tables.keys import REPLICA_KEYS, replica_of
from replica.format.timestamps import moment
from replica.model.keys import ReplicaId

# The defaults of MetadataLogConfig, which KafkaMetadataLog.maybeClean applies.
MAX_BYTES = 100 * 1024 * 1024
MAX_MS = 7 * 24 * 3_600_000

_DAY_MS = 24 * 3_600_000
FAR_MS = 1000 * 365 * _DAY_MS

_LOG_FILE = re.compile(r"/[0-9]{20}\.log$")


class _Kept(NamedTuple):
    """The snapshots of a capture."""

    snapshots: int = 0
    size_bytes: int = 0
    oldest_time: datetime | None = None
    """The time of the last record in the oldest snapshot; None without a snapshot, or if
    unknown."""
    second_end: int | None = None
    """The end offset of the second oldest snapshot, exclusive; None with fewer than two
    snapshots."""


class _Growth(NamedTuple):
    """The growth of a cluster's log."""

    log_time_ms: int | None = None
    """The time of the log's newest record, in ms since 1970; None if unknown."""
    measured_ms: int | None = None
    bytes_per_day: int | None = None


def retention_forecast(
    captures: Iterable[Row],
    snapshots: Iterable[Row],
    newest_ms: int | None,
    recent: Recent,
    cadence: Iterable[Row],
) -> Iterator[Row]:
    """Rows of gold.retention_forecast for one cluster: a row for each replica, with the sizes in
    its newest capture.

    captures, snapshots: rows of bronze.captures and bronze.snapshots. newest_ms: the time of the
    newest record of the agreed branch, in ms since 1970; None if unknown. recent: facts about the
    branch's batches of the last MAX_MS before newest_ms. cadence: rows of gold.snapshot_cadence.
    """
    kept = {one: _kept(rows) for one, rows in by_capture(snapshots).items()}
    growth = _log_growth(newest_ms, recent)
    by_snapshots = _snapshot_growth(cadence)
    for replica, own in grouped(captures, replica_of).items():
        newest = max(own, key=itemgetter("captured_at", "ingest_seq", "capture_id"))
        yield {
            **{name: own[0][name] for name in REPLICA_KEYS},
            "capture_id": newest["capture_id"],
            **_forecast(
                _log_bytes(newest),
                kept.get(newest["capture_id"], _Kept()),
                growth,
                by_snapshots.get(replica),
            ),
        }


def _forecast(log_bytes: int, kept: _Kept, growth: _Growth, by_snapshots: int | None) -> Row:
    in_files = log_bytes + kept.size_bytes
    by_bytes = _when_bytes_are_up(in_files, growth, by_snapshots or 0)
    by_time = None
    if kept.oldest_time is not None:
        by_time = moment(milliseconds(kept.oldest_time) + MAX_MS)
    # Kafka keeps the last snapshot.
    goes = smallest((by_bytes, by_time)) if kept.snapshots >= 2 else None
    return {
        "log_bytes": log_bytes,
        "snapshots": kept.snapshots,
        "snapshot_bytes": kept.size_bytes,
        "log_bytes_per_day": growth.bytes_per_day,
        "measured_ms": growth.measured_ms,
        "snapshot_bytes_per_day": by_snapshots,
        "bytes_reached_at": by_bytes,
        "ms_reached_at": by_time,
        "head_goes_at": goes,
        "next_log_start_offset": None if goes is None else kept.second_end,
    }


def _when_bytes_are_up(in_files: int, growth: _Growth, by_snapshots: int) -> datetime | None:
    """The time at which the log and its snapshots reach MAX_BYTES. None where they don't grow,
    where the growth is unknown, and where the time is at least FAR_MS away. in_files: the bytes of
    the log and its snapshots now. by_snapshots: the bytes by which the snapshots grow in a day."""
    if growth.bytes_per_day is None or growth.log_time_ms is None:
        return None
    per_day = growth.bytes_per_day + by_snapshots
    if per_day <= 0:
        return None
    in_ms = float(max(MAX_BYTES - in_files, 0) * _DAY_MS) / per_day
    return moment(growth.log_time_ms + int(in_ms)) if in_ms < FAR_MS else None


def _log_bytes(capture: Row) -> int:
    """The bytes of the .log files, without deleted segments."""
    logs = (file for file in capture["files"] if _LOG_FILE.search(file["path"]))
    return sum(int(file["size_bytes"]) for file in logs)


def _kept(rows: Sequence[Row]) -> _Kept:
    names = ("end_offset", "epoch", "last_contained_log_timestamp")
    in_order = sorted(rows, key=lambda row: nulls_first([row[name] for name in names]))
    return _Kept(
        len(rows),
        sum(row["size_bytes"] for row in rows),
        in_order[0]["last_contained_log_timestamp"],
        in_order[1]["end_offset"] if len(rows) > 1 else None,
    )


def _log_growth(newest_ms: int | None, recent: Recent) -> _Growth:
    if newest_ms is None or recent.least_ms is None:
        return _Growth()
    span = newest_ms - recent.least_ms
    return (
        _Growth(newest_ms, span, _per_day(recent.size_bytes, span)) if span else _Growth(newest_ms)
    )


def _per_day(size_bytes: int, span_ms: int) -> int:
    # Floats in this order, as Spark divides.
    return rounded(float(size_bytes * _DAY_MS) / span_ms)


def _snapshot_growth(cadence: Iterable[Row]) -> Mapping[ReplicaId, int | None]:
    """By replica, the bytes of snapshots a day, as the replica's newest snapshot shows them; None
    where the time since the previous snapshot is unknown."""
    found: dict[ReplicaId, int | None] = {}
    for replica, rows in grouped(cadence, replica_of).items():
        newest = max(rows, key=lambda row: (row["epoch"], row["end_offset"]))
        since = newest["ms_since"]
        is_known = since is not None and since > 0
        found[replica] = _per_day(newest["size_bytes"], since) if is_known else None
    return found

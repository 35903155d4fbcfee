"""gold.snapshot_cadence: how often replicas take snapshots, and how much their logs grow
meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.rows import Row, ms_between, nulls_first
from pipelines.tables.keys import REPLICA_KEYS, replica_of

# The defaults of MetadataLogConfig.
MAX_BYTES = 20 * 1024 * 1024
MAX_INTERVAL_MS = 3_600_000

_Below = Mapping[int, tuple[int, int]]
_FACTS = ("size_bytes", "record_count", "last_contained_log_timestamp")


def marks_of(snapshots: Iterable[Row]) -> tuple[int, ...]:
    """The offsets of BranchQuestions.marks for these snapshots. snapshots: rows of
    bronze.snapshots."""
    return tuple(sorted({row["end_offset"] for row in snapshots if row["end_offset"] > 0}))


def snapshot_cadence(snapshots: Iterable[Row], below: _Below) -> Iterator[Row]:
    """The rows of one cluster. snapshots: rows of bronze.snapshots. below: for each offset of
    marks_of, the bytes and the number of offsets of the batches of the agreed branch that begin
    below it.

    Files that were never complete, and the bootstrap snapshot 0-0, are left out.
    """
    complete = (row for row in snapshots if row["end_offset"] > 0 and row["state"] != "part")
    for rows in grouped(complete, replica_of).values():
        replica = {name: rows[0][name] for name in REPLICA_KEYS}
        previous: Row | None = None
        for row in _newest_contents(rows):
            yield replica | row | _since(row, previous, below)
            previous = row


def _newest_contents(rows: Iterable[Row]) -> list[Row]:
    """One replica's snapshots by end_offset and epoch, each once."""
    by_id = grouped(rows, lambda row: (row["end_offset"], row["epoch"]))
    found = []
    for end_offset, epoch in sorted(by_id):
        # Of two contents under one name, the one that was seen last counts.
        newest = max(by_id[end_offset, epoch], key=_seen)
        facts = {name: newest[name] for name in _FACTS}
        found.append({"end_offset": end_offset, "epoch": epoch, **facts})
    return found


def _seen(row: Row) -> tuple[object, ...]:
    return nulls_first([row["last_seen"], row["content_sha256"]])


def _since(row: Row, previous: Row | None, below: _Below) -> Row:
    if previous is None:
        names = ("previous_end_offset", "records_since", "ms_since", "log_bytes_since", "reached")
        return dict.fromkeys(names)
    end, previous_end = row["end_offset"], previous["end_offset"]
    ms = ms_between(*(one["last_contained_log_timestamp"] for one in (previous, row)))
    (size_now, offsets_now), (size_then, offsets_then) = (
        below.get(one, (0, 0)) for one in (end, previous_end)
    )
    # None unless the branch holds every offset between the two snapshots.
    is_all_there = offsets_now - offsets_then == end - previous_end
    in_bytes = size_now - size_then if is_all_there else None
    return {
        "previous_end_offset": previous_end,
        "records_since": end - previous_end,
        "ms_since": ms,
        "log_bytes_since": in_bytes,
        "reached": _reached(in_bytes, ms),
    }


def _reached(in_bytes: int | None, ms: int | None) -> str | None:
    if in_bytes is not None and in_bytes >= MAX_BYTES:
        return "bytes"
    if ms is not None and ms >= MAX_INTERVAL_MS:
        return "interval"
    # Where one threshold is unknown, nobody knows whether it was reached.
    return None if in_bytes is None or ms is None else "neither"

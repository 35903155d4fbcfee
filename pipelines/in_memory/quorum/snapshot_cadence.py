"""gold.snapshot_cadence: how often replicas snapshot, and what their logs grew by meanwhile."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.held import replica_of
from pipelines.in_memory.rows import BranchBatch, Row, milliseconds, nulls_first
from pipelines.tables.keys import REPLICA_KEYS

# MetadataLogConfig's defaults
MAX_BYTES = 20 * 1024 * 1024
MAX_INTERVAL_MS = 3_600_000

_FACTS = ("size_bytes", "record_count", "last_contained_log_timestamp")


class _Below(NamedTuple):
    """Of the batches of the branch that begin below an offset: their bytes and offsets."""

    size_bytes: int
    offsets: int


def snapshot_cadence(snapshots: Iterable[Row], branch: Iterable[BranchBatch]) -> Iterator[Row]:
    """The table's rows; snapshots: bronze's; branch: the batches of the agreed branch.

    Files that were never complete, and the bootstrap snapshot 0-0, are left out.
    """
    below = {
        cluster: _log_below(batches)
        for cluster, batches in grouped(branch, lambda batch: batch.cluster_id).items()
    }
    complete = (row for row in snapshots if row["end_offset"] > 0 and row["state"] != "part")
    for rows in grouped(complete, replica_of).values():
        replica = {name: rows[0][name] for name in REPLICA_KEYS}
        below_offset = below.get(replica["cluster_id"], _nothing_below)
        previous: Row | None = None
        for row in _newest_contents(rows):
            yield replica | row | _since(row, previous, below_offset)
            previous = row


def _newest_contents(rows: Iterable[Row]) -> list[Row]:
    """Of one replica, by end_offset and epoch, each of which is there once."""
    by_id = grouped(rows, lambda row: (row["end_offset"], row["epoch"]))
    found = []
    for end_offset, epoch in sorted(by_id):
        # of two contents under one name the one last seen counts
        newest = max(by_id[end_offset, epoch], key=_seen)
        facts = {name: newest[name] for name in _FACTS}
        found.append({"end_offset": end_offset, "epoch": epoch, **facts})
    return found


def _seen(row: Row) -> tuple[object, ...]:
    return nulls_first([row["last_seen"], row["content_sha256"]])


def _log_below(batches: Sequence[BranchBatch]) -> Callable[[int], _Below]:
    """For the batches of one cluster, what is below an offset."""
    in_order = sorted(batches, key=lambda batch: batch.base_offset)
    starts = [batch.base_offset for batch in in_order]
    sizes = [0, *accumulate(batch.size_bytes for batch in in_order)]
    offsets = [0, *accumulate(batch.last_offset + 1 - batch.base_offset for batch in in_order)]

    def below(offset: int) -> _Below:
        # what begins at a snapshot's end isn't in it
        count = bisect_left(starts, offset)
        return _Below(sizes[count], offsets[count])

    return below


def _nothing_below(_offset: int) -> _Below:
    return _Below(0, 0)


def _since(row: Row, previous: Row | None, below: Callable[[int], _Below]) -> Row:
    if previous is None:
        names = ("previous_end_offset", "records_since", "ms_since", "log_bytes_since", "reached")
        return dict.fromkeys(names)
    end, previous_end = row["end_offset"], previous["end_offset"]
    at, before = (one["last_contained_log_timestamp"] for one in (row, previous))
    ms = None if at is None or before is None else milliseconds(at) - milliseconds(before)
    now, then = below(end), below(previous_end)
    # None unless the branch holds every offset between the two snapshots
    is_all_there = now.offsets - then.offsets == end - previous_end
    in_bytes = now.size_bytes - then.size_bytes if is_all_there else None
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
    # that one is reached is enough to know; that neither is takes both
    return None if in_bytes is None or ms is None else "neither"

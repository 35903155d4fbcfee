"""gold.snapshot_cadence: how often replicas take snapshots, and how much their logs grow
meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row, ms_between, nulls_first
from pipelines.tables.keys import REPLICA_KEYS, replica_of

# The defaults of MetadataLogConfig.
MAX_BYTES = 20 * 1024 * 1024
MAX_INTERVAL_MS = 3_600_000

_FACTS = ("size_bytes", "record_count", "last_contained_log_timestamp")


class _Below(NamedTuple):
    """The batches of the branch that begin below an offset: their bytes, and how many offsets they
    have."""

    size_bytes: int
    offsets: int


def snapshot_cadence(snapshots: Iterable[Row], branch: Batches) -> Iterator[Row]:
    """The rows of one cluster. snapshots: bronze's rows. branch: the batches of the agreed branch.

    Files that were never complete, and the bootstrap snapshot 0-0, are left out.
    """
    below = _log_below(branch)
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


def _log_below(branch: Batches) -> Callable[[int], _Below]:
    """A function that gives what is below an offset."""
    order = np.argsort(branch.base_offset, kind="stable")
    starts = branch.base_offset[order]
    sizes = np.append(0, np.cumsum(branch.size_bytes[order]))
    offsets = np.append(0, np.cumsum((branch.last_offset + 1 - branch.base_offset)[order]))

    def below(offset: int) -> _Below:
        # A batch that begins at a snapshot's end isn't in the snapshot.
        count = np.searchsorted(starts, offset)
        return _Below(int(sizes[count]), int(offsets[count]))

    return below


def _since(row: Row, previous: Row | None, below: Callable[[int], _Below]) -> Row:
    if previous is None:
        names = ("previous_end_offset", "records_since", "ms_since", "log_bytes_since", "reached")
        return dict.fromkeys(names)
    end, previous_end = row["end_offset"], previous["end_offset"]
    ms = ms_between(*(one["last_contained_log_timestamp"] for one in (previous, row)))
    now, then = below(end), below(previous_end)
    # None unless the branch holds every offset between the two snapshots.
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
    # Where one threshold is unknown, nobody knows whether it was reached.
    return None if in_bytes is None or ms is None else "neither"

"""gold.truncations: what vanished from a replica's log between two captures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.cluster.batches import Batches
from pipelines.cluster.rows import Row
from pipelines.gold.round_names import round_names
from pipelines.silver.committed_log import AgreedBranch, Batch
from pipelines.tables.keys import replica_of
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference, intersection
from replica.model.keys import ReplicaId


def truncations(
    batches: Batches,
    committed: AgreedBranch,
    proven: Callable[[Iterable[Batch]], Mapping[Batch, Ranges]],
    captures: Sequence[Row],
    unsynced: Mapping[str, int],
) -> Iterator[Row]:
    """Rows of gold.truncations: a row for each run of offsets that one capture was the last to
    hold, and that one capture shows to be gone.

    proven: gives the proven offsets of batches, as proven_ranges does. captures: rows of
    bronze.captures. unsynced: the result of unsynced_from. Batches that were deleted after a
    snapshot are not truncated: they have removed_at. Batches beyond a run of zeros are not
    truncated either: the replica never synced them, so it had acknowledged nothing there.
    """
    rounds = round_names(captures, lambda row: (replica_of(row), row["captured_at"]))
    zeros = {
        (replica_of(row), row["captured_at"]): unsynced[row["capture_id"]]
        for row in captures
        if row["capture_id"] in unsynced
    }
    gone = _gone(batches, zeros)
    ranges = proven(one.batch for entries in gone.values() for one in entries)
    for (replica, seen_at, last_seen), entries in gone.items():
        for run in _runs(sorted(entries, key=itemgetter(0, 1, 2))):
            yield {
                **asdict(replica),
                "seen_at": seen_at,
                "seen_in_round": rounds.get((replica, seen_at)),
                "last_seen": last_seen,
                **_of_run(run, committed, ranges),
            }


class _Gone(NamedTuple):
    """The part of a batch that is gone: offsets from start (inclusive) to end (exclusive)."""

    start: int
    end: int
    batch: Batch


_Between = tuple[ReplicaId, datetime, datetime | None]
"""A replica, the time of the capture that lacks the batches, and the time of the last capture with
them."""


def _gone(
    batches: Batches, zeros: Mapping[tuple[ReplicaId, datetime | None], int]
) -> dict[_Between, list[_Gone]]:
    """The batches that a capture shows to be gone. zeros: the offset at which a run of zeros begins
    in a replica's log, by the time of the capture."""
    is_gone = batches.other_columns["truncated_at"].is_valid().to_numpy() & batches.is_sound
    places = np.flatnonzero(is_gone & (batches.base_offset < batches.entries_end))
    told = batches.other_columns.take(pa.array(places))
    times = zip(told["truncated_at"].to_pylist(), told["last_seen"].to_pylist(), strict=True)
    found: dict[_Between, list[_Gone]] = defaultdict(list)
    for place, (truncated_at, last_seen) in zip(places.tolist(), times, strict=True):
        batch = batches.identity(place)
        replica = batches.replicas[int(batches.replica[place])]
        end = int(batches.entries_end[place])
        if batch[0] < zeros.get((replica, last_seen), end):
            found[replica, truncated_at, last_seen].append(_Gone(batch[0], end, batch))
    return found


def _runs(entries: Iterable[_Gone]) -> Iterator[list[_Gone]]:
    """Runs of consecutive offsets. entries: ascending by offset."""
    run: list[_Gone] = []
    end = -1
    for entry in entries:
        if run and entry.start > end:
            yield run
            run = []
        run.append(entry)
        end = max(end, entry.end)
    if run:
        yield run


def _of_run(run: Sequence[_Gone], committed: AgreedBranch, proven: Mapping[Batch, Ranges]) -> Row:
    lost = [_lost(one, committed, proven) for one in run]
    return {
        "from_offset": run[0].start,
        "to_offset": max(one.end for one in run),
        "epochs": sorted({one.batch[1] for one in run}),
        "records": sum(one.end - one.start for one in run),
        **{f"{name}_lost": sum(one[name] for one in lost) for name in lost[0]},
    }


def _lost(one: _Gone, committed: AgreedBranch, proven: Mapping[Batch, Ranges]) -> dict[str, int]:
    """How many entries were lost, by commitment. "committed": the vanished entry itself is proven.
    "superseded": another entry at its offset is proven. "unproven": no entry there is proven."""
    whole = (OffsetRange(one.start, one.end),)
    beside = difference(whole, proven[one.batch])
    superseded = _size(intersection(beside, committed.proven))
    return {
        "committed": one.end - one.start - _size(beside),
        "unproven": _size(beside) - superseded,
        "superseded": superseded,
    }


def _size(ranges: Ranges) -> int:
    return sum(one.size for one in ranges)

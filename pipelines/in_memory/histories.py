"""gold.leader_epoch_history, gold.divergence_points and gold.truncations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.batches import Batches
from pipelines.in_memory.committed import AgreedBranch, Batch
from pipelines.in_memory.group_finding import moment, newest_group
from pipelines.in_memory.rows import Row
from pipelines.tables.keys import replica_of
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference, intersection
from replica.model.keys import ReplicaId


def leader_epoch_history(
    cluster_id: str, known: Mapping[int, Row], groups: Sequence[Row]
) -> list[Row]:
    """Rows of gold.leader_epoch_history. known: from known_epochs. groups: from group_findings."""
    rows: list[Row] = []
    following: Row = {"start_offset": None, "started_at": None}
    for epoch, fact in sorted(known.items(), key=itemgetter(0), reverse=True):
        commitment, is_on_branch = _judged(epoch, fact["start_offset"], groups)
        row = {
            **{"cluster_id": cluster_id, "epoch": epoch, **fact},
            "end_offset": following["start_offset"],
            "ended_at": following["started_at"],
            "commitment": commitment,
        }
        rows.append(row)
        if is_on_branch:
            following = row
    return rows


def _judged(epoch: int, start: int, groups: Sequence[Row]) -> tuple[str, bool]:
    """The epoch's commitment, and whether it is on the agreed branch.

    A proven epoch is on it, a superseded one isn't. For another epoch the newest group whose branch
    reaches it decides. An epoch below every branch (all heads were deleted) is on it.
    """
    if any(_is_proven(epoch, group) for group in groups):
        return "proven", True
    if any(_is_superseded(epoch, start, group) for group in groups):
        return "superseded", False
    judges = [group for group in groups if _reaches(epoch, start, group)]
    return "unproven", not judges or _has(epoch, max(judges, key=moment))


def _reaches(epoch: int, start: int, group: Row) -> bool:
    """Whether the group's branch holds the epoch's first offset, or will hold another entry
    there."""
    if not group["branch"] or group["branch_start"] > start:
        return False
    return bool(start < group["branch_end"] or group["branch"][-1]["epoch"] > epoch)


def _is_proven(epoch: int, group: Row) -> bool:
    """Whether the group proves the epoch. An epoch has one leader, so any proven entry of it proves
    its earlier entries."""
    return any(
        head["epoch"] == epoch and head["commitment"] == "proven" for head in group["epochs"]
    )


def _is_superseded(epoch: int, start: int, group: Row) -> bool:
    """Whether the group holds the epoch's head and knows that it lost, or proves another entry at
    its offset."""
    head = {"epoch": epoch, "start_offset": start, "commitment": "superseded"}
    is_proven_there = any(
        part["commitment"] == "proven" and part["start"] <= start < part["end"]
        for part in group["branch_parts"]
    )
    return head in group["epochs"] or (is_proven_there and not _has(epoch, group))


def _has(epoch: int, group: Row) -> bool:
    return any(entry["epoch"] == epoch for entry in group["branch"])


def divergence_points(groups: Sequence[Row], captures: Iterable[Row]) -> Iterator[Row]:
    """Rows of gold.divergence_points. groups: from group_findings. captures: bronze's rows."""
    newest = newest_group(groups)
    rounds = _round_names(captures, itemgetter("capture_group"))
    for group in groups:
        name = group["capture_group"]
        about = {
            "cluster_id": group["cluster_id"],
            "capture_group": name,
            "is_latest": name == newest,
            "round_name": rounds.get(name),
        }
        for pair in group["pairs"]:
            yield about | pair


def _round_names(captures: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, str]:
    """The name of the round for each key of a capture: where the captures with the key name several
    rounds, the least name. Keys whose captures name no round are left out."""
    named = grouped((row for row in captures if row["round_name"] is not None), key)
    return {one: min(row["round_name"] for row in rows) for one, rows in named.items()}


class _Gone(NamedTuple):
    """The part of a batch that is gone: offsets from start (inclusive) to end (exclusive)."""

    start: int
    end: int
    batch: Batch


def truncations(
    batches: Batches,
    committed: AgreedBranch,
    proven: Callable[[Iterable[Batch]], Mapping[Batch, Ranges]],
    captures: Iterable[Row],
) -> Iterator[Row]:
    """Rows of gold.truncations: one for each run of offsets that one capture was the last to hold,
    and that one capture shows to be gone.

    proven: proven_ranges of some batches. captures: bronze's rows. What was deleted behind a
    snapshot is no truncation: it has removed_at.
    """
    rounds = _round_names(captures, lambda row: (replica_of(row), row["captured_at"]))
    gone = _gone(batches)
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


_Between = tuple[ReplicaId, datetime, datetime | None]
"""A replica, the time of the capture that lacks something, and the time of the last one with it."""


def _gone(batches: Batches) -> dict[_Between, list[_Gone]]:
    """The batches that a capture shows to be gone."""
    is_gone = batches.told["truncated_at"].is_valid().to_numpy() & batches.is_sound
    places = np.flatnonzero(is_gone & (batches.base_offset < batches.entries_end))
    told = batches.told.take(pa.array(places))
    times = zip(told["truncated_at"].to_pylist(), told["last_seen"].to_pylist(), strict=True)
    found: dict[_Between, list[_Gone]] = defaultdict(list)
    for place, (truncated_at, last_seen) in zip(places.tolist(), times, strict=True):
        batch = batches.identity(place)
        replica = batches.replicas[int(batches.replica[place])]
        one = _Gone(batch[0], int(batches.entries_end[place]), batch)
        found[replica, truncated_at, last_seen].append(one)
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
    """How many entries were lost, by commitment. committed: the vanished entry itself is proven.
    superseded: another entry at its offset is."""
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

"""The rows of bronze after some captures are removed: pure functions of bronze's spans and
captures.

A row becomes what it would be if the captures had never been ingested. Only a batch's `position`
stays as it was. The position would differ only where the replica wrote the batch again at another
place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.bronze.batch_spans import HELD_BY
from pipelines.bronze.captured import Uncovered, covered_from, may_hide, ranges_of
from pipelines.tables.keys import covers
from replica.format.capture import group_id
from replica.format.file_names import FileKind, classify
from replica.format.snapshot import SnapshotState
from replica.model.keys import ReplicaId

Row = dict[str, Any]
_DELETED = ".deleted"


@dataclass(frozen=True, slots=True)
class ReplicaCapture:
    """One capture of one replica, from a row of bronze.captures."""

    capture_id: str
    at: datetime
    ingest_seq: int
    source: str
    covered_from: int
    """The offset from which on the log shows what it holds and what it lacks (inclusive): see
    pipelines.bronze.captured.covered_from."""
    uncovered: tuple[Uncovered, ...]
    """The offsets that damage may hide."""
    files: Mapping[str, str]
    """The hash of each file's content, by the file's name in the metadata folder."""
    is_kept: bool
    """Whether the capture stays in the lake."""

    def has_in(self, spans: Iterable[Mapping[str, Any]]) -> bool:
        """Whether the capture's captured_at is in one of the spans, whose ends are inclusive."""
        return any(covers(span, self.at) for span in spans)


Moments = Mapping[ReplicaId, tuple[ReplicaCapture, ...]]


def moment_of(row: Mapping[str, Any], *, is_kept: bool) -> ReplicaCapture:
    """The capture that a row of bronze.captures describes. is_kept: whether it stays in the
    lake."""
    return ReplicaCapture(
        capture_id=row["capture_id"],
        at=row["captured_at"],
        ingest_seq=row["ingest_seq"],
        source=row["source"],
        covered_from=covered_from(row["log_start_offset"], row["first_offset"]),
        uncovered=ranges_of(row),
        files={
            file["path"].partition("/")[2]: file["sha256"]
            for file in row["files"]
            if "/" in file["path"]
        },
        is_kept=is_kept,
    )


def by_replica(moments: Iterable[tuple[ReplicaId, ReplicaCapture]]) -> Moments:
    """The captures of each replica, in the order of their time."""
    found: dict[ReplicaId, list[ReplicaCapture]] = {}
    for replica, moment in moments:
        found.setdefault(replica, []).append(moment)
    return {
        replica: tuple(sorted(each, key=lambda moment: moment.at))
        for replica, each in found.items()
    }


def remaining_groups(captures: Iterable[Mapping[str, Any]], forgotten: set[int]) -> dict[int, str]:
    """The id of the group of each capture that stays, by the index of its row. captures: rows of
    bronze.captures. forgotten: the indexes of the rows to remove.

    A group that loses a capture becomes another group. If the lake then has that group twice, one
    of them is left out, as an ingest would have done.
    """
    groups: dict[tuple[int, str], list[int]] = {}
    rows = list(captures)
    for index, row in enumerate(rows):
        groups.setdefault((row["ingest_seq"], row["capture_group"]), []).append(index)
    remaining: dict[int, str] = {}
    known: set[str] = set()
    for (_, group), members in sorted(groups.items()):
        kept = [index for index in members if index not in forgotten]
        if not kept:
            continue
        if len(kept) < len(members):
            ids = [rows[index]["capture_id"] for index in kept]
            group = group_id(rows[kept[0]]["cluster_id"], ids)
        if group not in known:
            remaining.update(dict.fromkeys(kept, group))
        known.add(group)
    return remaining


def remaining_batch(row: Mapping[str, Any], moments: Sequence[ReplicaCapture]) -> Row | None:
    """The row of bronze.log_batches without the removed captures; None where no capture that stays
    has the batch. moments: all captures of the row's replica, in the order of their time."""
    kept = [moment for moment in moments if moment.is_kept]
    seen = [moment for moment in kept if moment.has_in(row["seen"])]
    if not seen:
        return None
    spans = {name: _spans_of(row[name], kept) for name in HELD_BY}
    vanished = next(
        (
            moment
            for moment in kept
            if moment.at > seen[0].at
            and not moment.has_in(row["seen"])
            and not may_hide(moment.uncovered, row["base_offset"])
        ),
        None,
    )
    removed = vanished is not None and row["base_offset"] < vanished.covered_from
    return {
        **row,
        **spans,
        "file": _file(row, moments, first_ingested(seen)),
        "crc_valid": bool(spans["undamaged"]),
        "first_seen": seen[0].at,
        "last_seen": None if seen[-1] is kept[-1] else seen[-1].at,
        "truncated_at": vanished.at if vanished is not None and not removed else None,
        "removed_at": vanished.at if vanished is not None and removed else None,
    }


def remaining_snapshot(row: Mapping[str, Any], moments: Sequence[ReplicaCapture]) -> Row | None:
    """The row of bronze.snapshots without the removed captures; None where no capture that stays
    has the snapshot. moments: as in remaining_batch."""
    names = {
        moment.capture_id: name
        for moment in moments
        if moment.is_kept and (name := _snapshot_name(row, moment)) is not None
    }
    seen = [moment for moment in moments if moment.is_kept and moment.capture_id in names]
    if not seen:
        return None
    last = names[seen[-1].capture_id]
    complete = {
        moment.capture_id
        for moment in seen
        if _snapshot_state(names[moment.capture_id]) is SnapshotState.COMPLETE
    }
    return {
        **row,
        "file": os.path.join(seen[-1].source, last),
        "state": _snapshot_state(last).value,
        "first_seen": seen[0].at,
        "last_seen": seen[-1].at,
        "captures": [one for one in row["captures"] if one in complete],
    }


def first_ingested(moments: Iterable[ReplicaCapture]) -> ReplicaCapture:
    """The capture that was ingested first."""
    return min(moments, key=lambda moment: moment.ingest_seq)


def _spans_of(old: Sequence[Mapping[str, Any]], kept: Sequence[ReplicaCapture]) -> list[Row]:
    """The runs of kept captures, in the order of their time, whose times are in the old spans. A
    run with the newest capture is open."""
    spans: list[Row] = []
    goes_on = False
    for moment in kept:
        held = moment.has_in(old)
        if held and goes_on:
            spans[-1]["to"] = moment.at
        elif held:
            spans.append({"from": moment.at, "to": moment.at})
        goes_on = held
    if goes_on:
        spans[-1]["to"] = None
    return spans


def _file(row: Mapping[str, Any], moments: Sequence[ReplicaCapture], first: ReplicaCapture) -> str:
    """The file in which the batch was first seen, in the order of ingestion."""
    before = first_ingested(moment for moment in moments if moment.has_in(row["seen"]))
    if before.is_kept:
        return str(row["file"])
    return file_in(row, first)


def file_in(row: Mapping[str, Any], moment: ReplicaCapture) -> str:
    """The segment in which a capture has a batch: its path below the directory, as the user of
    ingest named the directory."""
    name: str = os.path.basename(row["file"]).removesuffix(_DELETED)
    in_log = moment.has_in(row["in_log"])
    names = (name, name + _DELETED) if in_log else (name + _DELETED, name)
    found = next((one for one in names if one in moment.files), None)
    segment = found or _segment_below(row["base_offset"], moment.files) or name
    return os.path.join(moment.source, segment)


def _segment_below(offset: int, names: Iterable[str]) -> str | None:
    """The segment with the highest base offset that isn't above the offset: a capture's segments
    may begin at other offsets than those of an earlier capture. None where there is no such
    segment."""
    segments = ((classify(name), name) for name in names)
    bases = [
        (found.base_offset, name)
        for found, name in segments
        if found.kind is FileKind.SEGMENT
        and not found.deleted
        and found.base_offset is not None
        and found.base_offset <= offset
    ]
    return max(bases)[1] if bases else None


def _snapshot_name(row: Mapping[str, Any], moment: ReplicaCapture) -> str | None:
    """The name under which a capture has the snapshot; None where it doesn't have it."""
    for name, content in moment.files.items():
        found = classify(os.path.basename(name)).snapshot
        if found is None or content != row["content_sha256"]:
            continue
        if (found.id.offset, found.id.epoch) == (row["end_offset"], row["epoch"]):
            return name
    return None


def _snapshot_state(name: str) -> SnapshotState:
    found = classify(os.path.basename(name)).snapshot
    assert found is not None, "a snapshot's name"
    return found.state

"""The content that an ingest would bring into a lake, as a value. Making the plan needs no Spark,
and writes nothing.

The plan is made by the functions by which an ingest decides. It lacks facts that only decoding
shows, such as damage inside of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines import delta
from pipelines.bronze.captured import (
    Captured,
    KnownCapture,
    PlacedCaptures,
    covered_from,
    known_captures,
    new_damages,
    place,
    uncovered_by,
)
from pipelines.bronze.new_records import (
    Keys,
    KnownKeys,
    WantedSegment,
    known_batches,
    wanted_segments,
)
from pipelines.bronze.snapshot_records import new_snapshots
from pipelines.capture.captures import Captures
from pipelines.delta import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.tables.bronze import BRONZE, LOG_RECORDS
from replica.format.directory import SnapshotFile
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId
from replica.scan.compact import column_of, next_offsets


@dataclass(frozen=True, slots=True)
class NewRange:
    """Bytes of a segment (`end` exclusive) to decode: the lake lacks `batches` of the batches with
    base offsets from first_offset (inclusive) to end_offset (exclusive)."""

    file: str
    start: int
    end: int
    first_offset: int
    end_offset: int
    batches: int


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """A snapshot whose records the lake lacks."""

    file: str
    size_bytes: int
    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class NewCapture:
    """A capture of a replica that the lake lacks: one row of bronze.captures."""

    round: int
    """The number of the capture's round, from 1, in the order of ingestion."""
    round_name: str | None
    """The name of the round in --order; None without --order."""
    replica: ReplicaId
    directory: str
    """The directory as the user named it."""
    captured_at: datetime
    follows: datetime | None
    """captured_at of the replica's capture before this one; None where there is none."""
    segments: tuple[NewRange, ...]
    snapshots: tuple[NewSnapshot, ...]
    damages: int
    """The number of places in the capture that can't be read."""


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """The plan of an ingest."""

    captures: tuple[NewCapture, ...]
    damages: int
    """The number of damages that belong to no replica and that the lake lacks."""

    @property
    def new_bytes(self) -> int:
        """The number of bytes of logs and snapshots that the ingest will decode."""
        ranges = [part for one in self.captures for part in one.segments]
        found = [snapshot for one in self.captures for snapshot in one.snapshots]
        return sum(one.end - one.start for one in ranges) + sum(one.size_bytes for one in found)


def plan_of(lake: Lake, given: Captures, now: datetime, redactor: Redactor | None) -> IngestPlan:
    """The plan. now: captured_at of captures without a time of their own. redactor: the lake's;
    None where it keeps secrets. Raises UsageError where a table of bronze can't be read."""
    is_new = any(open_if_there(lake, contract.name) is None for contract in BRONZE)
    everything = [group for groups in given.rounds for group in groups]
    known = PlacedCaptures() if is_new else known_captures(lake, everything, now)
    batches: Keys = {}
    captures: list[NewCapture] = []
    for number, groups in enumerate(given.rounds, start=1):
        captured = place(groups, known, now)
        if not captured:
            continue
        known = known.with_round(map(_known, captured))
        if not is_new:
            _add(batches, lake, captured)
        wanted = wanted_segments(captured, batches, redactor)
        found = new_snapshots(None if is_new else lake, captured)
        captures += [_capture(number, one, wanted, found) for one in captured]
    damages = given.damages if is_new else new_damages(lake, given.damages)
    return IngestPlan(tuple(captures), len(damages))


def _capture(
    number: int,
    one: Captured,
    wanted: Sequence[WantedSegment],
    found: Sequence[tuple[Captured, SnapshotFile]],
) -> NewCapture:
    snapshots = [
        NewSnapshot(
            one.capture.shown_file(snapshot.file),
            snapshot.file.size_bytes,
            snapshot.id.offset,
            snapshot.id.epoch,
        )
        for owner, snapshot in found
        if owner is one and snapshot.id is not None
    ]
    return NewCapture(
        round=number,
        round_name=one.capture.round_name,
        replica=one.capture.replica,
        directory=one.capture.location.shown,
        captured_at=one.at,
        follows=one.previous_at,
        segments=tuple(_range(each) for each in wanted if each.captured is one),
        snapshots=tuple(snapshots),
        damages=len(one.capture.directory.damages),
    )


def _add(batches: Keys, lake: Lake, captured: Sequence[Captured]) -> None:
    version = delta.version(lake, LOG_RECORDS)
    for replica, keys in known_batches(lake, captured, version).items():
        batches.setdefault(replica, KnownKeys()).take(keys)


def _range(wanted: WantedSegment) -> NewRange:
    segment = wanted.segment
    new = segment.scan.new_batches
    return NewRange(
        wanted.captured.capture.shown_file(segment.file),
        segment.scan.sparse_until,
        segment.file.size_bytes,
        int(column_of(new, "base_offset").min()),
        int(next_offsets(new).max()),
        wanted.batches,
    )


def _known(one: Captured) -> KnownCapture:
    """The capture as the next round will find it in the lake."""
    directory = one.capture.directory
    return KnownCapture(
        one.group_id,
        one.capture.replica,
        one.at,
        one.ingest_seq,
        covered_from(directory.log_start_offset, directory.first_offset),
        uncovered_by(one.capture),
    )

"""Captures of directories with their place in the lake (a group, a time and a number), and the
offsets at which a capture doesn't prove that a missing batch is really gone.

A round writes bronze.captures last, so a group in that table is in all other tables too.
`holds_all` finds without Spark whether a lake has all that an ingest has read.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from deltalake import DeltaTable

from pipelines import delta
from pipelines.capture.capture import Capture
from pipelines.capture.captures import CaptureGroup, Captures, Round, next_free
from pipelines.delta.few_rows import joined_to
from pipelines.dialects import DATA_FUSION
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there, rows_of
from pipelines.tables.bronze import BRONZE, CAPTURES, DAMAGE
from pipelines.tables.keys import REPLICA_KEYS, replica_of
from replica.errors import UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.directory import MetadataDirectory, SegmentFile
from replica.format.file_names import FileKind, classify
from replica.model.keys import ReplicaId
from replica.scan.compact import column_of, next_offsets

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HIDING_FILES = (DamageKind.UNREADABLE, DamageKind.CHANGED)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Offsets from `start` (inclusive) to `end` (exclusive, None without end)."""

    start: int
    end: int | None


def may_hide(ranges: Iterable[Uncovered], offset: int) -> bool:
    """Whether the offset is in one of the ranges, so that a batch there may exist unseen."""
    return any(one.start <= offset and (one.end is None or offset < one.end) for one in ranges)


def ranges_of(row: Mapping[str, Any]) -> tuple[Uncovered, ...]:
    """The ranges of offsets in the column `uncovered` of a row of bronze.captures."""
    return tuple(Uncovered(gap["start"], gap["end"]) for gap in row["uncovered"])


def covered_from(log_start_offset: int, first_offset: int | None) -> int:
    """The offset from which on a log shows what it holds and what it lacks: its log start offset,
    or its first base offset where that is lower. first_offset: None for an empty log."""
    return log_start_offset if first_offset is None else min(log_start_offset, first_offset)


def uncovered_by(capture: Capture) -> tuple[Uncovered, ...]:
    """The ranges of offsets at which a capture doesn't show that a batch is absent. A log directory
    without a metadata log shows nothing of what its node once held."""
    is_formatted = capture.location.is_formatted
    return (Uncovered(0, None),) if is_formatted else uncovered(capture.directory)


def uncovered(directory: MetadataDirectory) -> tuple[Uncovered, ...]:
    """The ranges of offsets at which the directory doesn't show that a batch is absent: damage in
    the log's segments may hide it, or a fragment of a log leaves it out.

    A fragment covers no offset at all. Its time is by the recorder's clock, and the times of the
    replica's other captures may be by another clock.
    """
    if directory.is_fragment:
        return (Uncovered(0, None),)
    return (*_gaps(directory.segments), *_hidden_segments(directory), *_open_tail(directory))


def _gaps(segments: tuple[SegmentFile, ...]) -> list[Uncovered]:
    """The missing offsets between two batches, and between the base offset in a segment's name and
    the segment's first batch."""
    gaps = []
    expected: int | None = None
    for segment in segments:
        expected = segment.base_offset if expected is None else expected
        batches = segment.scan.batches
        if not batches:
            continue
        starts, ends = column_of(batches, "base_offset"), next_offsets(batches)
        before = np.concatenate([[expected], ends[:-1]])
        for number in np.flatnonzero(starts > before).tolist():
            if not segment.scan.follows_unlisted(batches[number]):
                gaps.append(Uncovered(int(before[number]), int(starts[number])))
        expected = int(ends[-1])
    return gaps


def _hidden_segments(directory: MetadataDirectory) -> list[Uncovered]:
    """The offsets of segments that could not be opened, up to the next one that could."""
    starts = sorted(segment.base_offset for segment in directory.segments)
    hidden = []
    for damage in directory.damages:
        name = classify(damage.file.rsplit("/", 1)[-1])
        is_segment = name.kind is FileKind.SEGMENT and not name.deleted
        if damage.kind in _HIDING_FILES and is_segment and name.base_offset is not None:
            after = next((start for start in starts if start > (name.base_offset or 0)), None)
            hidden.append(Uncovered(name.base_offset, after))
    return hidden


def _open_tail(directory: MetadataDirectory) -> list[Uncovered]:
    """The offsets from the log end on, where the last segment ends in bytes that are no batch."""
    ends_damaged = any(
        damage.length and damage.position + damage.length == segment.scan.end_position
        for segment in directory.segments[-1:]
        for damage in segment.scan.damages
        if damage.kind is not DamageKind.CRC_MISMATCH
    )
    return [Uncovered(directory.log_end_offset, None)] if ends_damaged else []


_CLOCK_STEP = timedelta(seconds=1)
"""Captures of one call without a time of their own get times that are less than this apart. A
larger distance to the newest capture means that the clock was set back."""


@dataclass(frozen=True, slots=True)
class KnownCapture:
    """The values of a row of bronze.captures by which new captures get their place."""

    capture_group: str
    replica: ReplicaId
    at: datetime
    ingest_seq: int
    covered_from: int
    """The offset from which on the log shows what it holds and what it lacks (inclusive)."""
    uncovered: tuple[Uncovered, ...]


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture with its place in the lake."""

    capture: Capture
    group_id: str
    at: datetime
    """captured_at, unique among the replica's captures."""
    ingest_seq: int
    """The number of the ingest round."""
    previous_at: datetime | None
    """captured_at of the replica's capture just before; None where this one is the first."""
    now: datetime
    """The time of the ingest, by the clock."""
    later: tuple[KnownCapture, ...]
    """The replica's captures with later times, in ascending order of time."""

    @property
    def clock_is_behind(self) -> bool:
        """Whether the clock's time is before a capture that was ingested earlier."""
        return self.capture.captured_at is None and self.at - self.now > _CLOCK_STEP


@dataclass(frozen=True)
class PlacedCaptures:
    """The captures that a lake has. New captures get their place among them."""

    captures: Mapping[ReplicaId, Sequence[KnownCapture]] = field(default_factory=dict)
    """The captures by replica, ascending by time. Of the captures before a replica's earliest new
    capture, only the newest is here."""
    groups: frozenset[str] = frozenset()
    """The captures' groups that the lake has."""
    ingest_seq: int = 0
    """The number of the lake's newest round; 0 where it has none."""

    def of(self, replica: ReplicaId) -> Sequence[KnownCapture]:
        """The replica's captures, ascending by captured_at; empty where there is none."""
        return self.captures.get(replica, ())

    def with_round(self, captures: Iterable[KnownCapture]) -> PlacedCaptures:
        """These captures, and the captures of one more round."""
        found = {replica: [*some] for replica, some in self.captures.items()}
        new = [*captures]
        for one in new:
            insort(found.setdefault(one.replica, []), one, key=_at)
        groups = self.groups | {one.capture_group for one in new}
        return PlacedCaptures(found, groups, max((one.ingest_seq for one in new), default=0))


_KNOWN = (
    "capture_group", *REPLICA_KEYS, "captured_at", "ingest_seq", "log_start_offset",
    "first_offset", "uncovered",
)  # fmt: skip
_NEWEST_SEQ = "SELECT max(ingest_seq) AS newest FROM t"


def known_captures(
    lake: delta.Lake, groups: Iterable[CaptureGroup], now: datetime
) -> PlacedCaptures:
    """The captures of the lake that `place` needs to place the captures of these groups. Of each
    replica these are the captures since its earliest new capture, and the newest capture before it.
    now: the time of the ingest."""
    groups = list(groups)
    earliest: dict[ReplicaId, datetime] = {}
    for capture in (capture for group in groups for capture in group.captures):
        at = min(now, capture.captured_at or now)
        earliest[capture.replica] = min(at, earliest.get(capture.replica, at))
    if not earliest:
        return PlacedCaptures()
    join = joined_to([*earliest], {"begin": [_micros(at) for at in earliest.values()]})
    since = "arrow_cast(begin, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    names = DATA_FUSION.columns(_KNOWN)
    query = (
        f"SELECT {names} FROM (SELECT {names}, captured_at >= {since} AS is_since, "
        f"row_number() OVER (PARTITION BY number, captured_at >= {since} ORDER BY captured_at DESC)"
        f" AS age FROM t {join}) WHERE is_since OR age = 1 ORDER BY captured_at"
    )
    found: dict[ReplicaId, list[KnownCapture]] = {}
    for row in delta.answer(lake, CAPTURES, query).to_pylist():
        found.setdefault(replica_of(row), []).append(_known_capture(row))
    ids = DATA_FUSION.literals(group.group_id for group in groups)
    held = delta.values(lake, CAPTURES, ("capture_group",), f"capture_group IN ({ids})")
    newest = delta.answer(lake, CAPTURES, _NEWEST_SEQ).to_pylist()[0]["newest"]
    return PlacedCaptures(found, frozenset(row["capture_group"] for row in held), newest or 0)


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _known_capture(row: Mapping[str, Any]) -> KnownCapture:
    return KnownCapture(
        row["capture_group"],
        replica_of(row),
        row["captured_at"],
        row["ingest_seq"],
        covered_from(row["log_start_offset"], row["first_offset"]),
        ranges_of(row),
    )


def place(
    groups: Iterable[CaptureGroup], known: PlacedCaptures, now: datetime
) -> tuple[Captured, ...]:
    """The captures of groups that the lake doesn't have yet, each with its time.

    A capture without a time of its own gets `now`. Where `now` is not after the newest capture of a
    replica of its group, the capture gets the first free time after that newest capture: a
    directory that is read now is newer than an earlier capture of it. All such captures of a group
    get one time. Raises UsageError where a capture was read with a base (Capture.base) that is no
    longer the replica's newest capture.
    """
    placed: list[Captured] = []
    for group in groups:
        if group.group_id in known.groups:
            continue
        together = _moment_of(group, known, now)
        for capture in group.captures:
            others = known.of(capture.replica)
            newest = others[-1].at if others else now
            at = next_free(capture.captured_at or together, {row.at for row in others})
            if capture.base is not None and (capture.base.at != newest or at < newest):
                raise UsageError(
                    f"{capture.location.shown}: another ingest of it has ended meanwhile: "
                    "run this one again"
                )
            before = bisect_left(others, at, key=_at)
            placed.append(
                Captured(
                    capture,
                    group.group_id,
                    at,
                    known.ingest_seq + 1,
                    others[before - 1].at if before else None,
                    now,
                    tuple(others[before:]),
                )
            )
    return tuple(placed)


def place_side_by_side(
    rounds: Iterable[Round], known: PlacedCaptures, now: datetime
) -> tuple[Captured, ...]:
    """The captures of the rounds of one pass, placed as if each round came after the one before.
    Parameters and errors are as in `place`."""
    placed: list[Captured] = []
    for groups in rounds:
        of_round = place(groups, known, now)
        placed += of_round
        for one in of_round[:1]:
            known = replace(known, ingest_seq=one.ingest_seq)
    return tuple(placed)


def _at(capture: KnownCapture) -> datetime:
    return capture.at


def _moment_of(group: CaptureGroup, known: PlacedCaptures, now: datetime) -> datetime:
    """The time of the captures without a time of their own: after all captures of their
    replicas."""
    captures = [capture for capture in group.captures if capture.captured_at is None]
    taken = {row.at for capture in captures for row in known.of(capture.replica)}
    return next_free(max([now, *taken]), taken)


_DAMAGES = "SELECT file, position, kind FROM t WHERE capture_id IS NULL"


def holds_all(lake: Lake, given: Captures) -> bool:
    """Whether every capture group and every damage is in the lake. False also where a table of
    bronze is absent or can't be read: then the ingest itself reports the reason."""
    groups = {group.group_id for groups in given.rounds for group in groups}
    try:
        tables = {contract: open_if_there(lake, contract.name) for contract in BRONZE}
        captures, damage = tables[CAPTURES], tables[DAMAGE]
        if captures is None or damage is None or None in tables.values():
            return False
        ids = DATA_FUSION.literals(groups) or "NULL"
        query = f"SELECT DISTINCT capture_group FROM t WHERE capture_group IN ({ids})"
        known = {row["capture_group"] for row in rows_of(captures, query)}
        new = _not_told(damage, given.damages)
    except Exception:  # noqa: BLE001 - delta-rs raises just that where a data file is gone
        return False
    return groups <= known and not new


def new_damages(lake: Lake, damages: Sequence[Damage]) -> list[Damage]:
    """The damages without a replica that the lake lacks. Its table bronze.damage must exist."""
    table = open_if_there(lake, DAMAGE.name)
    assert table is not None, f"{lake} has no {DAMAGE.name}"
    return _not_told(table, damages)


def _not_told(table: DeltaTable, damages: Sequence[Damage]) -> list[Damage]:
    if not damages:
        return []
    told = {tuple(row.values()) for row in rows_of(table, _DAMAGES)}
    return [damage for damage in damages if _key(damage) not in told]


def _key(damage: Damage) -> tuple[Any, ...]:
    """The key of a damage without a replica: the keys of bronze.damage without the capture."""
    return damage.file, damage.position, damage.kind.value

"""The rows of bronze.log_batches that a round may add or change, cut into windows of bounded size.

A window has all offsets of some replicas, or a stretch of offsets of one replica. Each offset of
each replica is in one window, together with everything about its batch: its row, and its bytes in
any file. So each window is folded by itself, and memory holds only a few windows, however long the
logs are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments
from pipelines.bronze.log_ranges import LogRange
from pipelines.delta.few_rows import joined_to
from pipelines.dialects import Sql
from pipelines.tables.bronze import LOG_BATCHES
from replica.format.directory import SegmentFile
from replica.model.keys import ReplicaId
from replica.scan.compact import column_of
from replica.scan.native import Longs

MOST_ROWS = 100_000
"""The most rows of a window, known rows and new ones together. They take some 40 MB as Arrow, and a
fold has four windows at a time."""


_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Touched:
    """The rows of LOG_BATCHES of a replica that a capture may change."""

    ranges: tuple[tuple[int, int], ...] = ((_LEAST, _MOST),)
    """The base offsets of the rows, as ranges: first and last offset, both inclusive."""
    closed_from: int = _LEAST
    """Rows with a last_seen may change only from this base offset on (inclusive)."""

    def within(self, start: int | None, end: int | None) -> Touched:
        """The rows whose base offsets lie from `start` (inclusive) to `end` (exclusive); None for
        no bound."""
        least, most = _LEAST if start is None else start, _MOST if end is None else end - 1
        cut = [(max(first, least), min(last, most)) for first, last in self.ranges]
        return Touched(tuple(one for one in cut if one[0] <= one[1]), self.closed_from)


@dataclass(frozen=True, slots=True)
class LogStretch:
    """Offsets of a replica's log from `start` (inclusive) to `end` (exclusive), None where there is
    no bound."""

    replica: ReplicaId
    start: int | None
    end: int | None
    parts: tuple[LogRange, ...]
    """All bytes of the round that may hold a batch with an offset of the stretch."""
    touched: Touched
    """The rows of the stretch that the round may change."""
    known: int
    """The number of the table's rows in the stretch that the round may change."""
    new: int
    """How many of the round's batches are in the stretch."""

    @property
    def size(self) -> int:
        """The number of the table's rows in the stretch plus the number of the round's batches
        there."""
        return self.known + self.new

    def of(self, batches: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of these batches whose base offset is in the stretch. All the batches are of the
        stretch's replica."""
        for bound, holds in ((self.start, pc.greater_equal), (self.end, pc.less)):
            if bound is not None:
                batches = batches.filter(holds(batches.column("base_offset"), bound))
        return batches


@dataclass(frozen=True, slots=True)
class FoldWindow:
    """The rows that are folded together."""

    stretches: tuple[LogStretch, ...]

    @property
    def is_new(self) -> bool:
        """Whether the table has no row that the window might change."""
        return not any(stretch.known for stretch in self.stretches)

    def rows(self, lake: delta.Lake, version: int) -> pa.Table:
        """The rows that the window may change, in this version of the table."""
        touched = [(stretch.replica, stretch.touched) for stretch in self.stretches]
        asked = _asked_for(touched)
        return delta.rows_where(lake, LOG_BATCHES, asked.changing, version, asked.to_bounds)


def windows(
    lake: delta.Lake, version: int, captured: Sequence[Captured], parts: Sequence[LogRange]
) -> list[FoldWindow]:
    """All windows of a round that have a row or a batch.

    version: the version of bronze.log_batches that is read. captured: one capture of each replica.
    parts: all new bytes of their segments. Raises UsageError where the lake has no such table.
    """
    touched = {one.capture.replica: touched_by(one) for one in captured}
    counts = _known_counts(lake, version, touched)
    batches = _batches(captured, parts)
    many = {
        replica: rows
        for replica, rows in touched.items()
        if counts.get(replica)
        and counts[replica] + batches.get(replica, _NO_BATCHES).offsets.size > MOST_ROWS
    }
    offsets = _known_offsets(lake, version, many)
    stretches: list[LogStretch] = []
    for replica, rows in touched.items():
        known = offsets.get(replica, np.zeros(counts.get(replica, 0), np.int64))
        new = batches.get(replica, _NO_BATCHES)
        if known.size or new.offsets.size:
            stretches += _cut(replica, rows, known, new)
    return list(_joined(stretches))


@dataclass(frozen=True, slots=True)
class _Batches:
    """The batches of a replica in a round: the base offset of each batch, and the lowest and the
    highest base offset of each part that has a batch."""

    offsets: Longs
    parts: tuple[tuple[LogRange, int, int], ...]


_NO_BATCHES = _Batches(np.zeros(0, np.int64), ())


def _batches(captured: Sequence[Captured], parts: Sequence[LogRange]) -> dict[ReplicaId, _Batches]:
    of_file: dict[str, list[LogRange]] = {}
    for part in parts:
        of_file.setdefault(part.range.path, []).append(part)
    found: dict[ReplicaId, _Batches] = {}
    for one, segment in new_segments(captured):
        new = segment.scan.new_batches
        offsets, positions = column_of(new, "base_offset"), column_of(new, "position")
        placed = []
        for part in of_file.get(one.capture.copy_of(segment.file), ()):
            begin, end = np.searchsorted(positions, (part.range.start, part.range.end))
            if begin < end:
                of_part = offsets[begin:end]
                placed.append((part, int(of_part.min()), int(of_part.max())))
        before = found.get(one.capture.replica, _NO_BATCHES)
        all_offsets = np.concatenate([before.offsets, offsets])
        found[one.capture.replica] = _Batches(all_offsets, (*before.parts, *placed))
    return found


def _cut(replica: ReplicaId, touched: Touched, known: Longs, new: _Batches) -> Iterator[LogStretch]:
    """The replica's stretches. known: base offsets of the rows that may change."""
    both = np.sort(np.concatenate([known, new.offsets]))
    cuts = _cuts(both, np.array(sorted(least for _, least, _ in new.parts), np.int64))
    for start, end in pairwise((None, *cuts, None)):
        parts = [
            part
            for part, least, most in new.parts
            if (end is None or least < end) and (start is None or most >= start)
        ]
        counts = [_within(offsets, start, end) for offsets in (known, new.offsets)]
        yield LogStretch(replica, start, end, tuple(parts), touched.within(start, end), *counts)


def _cuts(offsets: Longs, wanted: Longs) -> Iterator[int]:
    """The offsets at which stretches begin, without the first stretch's; ascending.

    A stretch begins where a part begins, so that each part is read once. Where no part begins
    within MOST_ROWS, a stretch begins at any offset. Batches of one offset stay together. offsets:
    of all rows and batches, ascending. wanted: the lowest offset of each part, ascending.
    """
    places = np.searchsorted(offsets, wanted)
    begin = 0
    while offsets.size - begin > MOST_ROWS:
        near = places[(places > begin) & (places <= begin + MOST_ROWS)]
        cut = offsets[near[-1] if near.size else begin + MOST_ROWS]
        at = int(np.searchsorted(offsets, cut))
        begin = at if at > begin else int(np.searchsorted(offsets, cut, side="right"))
        if begin < offsets.size:
            yield int(offsets[begin])


def _within(offsets: Longs, start: int | None, end: int | None) -> int:
    chosen = np.ones(offsets.size, np.bool_)
    if start is not None:
        chosen &= offsets >= start
    if end is not None:
        chosen &= offsets < end
    return int(chosen.sum())


def _joined(stretches: Sequence[LogStretch]) -> Iterator[FoldWindow]:
    """Small stretches of several replicas, joined into windows."""
    together: list[LogStretch] = []
    size = 0
    for stretch in stretches:
        if together and size + stretch.size > MOST_ROWS:
            yield FoldWindow(tuple(together))
            together, size = [], 0
        together.append(stretch)
        size += stretch.size
    if together:
        yield FoldWindow(tuple(together))


def _known_counts(
    lake: delta.Lake, version: int, touched: Mapping[ReplicaId, Touched]
) -> dict[ReplicaId, int]:
    asked = _asked_for(touched.items())
    if not asked.replicas:
        return {}
    query = (
        f"SELECT number, count(*) AS n FROM t {asked.to_bounds} WHERE {asked.changing} "
        "GROUP BY number"
    )
    found: Counter[ReplicaId] = Counter()
    for row in delta.answer(lake, LOG_BATCHES, query, version).to_pylist():
        found[asked.replicas[row["number"]]] += row["n"]
    return found


def _known_offsets(
    lake: delta.Lake, version: int, touched: Mapping[ReplicaId, Touched]
) -> dict[ReplicaId, Longs]:
    asked = _asked_for(touched.items())
    if not asked.replicas:
        return {}
    query = f"SELECT number, base_offset FROM t {asked.to_bounds} WHERE {asked.changing}"
    rows = delta.answer(lake, LOG_BATCHES, query, version).sort_by("number")
    cuts = np.searchsorted(rows["number"].to_numpy(), np.arange(len(asked.replicas) + 1)).tolist()
    found: dict[ReplicaId, Longs] = {}
    for replica, (begin, end) in zip(asked.replicas, pairwise(cuts), strict=True):
        offsets = rows["base_offset"].slice(begin, end - begin).to_numpy()
        found[replica] = np.concatenate([found.get(replica, np.zeros(0, np.int64)), offsets])
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """The SQL of delta-rs that selects the rows of the table t that may change."""

    replicas: Sequence[ReplicaId] = ()
    """The replica of each `number` that `to_bounds` gives to rows, by index (see joined_to)."""
    to_bounds: Sql = ""
    changing: Sql = "false"


def _asked_for(touched: Iterable[tuple[ReplicaId, Touched]]) -> _Asked:
    each = [(replica, rows, low, high) for replica, rows in touched for low, high in rows.ranges]
    if not each:
        return _Asked()
    replicas = [replica for replica, *_ in each]
    lows, highs = [low for _, _, low, _ in each], [high for *_, high in each]
    bounds = {"low": lows, "high": highs, "closed_from": [rows.closed_from for _, rows, *_ in each]}
    condition = (
        f"base_offset BETWEEN {min(lows):d} AND {max(highs):d} AND base_offset BETWEEN low AND high"
        " AND (last_seen IS NULL OR base_offset >= closed_from)"
    )
    return _Asked(replicas, joined_to(replicas, bounds), condition)


def touched_by(one: Captured) -> Touched:
    """The rows of LOG_BATCHES that a capture may change.

    Bytes of the log that are known from the newest capture are in this capture too, so the rows of
    their batches stay as they are. A row with a last_seen changes only if its batch is among the
    new batches again. A .log.deleted file may hold the batch of any row.
    """
    held = held_by(one)
    if not held or has_deleted(one):
        return Touched()
    new = [
        int(column_of(segment.scan.new_batches, "base_offset").min())
        for segment in one.capture.directory.segments
        if segment.scan.new_batches
    ]
    return Touched(_without(held), min(new, default=_MOST))


def _without(held: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The offsets outside of the ranges (end exclusive), as ranges with inclusive ends."""
    found, first = [], _LEAST
    for start, end in sorted(held):
        if first < start:
            found.append((first, start - 1))
        first = max(first, end)
    return (*found, (first, _MOST))


def held_by(one: Captured) -> list[tuple[int, int]]:
    """The ranges of offsets in known bytes of the log, end exclusive; empty where no bytes were
    known."""
    known = [segment for segment in one.capture.directory.segments if segment.scan.sparse_until]
    return [] if one.capture.base is None else _neighbours(known)


def has_deleted(one: Captured) -> bool:
    """Whether the capture, or the newest one before it, has .log.deleted files."""
    base = one.capture.base
    return bool(one.capture.directory.deleted_segments) or (base is not None and base.has_deleted)


def _neighbours(segments: Sequence[SegmentFile]) -> list[tuple[int, int]]:
    """The offsets of the segments' known bytes, end exclusive. Ranges that touch are one range."""
    ranges: list[tuple[int, int]] = []
    for segment in segments:
        start = segment.scan.batches[0].header.base_offset
        end = segment.scan.next_offset_of_known
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges

"""The rows of each part of a cluster's replay, and how a part walks the log.

The log is the agreed branch. Each of its runs without a hole is replayed by itself (module plan). A
part reads its rows once, in the order in which it needs them, so its memory holds the state of its
keys, and never the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.replay.entries import (
    SPREAD,
    Entries,
    LogEntry,
    bucket_of,
    mask_of,
    record_of,
    rows_of,
    stretches,
)
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, ReplayRun
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.kind import Entity
from replica.metadata.image.partitioning import key_of, owner_of
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.scan.version_input import MOST_ROWS

IN_SNAPSHOT = -1
"""The offset of an entity of the snapshot with which a replay began."""

OF_SNAPSHOT, OF_TAIL, OF_LOG = "0", "1", "2"
"""The beginnings of a row's `source`. Rows of one position come in this order."""
SOURCE_OF_SNAPSHOT = f"{OF_SNAPSHOT}%010d%s"
"""A template for the `source` of a snapshot's row: the snapshot's epoch, then the SHA-256 of its
content (hex digits), so that rows sort by both."""
_ROWS_AT_ONCE = 4096


class SnapshotEntities(NamedTuple):
    """The entities of a snapshot that belong to this part."""

    snapshot: PlannedSnapshot
    image: Image
    refused: int
    """The number of records of the snapshot that can't be applied."""


class Begin(NamedTuple):
    """A run begins: all following entries belong to this run."""

    run: ReplayRun
    image: Image
    """The state before the run's first entry."""


class End(NamedTuple):
    """A run ends: no entry of it follows."""

    run: ReplayRun
    is_log_end: bool
    """Whether the log ends at the same offset."""


class LostRecords(NamedTuple):
    """The records that replicas held from an offset on beside the agreed branch. The caller reads
    them before the next step."""

    entries: Iterator[LogEntry]


Step: TypeAlias = SnapshotEntities | Begin | End | LostRecords | Entries


@dataclass(frozen=True)
class Part:
    """One part of a cluster's replay."""

    cluster_id: str
    bucket: int
    buckets: int
    plan: ReplayPlan
    rows: Iterator[pa.RecordBatch]
    """The part's records, with the columns of SPREAD, sorted by position, source and offset. The
    contents of all complete snapshots are among them."""

    def owns(self, kind: str, key: str) -> bool:
        """Whether this part writes the rows of the entity."""
        return bucket_of(owner_of(Entity(kind, key, "", 0)), self.buckets) == self.bucket

    def owns_record(self, record: ReplayedRecord) -> bool:
        """Whether this part reports that the record can't be applied."""
        return bucket_of(key_of(record), self.buckets) == self.bucket

    def steps(self) -> Iterator[Step]:
        """All steps of this part in the order of offsets. The caller iterates over them once.

        The steps at one offset are, in this order: the contents of snapshots that end there, the
        beginning of a run, the LostRecords of branches that leave the agreed branch there, and the
        end of a run. In a run without a base, Entries and LostRecords are left out, because its
        replay can't begin.
        """
        due = _Schedule(self)
        for (source, position), some in groupby(
            chain.from_iterable(map(_pieces, self.rows)), _place
        ):
            rows = (piece.rows for piece in some)
            if source == OF_LOG:
                for entries in rows:
                    yield from _of_log(due, Entries(entries))
            elif source[0] == OF_SNAPSHOT:
                yield from due.before(position, source)
                yield due.content(*self._image_of(chain.from_iterable(map(rows_of, rows))))
            else:
                yield from due.before(position, source)
                if due.is_open:
                    entries = map(Entries.each, map(Entries, rows))
                    yield LostRecords(chain.from_iterable(entries))
        yield from due.rest()

    def _image_of(self, rows: Iterator[tuple[Any, ...]]) -> tuple[Image, int]:
        replay, refused = Replay(), 0
        for row in rows:
            record = record_of(row)
            refusal = replay.apply(IN_SNAPSHOT, record)
            refused += refusal is not None and self.owns_record(record)
        return replay.image(), refused


class _Schedule:
    """The steps of the plan at each offset. is_open: whether a run has begun that has not ended."""

    def __init__(self, part: Part) -> None:
        plan = part.plan
        replayed = [run for run in plan.runs if run.base_offset is not None]
        due: list[tuple[int, str, PlannedSnapshot | Begin | End]] = [
            (one.end_offset, SOURCE_OF_SNAPSHOT % (one.epoch, one.content_sha256), one)
            for one in plan.snapshots
        ]
        due += [(run.base_offset or 0, OF_TAIL, Begin(run, EMPTY)) for run in replayed]
        due += [(run.end, OF_LOG, End(run, run.end == plan.log_end)) for run in replayed]
        self._due = sorted(due, key=itemgetter(0, 1), reverse=True)
        self._bases = {run.base for run in replayed}
        self._images: dict[PlannedSnapshot | None, Image] = {}
        self.is_open = False
        self.next_position = 0

    def before(self, position: int, source: str) -> Iterator[Step]:
        """The steps before a row of this position and source."""
        while self._due and self._due[-1][:2] <= (position, source):
            if source[0] == OF_SNAPSHOT and self._due[-1][:2] == (position, source):
                return
            yield self._pop(EMPTY, 0)
        self.next_position = self._due[-1][0] if self._due else 1 << 63

    def content(self, image: Image, refused: int) -> Step:
        """The step with the content of the next snapshot."""
        return self._pop(image, refused)

    def rest(self) -> Iterator[Step]:
        while self._due:
            yield self._pop(EMPTY, 0)

    def _pop(self, image: Image, refused: int) -> Step:
        _, _, what = self._due.pop()
        if isinstance(what, PlannedSnapshot):
            if what in self._bases:
                self._images[what] = image
            return SnapshotEntities(what, image, refused)
        self.is_open = isinstance(what, Begin)
        if isinstance(what, End):
            return what
        return Begin(what.run, self._images.pop(what.run.base, EMPTY))


def batches_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow batches, some thousand rows each."""
    for _, chunk in groupby(enumerate(rows), lambda row: row[0] // _ROWS_AT_ONCE):
        yield pa.RecordBatch.from_pylist([row for _, row in chunk], schema=schema)


class _Piece(NamedTuple):
    """Consecutive rows that are read together: rows of the log, for which `position` is -1, or the
    rows of one source at one position."""

    source: str
    position: int
    rows: pa.RecordBatch


def _pieces(rows: pa.RecordBatch) -> Iterator[_Piece]:
    is_log = mask_of(pc.equal(rows.column("source"), OF_LOG))
    places = np.where(is_log, -1, rows.column("position").to_numpy())
    for piece in stretches(rows.append_column("place", pa.array(places)), ("source", "place")):
        source, place = piece.column("source")[0].as_py(), piece.column("place")[0].as_py()
        yield _Piece(source, place, piece.select(SPREAD.names))


_place = itemgetter(0, 1)


def _of_log(due: _Schedule, entries: Entries) -> Iterator[Step]:
    low, positions = 0, entries.positions
    while low < len(positions):
        if positions[low] >= due.next_position:
            yield from due.before(int(positions[low]), OF_LOG)
        high = min(int(np.searchsorted(positions, due.next_position)), low + MOST_ROWS)
        if due.is_open:
            yield entries.part(low, high)
        low = high

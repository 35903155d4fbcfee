"""The records that bronze.log_records lacks: tasks read, decode and write them, each byte once.

The table itself shows which records are missing, and the new ones are committed on that version of
the table. So a round that was killed after this step adds nothing twice when it runs again,
even if the log has changed meanwhile. A large log has millions of batches, so their keys are
columns of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments, source_file
from pipelines.bronze.log_ranges import LogRange, Row, log_ranges, log_record_batches
from pipelines.delta import NewFile, PendingAppend, WriteTarget, Written
from pipelines.delta.few_rows import joined_to
from pipelines.delta.task_files import Writing
from pipelines.runners.runner import Runner, nothing
from pipelines.runners.stage import Grain
from pipelines.tables.bronze import LOG_RECORDS
from pipelines.tables.keys import BATCH_KEYS, REPLICA_KEYS
from replica.format.directory import SegmentFile
from replica.format.walk import LocatedBatch
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId
from replica.scan.compact import column_of
from replica.scan.native import Longs

APPLICATION = "kraftlake-ingest"
"""Delta's application id of the commits of an ingest. The version of each transaction is the number
of earlier transactions with this id in the log of the table."""
_PIECE_BYTES = 4 * 1024**3
"""The bytes of segments whose records go into one commit. A killed ingest decodes at most this many
bytes again. Such a piece takes minutes, so the time of its commit hardly matters."""

Part = TypeVar("Part")
Keep = Callable[[Sequence[Row]], None]
"""Takes the places that could not be decoded, and writes them into the lake."""
Decode = Callable[[Part, list[Row]], Iterable[pa.RecordBatch]]
"""Reads the rows of a part. It adds the places that could not be decoded to the list."""


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """The result of a part: a file with its rows, and the places that could not be decoded."""

    file: NewFile | None
    unreadable: tuple[Row, ...]

    @property
    def files(self) -> tuple[NewFile, ...]:
        """The part's file; empty where it has none."""
        return () if self.file is None else (self.file,)


def write_new_records(
    lake: delta.Lake,
    captured: Sequence[Captured],
    redactor: Redactor | None,
    runner: Runner,
    keep_unreadable: Keep,
    decoded: Callable[[LogRange], None] = nothing,
) -> int:
    """Append the missing records, one commit for each piece of the log. Gives their number.

    redactor: None keeps secrets. keep_unreadable: is called before the commit of the records that
    it explains. decoded: is called with each range that is decoded. Raises deltalake's
    CommitFailedError where another ingest wrote meanwhile, on a machine that doesn't see this one's
    lock.
    """
    append = PendingAppend.begun(lake, LOG_RECORDS)
    parts = _new_ranges(append, captured, redactor, runner.at_once)
    decode = partial(log_record_batches, redactor=redactor)
    stage: Writing[LogRange, DecodedPart] = Writing(
        "decode", Grain.FILE_RANGE, partial(decoded_into, decode=decode), LOG_RECORDS.name
    )
    added = 0
    for piece in _pieces(parts):
        written = append_decoded(append, runner, stage, piece, keep_unreadable, decoded)
        added += written.rows
        if written.version is not None:
            append = replace(append, version=written.version)
    return added


def append_decoded(
    append: PendingAppend,
    runner: Runner,
    stage: Writing[Part, DecodedPart],
    parts: Sequence[Part],
    keep_unreadable: Keep,
    done: Callable[[Part], None] = nothing,
) -> Written:
    """Appends the decoded rows of the parts in one commit. The tasks write the rows to files.
    keep_unreadable, done: as in write_new_records."""
    decoded = append.written_by(runner, stage, parts, done)
    keep_unreadable([row for one in decoded for row in one.unreadable])
    return append.commit([one.file for one in decoded if one.file is not None], APPLICATION)


def decoded_into(part: Part, *, target: WriteTarget, decode: Decode[Part]) -> DecodedPart:
    """Runs in a task: decodes the part's records into a file of the table."""
    unreadable: list[Row] = []
    file = target.write(decode(part, unreadable))
    return DecodedPart(file, tuple(unreadable))


def ranges_of(segments: Iterable[tuple[Captured, SegmentFile]], at_once: int) -> list[LogRange]:
    """The bytes of these segments that were not known, as ranges. at_once: as in log_ranges."""
    some = list(segments)
    files = [(source_file(one, segment), one.capture.replica) for one, segment in some]
    batches = [segment.scan.new_batches for _, segment in some]
    return log_ranges(files, batches, at_once=at_once)


def _new_ranges(
    append: PendingAppend, captured: Sequence[Captured], redactor: Redactor | None, at_once: int
) -> list[LogRange]:
    """The bytes to read, so that the table gets each record that it lacks, and none twice."""
    known = known_batches(append.lake, captured, append.version)
    wanted = wanted_segments(captured, known, redactor)
    positions = {each.captured.capture.copy_of(each.segment.file): each.known for each in wanted}
    ranges = ranges_of(((each.captured, each.segment) for each in wanted), at_once)
    return [replace(part, known=_within(part, positions[part.range.path])) for part in ranges]


def _pieces(parts: Sequence[LogRange]) -> Iterator[list[LogRange]]:
    """The parts in their order, in groups of one commit each."""
    piece: list[LogRange] = []
    size = 0
    for part in parts:
        piece.append(part)
        size += part.range.end - part.range.start
        if size >= _PIECE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _within(part: LogRange, positions: Longs) -> Longs:
    begin, end = np.searchsorted(positions, (part.range.start, part.range.end))
    return positions[begin:end]


_HEADER_KEYS = BATCH_KEYS[len(REPLICA_KEYS) :]
_HEADER_NAMES = ("base_offset", "leader_epoch", "crc")
"""The names of _HEADER_KEYS in a batch's header."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Keys with base offsets from `least` to `most`, both inclusive."""

    least: int
    most: int
    held: Longs | Sequence[LocatedBatch]
    """The keys that a table has, or batches that were read, which have these keys in their
    headers."""
    chosen: np.ndarray
    """For each key in `held`, whether it counts."""

    def keys(self) -> Longs:
        held = self.held if isinstance(self.held, np.ndarray) else _keys_of(self.held)
        return held[:, self.chosen]


class KnownKeys:
    """The keys of batches of one replica, as columns of base offset, leader epoch and CRC. Keys
    that a segment's capture has in memory are not copied."""

    def __init__(self, table: Longs | None = None) -> None:
        """table: the keys that bronze.log_records has."""
        self._pieces: list[_Piece] = []
        self.count = 0
        if table is not None:
            self._add(table, table[0], np.ones(table.shape[1], np.bool_))

    def add(self, batches: Sequence[LocatedBatch], chosen: np.ndarray) -> None:
        """Adds the keys of the chosen batches."""
        self._add(batches, column_of(batches, "base_offset"), chosen)

    def take(self, others: KnownKeys) -> None:
        """Adds all keys of other KnownKeys."""
        self._pieces += others._pieces
        self.count += others.count

    def among(self, offsets: Longs) -> Longs:
        """The keys whose base offsets lie between the lowest and the highest of these offsets, both
        inclusive."""
        least, most = int(offsets.min()), int(offsets.max())
        near = [one.keys() for one in self._pieces if one.least <= most and one.most >= least]
        keys = np.concatenate([_NO_KEYS, *near], axis=1)
        return keys[:, (keys[0] >= least) & (keys[0] <= most)]

    def _add(
        self, held: Longs | Sequence[LocatedBatch], offsets: Longs, chosen: np.ndarray
    ) -> None:
        if chosen.any():
            mine = offsets[chosen]
            self._pieces.append(_Piece(int(mine.min()), int(mine.max()), held, chosen))
            self.count += int(chosen.sum())


Keys = dict[ReplicaId, KnownKeys]
_NO_KEYS: Longs = np.zeros((len(_HEADER_KEYS), 0), np.int64)


@dataclass(frozen=True, slots=True)
class WantedSegment:
    """A segment with batches that the lake lacks."""

    captured: Captured
    segment: SegmentFile
    batches: int
    """The number of batches that the lake lacks."""
    known: Longs = field(compare=False)
    """The positions of the first bytes of batches that the lake has, ascending."""


def wanted_segments(
    captured: Sequence[Captured], known: Keys, redactor: Redactor | None
) -> list[WantedSegment]:
    """The segments with batches that aren't known. This function adds these batches to `known`.

    redactor: the one that makes the table's rows. A batch with a secret has another CRC in the
    table; whether a batch holds a secret is known only when it is read.
    """
    wanted = []
    for one, segment in new_segments(captured):
        seen = known.setdefault(one.capture.replica, KnownKeys())
        batches = segment.scan.new_batches
        keys = _keys_of(batches)
        near = seen.among(keys[0])
        is_valid = column_of(batches, "crc_valid").astype(np.bool_)
        is_known = _seen_before(near, keys, is_valid) | _is_hidden(near, keys, redactor)
        is_new = is_valid & ~is_known
        seen.add(batches, is_new)
        if is_new.any():
            positions = column_of(batches, "position")[is_known]
            wanted.append(WantedSegment(one, segment, int(is_new.sum()), positions))
    return wanted


def known_batches(lake: delta.Lake, captured: Sequence[Captured], version: int) -> Keys:
    """The batches whose records a version of the table has, for each replica. Batches below the
    replica's lowest new offset are left out."""
    lowest = _lowest_offsets(captured)
    if not lowest:
        return {}
    names, join = ", ".join(_HEADER_KEYS), joined_to([*lowest], {"lowest": [*lowest.values()]})
    where = f"base_offset >= lowest AND base_offset >= {min(lowest.values()):d}"
    query = f"SELECT DISTINCT number, {names} FROM t {join} WHERE {where}"
    found = delta.answer(lake, LOG_RECORDS, query, version).sort_by("number")
    columns = [found[name].cast(pa.int64()).to_numpy() for name in ("number", *_HEADER_KEYS)]
    keys = np.array(columns[1:])
    cuts = np.searchsorted(columns[0], np.arange(len(lowest) + 1)).tolist()
    return {
        replica: KnownKeys(keys[:, begin:end])
        for replica, (begin, end) in zip(lowest, pairwise(cuts), strict=True)
    }


def _keys_of(batches: Sequence[LocatedBatch]) -> Longs:
    return np.array([column_of(batches, name) for name in _HEADER_NAMES])


def _seen_before(seen: Longs, keys: Longs, is_valid: np.ndarray) -> np.ndarray:
    """For each key whether it was seen before, or is equal to a valid key before it."""
    # the keys of a sound log are in order: no sort, which would take memory
    if not seen.shape[1] and (np.diff(keys[0]) > 0).all():
        return np.zeros(keys.shape[1], np.bool_)
    both = np.concatenate([seen, keys], axis=1)
    counts = np.concatenate([np.ones(seen.shape[1], np.int64), is_valid.astype(np.int64)])
    order = np.lexsort(both)  # stable: equal keys stay in their order
    ordered, counts = both[:, order], counts[order]
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    before = np.cumsum(counts) - counts
    begin = np.maximum.accumulate(np.where(is_first, np.arange(order.size), 0))
    found = np.zeros(order.size, np.bool_)
    found[order] = before > before[begin]
    return found[seen.shape[1] :]


def _is_hidden(seen: Longs, keys: Longs, redactor: Redactor | None) -> np.ndarray:
    """For each key, whether the table has the batch with a keyed CRC, as it has batches with a
    secret."""
    found = np.zeros(keys.shape[1], np.bool_)
    if redactor is None or not seen.shape[1]:
        return found
    hidden = set(zip(*seen.tolist(), strict=True))
    of_epochs = _seen_before(seen[:2], keys[:2], found)  # so that few CRCs are computed
    for number in np.flatnonzero(of_epochs & ~_seen_before(seen, keys, found)).tolist():
        base_offset, epoch, crc = keys[:, number].tolist()
        found[number] = (base_offset, epoch, redactor.batch_crc(base_offset, crc)) in hidden
    return found


def _lowest_offsets(captured: Sequence[Captured]) -> Mapping[ReplicaId, int]:
    """For each replica the lowest base offset of new batches in the segments."""
    lowest: dict[ReplicaId, int] = {}
    for one, segment in new_segments(captured):
        replica = one.capture.replica
        first = int(column_of(segment.scan.new_batches, "base_offset").min())
        lowest[replica] = min(first, lowest.get(replica, first))
    return lowest

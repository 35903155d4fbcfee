"""Records that bronze.log_records lacks: read, decoded and written by tasks, each byte once.

Which records these are is read off the table itself, and they are committed upon the version in
which they were missing: so a round that was killed after this step, and is run again, adds nothing
twice, whatever the log did meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments, source_file
from pipelines.bronze.log_ranges import LogRange, Row, log_ranges, log_record_batches
from pipelines.bronze.replica_rows import sql_of_replica
from pipelines.delta import Append, NewFile, Target
from pipelines.tables.bronze import BATCH_KEYS, LOG_RECORDS, REPLICA_KEYS
from pipelines.tasks import Tasks
from replica.format.directory import SegmentFile
from replica.metadata.redact import Redactor
from replica.types import ReplicaId

APPLICATION = "kraftlake-ingest"
"""Delta's application id of these writes; the version counts them."""
_PIECE_BYTES = 4 * 1024**3
"""Of segments, whose records are one commit: what an ingest that is killed decodes again at most. A
piece is some minutes of work, beside which its commit and its last, uneven tasks don't count."""

_HEADER_KEYS = BATCH_KEYS[len(REPLICA_KEYS) :]
_Key = tuple[int, int, int, int]
"""A batch: the number of its replica among the round's, base offset, leader epoch, CRC. A large log
has millions of them, so they carry no names."""
Keep = Callable[[Sequence[Row]], None]
"""Takes what could not be decoded, and puts it into the lake."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of a part. unreadable: as of log_record_batches."""

    file: NewFile | None
    unreadable: tuple[Row, ...]


def write_new_records(
    lake: delta.Lake,
    captured: Sequence[Captured],
    redactor: Redactor | None,
    tasks: Tasks,
    keep_unreadable: Keep,
) -> int:
    """Append them, one commit for each piece of the log; how many they are.

    redactor: None keeps secrets; keep_unreadable: called before the commit of the records that it
    explains. CommitFailedError of deltalake: another ingest has written meanwhile, on a machine
    that doesn't see this one's lock.
    """
    append = Append.begun(lake, LOG_RECORDS)
    parts = _new_ranges(append, captured, redactor, tasks.at_once)
    added = 0
    for piece in _pieces(parts):
        decoded = append.in_tasks(tasks, partial(decode, redactor=redactor), piece)
        keep_unreadable([row for one in decoded for row in one.unreadable])
        files = [one.file for one in decoded if one.file is not None]
        written = append.commit(files, APPLICATION)
        added += written.rows
        if written.version is not None:
            append = replace(append, version=written.version)
    return added


def decode(part: LogRange, target: Target, redactor: Redactor | None) -> Decoded:
    """In a task: the part's records into a file of the table."""
    unreadable: list[Row] = []
    file = target.write(log_record_batches(part, redactor, unreadable))
    return Decoded(file, tuple(unreadable))


def header_key(header: object) -> tuple[int, int, int]:
    """The part of BATCH_KEYS that a batch's header says."""
    return header.base_offset, header.leader_epoch, header.crc  # type: ignore[attr-defined]


def ranges_of(captured: Sequence[Captured], at_once: int) -> list[LogRange]:
    """All bytes of the round's segments that were not known."""
    files = [
        (source_file(one, segment), one.look.replica) for one, segment in new_segments(captured)
    ]
    return log_ranges(files, at_once=at_once)


def _new_ranges(
    append: Append, captured: Sequence[Captured], redactor: Redactor | None, at_once: int
) -> list[LogRange]:
    """What to read so that the table gets each record that it lacks, and none twice.

    redactor: as of the table's rows; whether a batch holds a secret, by which its CRC there is
    another one, is known when it is read.
    """
    segments = list(new_segments(captured))
    lowest = _lowest_offsets(segments)
    seen = _known_keys(append, lowest)
    number_of = {replica: number for number, replica in enumerate(lowest)}
    files, known = [], {}
    for one, segment in segments:
        positions = []
        wanted = 0
        number = number_of[one.look.replica]
        for batch in segment.scan.new_batches:
            key = (number, *header_key(batch.header))
            if key in seen or _hidden_key(key, redactor) in seen:
                positions.append(batch.position)
            elif batch.crc_valid:
                seen.add(key)
                wanted += 1
        if wanted:
            file = source_file(one, segment)
            files.append((file, one.look.replica))
            known[file.path] = positions
    ranges = log_ranges(files, at_once=at_once)
    return [replace(part, known=_within(part, known[part.range.path])) for part in ranges]


def _pieces(parts: Sequence[LogRange]) -> Iterator[list[LogRange]]:
    """The parts in their order, some for each commit."""
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


def _hidden_key(key: _Key, redactor: Redactor | None) -> _Key:
    """The key that the table has for a batch with a secret."""
    if redactor is None:
        return key
    number, base_offset, epoch, crc = key
    return number, base_offset, epoch, redactor.batch_crc(base_offset, crc)


def _within(part: LogRange, positions: Sequence[int]) -> tuple[int, ...]:
    return tuple(p for p in positions if part.range.start <= p < part.range.end)


def _lowest_offsets(segments: Sequence[tuple[Captured, SegmentFile]]) -> dict[ReplicaId, int]:
    """How far down the segments' new batches reach."""
    lowest: dict[ReplicaId, int] = {}
    for one, segment in segments:
        replica = one.look.replica
        first = min(batch.header.base_offset for batch in segment.scan.new_batches)
        lowest[replica] = min(first, lowest.get(replica, first))
    return lowest


def _known_keys(append: Append, lowest: Mapping[ReplicaId, int]) -> set[_Key]:
    """Batches whose records the table has, from the lowest offset of each replica on; replicas are
    numbered in the order of `lowest`."""
    known: set[_Key] = set()
    names = ", ".join(_HEADER_KEYS)
    for number, (replica, low) in enumerate(lowest.items()):
        where = f"{sql_of_replica(replica)} AND base_offset >= {low}"
        query = f"SELECT DISTINCT {names} FROM t WHERE {where}"  # noqa: S608 - literals
        found: pa.Table = delta.answer(append.lake, LOG_RECORDS, query, append.version)
        for batch in found.to_batches():
            columns = [batch.column(name).to_pylist() for name in _HEADER_KEYS]
            known.update((number, *key) for key in zip(*columns, strict=True))
    return known

"""The records that bronze.log_records lacks: tasks read, decode and write them, each byte once.

The table itself shows which records are missing, and the new ones are committed on that version of
the table. So a round that was killed after this step adds nothing twice when it runs again,
whatever happened to the log meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments, source_file
from pipelines.bronze.log_ranges import LogRange, Row, log_ranges, log_record_batches
from pipelines.bronze.wanted import known_batches, wanted_segments
from pipelines.delta import NewFile, PendingAppend, WriteTarget
from pipelines.tables.bronze import LOG_RECORDS
from pipelines.tasks import Tasks
from replica.metadata.redact import Redactor
from replica.scan.native import Longs

APPLICATION = "kraftlake-ingest"
"""Delta's application id of these writes. Its version counts them."""
_PIECE_BYTES = 4 * 1024**3
"""The bytes of segments whose records go into one commit. A killed ingest decodes at most this many
bytes again. Such a piece is minutes of work, which makes the time of its commit and of its last
tasks unimportant."""

Keep = Callable[[Sequence[Row]], None]
"""Takes the places that could not be decoded, and writes them into the lake."""


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """The result of a part. unreadable: as of log_record_batches."""

    file: NewFile | None
    unreadable: tuple[Row, ...]


def write_new_records(
    lake: delta.Lake,
    captured: Sequence[Captured],
    redactor: Redactor | None,
    tasks: Tasks,
    keep_unreadable: Keep,
) -> int:
    """Append the missing records, one commit for each piece of the log. Gives their number.

    redactor: None keeps secrets. keep_unreadable: is called before the commit of the records that
    it explains. Raises deltalake's CommitFailedError where another ingest wrote meanwhile, on a
    machine that doesn't see this one's lock.
    """
    append = PendingAppend.begun(lake, LOG_RECORDS)
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


def decode(part: LogRange, target: WriteTarget, redactor: Redactor | None) -> DecodedPart:
    """Runs in a task: decodes the part's records into a file of the table."""
    unreadable: list[Row] = []
    file = target.write(log_record_batches(part, redactor, unreadable))
    return DecodedPart(file, tuple(unreadable))


def ranges_of(captured: Sequence[Captured], at_once: int) -> list[LogRange]:
    """All bytes of the round's segments that were not known, as ranges."""
    new = list(new_segments(captured))
    files = [(source_file(one, segment), one.look.replica) for one, segment in new]
    batches = [segment.scan.new_batches for _, segment in new]
    return log_ranges(files, batches, at_once=at_once)


def _new_ranges(
    append: PendingAppend, captured: Sequence[Captured], redactor: Redactor | None, at_once: int
) -> list[LogRange]:
    """The bytes to read, so that the table gets each record that it lacks, and none twice."""
    known = known_batches(append.lake, captured, append.version)
    wanted = wanted_segments(captured, known, redactor)
    files = [(source_file(each.one, each.segment), each.one.look.replica) for each in wanted]
    positions = {file.path: each.known for (file, _), each in zip(files, wanted, strict=True)}
    batches = [each.segment.scan.new_batches for each in wanted]
    ranges = log_ranges(files, batches, at_once=at_once)
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

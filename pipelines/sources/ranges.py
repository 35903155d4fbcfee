"""The bytes that each Spark task reads: ranges of whole batches, which the driver plans.

The planner doesn't open a file that fits in one range. It scans a larger file once, and cuts it
only where the batches around the cut are sound, because a scan judges a doubtful batch by the
batches after it. So the ranges together give exactly what one scan of the file gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from pipelines.capture.in_place import ChangedFileError, FileStamp
from pipelines.capture.remote import file_name, read_remote, size_of
from pipelines.object_store import is_uri
from pipelines.sources.files import Owner, SourceFile
from replica.errors import DataError, UnreadableFileError, UsageError, reading
from replica.format.batch import LENGTH_PREFIX
from replica.format.byte_source import Source
from replica.format.file_names import FileKind, classify
from replica.format.reading import MAX_LOG_BYTES, VanishedFileError, open_file
from replica.format.walk import LocatedBatch
from replica.scan.arrow import BatchScan
from replica.scan.columns import BATCH_SCHEMA
from replica.scan.compact import column_of, next_offsets
from replica.scan.native import Longs

DEFAULT_RANGE_BYTES = 32 * 1024 * 1024
_SOUND_BATCHES = 3
"""The number of sound batches in sequence that must come before a cut: one more than a scan looks
ahead."""
_NO_OFFSET = -2
"""Stands for a last offset that doesn't fit 64 bits: no batch can follow it."""


@dataclass
class RangePartition(InputPartition):
    """Bytes from start (inclusive) to end (exclusive) of a file: whole batches, or damage whose
    extent the planner found."""

    path: str
    shown: str
    start: int
    end: int
    expected_offset: int | None
    """The base offset of the first batch if the log is sound; None where any offset will do."""
    owner: Owner | None = None
    """The owner of the file; None as in SourceFile."""
    stamp: FileStamp | None = None
    """The stamp by which a later read notices that the file was changed; None as in SourceFile."""

    def __hash__(self) -> int:
        return hash((self.path, self.start, self.end))


@dataclass(frozen=True)
class Places:
    """The batches of a file in the file's order, by column."""

    position: Longs
    base_offset: Longs
    size_bytes: Longs
    next_offset: Longs
    """The base offset that the next batch must have."""
    crc_valid: np.ndarray

    @staticmethod
    def of(batches: Sequence[LocatedBatch]) -> Places:
        """The places of batches that a scan has found."""
        return Places(
            column_of(batches, "position"),
            column_of(batches, "base_offset"),
            column_of(batches, "batch_length") + LENGTH_PREFIX.size,
            next_offsets(batches),
            column_of(batches, "crc_valid").astype(np.bool_),
        )

    @staticmethod
    def read(file: SourceFile, start: int, end: int, expected: int | None) -> Places:
        """The places from byte `start` (inclusive) to `end` (exclusive) of the file. expected: the
        base offset of the first batch."""
        data = read_range(file.path, start, end)
        scanned = BatchScan(data, start=start, expected_offset=expected)
        batches = pa.Table.from_batches(scanned, BATCH_SCHEMA)
        position, base, size, valid = (
            batches[name].to_numpy()
            for name in ("position", "base_offset", "size_bytes", "crc_valid")
        )
        next_offset = batches["last_offset"].fill_null(_NO_OFFSET).to_numpy() + 1
        return Places(position, base, size, next_offset, valid)


def positive(options: Mapping[str, str], name: str) -> int | None:
    """The value of an option that must be a number above 0; None where the option isn't given.
    Raises UsageError for any other value."""
    text = options.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"option {name}={text}: expected a number above 0")
    return int(text)


def plan(files: list[SourceFile], range_bytes: int) -> list[RangePartition]:
    """Ranges of about `range_bytes` bytes, in the order of the files."""
    return [part for file in files for part in plan_file(file, range_bytes)]


def plan_file(
    file: SourceFile, range_bytes: int, batches: Sequence[LocatedBatch] | None = None
) -> Iterator[RangePartition]:
    """The ranges of one file. batches: the batches that a scan has found from byte file.start on;
    None where the bytes were not scanned."""
    name = classify(file_name(file.path))
    expected = 0 if name.kind is FileKind.SNAPSHOT else name.base_offset
    if file.start:
        expected = file.next_offset
    about = file.owner, file.stamp
    start, end = file.start, end_of(file)
    if end - start > range_bytes:
        places = Places.read(file, start, end, expected) if batches is None else Places.of(batches)
        for cut in _cuts(places, start, expected, range_bytes):
            yield RangePartition(file.path, file.shown, start, cut[0], expected, *about)
            start, expected = cut
    if start < end:
        yield RangePartition(file.path, file.shown, start, end, expected, *about)


def _cuts(
    places: Places, first: int, expected: int | None, range_bytes: int
) -> Iterator[tuple[int, int]]:
    """(position, base offset) of the batches that begin a new range. first: the position of the
    first byte."""
    position, base = places.position, places.base_offset
    if len(position) == 0:
        return
    in_sequence = np.empty(len(position), np.bool_)
    in_sequence[0] = position[0] == first and base[0] == expected
    end = position + places.size_bytes
    in_sequence[1:] = (position[1:] == end[:-1]) & (base[1:] == places.next_offset[:-1])
    numbers = np.arange(len(position))
    last_doubtful = np.maximum.accumulate(np.where(in_sequence & places.crc_valid, -1, numbers))
    # the number of sound batches in sequence just before
    sound = numbers[1:] - 1 - last_doubtful[:-1]
    candidates = 1 + np.flatnonzero(in_sequence[1:] & (sound >= _SOUND_BATCHES))
    start = first
    while True:
        at = np.searchsorted(position[candidates], start + range_bytes)
        if at == len(candidates):
            return
        cut = candidates[at]
        start = int(position[cut])
        yield start, int(base[cut])


def end_of(file: SourceFile) -> int:
    """The byte to stop at (exclusive). Raises UnreadableFileError where that is the file's size,
    and the system or the object store refuses to give the size."""
    return size_of_file(file) if file.end is None else file.end


def size_of_file(file: SourceFile) -> int:
    """The file's size in bytes. Raises UnreadableFileError where the system or the object store
    refuses."""
    if is_uri(file.path):
        return size_of(file.path)
    with reading(file.shown):
        return os.stat(file.path).st_size


def read_range(path: str, start: int, end: int) -> bytes:
    """Bytes from start (inclusive) to end (exclusive) of a local file or URI.

    Raises UnreadableFileError, also where the file has become shorter since the range was planned.
    """
    data = read_remote(path, start, end) if is_uri(path) else _read_local(path, start, end)
    if len(data) < end - start:
        raise UnreadableFileError(file_name(path), f"became shorter than {end} bytes while read")
    return data


@contextmanager
def range_source(part: RangePartition) -> Iterator[Source]:
    """The bytes of a range of a local file or URI. Of a local file only a window is in memory at a
    time, so no process may write to the file meanwhile. Raises UnreadableFileError. For a range
    with a stamp it raises ChangedFileError instead of UnreadableFileError and DataError, and also
    at the end of the context where the file has another stamp; then the bytes that were read don't
    count."""
    try:
        yield _range_source(part)
    except (UnreadableFileError, DataError) as error:
        if part.stamp is None:
            raise
        part.stamp.check(part.path)
        raise ChangedFileError(part.path, getattr(error, "reason", str(error))) from error
    if part.stamp is not None:
        part.stamp.check(part.path)


def _range_source(part: RangePartition) -> Source:
    if is_uri(part.path):
        return read_range(part.path, part.start, part.end)
    return open_file(part.path, MAX_LOG_BYTES).part(part.start, part.end - part.start)


def _read_local(path: str, start: int, end: int) -> bytes:
    if end > MAX_LOG_BYTES:
        raise UnreadableFileError(path, f"{end} bytes, the limit is {MAX_LOG_BYTES}")
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            file.seek(start)
            return file.read(end - start)
    except FileNotFoundError as error:
        raise VanishedFileError(path, "file is gone") from error
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file without waiting, in case a pipe has taken the file's place since the range was
    planned."""
    return os.open(path, flags | os.O_NONBLOCK)

"""What a reader remembers about a segment or snapshot, so that it need not read the same bytes
again.

It remembers only sound bytes: whole batches in sequence, from the file's first byte on, for which
no rule has a finding. The next reader reads some of these batches, the landmarks, and compares
them. By Raft's log matching property, two logs with the same epoch at the same offset hold the same
records up to this offset. So a file with the last landmark in its place is the known file. A bit
that flipped between two landmarks isn't found in this way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from replica.format import segment
from replica.format.batch import HEADER, decode_header
from replica.format.byte_source import OpenFile, ShrankError
from replica.format.content_hash import CHUNK_BYTES, HashChain, hash_chain
from replica.format.segment import SegmentScan
from replica.format.snapshot_content import SnapshotContent, inspect
from replica.format.walk import LocatedBatch
from replica.message.primitives import Buffer

PLACE_BYTES = 1024 * 1024
"""The distance in bytes between two places of a known file, which is also the number of bytes that
are read to find a batch."""


Stretch: TypeAlias = tuple[int, int]
"""A part of a file: (the first byte, the number of bytes)."""


class BatchPlace(NamedTuple):
    """The place of a batch in a file."""

    position: int
    """The byte of the file at which the batch begins."""
    base_offset: int
    size_bytes: int
    """The number of bytes to read: the whole batch, or only its header."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What is known about a file that was read before."""

    size_bytes: int
    """The size of the whole file in bytes when it was read."""
    content_hash: str
    """The hash of the whole file when it was read."""
    sound_bytes: int
    """The number of bytes at the beginning of the file that need not be read again."""
    next_offset: int
    """The offset after the last batch of the sound bytes."""
    record_count: int
    """The number of records in the sound bytes."""
    chunk_hash: str
    """The hash of the whole chunks in sound_bytes (replica.format.content_hash); "" for a
    snapshot."""
    headers_hash: str
    """The hash of the landmarks' headers."""
    landmarks: tuple[BatchPlace, ...]
    """The batches that are compared with the file, including the first and the last batch."""
    places: tuple[BatchPlace, ...]
    """One batch for every PLACE_BYTES."""

    @property
    def first_offset(self) -> int:
        """The base offset of the first batch."""
        return self.landmarks[0].base_offset


@dataclass(frozen=True, slots=True)
class Resumed:
    """A file of which only the new bytes and some known batches were read."""

    size_bytes: int
    content_hash: str
    chain: HashChain | None
    scan: SegmentScan
    """The scan of the whole file, without the known batches that were not read."""
    content: SnapshotContent | None = None
    """The delimiters of a snapshot; None for a segment."""


def headers_hash(headers: Sequence[bytes]) -> str:
    """SHA-256 of the landmarks' headers, HEADER.size bytes each, in hex digits."""
    return hashlib.sha256(b"".join(headers)).hexdigest()


def batches_around(
    file: OpenFile, known: KnownFile, ends: Iterable[int], scan: segment.ScanLog
) -> tuple[BatchPlace, ...]:
    """The known batches that hold the offset of each of `ends` and the offset before it.

    scan: a function that scans the bytes between two places, which may hold ten thousand small
        batches.
    """
    places = [*known.places, BatchPlace(known.sound_bytes, known.next_offset, 0)]
    stretches: dict[int, list[int]] = {}
    for end in ends:
        if known.first_offset < end <= known.next_offset:
            number = max(n for n, place in enumerate(places) if place.base_offset < end)
            stretches.setdefault(number, []).append(end)
    found: list[BatchPlace] = []
    for number, wanted in stretches.items():
        start, following = places[number], places[min(number + 2, len(places) - 1)]
        part = file.part(start.position, following.position - start.position)
        walked = scan(part, start=start.position, expected_offset=start.base_offset)
        found.extend(_around(walked.batches, wanted))
    return tuple(found)


def wanted_of_segment(
    known: KnownFile, around: Iterable[BatchPlace], size: int
) -> Iterator[Stretch]:
    """The bytes that resume_segment reads from a segment of `size` bytes. Some bytes are named
    twice."""
    for place in (*known.landmarks, *around):
        yield place.position, place.size_bytes
    boundary = _boundary(known)
    yield boundary, max(0, size - boundary)


def wanted_of_snapshot(known: KnownFile) -> Iterator[Stretch]:
    """The bytes that resume_snapshot reads."""
    for place in known.landmarks:
        yield place.position, place.size_bytes


@dataclass(frozen=True, slots=True)
class Resuming:
    """The bytes that are read from a file to resume it."""

    known: KnownFile
    around: tuple[BatchPlace, ...] | None
    """The known batches around the end offsets of snapshots (see resume_segment); None for a
    snapshot."""
    stretches: tuple[Stretch, ...]
    """All bytes that are read. Some bytes are named twice."""

    @staticmethod
    def of(
        file: OpenFile, known: KnownFile, ends: Iterable[int] | None, scan: segment.ScanLog
    ) -> Resuming | None:
        """The bytes to read from a file to resume it. None if the file is shorter than its known
        bytes. ends: the end offsets of the directory's snapshots; None for a snapshot."""
        if file.size < known.sound_bytes:
            return None
        if ends is None:
            return Resuming(known, None, tuple(wanted_of_snapshot(known)))
        around = batches_around(file, known, ends, scan)
        return Resuming(known, around, tuple(wanted_of_segment(known, around, file.size)))

    def read(self, file: OpenFile, scan: segment.ScanLog) -> Resumed | None:
        """Read the new bytes of the file. file: the file itself, or a sparse copy that has the
        bytes of `stretches`. Returns None if its first bytes are not the known bytes."""
        if self.around is None:
            return resume_snapshot(file, self.known)
        return resume_segment(file, self.known, scan, self.around)


def resume_segment(
    file: OpenFile, known: KnownFile, scan: segment.ScanLog, around: Sequence[BatchPlace]
) -> Resumed | None:
    """Read the new bytes of a segment. Returns None if its first bytes are not the known bytes.

    around: further known batches to read: the batches around the end offsets of snapshots.
    """
    boundary = _boundary(known)
    try:
        landmarks = _landmarks(file, known)
        if landmarks is None or not all(_is_sound(file, place) for place in around):
            return None
        others = [_batch(place, file.read(place.position, HEADER.size)) for place in around]
    except ShrankError:
        return None
    found = scan(
        file.part(known.sound_bytes),
        start=known.sound_bytes,
        expected_offset=known.next_offset,
    )
    told = {batch.position: batch for batch in [*landmarks, *others]}
    batches = tuple(told[position] for position in sorted(told))
    chain = hash_chain(file.part(boundary), start=boundary, link=known.chunk_hash)
    return Resumed(
        file.size,
        chain.digest,
        chain,
        SegmentScan(
            (*batches, *found.batches),
            found.damages,
            found.end_position,
            found.zero_tail,
            known.sound_bytes,
        ),
    )


def resume_snapshot(file: OpenFile, known: KnownFile) -> Resumed | None:
    """Read the landmarks of a snapshot, which never grows. Returns None if it has changed."""
    if not file.size == known.size_bytes == known.sound_bytes:
        return None
    try:
        batches = _landmarks(file, known)
    except ShrankError:
        return None
    if batches is None:
        return None
    first = inspect(file, SegmentScan(batches[:1], (), batches[0].header.size_bytes, 0))
    content = SnapshotContent(True, True, first.last_contained_log_timestamp, known.record_count)
    scan = SegmentScan(batches, (), file.size, 0, file.size)
    return Resumed(file.size, known.content_hash, None, scan, content)


def _boundary(known: KnownFile) -> int:
    """The first byte of the first chunk that isn't completely known."""
    return known.sound_bytes - known.sound_bytes % CHUNK_BYTES


def _landmarks(file: OpenFile, known: KnownFile) -> tuple[LocatedBatch, ...] | None:
    """The batches at the landmarks; None if a batch has changed."""
    if file.size < known.sound_bytes:
        return None
    headers = [bytes(file.read(place.position, HEADER.size)) for place in known.landmarks]
    if headers_hash(headers) != known.headers_hash:
        return None
    found: list[LocatedBatch] = []
    for place, header in zip(known.landmarks, headers, strict=True):
        batch = _batch(place, header)
        found.append(batch)
        if place.size_bytes == batch.header.size_bytes and not _is_sound(file, place):
            return None
    return tuple(found)


def _batch(place: BatchPlace, header: Buffer) -> LocatedBatch:
    return LocatedBatch(place.position, decode_header(header), True)


def _is_sound(file: OpenFile, place: BatchPlace) -> bool:
    part = file.part(place.position, place.size_bytes)
    found = segment.scan(part, start=place.position, expected_offset=place.base_offset)
    return not found.damages and len(found.batches) == 1


def _around(batches: Iterable[LocatedBatch], ends: Sequence[int]) -> Iterator[BatchPlace]:
    for batch in batches:
        header = batch.header
        first, last = header.base_offset, header.last_offset
        if batch.crc_valid and any(first <= end <= last + 1 for end in ends):
            yield BatchPlace(batch.position, first, header.size_bytes)

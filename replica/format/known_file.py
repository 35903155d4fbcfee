"""What a reader keeps of a segment or snapshot, so that it need not read the same bytes again.

Only sound bytes are kept so: whole batches in sequence, from the file's first byte on, about which
no rule found anything. When the file is looked at again, its landmarks are read and compared; by
Raft's log matching property two logs with the same epoch at the same offset hold the same records
up to there, so a file with the last landmark in its place is the known one. What that can't show
is a bit that flipped in bytes between the landmarks.
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
from replica.format.segment import LocatedBatch, SegmentScan
from replica.format.snapshot_content import SnapshotContent, inspect
from replica.message.primitives import Buffer

PLACE_BYTES = 1024 * 1024
"""Between two places of a known file: what is read to find a batch by its offset."""


Stretch: TypeAlias = tuple[int, int]
"""The first byte, and how many bytes."""


class Place(NamedTuple):
    """A batch: its first byte, its base offset, and how many of its bytes are wanted: all of them,
    or those of its header."""

    position: int
    base_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KnownFile:
    """sound_bytes: the file's first bytes that need not be read again. next_offset: after them.

    size_bytes, content_hash: of the whole file as it was read. chunk_hash: of the whole chunks
    among sound_bytes (replica.format.content_hash), "" for a snapshot. landmarks: the batches that
    tell something, the first and the last among them; headers_hash: of their headers. places: a
    batch every PLACE_BYTES. record_count: of sound_bytes.
    """

    size_bytes: int
    content_hash: str
    sound_bytes: int
    next_offset: int
    record_count: int
    chunk_hash: str
    headers_hash: str
    landmarks: tuple[Place, ...]
    places: tuple[Place, ...]

    @property
    def first_offset(self) -> int:
        """Base offset of the first batch."""
        return self.landmarks[0].base_offset


@dataclass(frozen=True, slots=True)
class Resumed:
    """A file of which only the new bytes and some known batches were read.

    scan: as of the whole file, but for known batches that are left out. content: of a snapshot.
    """

    size_bytes: int
    content_hash: str
    chain: HashChain | None
    scan: SegmentScan
    content: SnapshotContent | None = None


def headers_hash(headers: Sequence[bytes]) -> str:
    """Of the landmarks' headers, each as its HEADER.size bytes."""
    return hashlib.sha256(b"".join(headers)).hexdigest()


def batches_around(
    file: OpenFile, known: KnownFile, ends: Iterable[int], scan: segment.ScanLog
) -> tuple[Place, ...]:
    """The known batches that hold the offsets just before and at each of `ends`.

    scan: walks the bytes between two places, which may hold ten thousand small batches.
    """
    places = [*known.places, Place(known.sound_bytes, known.next_offset, 0)]
    stretches: dict[int, list[int]] = {}
    for end in ends:
        if known.first_offset < end <= known.next_offset:
            number = max(n for n, place in enumerate(places) if place.base_offset < end)
            stretches.setdefault(number, []).append(end)
    found: list[Place] = []
    for number, wanted in stretches.items():
        start, following = places[number], places[min(number + 2, len(places) - 1)]
        part = file.part(start.position, following.position - start.position)
        walked = scan(part, start=start.position, expected_offset=start.base_offset)
        found.extend(_around(walked.batches, wanted))
    return tuple(found)


def wanted_of_segment(known: KnownFile, around: Iterable[Place], size: int) -> Iterator[Stretch]:
    """What resume_segment reads of a segment that holds `size` bytes by now; some of it twice."""
    for place in (*known.landmarks, *around):
        yield place.position, place.size_bytes
    boundary = _boundary(known)
    yield boundary, max(0, size - boundary)


def wanted_of_snapshot(known: KnownFile) -> Iterator[Stretch]:
    """What resume_snapshot reads."""
    for place in known.landmarks:
        yield place.position, place.size_bytes


def resume_segment(
    file: OpenFile, known: KnownFile, scan: segment.ScanLog, around: Sequence[Place]
) -> Resumed | None:
    """Read what is new of a segment; None where its head is not the known one.

    around: the batches around the offsets at which snapshots end; they are read, too.
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
    """A snapshot that is still the known one; None where it isn't. It never grows."""
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
    """Where the first chunk begins that isn't known as a whole."""
    return known.sound_bytes - known.sound_bytes % CHUNK_BYTES


def _landmarks(file: OpenFile, known: KnownFile) -> tuple[LocatedBatch, ...] | None:
    """The batches at the landmarks, None where one of them isn't as it was."""
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


def _batch(place: Place, header: Buffer) -> LocatedBatch:
    return LocatedBatch(place.position, decode_header(header), True)


def _is_sound(file: OpenFile, place: Place) -> bool:
    found = _scanned(file, place)
    return not found.damages and len(found.batches) == 1


def _scanned(file: OpenFile, place: Place) -> SegmentScan:
    part = file.part(place.position, place.size_bytes)
    return segment.scan(part, start=place.position, expected_offset=place.base_offset)


def _around(batches: Iterable[LocatedBatch], ends: Sequence[int]) -> Iterator[Place]:
    for batch in batches:
        header = batch.header
        first, last = header.base_offset, header.last_offset
        if batch.crc_valid and any(first <= end <= last + 1 for end in ends):
            yield Place(batch.position, first, header.size_bytes)

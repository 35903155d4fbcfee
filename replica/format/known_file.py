"""What a reader keeps of a segment or snapshot, so that it need not read the same bytes again.

Only sound bytes are kept so: whole batches in sequence, from the file's first byte on, about which
no rule found anything. When the file is looked at again, its landmarks are read and compared; by
Raft's log matching property two logs with the same epoch at the same offset hold the same records
up to there, so a file with the last landmark in its place is the known one. What that can't show
is a bit that flipped in bytes between the landmarks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replica.format import segment
from replica.format.batch import HEADER, decode_header
from replica.format.byte_source import OpenFile, ShrankError
from replica.format.content_hash import CHUNK_BYTES, HashChain, hash_chain
from replica.format.segment import LocatedBatch, SegmentScan
from replica.format.snapshot_content import SnapshotContent, inspect
from replica.message.primitives import Buffer

PLACE_BYTES = 1024 * 1024
"""Between two places of a known file: what is read to find a batch by its offset."""


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

    scan: as of the whole file, but for known batches that are left out. pieces: (position, bytes)
    of all that was read. content: of a snapshot.
    """

    size_bytes: int
    content_hash: str
    chain: HashChain | None
    scan: SegmentScan
    pieces: tuple[tuple[int, Buffer], ...]
    content: SnapshotContent | None = None


def headers_hash(headers: Sequence[bytes]) -> str:
    """Of the landmarks' headers, each as its HEADER.size bytes."""
    return hashlib.sha256(b"".join(headers)).hexdigest()


def resume_segment(
    file: OpenFile, known: KnownFile, scan: segment.ScanLog, ends: Sequence[int]
) -> Resumed | None:
    """Read what is new of a segment; None where its head is not the known one.

    ends: offsets at which snapshots end; the batches around them are read, too.
    """
    boundary = known.sound_bytes - known.sound_bytes % CHUNK_BYTES
    try:
        pieces = _landmarks(file, known)
        if pieces is None or file.size < known.sound_bytes:
            return None
        tail = file.read(boundary, file.size - boundary)
        around = [found for end in ends for found in _around(file, known, end)]
    except ShrankError:
        return None
    found = scan(
        tail[known.sound_bytes - boundary :],
        start=known.sound_bytes,
        expected_offset=known.next_offset,
    )
    told = {position: _batch(position, data) for position, data in [*pieces, *around]}
    batches = tuple(told[position] for position in sorted(told))
    chain = hash_chain(tail, start=boundary, link=known.chunk_hash)
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
        (*pieces, *around, (boundary, tail)),
    )


def resume_snapshot(file: OpenFile, known: KnownFile) -> Resumed | None:
    """A snapshot that is still the known one; None where it isn't. It never grows."""
    if not file.size == known.size_bytes == known.sound_bytes:
        return None
    try:
        pieces = _landmarks(file, known)
    except ShrankError:
        return None
    if pieces is None:
        return None
    batches = tuple(_batch(position, data) for position, data in pieces)
    first = inspect(pieces[0][1], SegmentScan(batches[:1], (), batches[0].header.size_bytes, 0))
    content = SnapshotContent(True, True, first.last_contained_log_timestamp, known.record_count)
    scan = SegmentScan(batches, (), file.size, 0, file.size)
    return Resumed(file.size, known.content_hash, None, scan, tuple(pieces), content)


def _landmarks(file: OpenFile, known: KnownFile) -> list[tuple[int, bytes]] | None:
    """Their bytes, None where one of them isn't as it was."""
    if file.size < known.sound_bytes:
        return None
    found = [
        (place.position, bytes(file.read(place.position, place.size_bytes)))
        for place in known.landmarks
    ]
    if headers_hash([data[: HEADER.size] for _, data in found]) != known.headers_hash:
        return None
    pairs = zip(known.landmarks, found, strict=True)
    whole = (_scanned(place, data) for place, (_, data) in pairs if _is_whole(data))
    return found if all(not one.damages and len(one.batches) == 1 for one in whole) else None


def _is_whole(data: bytes) -> bool:
    return decode_header(data).size_bytes == len(data)


def _scanned(place: Place, data: bytes) -> SegmentScan:
    return segment.scan(data, start=place.position, expected_offset=place.base_offset)


def _batch(position: int, data: bytes) -> LocatedBatch:
    return LocatedBatch(position, decode_header(data), True)


def _around(file: OpenFile, known: KnownFile, end: int) -> Iterator[tuple[int, bytes]]:
    """The known batches that hold the offsets just before and at `end`."""
    if not known.first_offset < end <= known.next_offset:
        return
    places = [*known.places, Place(known.sound_bytes, known.next_offset, 0)]
    number = max(n for n, place in enumerate(places) if place.base_offset < end)
    start, following = places[number], places[min(number + 2, len(places) - 1)]
    data = bytes(file.read(start.position, following.position - start.position))
    found = segment.scan(data, start=start.position, expected_offset=start.base_offset)
    for batch in found.batches:
        header = batch.header
        if header.base_offset <= end and header.last_offset >= end - 1:
            at = batch.position - start.position
            yield batch.position, data[at : at + header.size_bytes]

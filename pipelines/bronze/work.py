"""How much work a round is: little of it is done in this process, sooner than Spark starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipelines.bronze.seen_batches import SeenBatches
from pipelines.capture.looks import Look
from replica.format.directory import SegmentFile, SnapshotFile

SMALL_BYTES = 256 * 1024 * 1024
"""Of segments and snapshots that are to be decoded, in all. This process decodes, judges and writes
some 25 MB/s on one core, which takes no longer than Spark needs to start and to write a first row.
It holds a few hundred MB: a range of a file at a time, and a small object for each new batch."""
SMALL_ROWS = 200_000
"""Of bronze.log_batches that a round may change: some 10 s, and a few hundred MB of memory."""


def new_bytes(looks: Iterable[Look]) -> int:
    """Of segments and snapshots that the looks have read, and that are to be decoded."""
    return sum(
        one.file.size_bytes - one.scan.sparse_until for look in looks for one in _decoded_of(look)
    )


def is_small(batches: SeenBatches) -> bool:
    """Whether this process does the work of the round."""
    looks = (one.look for one in batches.captured)
    return new_bytes(looks) <= SMALL_BYTES and batches.known_rows() <= SMALL_ROWS


def _decoded_of(look: Look) -> Iterator[SegmentFile | SnapshotFile]:
    directory = look.directory
    yield from (*directory.segments, *directory.deleted_segments)
    yield from directory.snapshots

"""The records of a directory's log by type. Small segments are counted record by record, large ones
by the bulk reader."""

from __future__ import annotations

from collections import Counter

from replica.check.examined import Examined
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.directory import SegmentFile
from replica.health.log_content import LogContent, count_batch
from replica.scan.segments import is_large


def content_of(examined: Examined) -> LogContent:
    """The content of a directory's segments, as far as their records can be read."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    times: list[int] = []
    for segment in examined.directory.segments:
        batches = segment.scan.batches
        if batches:
            times += (batches[0].header.base_timestamp, batches[-1].header.max_timestamp)
        content = examined.content_of(segment)
        if is_large(content.size):
            from replica.health.large_log_content import count_large  # it needs numpy

            count_large(content, segment.file.name.base_offset, counts, sizes)
        else:
            _count_small(content, segment, counts, sizes)
    ends = (times[0], times[-1]) if times else (None, None)
    return LogContent(counts, sizes, *ends)


def _count_small(
    content: FileContent, segment: SegmentFile, counts: Counter[str], sizes: Counter[str]
) -> None:
    inflation = Inflation(content.size)
    for batch in segment.scan.batches:
        if batch.crc_valid:
            count_batch(content, batch, inflation, counts, sizes)

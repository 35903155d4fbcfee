"""Counts the records of a directory's log by type: those of small segments record by record, those
of large segments by the bulk reader."""

from __future__ import annotations

from dataclasses import replace

from replica.check.examined import Examined
from replica.format.compression import Inflation
from replica.health.log_content import LogContent
from replica.scan.segments import is_large


def content_of(examined: Examined) -> LogContent:
    """The content of a directory's log, as far as its records can be read."""
    found = LogContent()
    for segment in examined.directory.segments:
        content = examined.content_of(segment)
        if is_large(content.size):
            from replica.health.large_log_content import count_large  # it needs numpy

            count_large(content, segment.file.name.base_offset, found)
            continue
        inflation = Inflation(content.size)
        for batch in segment.scan.batches:
            if batch.crc_valid:
                found.add_batch(content, batch, inflation)
    last = examined.last_batch
    if last is None:
        return found
    first = next(one.scan.batches[0] for one in examined.directory.segments if one.scan.batches)
    return replace(found, first_at=first.header.base_timestamp, last_at=last.header.max_timestamp)

"""Decoded records of a log, without their secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from jobs.cli.directories.reported.given import Capture, time_of
from pipelines.report.source import Row
from replica.history.ranges import Ranges, holds_offset
from replica.metadata.log_record import LogRecordReader


def decoded(capture: Capture, wanted: Ranges, reader: LogRecordReader) -> Iterator[Row]:
    """The records at the wanted offsets, as rows of a lake's query."""
    if not wanted:
        return
    for batch, record in capture.examined.records(wanted[0].start, wanted[-1].end):
        if not holds_offset(wanted, record.offset):
            continue
        read = reader.read(record, is_control=batch.header.is_control)
        yield {
            **capture.row,
            "offset": record.offset,
            "leader_epoch": batch.header.leader_epoch,
            "at_ms": record.timestamp,
            "timestamp": time_of(record.timestamp),
            "record_type": read.record_type,
            "record_version": read.version,
            "is_control": batch.header.is_control,
            "payload": read.data,
        }


def types_of(rows: list[Row]) -> list[Row]:
    """A row for each type and version of records, in the order in which they first occur: the
    number of the records, and their first and last offset (inclusive)."""
    found: dict[tuple[str, Any, bool], list[int]] = defaultdict(list)
    for row in rows:
        key = row["record_type"], row["record_version"], row["is_control"]
        found[key].append(row["offset"])
    return [
        {
            "record_type": name,
            "record_version": version,
            "is_control": is_control,
            "records": len(offsets),
            "first_offset": min(offsets),
            "last_offset": max(offsets),
        }
        for (name, version, is_control), offsets in found.items()
    ]

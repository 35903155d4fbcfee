"""A whole segment or snapshot by the bulk reader, whatever its size."""

from __future__ import annotations

from typing import Any

from replica.format.byte_source import Source
from replica.format.segment import SegmentScan, collected
from replica.scan.segments import bulk_walk


def bulk_scan(data: Source, *, most_batches: int | None = None, **given: Any) -> SegmentScan:
    """The result of segment.scan, from a walk by the kernels."""
    return collected(bulk_walk(data, **given), most_batches)

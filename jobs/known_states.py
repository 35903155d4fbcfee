"""At which offsets a lake knows a cluster's state: gold.state_ranges, read by delta-rs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.sql_delta_rs import answer
from jobs.sql_text import literal
from replica.format.control import ControlType
from replica.metadata.records import NEWEST_KAFKA, RECORDS_BY_NAME

RANGES = "gold.state_ranges"
RECORDS = "bronze.log_records"

_CONTROLS = {control.name for control in ControlType}


def why_unknown(lake: str, cluster_id: str, end_offset: int) -> str | None:
    """None where the lake knows the state of this end offset (exclusive), else one line that says
    up to where it does, and why not further."""
    mine = f"cluster_id = {literal(cluster_id)}"
    query = f"SELECT from_offset, to_offset FROM {RANGES} WHERE {mine}"  # noqa: S608, names of ours
    ranges = list(answer(lake, (RANGES,), query).rows)
    if end_offset == 0 or any(start <= end_offset <= end for start, end in ranges):
        return None
    below = max((end for _, end in ranges if end < end_offset), default=None)
    if below is not None:
        query = (
            f'SELECT DISTINCT record_type, record_version FROM {RECORDS} WHERE {mine} '  # noqa: S608
            f'AND "offset" = {below}'
        )
        for record_type, version in answer(lake, (RECORDS,), query).rows:
            if _is_unknown(record_type, version):
                return (
                    f"offset {end_offset}: the state above offset {below} is not known to this "
                    f"release, which reads up to Kafka {NEWEST_KAFKA}; the record at offset "
                    f"{below} is of {record_type} version {version}"
                )
    return (
        f"offset {end_offset}: the lake holds neither the whole log below it nor a snapshot to "
        "begin with; ingest a replica or an older capture that does"
    )


def _is_unknown(record_type: str, version: int | None) -> bool:
    schema = RECORDS_BY_NAME.get(record_type)
    if schema is None:
        return record_type not in _CONTROLS
    return version not in schema.versions

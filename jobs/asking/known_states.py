"""The offsets at which a lake knows a cluster's state: gold.state_ranges, read by delta-rs."""

from __future__ import annotations

from jobs.asking.sql_delta_rs import rows
from jobs.asking.sql_views import literal
from pipelines.lake import Lake
from replica.format.control import ControlType
from replica.metadata.records import NEWEST_KAFKA, RECORDS_BY_NAME

LOG = "silver.committed_log"
RANGES = "gold.state_ranges"
RECORDS = "bronze.log_records"

_CONTROLS = {control.name for control in ControlType}


def why_unknown(lake: Lake, cluster_id: str, end_offset: int) -> str | None:
    """None where the lake knows the state at this end offset (exclusive). Else one line that says
    up to which offset it does, and why not further."""
    if end_offset == 0:
        return None
    mine = f"cluster_id = {literal(cluster_id)}"
    query = f"SELECT from_offset, to_offset FROM {RANGES} WHERE {mine}"  # noqa: S608, names of ours
    ranges = list(rows(lake, query))
    if any(start <= end_offset <= end for start, end in ranges):
        return None
    below = max((end for _, end in ranges if end < end_offset), default=None)
    if below is not None:
        query = (
            f"SELECT DISTINCT record_type, record_version FROM {RECORDS} WHERE {mine} "  # noqa: S608
            f'AND "offset" = {below}'
        )
        for record_type, version in rows(lake, query):
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


def ends_that_are_not_known(lake: Lake) -> dict[str, int]:
    """The clusters whose state at the log's end the lake doesn't know, with the offset of that
    end."""
    query = (
        f'SELECT l.cluster_id, l.log_end FROM (SELECT cluster_id, max("offset") + 1 AS log_end '  # noqa: S608
        f"FROM {LOG} GROUP BY cluster_id) l LEFT JOIN (SELECT cluster_id, max(to_offset) AS "
        f"known_end FROM {RANGES} GROUP BY cluster_id) r ON r.cluster_id = l.cluster_id "
        "WHERE r.known_end IS NULL OR r.known_end < l.log_end ORDER BY l.cluster_id"
    )
    return {str(row[0]): int(row[1]) for row in rows(lake, query)}


def _is_unknown(record_type: str, version: int | None) -> bool:
    schema = RECORDS_BY_NAME.get(record_type)
    if schema is None:
        return record_type not in _CONTROLS
    return version not in schema.versions

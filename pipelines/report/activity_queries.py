"""The SQL behind the activity: typed changes where the lake has them, otherwise records by type."""

from __future__ import annotations

from pipelines.report.source import literal

MAX_CHANGES = 25
CHANGES = "gold.metadata_changes"


def _typed(cluster: str) -> str:
    return f"""\
changes AS (
  SELECT change, at, "offset" FROM {CHANGES}
  WHERE cluster_id = {literal(cluster)} AND commitment <> 'superseded'
)"""


def activity_span(cluster: str, *, typed: bool) -> str:
    """The first and last time of a change, in seconds since 1970."""
    if typed:
        return f"""\
WITH {_typed(cluster)}
SELECT date_part('epoch', min(at)) AS first, date_part('epoch', max(at)) AS last FROM changes"""
    return f"""\
SELECT date_part('epoch', min(base_timestamp)) AS first,
       date_part('epoch', max(max_timestamp)) AS last
FROM bronze.log_batches
WHERE cluster_id = {literal(cluster)} AND crc_valid"""


def activity(cluster: str, start: int, width: int, *, typed: bool) -> str:
    """The number of changes of each kind in each bucket of `width` seconds. Bucket 0 begins at
    `start`.

    typed: whether to count typed changes. Otherwise records are counted by their types, on the
    branch that the replicas agree on: the records of each epoch from its start to its end there, as
    many as one replica holds. To join the branch offset by offset takes several times as long.
    """
    if typed:
        return f"""\
WITH {_typed(cluster)}
SELECT change, {_bucket("at", start, width)} AS bucket,
       count(*) AS changes, min("offset") AS first_offset, max("offset") AS last_offset
FROM changes
GROUP BY change, bucket
ORDER BY change, bucket"""
    return f"""\
WITH counted AS (
  SELECT r.record_type AS change, {_bucket("r.timestamp", start, width)} AS bucket,
         count(*) AS changes, min(r."offset") AS first_offset, max(r."offset") AS last_offset
  FROM bronze.log_records AS r
  JOIN gold.leader_epoch_history AS h
    ON h.cluster_id = r.cluster_id AND h.epoch = r.leader_epoch
  WHERE r.cluster_id = {literal(cluster)} AND h.commitment <> 'superseded'
    AND r."offset" >= coalesce(h.start_offset, 0)
    AND (h.end_offset IS NULL OR r."offset" < h.end_offset)
  GROUP BY change, bucket, r.node_id, r.directory_id
)
SELECT change, bucket, max(changes) AS changes,
       min(first_offset) AS first_offset, max(last_offset) AS last_offset
FROM counted
GROUP BY change, bucket
ORDER BY change, bucket"""


def _bucket(time: str, start: int, width: int) -> str:
    return f"CAST(floor((date_part('epoch', {time}) - {start}) / {width}) AS BIGINT)"


def newest_changes(cluster: str) -> str:
    """The newest typed changes, with those of lost branches."""
    return f"""\
SELECT "offset", leader_epoch, CAST(at AS VARCHAR) AS at, change, entity, name, old, new,
       commitment, count(*) OVER () AS total
FROM {CHANGES}
WHERE cluster_id = {literal(cluster)}
ORDER BY "offset" DESC, leader_epoch DESC, entity, key, change
LIMIT {MAX_CHANGES}"""

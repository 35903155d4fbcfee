"""The SQL about lost records: when they were written, and what they would have changed.

Leader epoch and offset identify a record, because a leader writes one record at an offset.
"""

from __future__ import annotations

from pipelines.report.activity_queries import CHANGES
from pipelines.report.losses import LostRecordCount
from pipelines.report.queries import ms
from pipelines.report.source import literal


def written(cluster: str, loss: LostRecordCount) -> str:
    """The smallest and the largest time of the lost records, in ms since 1970."""
    replica = loss.replicas[0]
    return f"""\
WITH {_lost(loss)}
SELECT {ms("min(b.base_timestamp)")} AS first_ms, {ms("max(b.max_timestamp)")} AS last_ms
FROM bronze.log_batches AS b
JOIN lost AS l
  ON l.epoch = b.leader_epoch AND b.base_offset >= l.first_offset AND b.base_offset < l.end_offset
WHERE b.cluster_id = {literal(cluster)} AND b.node_id = {replica.node_id}
  AND b.directory_id = {literal(replica.directory_id)} AND b.crc_valid"""


def record_types(cluster: str, loss: LostRecordCount) -> str:
    """The lost records by type and version."""
    replica = loss.replicas[0]
    return f"""\
WITH {_lost(loss)}
SELECT r.record_type, r.record_version, r.is_control, count(*) AS records,
       min(r."offset") AS first_offset
FROM bronze.log_records AS r
JOIN lost AS l
  ON l.epoch = r.leader_epoch AND r."offset" >= l.first_offset AND r."offset" < l.end_offset
WHERE r.cluster_id = {literal(cluster)} AND r.node_id = {replica.node_id}
  AND r.directory_id = {literal(replica.directory_id)}
GROUP BY r.record_type, r.record_version, r.is_control
ORDER BY first_offset"""


def changes(cluster: str, loss: LostRecordCount) -> str:
    """The changes that the lost records made, by type. `again`: how many of them a record that was
    not superseded makes later: the same change, or the creation of an entity with that name."""
    return f"""\
WITH {_lost(loss)}, changed AS (
  SELECT c.*
  FROM {CHANGES} AS c
  JOIN lost AS l
    ON l.epoch = c.leader_epoch AND c."offset" >= l.first_offset AND c."offset" < l.end_offset
  WHERE c.cluster_id = {literal(cluster)}
), topics AS (
  SELECT DISTINCT key FROM changed WHERE entity = 'topic'
), kept AS (
  SELECT change, name, CASE WHEN change IN {_CREATIONS} THEN '' ELSE new END AS new, count(*) AS n
  FROM {CHANGES}
  WHERE cluster_id = {literal(cluster)} AND commitment <> 'superseded' AND "offset" >= {loss.first}
  GROUP BY 1, 2, 3
)
SELECT c.change, t.key IS NOT NULL AS with_topic, count(*) AS changes, count(k.n) AS again,
       min(c.name) AS example
FROM changed AS c
LEFT JOIN topics AS t ON c.entity = 'partition' AND t.key = split_part(c.key, ':', 1)
LEFT JOIN kept AS k
  ON c.commitment = 'superseded' AND k.change = c.change AND k.name = c.name
 AND k.new IS NOT DISTINCT FROM CASE WHEN c.change IN {_CREATIONS} THEN '' ELSE c.new END
GROUP BY c.change, t.key IS NOT NULL
ORDER BY changes DESC, c.change"""


_CREATIONS = "('topic_created', 'partition_created')"
"""Types of change that make an entity. An entity that is made again has another id."""


def _lost(loss: LostRecordCount) -> str:
    """A CTE: the offsets of each epoch of the lost records, from first_offset to end_offset."""
    if loss.end is not None:
        rows = ", ".join(f"({epoch}, {loss.first}, {loss.end})" for epoch in loss.epochs)
        return f"lost AS (SELECT * FROM (VALUES {rows}) AS v(epoch, first_offset, end_offset))"
    replica = loss.replicas[0]
    return f"""\
lost AS (
  SELECT e.epoch, greatest(e.start_offset, {loss.first}) AS first_offset, e.end_offset
  FROM silver.leader_epochs AS e
  JOIN bronze.captures AS c ON c.capture_id = e.capture_id
  WHERE c.capture_group = {literal(loss.capture_group)} AND c.node_id = {replica.node_id}
    AND c.directory_id = {literal(replica.directory_id)} AND e.end_offset > {loss.first}
)"""

"""The SQL about activity, lost records and voters. Activity: typed changes where the lake has them,
otherwise records by type. Lost records: when they were written, which nodes keep them, and what
they would have changed. Voters: the sets that voters records name.

Leader epoch and offset identify a record, because a leader writes one record at an offset.
"""

from __future__ import annotations

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.report.losses import LostRecordCount
from pipelines.report.queries import ms

MAX_CHANGES = 25
CHANGES = "gold.metadata_changes"
HISTORY = "gold.metadata_history"


def _typed(cluster: str) -> Sql:
    return f"""\
changes AS (
  SELECT change, at, "offset" FROM {CHANGES}
  WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND commitment <> 'superseded'
)"""


def activity_span(cluster: str, *, typed: bool) -> Sql:
    """The first and last time of a change, in seconds since 1970. typed: whether typed changes
    count; otherwise all batches count."""
    if typed:
        return f"""\
WITH {_typed(cluster)}
SELECT date_part('epoch', min(at)) AS first, date_part('epoch', max(at)) AS last FROM changes"""
    return f"""\
SELECT date_part('epoch', min(base_timestamp)) AS first,
       date_part('epoch', max(max_timestamp)) AS last
FROM bronze.log_batches
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND crc_valid"""


def activity(cluster: str, start: int, width: int, *, typed: bool) -> Sql:
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
  WHERE r.cluster_id = {DATA_FUSION.cluster(cluster)} AND h.commitment <> 'superseded'
    AND r."offset" >= coalesce(h.start_offset, 0)
    AND (h.end_offset IS NULL OR r."offset" < h.end_offset)
  GROUP BY change, bucket, r.node_id, r.directory_id
)
SELECT change, bucket, max(changes) AS changes,
       min(first_offset) AS first_offset, max(last_offset) AS last_offset
FROM counted
GROUP BY change, bucket
ORDER BY change, bucket"""


def _bucket(time: Sql, start: int, width: int) -> Sql:
    return f"CAST(floor((date_part('epoch', {time}) - {start}) / {width}) AS BIGINT)"


def newest_changes(cluster: str) -> Sql:
    """At most MAX_CHANGES typed changes, the newest first, changes of superseded branches
    included."""
    return f"""\
SELECT "offset", leader_epoch, CAST(at AS VARCHAR) AS at, change, entity, name, old, new,
       commitment, count(*) OVER () AS total
FROM {CHANGES}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
ORDER BY "offset" DESC, leader_epoch DESC, entity, key, change
LIMIT {MAX_CHANGES}"""


def keepers(cluster: str, loss: LostRecordCount) -> Sql:
    """The nodes, other than those that lost records, that keep the last committed record of a loss.
    Their newest capture has the record's batch, or retention removed the batch.

    The committed records are the first records of a loss. A copy keeps nothing if it is on another
    branch than the branch with which the quorum continues.
    """
    last = loss.first + loss.committed - 1
    replica = loss.replicas[0]
    losers = DATA_FUSION.literals(sorted({one.node_id for one in loss.replicas}))
    return f"""\
SELECT DISTINCT o.node_id
FROM bronze.log_batches AS l
JOIN bronze.log_batches AS o
  ON o.cluster_id = l.cluster_id AND o.base_offset = l.base_offset
 AND o.leader_epoch = l.leader_epoch AND o.crc = l.crc
JOIN silver.committed_log AS c
  ON c.cluster_id = o.cluster_id AND c."offset" = {last:d}
 AND c.leader_epoch = o.leader_epoch AND c.crc = o.crc
WHERE l.cluster_id = {DATA_FUSION.cluster(cluster)}
  AND l.node_id = {replica.node_id:d}
  AND l.directory_id = {DATA_FUSION.literal(replica.directory_id)}
  AND l.base_offset <= {last:d} AND l.last_offset >= {last:d}
  AND o.truncated_at IS NULL AND o.node_id NOT IN ({losers})"""


def written(cluster: str, loss: LostRecordCount) -> Sql:
    """The smallest and the largest time of the lost records, in ms since 1970."""
    replica = loss.replicas[0]
    return f"""\
WITH {_lost(loss)}
SELECT {ms("min(b.base_timestamp)")} AS first_ms, {ms("max(b.max_timestamp)")} AS last_ms
FROM bronze.log_batches AS b
JOIN lost AS l
  ON l.epoch = b.leader_epoch AND b.base_offset >= l.first_offset AND b.base_offset < l.end_offset
WHERE b.cluster_id = {DATA_FUSION.cluster(cluster)} AND b.node_id = {replica.node_id:d}
  AND b.directory_id = {DATA_FUSION.literal(replica.directory_id)} AND b.crc_valid"""


def record_types(cluster: str, loss: LostRecordCount) -> Sql:
    """The lost records by type and version."""
    replica = loss.replicas[0]
    return f"""\
WITH {_lost(loss)}
SELECT r.record_type, r.record_version, r.is_control, count(*) AS records,
       min(r."offset") AS first_offset
FROM bronze.log_records AS r
JOIN lost AS l
  ON l.epoch = r.leader_epoch AND r."offset" >= l.first_offset AND r."offset" < l.end_offset
WHERE r.cluster_id = {DATA_FUSION.cluster(cluster)} AND r.node_id = {replica.node_id:d}
  AND r.directory_id = {DATA_FUSION.literal(replica.directory_id)}
GROUP BY r.record_type, r.record_version, r.is_control
ORDER BY first_offset"""


def changes(cluster: str, loss: LostRecordCount) -> Sql:
    """The changes that the lost records made, by type. `again`: for superseded changes, how many of
    them a record on the agreed branch makes once more, by the same change or by creating an entity
    with the same name."""
    return f"""\
WITH {_lost(loss)}, changed AS (
  SELECT c.*
  FROM {CHANGES} AS c
  JOIN lost AS l
    ON l.epoch = c.leader_epoch AND c."offset" >= l.first_offset AND c."offset" < l.end_offset
  WHERE c.cluster_id = {DATA_FUSION.cluster(cluster)}
), topics AS (
  SELECT DISTINCT key FROM changed WHERE entity = 'topic'
), kept AS (
  SELECT change, name, CASE WHEN change IN {_CREATIONS} THEN '' ELSE new END AS new, count(*) AS n
  FROM {CHANGES}
  WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND commitment <> 'superseded'
    AND "offset" >= {loss.first:d}
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


def _lost(loss: LostRecordCount) -> Sql:
    """A CTE (common table expression): the offsets of each epoch of the lost records, from
    first_offset to end_offset."""
    if loss.end is not None:
        rows = ", ".join(f"({epoch:d}, {loss.first:d}, {loss.end:d})" for epoch in loss.epochs)
        return f"lost AS (SELECT * FROM (VALUES {rows}) AS v(epoch, first_offset, end_offset))"
    replica = loss.replicas[0]
    return f"""\
lost AS (
  SELECT e.epoch, greatest(e.start_offset, {loss.first:d}) AS first_offset, e.end_offset
  FROM silver.leader_epochs AS e
  JOIN bronze.captures AS c ON c.capture_id = e.capture_id
  WHERE c.capture_group = {DATA_FUSION.literal(loss.capture_group)}
    AND c.node_id = {replica.node_id:d}
    AND c.directory_id = {DATA_FUSION.literal(replica.directory_id)}
    AND e.end_offset > {loss.first:d}
)"""


def voter_sets(cluster: str) -> Sql:
    """The voters that voters records name, on the agreed branch, the newest last. A static quorum
    has no such record."""
    return f"""\
SELECT valid_from_offset, value
FROM {HISTORY}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND entity = 'voters'
ORDER BY valid_from_offset"""

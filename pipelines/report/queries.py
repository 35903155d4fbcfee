"""The SQL behind the page, in the dialect of `kraftlake sql`. Each function takes a cluster id.

Each query is complete, so that a reader can run it alone. Times of the log are text, because a
hostile log has years that no calendar has. A column `total` counts the rows before LIMIT.
"""

from __future__ import annotations

from collections.abc import Collection

from pipelines.capture_rounds import rounds_sql
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.report.divergences import Replica
from replica.doctor.check.formatted import WITHOUT_LOG

MAX_PARTINGS = 500
MAX_TRUNCATIONS = 100
MAX_SNAPSHOTS = 100
MAX_FINDINGS = 20
"""The most findings of one rule."""
MAX_DAMAGE = 50
MAX_SUBJECTS = 5
"""The most partitions, nodes and other subjects of one rule of health."""
MAX_CAPTURES = 100
MAX_SHOWN_IN_PRINT = 2
"""With more clusters than this, the first printed pages have only the verdict of each cluster."""
MAX_EPOCHS, MAX_PAIRS, MAX_TYPES = 100, 50, 50
"""The most rows that the page shows of tables of epochs, of pairs of replicas, and of record
types."""
MAX_LANES = 24
"""The most lanes of a drawing."""
SHOWN, LONG = 12, 240
"""The most offsets shown at once, and the most characters of a payload; the rest is folded."""
BEFORE, AFTER = 3, 50
"""The number of offsets shown before the divergence, and from the divergence on."""

REQUIRED = (
    "bronze.captures",
    "bronze.damage",
    "bronze.findings",
    "bronze.log_batches",
    "bronze.log_records",
    "bronze.snapshots",
    "silver.leader_epochs",
    "gold.leader_epoch_history",
    "gold.divergence_points",
    "gold.truncations",
    "gold.snapshot_validity",
    "gold.findings",
)
"""The tables without which there is no page."""

_FOUND: Sql = "SELECT capture_id FROM bronze.findings WHERE rule"
HAS_LOG: Sql = f"c.capture_id NOT IN ({_FOUND} IN ({DATA_FUSION.literals(WITHOUT_LOG)}))"
"""Condition on a row c of bronze.captures: the captured log directory has a metadata log."""

CLUSTERS = f"""\
SELECT cluster_id, count(DISTINCT capture_group) AS groups, count(*) AS captures,
       min(captured_at) AS first_captured, max(captured_at) AS last_captured
FROM bronze.captures AS c
WHERE {HAS_LOG}
GROUP BY cluster_id
ORDER BY cluster_id"""

UNIDENTIFIED = """\
SELECT file, position, kind, detail, count(*) OVER () AS total
FROM bronze.damage
WHERE capture_id IS NULL
ORDER BY file, position
LIMIT 50"""


def ms(time: Sql) -> Sql:
    """SQL: a timestamp column in ms since 1970, also for years that no calendar has."""
    return f"CAST({time} AS BIGINT) / 1000"


def newest(cluster: str) -> Sql:
    """A CTE: the newest capture of each replica, if possible a capture of its whole log."""
    return f"""\
newest AS (
  SELECT node_id, directory_id, capture_id, capture_group, captured_at, source,
         log_start_offset, log_end_offset, first_offset
  FROM (SELECT *, row_number() OVER (
          PARTITION BY node_id, directory_id
          ORDER BY is_fragment, captured_at DESC, ingest_seq DESC) AS nth
        FROM bronze.captures AS c WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
        AND {HAS_LOG}) AS ranked
  WHERE nth = 1
)"""


def rounds(cluster: str) -> Sql:
    """The rounds of captures, oldest first."""
    return rounds_sql(f"cluster_id = {DATA_FUSION.cluster(cluster)}")


def replicas(cluster: str) -> Sql:
    """Each replica in its newest capture, with the last epoch of its log, the time of its last
    record in ms since 1970, and its lag."""
    return f"""\
WITH {newest(cluster)}
SELECT n.*, e.last_epoch, {ms("w.last_written")} AS last_written_ms, l.lag_records, l.lag_ms
FROM newest AS n
LEFT JOIN (SELECT capture_id, lag_records, lag_ms FROM gold.replica_status
           WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND is_latest) AS l
  ON l.capture_id = n.capture_id
LEFT JOIN (SELECT b.node_id, b.directory_id,
                  last_value(b.max_timestamp ORDER BY b.base_offset) AS last_written
           FROM bronze.log_batches AS b
           JOIN newest AS s ON s.node_id = b.node_id AND s.directory_id = b.directory_id
           WHERE b.cluster_id = {DATA_FUSION.cluster(cluster)} AND b.crc_valid
             AND (b.last_seen IS NULL OR b.last_seen >= s.captured_at)
           GROUP BY b.node_id, b.directory_id) AS w
  ON w.node_id = n.node_id AND w.directory_id = n.directory_id
LEFT JOIN (SELECT capture_id, max(epoch) AS last_epoch FROM silver.leader_epochs
           WHERE in_batches GROUP BY capture_id) AS e ON e.capture_id = n.capture_id
ORDER BY n.node_id, n.directory_id"""


def never_started(cluster: str) -> Sql:
    """The log directories that were formatted, and not yet used by their node when the cluster's
    newest captures were made."""
    return f"""\
SELECT c.node_id, c.directory_id, c.captured_at, c.source
FROM bronze.captures AS c
JOIN (SELECT max(ingest_seq) AS newest FROM bronze.captures AS c
      WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND {HAS_LOG}) AS r
  ON c.ingest_seq = r.newest
WHERE c.cluster_id = {DATA_FUSION.cluster(cluster)} AND c.capture_id IN ({_FOUND} = 'never-started')
ORDER BY c.node_id, c.directory_id"""


def captures(cluster: str) -> Sql:
    """At most MAX_CAPTURES captures of a cluster, the newest first."""
    return f"""\
SELECT node_id, directory_id, captured_at, source, log_start_offset, log_end_offset,
       count(*) OVER () AS total
FROM bronze.captures AS c
WHERE {HAS_LOG} AND cluster_id = {DATA_FUSION.cluster(cluster)}
ORDER BY captured_at DESC, node_id
LIMIT {MAX_CAPTURES}"""


def unbuilt(cluster: str) -> Sql:
    """The captures whose records are not in any derived table yet."""
    return f"""\
SELECT node_id, captured_at, source
FROM bronze.captures
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND first_offset IS NOT NULL
  AND capture_id NOT IN (SELECT capture_id FROM silver.leader_epochs)
ORDER BY captured_at"""


def epochs(cluster: str) -> Sql:
    """The epochs in the log of each replica's newest capture. Where a log lacks an epoch's
    LEADER_CHANGE record, its leader comes from the other replicas: an epoch has one leader."""
    return f"""\
WITH {newest(cluster)}
SELECT n.node_id, n.directory_id, e.epoch, coalesce(e.leader_id, h.leader_id) AS leader_id,
       e.leader_id IS NULL AND h.leader_id IS NOT NULL AS is_told_elsewhere,
       e.start_offset, e.end_offset
FROM newest AS n
JOIN silver.leader_epochs AS e ON e.capture_id = n.capture_id
LEFT JOIN gold.leader_epoch_history AS h
  ON h.cluster_id = {DATA_FUSION.cluster(cluster)} AND h.epoch = e.epoch
WHERE e.start_offset IS NOT NULL
ORDER BY n.node_id, n.directory_id, e.start_offset"""


def leaders(cluster: str) -> Sql:
    """Each leader epoch, with the time of its last record on any replica."""
    return f"""\
SELECT h.epoch, h.leader_id, h.start_offset, h.end_offset,
       CAST(h.started_at AS VARCHAR) AS started_at,
       CAST(b.last_written AS VARCHAR) AS last_written, h.commitment, h.voters
FROM gold.leader_epoch_history AS h
LEFT JOIN (SELECT leader_epoch, max(max_timestamp) AS last_written
           FROM bronze.log_batches WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND crc_valid
           GROUP BY leader_epoch) AS b ON b.leader_epoch = h.epoch
WHERE h.cluster_id = {DATA_FUSION.cluster(cluster)}
ORDER BY h.epoch"""


def relations(cluster: str) -> Sql:
    """The number of pairs of replicas in the newest capture group, by the relation of their
    logs."""
    return f"""\
SELECT relation, count(*) AS pairs
FROM gold.divergence_points
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND is_latest
GROUP BY relation
ORDER BY relation"""


def partings(cluster: str) -> Sql:
    """At most MAX_PARTINGS pairs of replicas whose logs differ. Each pair and offset is there once,
    from the newest group that shows the difference."""
    return f"""\
WITH groups AS (
  SELECT capture_group, max(captured_at) AS captured_at
  FROM bronze.captures WHERE cluster_id = {DATA_FUSION.cluster(cluster)} GROUP BY capture_group
), ranked AS (
  SELECT d.*, g.captured_at,
         row_number() OVER (PARTITION BY node_a, directory_a, node_b, directory_b,
                            divergence_offset ORDER BY g.captured_at DESC) AS nth
  FROM gold.divergence_points AS d
  JOIN groups AS g ON g.capture_group = d.capture_group
  WHERE d.cluster_id = {DATA_FUSION.cluster(cluster)} AND d.relation IN ('diverged', 'conflict')
)
SELECT capture_group, captured_at, is_latest, relation, divergence_offset,
       node_a, directory_a, epoch_a, node_b, directory_b, epoch_b,
       truncating_node, truncation_offset, fetch_rounds,
       records_lost, committed_lost, unproven_lost, superseded_lost, count(*) OVER () AS total
FROM ranked
WHERE nth = 1
ORDER BY captured_at DESC, divergence_offset, node_a, node_b
LIMIT {MAX_PARTINGS}"""


def _held(cluster: str, group: str, first: int, last: int) -> Sql:
    """A CTE: the undamaged batches that the replicas of one capture group held between the two
    offsets."""
    return f"""\
held AS (
  SELECT b.*
  FROM (SELECT *, unnest(in_log) AS span FROM bronze.log_batches
        WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
          AND base_offset <= {last} AND last_offset >= {first}) AS b
  JOIN bronze.captures AS c
    ON c.cluster_id = b.cluster_id AND c.node_id = b.node_id
   AND c.directory_id = b.directory_id
   AND c.captured_at >= b.span['from']
   AND (b.span['to'] IS NULL OR c.captured_at <= b.span['to'])
  WHERE c.capture_group = {DATA_FUSION.literal(group)}
)"""


def heads(cluster: str, group: str, offset: int) -> Sql:
    """Each replica's batch at an offset, and its log end offset, exclusive."""
    return f"""\
WITH {_held(cluster, group, offset, offset)}
SELECT h.node_id, h.directory_id, h.leader_epoch, h.crc, c.log_end_offset,
       {ms("h.base_timestamp")} AS since_ms
FROM held AS h
JOIN bronze.captures AS c
  ON c.cluster_id = h.cluster_id AND c.node_id = h.node_id
 AND c.directory_id = h.directory_id AND c.capture_group = {DATA_FUSION.literal(group)}
ORDER BY h.node_id, h.directory_id"""


_RECORDS = """\
JOIN bronze.log_records AS r
  ON r.cluster_id = b.cluster_id AND r.node_id = b.node_id AND r.directory_id = b.directory_id
 AND r.base_offset = b.base_offset AND r.leader_epoch = b.leader_epoch AND r.crc = b.crc"""
"""SQL: the join of the batches `b` with their records, `r`."""


def branch_records(cluster: str, group: str, offset: int, replicas: Collection[Replica]) -> Sql:
    """The records around an offset, on one replica of each branch."""
    first, last = max(offset - BEFORE, 0), offset + AFTER - 1
    wanted = " OR ".join(
        f"(b.node_id = {one.node_id:d} "
        f"AND b.directory_id = {DATA_FUSION.literal(one.directory_id)})"
        for one in replicas
    )
    return f"""\
WITH {_held(cluster, group, first, last)}
SELECT b.node_id, b.directory_id, r."offset", r.leader_epoch,
       CAST(r.timestamp AS VARCHAR) AS timestamp, r.record_type, r.record_version, r.payload
FROM held AS b
{_RECORDS}
WHERE r."offset" BETWEEN {first} AND {last} AND ({wanted})
ORDER BY b.node_id, b.directory_id, r."offset\""""


STATE_RANGES = "gold.state_ranges"


def state_ranges(cluster: str) -> Sql:
    """The end offsets at which the state is known."""
    return f"""\
SELECT from_offset, to_offset
FROM {STATE_RANGES}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
ORDER BY from_offset"""


def truncations(cluster: str) -> Sql:
    """At most MAX_TRUNCATIONS runs of records that were in a log in one capture and not in a later
    one. The runs that lost the most committed records come first."""
    return f"""\
SELECT node_id, directory_id, from_offset, to_offset, epochs, records,
       committed_lost, unproven_lost, superseded_lost, last_seen, seen_at,
       count(*) OVER () AS total
FROM gold.truncations
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
ORDER BY committed_lost DESC, seen_at DESC, from_offset, node_id
LIMIT {MAX_TRUNCATIONS}"""


def truncated_types(cluster: str) -> Sql:
    """The truncated records by replica, truncated_at and record type: number, and offset bounds."""
    return f"""\
SELECT b.node_id, b.directory_id, b.truncated_at, r.record_type, count(*) AS records,
       min(r."offset") AS first_offset, max(r."offset") AS last_offset
FROM bronze.log_batches AS b
{_RECORDS}
WHERE b.cluster_id = {DATA_FUSION.cluster(cluster)} AND b.truncated_at IS NOT NULL AND b.crc_valid
GROUP BY b.node_id, b.directory_id, b.truncated_at, r.record_type
ORDER BY b.truncated_at DESC, b.node_id, first_offset"""


def truncated_records(cluster: str, replica: Replica, start: int, end: int) -> Sql:
    """The records of one truncated run of offsets; end exclusive."""
    node, directory = replica.node_id, DATA_FUSION.literal(replica.directory_id)
    return f"""\
SELECT r."offset", r.leader_epoch, CAST(r.timestamp AS VARCHAR) AS timestamp,
       r.record_type, r.record_version, r.payload
FROM bronze.log_batches AS b
{_RECORDS}
WHERE b.cluster_id = {DATA_FUSION.cluster(cluster)} AND b.node_id = {node:d}
  AND b.directory_id = {directory} AND b.truncated_at IS NOT NULL AND b.crc_valid
  AND r."offset" >= {start} AND r."offset" < {end}
ORDER BY r."offset", r.leader_epoch
LIMIT {AFTER}"""


def _judged_snapshots(cluster: str) -> Sql:
    """A CTE: all verdicts. `nth` is 1 at a snapshot's newest `invalid` verdict, else its newest."""
    one = "PARTITION BY v.node_id, v.directory_id, v.end_offset, v.epoch"
    return f"""\
judged AS (
  SELECT v.*, c.captured_at, count(*) OVER ({one}) AS seen,
         row_number() OVER ({one}
                            ORDER BY CASE v.verdict WHEN 'invalid' THEN 0 ELSE 1 END,
                                     c.captured_at DESC) AS nth
  FROM gold.snapshot_validity AS v
  JOIN (SELECT capture_id, max(captured_at) AS captured_at FROM bronze.captures
        GROUP BY capture_id) AS c ON c.capture_id = v.capture_id
  WHERE v.cluster_id = {DATA_FUSION.cluster(cluster)}
)"""


def snapshot_counts(cluster: str) -> Sql:
    """The number of snapshots by verdict."""
    return f"""\
WITH {_judged_snapshots(cluster)}
SELECT verdict, count(*) AS snapshots FROM judged WHERE nth = 1 GROUP BY verdict"""


def snapshots(cluster: str) -> Sql:
    """Each snapshot with its verdict and evidence, the invalid ones first."""
    return f"""\
WITH {_judged_snapshots(cluster)}
SELECT j.node_id, j.directory_id, j.end_offset, j.epoch, j.verdict, j.broken_rules, j.notes,
       j.seen, j.captured_at, s.size_bytes, s.record_count, s.state,
       CAST(s.last_contained_log_timestamp AS VARCHAR) AS last_contained_log_timestamp,
       count(*) OVER () AS total
FROM judged AS j
LEFT JOIN bronze.snapshots AS s
  ON s.cluster_id = j.cluster_id AND s.node_id = j.node_id AND s.directory_id = j.directory_id
 AND s.end_offset = j.end_offset AND s.epoch = j.epoch AND array_has(s.captures, j.capture_id)
WHERE j.nth = 1
ORDER BY CASE j.verdict WHEN 'invalid' THEN 0 WHEN 'unverifiable' THEN 1 ELSE 2 END,
         j.end_offset DESC, j.node_id
LIMIT {MAX_SNAPSHOTS}"""


def findings(cluster: str) -> Sql:
    """The first findings of each rule. `findings` counts the rule's findings in all captures, `now`
    in each replica's newest capture."""
    return f"""\
WITH {newest(cluster)}, ranked AS (
  SELECT f.*, c.captured_at, count(*) OVER (PARTITION BY f.rule) AS findings,
         sum(CASE WHEN n.capture_id IS NULL THEN 0 ELSE 1 END) OVER (PARTITION BY f.rule) AS now,
         row_number() OVER (PARTITION BY f.rule ORDER BY c.captured_at DESC, f.node_id, f.file,
                            f.position, f."offset") AS nth
  FROM gold.findings AS f
  LEFT JOIN (SELECT capture_id, max(captured_at) AS captured_at FROM bronze.captures
             GROUP BY capture_id) AS c ON c.capture_id = f.capture_id
  LEFT JOIN newest AS n ON n.capture_id = f.capture_id
  WHERE f.cluster_id = {DATA_FUSION.cluster(cluster)} AND f.family = 'files'
)
SELECT rule, severity, findings, now, node_id, directory_id, file, position, "offset", epoch,
       message, captured_at
FROM ranked
WHERE nth <= {MAX_FINDINGS}
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, rule, nth"""


def damage(cluster: str) -> Sql:
    """The places in files that could not be read, in all captures."""
    return f"""\
SELECT file, position, length, kind, detail, count(*) OVER () AS total
FROM bronze.damage
WHERE capture_id IN (SELECT capture_id FROM bronze.captures
                     WHERE cluster_id = {DATA_FUSION.cluster(cluster)})
ORDER BY file, position
LIMIT {MAX_DAMAGE}"""

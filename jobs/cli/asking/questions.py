"""Ready-made questions for `kraftlake sql --question NAME`. Each has a title and one SQL query.

The SQL is in the dialect of delta-rs. Spark understands all queries except voter-history, because
it has no unnest. docs/tutorial/questions.md has the questions of the demo with their answers, which
a test compares with the real answers.
"""

from __future__ import annotations

from typing import NamedTuple

from replica.doctor.verdict.verdict import LEVELS_OF_NEWEST
from replica.errors import UsageError


class Question(NamedTuple):
    """A ready-made question."""

    name: str
    """The name of the question on the command line."""
    title: str
    """The question in an operator's words."""
    sql: str
    """The query, which orders its rows."""


def question(name: str) -> Question:
    """The question of that name. Raises UsageError, which lists all names, for an unknown one."""
    for one in QUESTIONS:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in QUESTIONS)
    raise UsageError(f"--question {name}: there is no such question; choose {names}")


DEMO = (
    Question(
        "leader-epochs",
        "Who led when?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, epoch, leader_id AS leader, start_offset, end_offset,
       date_trunc('second', started_at) AS started_at, commitment
FROM gold.leader_epoch_history
ORDER BY cluster_id, epoch""",
    ),
    Question(
        "divergences",
        "Where do replicas diverge, and which records would be lost?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, node_a, node_b, divergence_offset, epoch_a, epoch_b,
       truncating_node AS truncates, records_lost AS lost, committed_lost AS committed,
       superseded_lost AS superseded
FROM gold.divergence_points
WHERE relation IN ('diverged', 'conflict')
ORDER BY cluster_id, node_a, node_b""",
    ),
    Question(
        "relations",
        "Do the replicas agree again in the newest capture?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, relation, count(*) AS pairs
FROM gold.divergence_points
WHERE is_latest
GROUP BY cluster_id, relation
ORDER BY cluster_id, relation""",
    ),
    Question(
        "lost-records",
        "Which records did nodes truncate?",
        """\
SELECT substr(b.cluster_id, 1, 4) AS cluster, b.node_id AS node, r.record_type,
       count(*) AS records, min(r.offset) AS first_offset, max(r.offset) AS last_offset
FROM bronze.log_batches b
JOIN bronze.log_records r
  ON r.cluster_id = b.cluster_id AND r.node_id = b.node_id AND r.directory_id = b.directory_id
 AND r.base_offset = b.base_offset AND r.leader_epoch = b.leader_epoch AND r.crc = b.crc
WHERE b.truncated_at IS NOT NULL
GROUP BY b.cluster_id, b.node_id, r.record_type
ORDER BY b.cluster_id, b.node_id, first_offset""",
    ),
    Question(
        "removed-heads",
        "Which replicas deleted the head of their log after a snapshot?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, node_id AS node, count(*) AS batches,
       min(base_offset) AS first_offset, max(last_offset) AS last_offset
FROM bronze.log_batches
WHERE removed_at IS NOT NULL
GROUP BY cluster_id, node_id
ORDER BY cluster_id, node_id""",
    ),
    Question(
        "voter-history",
        "How did the voter set change?",
        """\
SELECT DISTINCT substr(cluster_id, 1, 4) AS cluster, "offset", epoch, voter.voter_id AS voter,
       voter.directory_id AS directory
FROM (SELECT cluster_id, "offset", epoch, unnest(voters) AS voter
      FROM silver.voter_sets WHERE source = 'kraft_voters')
ORDER BY cluster, "offset", voter""",
    ),
)
"""The questions that the demo asks, and docs/tutorial/questions.md answers."""

_OPERATIONS = (
    Question(
        "leaders",
        "Who leads now?",
        """\
SELECT epochs.cluster_id, epoch, CASE WHEN gone.cluster_id IS NULL THEN leader_id END AS leader,
       leader_id AS last_leader, start_offset, started_at, commitment
FROM (SELECT *, row_number() OVER (PARTITION BY cluster_id ORDER BY epoch DESC) AS age
      FROM gold.leader_epoch_history WHERE commitment <> 'superseded') AS epochs
LEFT JOIN (SELECT DISTINCT cluster_id FROM gold.findings
           WHERE rule = 'leader-gave-up') AS gone ON gone.cluster_id = epochs.cluster_id
WHERE age = 1
ORDER BY epochs.cluster_id""",
    ),
    Question(
        "voters",
        "Who votes now?",
        """\
SELECT sets.cluster_id, sets.offset, sets.epoch, sets.source, sets.voters
FROM (SELECT v.*, row_number() OVER (
        PARTITION BY v.cluster_id
        ORDER BY CASE WHEN v.source = 'leader_change' THEN 1 ELSE 0 END, v.offset DESC, v.source
      ) AS age
      FROM silver.voter_sets AS v
      LEFT JOIN silver.committed_log AS l
        ON l.cluster_id = v.cluster_id AND l.offset = v.offset AND l.leader_epoch = v.epoch
      WHERE v.source = 'snapshot' OR l.cluster_id IS NOT NULL) AS sets
WHERE age = 1
ORDER BY cluster_id""",
    ),
    Question(
        "captures",
        "Which captures are there?",
        """\
SELECT cluster_id, round, captured_at, node, directory, log_start_offset, log_end_offset, source
FROM (SELECT c.cluster_id, c.round_name AS round, c.node_id AS node, c.directory_id AS directory,
             CASE WHEN c.has_own_time THEN c.captured_at END AS captured_at,
             c.captured_at AS looked_at, c.log_start_offset, c.log_end_offset, c.source
      FROM bronze.captures AS c) AS looks
ORDER BY looks.cluster_id, looks.looked_at, looks.node, looks.directory""",
    ),
    Question(
        "findings",
        "What is wrong, worst first?",
        """\
SELECT severity, rule, cluster_id, count(*) AS findings, count(DISTINCT node_id) AS nodes,
       min(f.offset) AS first_offset, max(f.offset) AS last_offset
FROM gold.findings AS f
GROUP BY severity, rule, cluster_id
ORDER BY CASE severity WHEN 'error' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END, rule, cluster_id""",
    ),
    Question(
        "verdicts",
        "How is each cluster, and what is to be done?",
        f"""\
SELECT cluster_id, level, headline, next_steps, not_judged, "at", captured_at
FROM gold.verdicts
ORDER BY position(level IN '{" ".join(LEVELS_OF_NEWEST)}'), cluster_id""",
    ),
    Question(
        "doubts",
        "What should somebody look at before the newest build is published?",
        """\
SELECT cluster_id, node, what, place, detail, unexpected_rows
FROM (SELECT c.cluster_id, c.node_id AS node, 'damage' AS what, d.file AS place, d.detail,
             1 AS unexpected_rows
      FROM bronze.damage AS d
      JOIN (SELECT *, row_number() OVER (
              PARTITION BY cluster_id, node_id, directory_id
              ORDER BY is_fragment, captured_at DESC, ingest_seq DESC
            ) AS age
            FROM bronze.captures) AS c ON c.capture_id = d.capture_id
      WHERE c.age = 1 AND d.kind NOT IN ('torn-tail', 'changed-while-read')
      UNION ALL
      SELECT NULL, NULL, action, table_name, meaning, unexpected_rows
      FROM gold.quality_results
      WHERE NOT success AND action <> 'warn'
        AND at = (SELECT max(at) FROM gold.quality_results)) AS doubts
ORDER BY what, place, detail""",
    ),
    Question(
        "broken-snapshots",
        "Which snapshots are broken, or can't be verified?",
        """\
SELECT cluster_id, node_id AS node, end_offset, epoch, verdict, broken_rules, capture_id
FROM gold.snapshot_validity
WHERE verdict <> 'valid'
ORDER BY verdict, cluster_id, node_id, end_offset, epoch, capture_id""",
    ),
    Question(
        "truncations",
        "What was truncated between two captures, and was it committed?",
        """\
SELECT cluster_id, node_id AS node, from_offset, to_offset, epochs, records,
       committed_lost AS committed, unproven_lost AS unproven, superseded_lost AS superseded,
       seen_at, seen_in_round AS seen_in
FROM gold.truncations
ORDER BY cluster_id, seen_at, node_id, from_offset""",
    ),
    Question(
        "changes",
        "What changed in the last hour that is recorded?",
        """\
SELECT c.cluster_id, c.at, c.offset, c.change, c.entity, c.name, c.old, c.new, c.commitment
FROM gold.metadata_changes AS c
JOIN (SELECT m.cluster_id, max(m.at) AS newest
      FROM gold.metadata_changes AS m
      GROUP BY m.cluster_id) AS n
  ON n.cluster_id = c.cluster_id
WHERE c.commitment <> 'superseded' AND c.at > n.newest - INTERVAL '1' HOUR
ORDER BY c.cluster_id, c.offset, c.entity, c.key, c.change""",
    ),
    Question(
        "topics",
        "Which topics are there now?",
        """\
SELECT cluster_id, topic, topic_id, partitions, since
FROM gold.topics_at
ORDER BY cluster_id, topic""",
    ),
    Question(
        "under-replicated",
        "Which partitions have replicas out of sync now?",
        """\
SELECT cluster_id, topic, partition_id AS partition, leader, replicas, isr, missing, since
FROM gold.under_replicated_at
ORDER BY cluster_id, topic, partition_id""",
    ),
)

_QUORUM = (
    Question(
        "replicas",
        "Which replicas are behind, and up to where is the log proven committed?",
        """\
SELECT cluster_id, node_id AS node, role, leader_epoch AS epoch, log_end_offset AS log_end,
       high_watermark, high_watermark_evidence AS evidence, lag_records, lag_ms, own_records
FROM gold.replica_status
WHERE is_latest
ORDER BY cluster_id, node_id, directory_id""",
    ),
    Question(
        "elections",
        "How often did leaders change, and how often did nobody win?",
        """\
SELECT cluster_id, hour, elections, leaderless_epochs, leaders, shortest_ms
FROM gold.elections
ORDER BY cluster_id, hour""",
    ),
    Question(
        "beliefs",
        "Do all replicas name the same voters, in all their files?",
        """\
SELECT cluster_id, node_id AS node, source, b.offset, agrees, voters
FROM gold.voter_beliefs AS b
WHERE is_latest
ORDER BY cluster_id, node_id, directory_id, source""",
    ),
    Question(
        "growth",
        "By which records does the log grow?",
        """\
SELECT cluster_id, record_type, sum(records) AS records, sum(bytes) AS bytes,
       min(hour) AS first_hour, max(hour) AS last_hour
FROM gold.log_growth
GROUP BY cluster_id, record_type
ORDER BY cluster_id, bytes DESC, record_type""",
    ),
    Question(
        "large-batches",
        "How large are batches, and how large are the largest?",
        """\
SELECT cluster_id, hour, batches, p50_bytes, p95_bytes, p99_bytes, max_bytes, largest_offset
FROM gold.batch_sizes
ORDER BY cluster_id, hour""",
    ),
    Question(
        "retention",
        "When will the head of each log go, by Kafka's default retention?",
        """\
SELECT cluster_id, node_id AS node, log_bytes, snapshots, snapshot_bytes, log_bytes_per_day,
       measured_ms, head_goes_at, next_log_start_offset
FROM gold.retention_forecast
ORDER BY cluster_id, node_id, directory_id""",
    ),
)

QUESTIONS = (*DEMO, *_OPERATIONS, *_QUORUM)

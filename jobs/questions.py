"""The questions that the demo asks and README answers: each a title and one SQL query.

They run on both engines; a test holds README's copy of every answer to the real one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """title: what an operator would ask. sql: the query, with an order of its own."""

    title: str
    sql: str


QUESTIONS = (
    Question(
        "Who led when?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, epoch, leader_id AS leader, start_offset, end_offset,
       date_trunc('second', started_at) AS started_at, commitment
FROM gold.leader_epoch_history
ORDER BY cluster_id, epoch""",
    ),
    Question(
        "Where did replicas part, and what would be lost?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, node_a, node_b, divergence_offset, epoch_a, epoch_b,
       truncating_node AS truncates, records_lost AS lost, committed_lost AS committed,
       superseded_lost AS superseded
FROM gold.divergence_points
WHERE relation IN ('diverged', 'conflict')
ORDER BY cluster_id, node_a, node_b""",
    ),
    Question(
        "Are they whole again in the newest capture?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, relation, count(*) AS pairs
FROM gold.divergence_points
WHERE is_latest
GROUP BY cluster_id, relation
ORDER BY cluster_id, relation""",
    ),
    Question(
        "What did the losing side hold that is gone now?",
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
        "Which replicas lost the head of their log to a snapshot?",
        """\
SELECT substr(cluster_id, 1, 4) AS cluster, node_id AS node, count(*) AS batches,
       min(base_offset) AS first_offset, max(last_offset) AS last_offset
FROM bronze.log_batches
WHERE removed_at IS NOT NULL
GROUP BY cluster_id, node_id
ORDER BY cluster_id, node_id""",
    ),
    Question(
        "How did the voter set change?",
        """\
SELECT DISTINCT substr(cluster_id, 1, 4) AS cluster, "offset", epoch, voter.voter_id AS voter,
       voter.directory_id AS directory
FROM (SELECT cluster_id, "offset", epoch, unnest(voters) AS voter
      FROM silver.voter_sets WHERE source = 'kraft_voters')
ORDER BY cluster, "offset", voter""",
    ),
)

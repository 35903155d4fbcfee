"""What one capture group shows: computed on the workers, a group at a time, small in the end."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.in_memory.group_finding import finding_of_group
from pipelines.silver.replica_log import replica_logs_of

_TIME = pa.timestamp("us", tz="UTC")
_PAIR = pa.struct(
    [
        *((name, pa.int32()) for name in ("node_a", "node_b")),
        *((name, pa.string()) for name in ("directory_a", "directory_b")),
        *((name, pa.string()) for name in ("capture_a", "capture_b", "relation")),
        *((name, pa.int64()) for name in ("divergence_offset", "truncation_offset")),
        *((name, pa.int32()) for name in ("epoch_a", "epoch_b", "truncating_node")),
        *((name, pa.int32()) for name in ("fetch_rounds", "draft_fetch_rounds")),
        *((name, pa.int64()) for name in ("records_lost", "committed_lost")),
        *((name, pa.int64()) for name in ("unproven_lost", "superseded_lost")),
        ("conflict_offset", pa.int64()),
        ("conflict_epoch", pa.int32()),
    ]
)
_PART = pa.struct(
    [
        *((name, pa.int64()) for name in ("start", "end")),
        *((name, pa.string()) for name in ("capture_id", "commitment")),
    ]
)
_CONTESTED = pa.struct(
    [
        *((name, pa.int64()) for name in ("start", "end")),
        ("capture_id", pa.string()),
        ("epoch", pa.int32()),
    ]
)
_PROGRESS = pa.struct(
    [
        ("capture_id", pa.string()),
        *((name, pa.int64()) for name in ("high_watermark", "agreed_end", "own_records")),
        ("evidence", pa.string()),
        ("evidence_offset", pa.int64()),
        ("evidence_epoch", pa.int32()),
        ("holders", pa.list_(pa.int32())),
        ("position", pa.struct([("epoch", pa.int32()), ("offset", pa.int64())])),
    ]
)
_EPOCH_START = [("epoch", pa.int32()), ("start_offset", pa.int64())]
FINDINGS = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("capture_group", pa.string()),
        ("captured_at", _TIME),
        ("ingest_seq", pa.int64()),
        ("pairs", pa.list_(_PAIR)),
        ("contested", pa.list_(_CONTESTED)),
        ("epochs", pa.list_(pa.struct([*_EPOCH_START, ("commitment", pa.string())]))),
        ("branch", pa.list_(pa.struct(_EPOCH_START))),
        ("branch_parts", pa.list_(_PART)),
        ("overruled", pa.list_(_PART)),
        ("branch_start", pa.int64()),
        ("branch_end", pa.int64()),
        ("progress", pa.list_(_PROGRESS)),
    ]
)
"""One row for each capture group; captured_at, ingest_seq: the highest of its captures.

pairs: gold.divergence_points' columns, and the first offset with one epoch and two contents, NULL
unless in conflict. contested: offsets from `start` to `end` (exclusive) with two proven entries,
the capture of the first replica that holds `start`, and the epoch there. epochs: where each
replica's log first holds an epoch, and the commitment of that entry. branch: the epochs of the
agreed branch with their first offsets there, ascending; branch_parts: which capture's log holds it
from `start` (inclusive) to `end` (exclusive); overruled: what each capture's log holds proven
beside the branch, where proofs contradict; branch_start inclusive, branch_end exclusive, NULL
where all logs are empty. progress: replica.history.progress of each replica; evidence: majority or
snapshot, and the proving entry, its offset inclusive; holders: node ids that hold it; position:
last epoch and end offset with which the replica stands in an election.
"""


def group_findings(replica_logs: DataFrame) -> DataFrame:
    """FINDINGS of each capture group of silver.replica_logs."""
    return replica_logs.groupBy("cluster_id", "capture_group").applyInArrow(
        _findings_of, from_arrow_schema(FINDINGS, prefer_timestamp_ntz=False)
    )


def _findings_of(rows: pa.Table) -> pa.Table:
    finding = {
        "cluster_id": rows["cluster_id"][0].as_py(),
        "capture_group": rows["capture_group"][0].as_py(),
        "captured_at": max(rows["captured_at"].to_pylist()),
        "ingest_seq": max(rows["ingest_seq"].to_pylist()),
        **finding_of_group(replica_logs_of(rows)),
    }
    return pa.Table.from_pylist([finding], schema=FINDINGS)

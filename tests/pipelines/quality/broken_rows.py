"""Rows that satisfy each table's suite, and rows that break each condition of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.quality.expectation import ROW, Suite
from pipelines.quality.suites import SUITES
from pipelines.tables.silver import LOG_RUNS

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T1 = T0 + timedelta(hours=1)

_HOLDER_FIELDS = LOG_RUNS.arrow_schema.field("holders").type.value_type.num_fields
_REPLICA = {"cluster_id": "c", "node_id": 1, "directory_id": "d"}
_BATCH = {**_REPLICA, "base_offset": 10, "leader_epoch": 2, "crc": 7}
_SNAPSHOT = {**_REPLICA, "end_offset": 10, "epoch": 2, "content_sha256": "s"}
_RECORD = {
    **{"timestamp": T0, "is_control": False, "record_type": "TOPIC_RECORD"},
    **{"record_version": 0, "payload": "{}", "value": b"v"},
}
_ENTITY = {"cluster_id": "c", "entity": "topic", "key": "k", "name": "n", "leader_epoch": 1}

Row = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """rows: rows of a table. other: the rows that its suite joins, as far as it needs them."""

    rows: tuple[Row, ...]
    other: tuple[Row, ...] = ()

    def changed(self, number: int = 0, **changes: Any) -> Example:
        """The example with other values in one row."""
        rows = list(self.rows)
        rows[number] = rows[number] | changes
        return replace(self, rows=tuple(rows))


_FACT = {
    **{"level": "attention", "severity": "warning", "text": "A disk is full."},
    **{"next_step": "", "rules": ["disk-full"]},
}
_LAYERS: Mapping[str, Example] = {
    "bronze.captures": Example(
        (
            {
                **{
                    "capture_id": "i",
                    "capture_group": "g",
                    **_REPLICA,
                    "captured_at": T0,
                    "has_own_time": True,
                    "is_fragment": False,
                },
                **{"ingest_seq": 1, "source": "s", "log_start_offset": 0, "log_end_offset": 9},
                **{"uncovered": [], "files": []},
            },
        ),
        ({"capture_id": "i"},),
    ),
    "bronze.log_batches": Example(
        (
            {
                **{**_BATCH, "last_offset": 11, "is_control": False, "record_count": 2},
                **{"size_bytes": 99, "position": 0, "crc_valid": True, "file": "f"},
                **{"first_seen": T0, "last_seen": T1, "in_log": [], "undamaged": [], "seen": []},
            },
        ),
        ({**_BATCH, "offset": 10}, {**_BATCH, "offset": 11}),
    ),
    "bronze.log_records": Example(
        ({**_BATCH, "offset": 10, **_RECORD}, {**_BATCH, "offset": 11, **_RECORD}),
        ({**_BATCH, "last_offset": 11},),
    ),
    "bronze.snapshots": Example(
        (
            {
                **{**_SNAPSHOT, "file": "f", "size_bytes": 9, "state": "complete"},
                **{"is_whole": True, "record_count": 1, "first_seen": T0, "last_seen": T1},
                "captures": ["i"],
            },
        ),
        ({**_SNAPSHOT, "index": 0},),
    ),
    "bronze.snapshot_records": Example(
        ({**_SNAPSHOT, "index": 0, **_RECORD}, {**_SNAPSHOT, "index": 1, **_RECORD}),
        (_SNAPSHOT,),
    ),
    "bronze.replica_state": Example(
        (
            {
                **{"capture_id": "i", **_REPLICA, "index_entries": 3, "index_mismatches": 1},
                "leader_epochs": [(1, 0), (2, 5)],
            },
        )
    ),
    "bronze.damage": Example(
        (
            {
                **{"capture_id": "i", "file": "f", "position": 0, "length": 1, "kind": "framing"},
                "detail": "d",
            },
        )
    ),
    "bronze.findings": Example(
        (
            {
                **{"capture_id": "i", **_REPLICA, "rule": "leftover", "severity": "info"},
                **{"file": "f", "message": "m"},
            },
        )
    ),
    "silver.log_runs": Example(
        (
            {
                **{"cluster_id": "c", "base_offset": 5, "last_offset": 9, "leader_epoch": 1},
                **{"crc": 7, "is_control": False, "batches": 2, "record_count": 5},
                **{"size_bytes": 99, "holders": [(None,) * _HOLDER_FIELDS]},
            },
        )
    ),
    "silver.capture_groups": Example(
        (
            {
                **{"cluster_id": "c", "capture_group": "g", "captured_at": T0, "ingest_seq": 1},
                **{"branch_start": 5, "branch_end": 9, "branch": [], "branch_parts": []},
                **{"overruled": [], "contested": [], "epochs": [], "pairs": [], "progress": []},
            },
        )
    ),
    "silver.leader_epochs": Example(
        tuple(
            {
                **{**_REPLICA, "capture_id": "i", "epoch": epoch, "start_offset": start},
                **{"end_offset": start + 5, "in_batches": True, "in_control_record": True},
                **{"in_checkpoint": True, "agrees": True},
            }
            for epoch, start in ((1, 0), (2, 5))
        )
    ),
    "silver.voter_sets": Example(
        (
            {
                **{**_REPLICA, "offset": 1, "epoch": 1, "source": "kraft_voters"},
                "voters": [(1, "d", None, None, None), (2, "e", None, None, None)],
            },
        )
    ),
    "silver.committed_log": Example(
        tuple(
            {"cluster_id": "c", "offset": offset, "leader_epoch": epoch, "crc": 1}
            | {"commitment": "proven"}
            for offset, epoch in ((0, 1), (1, 1), (2, 2))
        )
    ),
    "gold.leader_epoch_history": Example(
        (
            {"cluster_id": "c", "epoch": 1, "start_offset": 0, "end_offset": 5}
            | {"commitment": "proven"},
            {"cluster_id": "c", "epoch": 2, "start_offset": 5, "commitment": "unproven"},
        )
    ),
    "gold.divergence_points": Example(
        (
            {
                **{"cluster_id": "c", "capture_group": "g", "node_a": 1, "directory_a": "d"},
                **{"node_b": 2, "directory_b": "e", "capture_a": "i", "capture_b": "j"},
                **{"is_latest": True, "relation": "diverged", "divergence_offset": 5},
                **{"epoch_a": 1, "epoch_b": 2, "truncating_node": 1, "truncation_offset": 5},
                **{"fetch_rounds": 1, "draft_fetch_rounds": 1, "records_lost": 3},
                **{"committed_lost": 0, "unproven_lost": 1, "superseded_lost": 2},
            },
        )
    ),
    "gold.truncations": Example(
        (
            {
                **{**_REPLICA, "from_offset": 5, "to_offset": 8, "epochs": [1], "records": 3},
                **{"committed_lost": 0, "unproven_lost": 1, "superseded_lost": 2},
                **{"last_seen": T0, "seen_at": T1},
            },
        )
    ),
    "gold.snapshot_validity": Example(
        (
            {
                **{**_REPLICA, "end_offset": 5, "epoch": 1, "capture_id": "i"},
                **{"verdict": "valid", "broken_rules": [], "notes": []},
            },
        )
    ),
    "gold.findings": Example(
        (
            {
                **{"rule": "leftover", "severity": "info", **_REPLICA, "file": "f"},
                **{"message": "m", "capture_id": "i", "family": "files"},
            },
        )
    ),
    "gold.failure_exposure": Example(
        (
            {
                **{"cluster_id": "c", "kind": "voter", "gone": "1", "leaderless": 1},
                **{"needs_unclean": 1, "below_min_isr": 0, "voters_left": 2, "has_majority": True},
                **{"since_offset": 5, "since": T0, "end_offset": 9, "min_isr_unknown": 0},
            },
        )
    ),
    "gold.verdicts": Example(
        (
            {
                **{"cluster_id": "c", "level": "attention", "headline": "A disk is full."},
                **{"facts": [_FACT], "next_steps": [], "not_judged": [], "notes": 0},
                **{"end_offset": 9, "source": "node 1", "capture_group": "g", "captured_at": T0},
                **{"voters": [], "conflicts": [], "contested": []},
                **{"proven_end": 5, "possible_end": 9},
            },
        )
    ),
    "gold.metadata_history": Example(
        (
            {**_ENTITY, "value": "{}", "valid_from_offset": 1, "valid_to_offset": 3},
            {**_ENTITY, "value": "{}", "valid_from_offset": 5},
        )
    ),
    "gold.metadata_changes": Example(
        (
            {
                **{**_ENTITY, "change": "topic_created", "new": "{}", "offset": 1},
                **{"record_type": "TOPIC_RECORD", "commitment": "proven"},
            },
        )
    ),
    "gold.state_ranges": Example(
        (
            {"cluster_id": "c", "from_offset": 0, "to_offset": 28},
            {"cluster_id": "c", "from_offset": 31, "to_offset": 40},
        )
    ),
}
_LOOK = {"capture_group": "g", "capture_id": "i", "captured_at": T0, "is_latest": True}
_QUORUM: Mapping[str, Example] = {
    "gold.replica_status": Example(
        (
            {
                **{**_REPLICA, **_LOOK, "role": "leader", "log_start_offset": 0},
                **{"log_end_offset": 5, "high_watermark": 4, "lag_records": 1},
                "high_watermark_evidence": "majority",
            },
        )
    ),
    "gold.elections": Example(
        ({"cluster_id": "c", "hour": T0, "elections": 1, "leaders": [1], "leaderless_epochs": 0},)
    ),
    "gold.votes": Example(
        (
            {
                **{"cluster_id": "c", "epoch": 1, "voter_id": 1, "candidate_id": 2},
                **{"voter_directory_ids": [], "sources": ["leader_change"], "is_double": False},
            },
        )
    ),
    "gold.voter_beliefs": Example(({**_REPLICA, **_LOOK, "source": "log", "voters": []},)),
    "gold.log_growth": Example(
        ({"cluster_id": "c", "hour": T0, "record_type": "r", "records": 1, "bytes": 9},)
    ),
    "gold.snapshot_cadence": Example(
        ({**_REPLICA, "end_offset": 5, "epoch": 1, "size_bytes": 9, "record_count": 3},)
    ),
    "gold.batch_sizes": Example(
        (
            {
                **{"cluster_id": "c", "hour": T0, "batches": 1, "records": 1, "bytes": 9},
                **{"p50_bytes": 9, "p95_bytes": 9, "p99_bytes": 9, "max_bytes": 9},
                **{"max_records": 1, "largest_offset": 0},
            },
        )
    ),
    "gold.retention_forecast": Example(
        ({**_REPLICA, "capture_id": "i", "log_bytes": 9, "snapshots": 0, "snapshot_bytes": 0},)
    ),
}
GOOD = {**_LAYERS, **_QUORUM}


def _of(table: str, meaning: str, number: int = 0, **changes: Any) -> tuple[str, str, Example]:
    return table, meaning, GOOD[table].changed(number, **changes)


BROKEN: tuple[tuple[str, str, Example], ...] = (
    _of("bronze.captures", "a log ends", log_start_offset=10),
    ("bronze.captures", "the capture's state", replace(GOOD["bronze.captures"], other=())),
    _of("bronze.log_batches", "a batch has an epoch", last_offset=9, record_count=0),
    _of("bronze.log_batches", "a batch has an epoch", leader_epoch=-1),
    _of("bronze.log_batches", "a batch has as many", record_count=3),
    _of("bronze.log_batches", "bronze.log_records has every", crc_valid=False),
    (
        "bronze.log_batches",
        "bronze.log_records has every",
        replace(GOOD["bronze.log_batches"], other=GOOD["bronze.log_batches"].other[:1]),
    ),
    _of("bronze.log_batches", "it was first seen", first_seen=T1, last_seen=T0),
    _of("bronze.log_batches", "a batch that vanished", truncated_at=T1, removed_at=T1),
    _of("bronze.log_batches", "a batch that vanished", truncated_at=T0),
    _of("bronze.log_records", "a record lies within", 1, offset=12),
    ("bronze.log_records", "a record lies within", replace(GOOD["bronze.log_records"], other=())),
    _of("bronze.log_records", "a batch's records follow", 1, offset=12),
    _of("bronze.log_records", "a payload is missing", payload=None),
    _of("bronze.log_records", "a record's bytes are missing", value=None),
    (
        "bronze.snapshots",
        "bronze.snapshot_records has every",
        replace(GOOD["bronze.snapshots"], other=()),
    ),
    _of("bronze.snapshots", "a complete snapshot was held", captures=[]),
    _of("bronze.snapshots", "it was first seen", first_seen=T1, last_seen=T0),
    (
        "bronze.snapshot_records",
        "a record is of a snapshot",
        replace(GOOD["bronze.snapshot_records"], other=()),
    ),
    _of("bronze.snapshot_records", "a snapshot's records follow", 1, index=2),
    _of("bronze.snapshot_records", "a payload is missing", payload=None),
    _of("bronze.snapshot_records", "a record's bytes are missing", value=None),
    _of("bronze.replica_state", "epochs and offsets", leader_epochs=[(2, 0), (1, 5)]),
    _of("bronze.replica_state", "epochs and offsets", leader_epochs=[(1, 5), (2, 0)]),
    _of("bronze.replica_state", "no more index entries", index_mismatches=4),
    _of("silver.log_runs", "a run has offsets", last_offset=4),
    _of("silver.log_runs", "a run has offsets", base_offset=-1),
    _of("silver.log_runs", "a replica holds it", holders=[]),
    _of("silver.capture_groups", "a branch ends", branch_end=4),
    _of("silver.leader_epochs", "an epoch is known", in_batches=False),
    _of("silver.leader_epochs", "an epoch ends", end_offset=-1),
    _of("silver.leader_epochs", "a later epoch starts", 1, start_offset=0),
    _of("silver.leader_epochs", "batches, LEADER_CHANGE", agrees=False),
    _of("silver.voter_sets", "a voter set has voters", voters=[]),
    _of("silver.voter_sets", "a voter set has voters", voters=[(1, "d", None, None, None)] * 2),
    _of("silver.voter_sets", "only quorum-state", offset=None),
    _of("silver.committed_log", "an offset and an epoch", offset=-1),
    _of("silver.committed_log", "the branch has no gap", 2, offset=3),
    _of("silver.committed_log", "epochs never go back", 2, leader_epoch=0),
    _of("gold.leader_epoch_history", "an epoch ends", end_offset=0),
    _of("gold.leader_epoch_history", "epochs that stand", 1, start_offset=4),
    _of("gold.divergence_points", "a pair is named", node_a=3, truncating_node=2),
    _of("gold.divergence_points", "there is a difference", epoch_a=None),
    _of("gold.divergence_points", "there is a difference", relation="identical"),
    _of("gold.divergence_points", "what the loser gives up", fetch_rounds=None),
    _of("gold.divergence_points", "what the loser gives up", truncating_node=None),
    _of("gold.divergence_points", "only diverged logs", truncating_node=9),
    _of("gold.divergence_points", "only diverged logs", relation="conflict"),
    _of("gold.divergence_points", "committed, unproven", records_lost=9),
    _of("gold.truncations", "a run of offsets", to_offset=5),
    _of("gold.truncations", "a run of offsets", to_offset=6),
    _of("gold.truncations", "committed, unproven", superseded_lost=3),
    _of("gold.truncations", "what vanished", last_seen=T1),
    _of("gold.snapshot_validity", "a snapshot is invalid", verdict="invalid"),
    _of("gold.metadata_history", "value is JSON", value="{"),
    _of("gold.metadata_history", "a version ends", valid_to_offset=6),
    _of("gold.findings", "subjects is JSON", family="health", subjects="{"),
    _of("gold.findings", "a rule of health", family="health"),
    _of("gold.verdicts", "a verdict worse than", level="healthy"),
    _of("gold.verdicts", "a verdict worse than", facts=[]),
    _of("gold.verdicts", "an incomplete verdict", level="incomplete", facts=[]),
    _of("gold.verdicts", "no record is proven", proven_end=10),
    _of("gold.failure_exposure", "no more partitions", needs_unclean=2),
    _of("gold.failure_exposure", "the majority is known", has_majority=None),
    _of("gold.failure_exposure", "only what does harm", since_offset=9),
    _of("gold.metadata_history", "a version ends", valid_to_offset=None),
    _of("gold.metadata_history", "a version ends", valid_to_offset=1),
    _of("gold.metadata_changes", "old is JSON", old="{"),
    _of("gold.metadata_changes", "new is JSON", new="{"),
    _of("gold.metadata_changes", "something changed", old="{}"),
    _of("gold.state_ranges", "a range ends", 1, to_offset=30),
    _of("gold.state_ranges", "a range ends", to_offset=31),
    _of("gold.replica_status", "a high watermark", high_watermark=None),
    _of("gold.votes", "nobody voted twice", is_double=True),
    _of("gold.batch_sizes", "the percentiles", p99_bytes=8),
)
"""(table, beginning of the expectation's meaning, rows of which one breaks it)."""


def conditions(suite: Suite) -> dict[str, str]:
    """Meaning -> condition of the suite's own expectations of type ROW."""
    return {one.meaning: one.kwargs["condition"] for one in suite.own if one.type == ROW}


def all_examples(table: str) -> Iterator[tuple[str | None, Example]]:
    """The good rows, with None; and each broken example, with the start of the broken meaning."""
    yield None, GOOD[table]
    for name, meaning, example in BROKEN:
        if name == table:
            yield meaning, example


assert set(GOOD) == set(SUITES)

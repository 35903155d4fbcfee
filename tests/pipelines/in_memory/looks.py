"""The made-up quorums of tests.pipelines.quorums as rows of this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pyspark.sql import Row as SparkRow

from pipelines.in_memory.branch import branch_batches
from pipelines.in_memory.capture_groups import group_findings
from pipelines.in_memory.committed import committed_log
from pipelines.in_memory.control import control_records, snapshot_voter_sets
from pipelines.in_memory.epochs import known_epochs
from pipelines.in_memory.held import by_capture, held_batches, replica_logs
from pipelines.in_memory.histories import leader_epoch_history
from pipelines.in_memory.quorum.views import Sources
from pipelines.in_memory.rows import BronzeRows, Row
from pipelines.tables import bronze
from replica.format.control import LeaderChange, LeaderVoter, encode_control, voters_from_plain
from tests.pipelines.quorums import Look, bronze_values

_TABLES = (
    *(bronze.CAPTURES, bronze.LOG_BATCHES, bronze.LOG_RECORDS),
    *(bronze.SNAPSHOTS, bronze.SNAPSHOT_RECORDS, bronze.REPLICA_STATE),
)


def bronze_rows(looks: Iterable[Look]) -> BronzeRows:
    """All columns of bronze's tables; control records have the bytes that Kafka would write."""
    found = bronze_values(looks)
    rows = (
        [
            _with_value({name: row.get(name) for name in contract.column_names})
            for row in found[contract]
        ]
        for contract in _TABLES
    )
    return BronzeRows(*rows, [])


def quorum_sources(of: BronzeRows) -> Sources:
    """What the tables about the quorum are made from, by the modules that build a small lake."""
    control = control_records(of.records)
    voter_sets = snapshot_voter_sets(of.snapshot_records)
    held = by_capture(held_batches(of, control))
    groups = group_findings(of.captures, replica_logs(of, held, voter_sets))
    batches = branch_batches(committed_log(held, groups), of.batches)
    history = leader_epoch_history(known_epochs(of, control), groups)
    return Sources(of, held, batches, groups, history, voter_sets)


def as_spark(value: Any) -> Any:
    """As a Row of Spark's has it: times without a zone, in this machine's."""
    if isinstance(value, dict):
        return SparkRow(**{name: as_spark(part) for name, part in value.items()})
    if isinstance(value, list):
        return [as_spark(part) for part in value]
    if isinstance(value, datetime):
        return datetime.fromtimestamp(value.timestamp())  # noqa: DTZ006
    return value


def _with_value(row: Row) -> Row:
    payload = row.get("payload")
    if payload is None:
        return row
    if row["record_type"] == "KRAFT_VOTERS":
        return {**row, "value": encode_control(voters_from_plain(payload))[1]}
    voters, granting = (
        tuple(LeaderVoter(voter["voterId"]) for voter in payload[name])
        for name in ("voters", "grantingVoters")
    )
    message = LeaderChange(payload["version"], payload["leaderId"], voters, granting)
    return {**row, "value": encode_control(message)[1]}

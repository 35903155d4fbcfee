"""The made-up quorums of tests.pipelines.quorums as rows of this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pyspark.sql import Row as SparkRow

from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.rows import Row, nulls_first
from pipelines.gold.inputs import Gold, Silver, small_gold
from pipelines.table_functions import GOLD_FUNCTIONS, SILVER_FUNCTIONS
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.format.control import LeaderChange, LeaderVoter, encode_control, voters_from_plain
from tests.pipelines.in_memory.batch_rows import batches
from tests.pipelines.in_memory.record_rows import log_records, snapshot_records
from tests.pipelines.quorums import Look, bronze_values

_TABLES = (
    bronze.CAPTURES,
    bronze.LOG_BATCHES,
    bronze.LOG_RECORDS,
    bronze.SNAPSHOTS,
    bronze.SNAPSHOT_RECORDS,
    bronze.REPLICA_STATE,
)


def bronze_rows(looks: Iterable[Look]) -> BronzeRows:
    """All columns of bronze's tables, of looks at one cluster; control records have the bytes that
    Kafka would write."""
    found = bronze_values(looks)
    captures, log_batches, *others = (
        [
            _with_value({name: row.get(name) for name in contract.column_names})
            for row in found[contract]
        ]
        for contract in _TABLES
    )
    records, snapshots, in_snapshots, state = others
    tables = log_records(records), snapshots, snapshot_records(in_snapshots)
    return BronzeRows(captures, batches(log_batches), *tables, state, [])


def gold_of(of: BronzeRows) -> Gold:
    """What gold's tables are made from, of a small cluster."""
    cluster_ids = {row["cluster_id"] for row in of.captures}
    silver = Silver(*cluster_ids, of)
    return small_gold(silver)[0]


def golds_of(looks: Iterable[Look]) -> dict[str, Gold]:
    """`gold_of` of each cluster, by its id."""
    of_cluster: dict[str, list[Look]] = {}
    for look in looks:
        of_cluster.setdefault(look.cluster, []).append(look)
    return {cluster: gold_of(bronze_rows(mine)) for cluster, mine in of_cluster.items()}


def rows_of(derived: Gold, contract: Contract) -> list[SparkRow]:
    """A table's rows of the cluster, in the order of their keys, None before all else."""
    in_silver = SILVER_FUNCTIONS.get(contract)
    made = GOLD_FUNCTIONS[contract](derived) if in_silver is None else in_silver(derived.silver)
    rows = [{name: row[name] for name in contract.column_names} for row in made]
    rows.sort(key=lambda row: nulls_first([row[key] for key in contract.keys]))
    return [as_spark(row) for row in rows]


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

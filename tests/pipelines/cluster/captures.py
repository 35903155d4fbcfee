"""The invented quorums of tests.pipelines.quorums as rows in this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import Row as SparkRow

from pipelines.cluster.rows import Row, nulls_first
from pipelines.gold.inputs import Gold
from pipelines.stages.whole_cluster import of_one, replayed_tables
from pipelines.table_functions import GOLD_FUNCTIONS, SILVER_FUNCTIONS
from pipelines.tables.contract import Contract
from replica.format.control import LeaderChange, LeaderVoter, encode_control, voters_from_plain
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Capture, bronze_values


def tables_of(captures: Iterable[Capture]) -> Mapping[Contract, pa.Table]:
    """Bronze's tables of captures. Control records have the bytes that Kafka would write."""
    found = bronze_values(captures)
    return bronze_tables({one: [_with_value(row) for row in rows] for one, rows in found.items()})


def gold_of(tables: Mapping[Contract, pa.Table], cluster_id: str) -> Gold:
    """The input of gold's tables of a cluster. tables: rows of bronze's tables."""
    return replayed_tables(of_one(cluster_id, tables))[0]


def golds_of(captures: Iterable[Capture]) -> dict[str, Gold]:
    """`gold_of` of each cluster, by its id."""
    seen = [*captures]
    tables = tables_of(seen)
    return {one: gold_of(tables, one) for one in dict.fromkeys(capture.cluster for capture in seen)}


def rows_of(derived: Gold, contract: Contract) -> list[SparkRow]:
    """A table's rows of the cluster, in the order of their keys. None comes first."""
    in_silver = SILVER_FUNCTIONS.get(contract)
    made = GOLD_FUNCTIONS[contract](derived) if in_silver is None else in_silver(derived.silver)
    rows = [{name: row[name] for name in contract.column_names} for row in made]
    rows.sort(key=lambda row: nulls_first([row[key] for key in contract.keys]))
    return [as_spark(row) for row in rows]


def as_spark(value: Any) -> Any:
    """The value in a Row of Spark: times without a zone, in this machine's zone."""
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
        value = encode_control(voters_from_plain(payload))[1]
        return {**row, "value": value, "payload": None}
    voters, granting = (
        tuple(LeaderVoter(voter["voterId"]) for voter in payload[name])
        for name in ("voters", "grantingVoters")
    )
    message = LeaderChange(payload["version"], payload["leaderId"], voters, granting)
    return {**row, "value": encode_control(message)[1], "payload": None}

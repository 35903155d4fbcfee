"""Writes by Spark that only tests make, and Spark's description of a table's newest commit."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession

from pipelines.lake import Lake
from pipelines.tables.contract import Contract


def append(lake: Lake, contract: Contract, rows: DataFrame) -> None:
    """Adds the rows to the table, which ensure_table has made, by Spark's own writer."""
    contract.select(rows).write.format("delta").mode("append").save(lake.path_of(contract))


def last_commit(spark: SparkSession, lake: Lake, contract: Contract) -> Row:
    """The newest entry of the table's history."""
    return DeltaTable.forPath(spark, lake.path_of(contract)).history(1).collect()[0]

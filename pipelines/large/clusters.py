"""Bronze of a lake whose clusters aren't small, for the functions that make the tables of one
cluster; and the lengths of records, which Spark computes."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.delta.small import dataframe_of
from pipelines.in_memory.batches import COLUMNS
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.quorum.log_growth import ENVELOPE_BYTES
from pipelines.quality.admitted import Admitted
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.keys import BATCH_KEYS, REPLICA_KEYS

_READ = {
    bronze.LOG_BATCHES: COLUMNS,
    **{
        one: (*one.keys, "is_control", "record_type", "timestamp", "value")
        for one in (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS)
    },
}
"""The columns that are read, for tables of which not all are read. Of the tables with records only
the control records are read."""


def clusters_of(admitted: Admitted, frames: Mapping[Contract, DataFrame]) -> list[Silver]:
    """Each cluster of bronze with the rows that this process reads: all except records that are no
    control records. frames: the admitted rows, for Spark, which finds the control records."""
    tables = []
    for contract in bronze.DERIVED_FROM:
        names = _READ.get(contract, contract.column_names)
        if "is_control" in names:
            rows = frames[contract].where("is_control").select(*names).toArrow()
            tables.append(rows.cast(contract.arrow_columns(names)))
        else:
            tables.append(admitted.columns_where(contract, names, "true"))
    ids = {one for table in tables for one in table["cluster_id"].unique().to_pylist()}
    return [Silver(one, BronzeRows.of(one, tables)) for one in sorted(ids)]


def record_lengths(log_records: DataFrame, holders: pa.Table) -> DataFrame:
    """The lengths of records, with the columns cluster_id and those of LENGTHS. holders: for each
    range of base offsets the replica whose copy is counted: cluster_id, node_id, directory_id, from
    (inclusive) and to (inclusive)."""
    spans = F.broadcast(dataframe_of(log_records.sparkSession, holders))
    records = log_records.select(
        *BATCH_KEYS,
        F.date_trunc("hour", "timestamp").alias("hour"),
        "record_type",
        (F.coalesce(F.octet_length("value"), F.lit(0)) + ENVELOPE_BYTES).alias("length"),
    )
    held = records.join(spans, on=[*REPLICA_KEYS], how="inner")
    held = held.where(F.col("base_offset").between(F.col("from"), F.col("to")))
    return held.groupBy(*BATCH_KEYS, "hour", "record_type").agg(
        F.count("length").alias("records"), F.sum("length").cast("bigint").alias("length")
    )

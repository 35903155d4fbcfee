"""Whether the table that Spark sees is as its contract says.

delta-rs and Spark may see different tables in one folder, if a stranger made it so. So this module
asks Spark what it sees, before Spark reads or writes.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.delta.conforming import TableState, refuse_other
from pipelines.lake import Lake
from pipelines.lake.delta_log import refuse_other_protocol
from pipelines.lake.delta_rs import open_table
from pipelines.spark.delta_log import odd_files, seen_table
from pipelines.tables.contract import Contract
from replica.errors import UnreadableFileError


def check_for_spark(spark: SparkSession, lake: Lake, contract: Contract) -> None:
    """Raises UsageError where Spark sees a table that isn't as the contract says, and
    UnreadableFileError where Spark would open files outside of the lake. The table must exist."""
    table = open_table(lake.table_uri(contract.name))  # This looks at the log before Spark does.
    path = lake.path_of(contract)
    # Spark Connect doesn't say how a column is generated. delta-rs does, and the log has nothing
    # that only Spark would take.
    refuse_other(path, TableState.by_delta_rs(table), contract)
    seen = seen_table(spark, path)
    refuse_other_protocol(path, seen.least_reader, seen.reader_features)
    state = TableState(
        seen.schema,
        seen.configuration,
        seen.partition_columns,
        seen.least_writer,
        seen.writer_features,
    )
    refuse_other(path, state, contract)
    for odd in odd_files(spark, path):
        raise UnreadableFileError(
            path, f"its log names the file {odd!a}, which kraftlake didn't write"
        )

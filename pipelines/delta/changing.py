"""Replaces the content of a table with a change data feed by the rows that change.

An overwrite would put every row into the feed twice, as deleted and as inserted.
"""

from __future__ import annotations

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.data_files import NewFile, remove_data_files
from pipelines.delta.committing import commit
from pipelines.delta.small import read_newest, size
from pipelines.delta.tables import keys_equal
from pipelines.lake import Lake
from pipelines.tables.contract import Contract

_IS_GONE = "_is_gone"


def replace_by_files(
    spark: SparkSession, lake: Lake, contract: Contract, files: Sequence[NewFile]
) -> None:
    """Replaces the whole content of a table by the rows of data files, and commits only the
    difference. So the change data feed has only new, deleted and changed rows.

    The files lie in the table's folder, and no commit names them yet. The keys of their rows must
    be unique. Where the table is empty, the files become its own. Otherwise the rows are merged,
    and the files are removed after that. Where nothing changed, nothing is committed: a MERGE would
    make an empty commit.
    """
    if not size(lake, contract).row_count:
        commit(lake, contract, files, "overwrite")
        return
    folder = lake.path_of(contract)
    reader = spark.read.schema(contract.schema)
    paths = [f"{folder}/{one.name}" for one in files]
    rows = reader.parquet(*paths) if paths else spark.createDataFrame([], contract.schema)
    try:
        _merge(spark, lake, contract, rows)
    finally:
        remove_data_files(folder, [one.name for one in files])


def _merge(spark: SparkSession, lake: Lake, contract: Contract, rows: DataFrame) -> None:
    changed = _changed(contract, read_newest(spark, lake, contract).rows, rows).persist()
    try:
        if changed.count():
            table = DeltaTable.forPath(spark, lake.path_of(contract)).alias("t")
            merging = table.merge(changed.alias("s"), keys_equal(contract.keys))
            merging = merging.whenMatchedDelete(f"s.{_IS_GONE}").whenMatchedUpdateAll()
            merging.whenNotMatchedInsertAll().execute()
    finally:
        changed.unpersist()


def _changed(contract: Contract, table: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows that the table lacks or has with other values, and the table's rows that `rows`
    lacks, marked by _IS_GONE."""
    held = table.withColumn("_held", F.lit(True)).alias("t")
    wanted = rows.withColumn("_wanted", F.lit(True)).alias("s")
    both = held.join(wanted, F.expr(keys_equal(contract.keys)), "full")
    others = [name for name in contract.column_names if name not in contract.keys]
    differs = [f"NOT t.`{name}` <=> s.`{name}`" for name in others]
    either = ("t._held IS NULL", "s._wanted IS NULL", *differs)
    columns = [
        F.expr(f"if(s._wanted, s.`{name}`, t.`{name}`)").alias(name)
        for name in contract.column_names
    ]
    is_gone = F.expr("s._wanted IS NULL").alias(_IS_GONE)
    return both.where(" OR ".join(either)).select(*columns, is_gone)

"""Thin functions over delta-spark, addressed by contract.

Each write is one Delta commit, so a reader sees all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import deltalake
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from pipelines.catalog.statements import create_table
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.tables.contract import Contract
from replica.errors import UsageError


def exists(lake: Lake, contract: Contract) -> bool:
    """True where the lake holds the table. UnreadableFileError where the table's log names a file
    elsewhere, which Spark would read."""
    return open_if_there(lake, contract.name) is not None


def read(
    spark: SparkSession, lake: Lake, contract: Contract, *, version: int | None = None
) -> DataFrame:
    """The table at a version, by default the newest, also of later commits.

    UsageError where the lake has no such table; the errors of `exists`.
    """
    path = lake.path_of(contract)
    if not exists(lake, contract):
        raise no_table(lake, contract)
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(path)


def open_newest(lake: Lake, contract: Contract) -> deltalake.DeltaTable:
    """The table at its newest version, by delta-rs. Raises UsageError where the lake has no such
    table."""
    table = open_if_there(lake, contract.name)
    if table is None:
        raise no_table(lake, contract)
    return table


def no_table(lake: Lake, contract: Contract) -> UsageError:
    """The error for a table that the lake lacks."""
    return UsageError(
        f"{lake.root} has no table {contract.name}: run `kraftlake ingest --lake` and "
        "`kraftlake build --lake` first, or name another lake."
    )


def register(spark: SparkSession, lake: Lake, contracts: Iterable[Contract]) -> tuple[str, ...]:
    """Lets `bronze.x`, `silver.x`, `gold.x` resolve in Spark SQL to this lake's tables.

    Returns the names that do; a table the lake does not hold is left out, and a name that stood
    for another lake's table stands for this one's from now on. Nothing in any lake is changed.
    """
    registered: list[str] = []
    for contract in contracts:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {contract.schema_name}")
        # An external table: only the catalog's entry goes.
        spark.sql(f"DROP TABLE IF EXISTS {contract.name}")
        if exists(lake, contract):
            spark.sql(create_table(contract.name, contract, lake.path_of(contract)))
            registered.append(contract.name)
    return tuple(registered)


def overwrite(
    lake: Lake, contract: Contract, df: DataFrame, *, replace_where: str | None = None
) -> None:
    """Replaces the table's whole content by `df`. The table's schema and its comments stay.

    replace_where: an SQL condition on the table. Only rows that match are replaced, and Delta
    refuses a `df` with rows that don't match.
    """
    writer = contract.select(df).write.format("delta").mode("overwrite")
    if replace_where is not None:
        writer = writer.option("replaceWhere", replace_where)
    writer.save(lake.path_of(contract))


def merge(
    spark: SparkSession,
    lake: Lake,
    contract: Contract,
    source: DataFrame,
    *,
    update: Iterable[str] = (),
    insert: bool = True,
) -> None:
    """MERGEs `source`, whose keys must be unique, into the table. NULL equals NULL in a key.

    update: the columns that rows with equal keys get from the source. insert: whether source rows
    whose keys the table lacks are added.
    """
    table = DeltaTable.forPath(spark, lake.path_of(contract)).alias("t")
    builder = table.merge(contract.select(source).alias("s"), keys_equal(contract.keys))
    changes: dict[str, str | Column] = {name: f"s.{name}" for name in update}
    if changes:
        builder = builder.whenMatchedUpdate(set=changes)
    if insert:
        builder = builder.whenNotMatchedInsertAll()
    builder.execute()


def remove(spark: SparkSession, lake: Lake, contract: Contract, keys: DataFrame) -> int:
    """Deletes the rows that equal some row of `keys` in all its columns. Gives their number."""
    table = DeltaTable.forPath(spark, lake.path_of(contract)).alias("t")
    merging = table.merge(keys.distinct().alias("s"), keys_equal(keys.columns))
    row = merging.whenMatchedDelete().execute().collect()[0]
    return int(row["num_deleted_rows"])


def vacuum(spark: SparkSession, lake: Lake, schema: str, table: str) -> None:
    """Deletes every file that the table's newest version doesn't need, however young it is.

    Older versions can't be read any more, nor can changes of the change data feed.
    """
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    before = spark.conf.get(check, "true")
    spark.conf.set(check, "false")
    try:
        DeltaTable.forPath(spark, lake.path(schema, table)).vacuum(0)
    finally:
        spark.conf.set(check, before or "true")


def keys_equal(names: Iterable[str]) -> str:
    """Condition of a MERGE: the rows of the table, `t`, and of the source, `s`, have equal keys."""
    return " AND ".join(f"t.`{name}` <=> s.`{name}`" for name in names)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Sets the properties of the table at `path`, in one commit."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"ALTER TABLE {identifier(path)} SET TBLPROPERTIES ({pairs})")


def identifier(path: str) -> str:
    """The table at `path`, as SQL names it."""
    return f"delta.`{path.replace('`', '``')}`"

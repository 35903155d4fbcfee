"""Thin functions over delta-spark, addressed by contract.

Each write is one Delta commit, so a reader sees all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import deltalake
from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from pipelines.catalog.statements import create_table
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.tables.contract import Contract
from replica.errors import UsageError


@dataclass(frozen=True)
class Merged:
    """The numbers of rows of one MERGE."""

    inserted: int
    updated: int
    deleted: int


@dataclass(frozen=True)
class Commit:
    """An entry of a table's history. metrics: Delta's operation metrics that are numbers."""

    version: int
    operation: str
    metrics: Mapping[str, int]


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


def append(
    lake: Lake, contract: Contract, df: DataFrame, *, transaction: tuple[str, int] | None = None
) -> None:
    """Adds `df`'s rows to the table, which ensure_table has made.

    transaction: (application id, version); Delta skips a write whose version is not above the
    last one of that application, so a retried batch is written once.
    """
    writer = contract.select(df).write.format("delta").mode("append")
    if transaction is not None:
        application, version = transaction
        writer = writer.option("txnAppId", application).option("txnVersion", version)
    writer.save(lake.path_of(contract))


def overwrite(
    lake: Lake, contract: Contract, df: DataFrame, *, replace_where: str | None = None
) -> None:
    """Makes `df` the table's whole content; schema, comments and partitioning stay.

    replace_where: an SQL condition on the table; only rows that match are replaced, and Delta
    refuses a `df` with rows that don't.
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
    condition: str | None = None,
    where: str | None = None,
    update_when: str | None = None,
    update_set: Mapping[str, str | Column] | None = None,
    insert: bool = True,
) -> Merged:
    """MERGEs `source` into the table; `t` is the table and `s` the source in every expression.

    condition: how rows match; by default equal keys, NULL equal to NULL.
    where: what rows of `t` that can match fulfil; with literals Delta reads fewer files.
    update_set: column -> expression for matched rows, those that fulfil update_when if given;
    without it matched rows stay as they are.
    insert: whether source rows that match nothing are added.
    The source's keys must be unique, or Delta refuses an update as ambiguous.
    """
    assert update_when is None or update_set, "update_when without update_set changes nothing"
    builder = (
        DeltaTable.forPath(spark, lake.path_of(contract))
        .alias("t")
        .merge(contract.select(source).alias("s"), _and(condition or keys_equal(contract), where))
    )
    if update_set:
        builder = builder.whenMatchedUpdate(update_when, dict(update_set))
    if insert:
        builder = builder.whenNotMatchedInsertAll()
    return merged(builder)


def remove(
    spark: SparkSession, lake: Lake, contract: Contract, keys: DataFrame, *, where: str = "true"
) -> int:
    """Deletes the rows that equal some row of `keys` in all its columns; how many they were.

    where: a condition on the table, `t`, by which Delta reads fewer files.
    """
    table = DeltaTable.forPath(spark, lake.path_of(contract)).alias("t")
    equal = " AND ".join(f"t.`{name}` <=> s.`{name}`" for name in keys.columns)
    merging = table.merge(keys.distinct().alias("s"), f"({equal}) AND ({where})")
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


def last_commit(spark: SparkSession, lake: Lake, contract: Contract) -> Commit:
    """The table's newest commit, whoever made it."""
    row: Any = DeltaTable.forPath(spark, lake.path_of(contract)).history(1).collect()[0]
    metrics = {
        name: int(value)
        for name, value in (row["operationMetrics"] or {}).items()
        if value.lstrip("-").isdigit()
    }
    return Commit(row["version"], row["operation"], metrics)


def _and(condition: str, where: str | None) -> str:
    return condition if where is None else f"({condition}) AND {where}"


def merged(builder: DeltaMergeBuilder) -> Merged:
    """The numbers in the command's own result: the history's last entry may be another writer's."""
    row = builder.execute().collect()[0]
    return Merged(
        inserted=row["num_inserted_rows"],
        updated=row["num_updated_rows"],
        deleted=row["num_deleted_rows"],
    )


def keys_equal(contract: Contract) -> str:
    return " AND ".join(f"t.`{key}` <=> s.`{key}`" for key in contract.keys)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Sets them on the table at `path`, in one commit."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"ALTER TABLE {identifier(path)} SET TBLPROPERTIES ({pairs})")


def identifier(path: str) -> str:
    """The table at `path`, as SQL names it."""
    return f"delta.`{path.replace('`', '``')}`"

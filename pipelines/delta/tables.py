"""Tables by their contracts: read and written by delta-spark, and made by delta-rs, in
milliseconds.

Each write is one Delta commit, so a reader sees all of it or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import deltalake
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from pipelines.catalog.statements import create_table
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.object_store import storage_options
from pipelines.spark.session import settings
from pipelines.tables.contract import Contract
from replica.errors import UsageError


def exists(lake: Lake, contract: Contract) -> bool:
    """Whether the lake holds the table. Raises UnreadableFileError where the table's log names a
    file outside of the table's folder, which Spark would read."""
    return open_if_there(lake, contract.name) is not None


def read(
    spark: SparkSession, lake: Lake, contract: Contract, *, version: int | None = None
) -> DataFrame:
    """The table at a version. By default it is the newest one, also after later commits. Raises the
    errors of open_newest."""
    open_newest(lake, contract)
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(lake.path_of(contract))


def open_newest(lake: Lake, contract: Contract) -> deltalake.DeltaTable:
    """The table at its newest version, by delta-rs. Raises UsageError where the lake has no such
    table, and the errors of `exists`."""
    table = open_if_there(lake, contract.name)
    if table is None:
        raise UsageError(
            f"{lake.root} has no table {contract.name}: run `kraftlake ingest --lake` and "
            "`kraftlake build --lake` first, or name another lake."
        )
    return table


def register(spark: SparkSession, lake: Lake, contracts: Iterable[Contract]) -> tuple[str, ...]:
    """Lets `bronze.x`, `silver.x`, `gold.x` resolve in Spark SQL to this lake's tables.

    Returns these names, without those of tables that the lake doesn't hold. A name that stood for
    another lake's table stands for this lake's from now on. Nothing in any lake is changed.
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
    with settings(spark, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
        DeltaTable.forPath(spark, lake.path(schema, table)).vacuum(0)


def keys_equal(names: Iterable[str]) -> str:
    """Condition of a MERGE: a row of the table, `t`, and a row of the source, `s`, have equal
    keys."""
    return " AND ".join(f"t.`{name}` <=> s.`{name}`" for name in names)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Sets the properties of the table at `path`, in one commit."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"ALTER TABLE {identifier(path)} SET TBLPROPERTIES ({pairs})")


def identifier(path: str) -> str:
    """The table at `path`, as SQL names it."""
    return f"delta.`{path.replace('`', '``')}`"


_ALL_FEATURES = {"delta.minWriterVersion": "7"}
"""The feature that a table with a VARIANT needs, whose protocol lists its features: with it
delta-rs lists the older features, too. Spark refuses a table that doesn't list them."""


def ensure_table(lake: Lake, contract: Contract) -> None:
    """Creates the table, empty, where it is absent. Checks an existing table against its contract.

    Raises UsageError where the lake's table has other columns, because another release wrote it.
    """
    table = open_if_there(lake, contract.name)
    if table is not None:
        _check_columns(table, lake.path_of(contract), contract)
        _set_missing_properties(table, contract)
        return
    deltalake.DeltaTable.create(
        lake.table_uri(contract.name),
        schema=deltalake.Schema.from_json(contract.schema.json()),
        mode="ignore",  # another process may be doing the same
        description=contract.description,
        configuration=_configuration(contract),
        storage_options=storage_options(lake.place),
    )


def _configuration(contract: Contract) -> dict[str, str | None]:
    has_variant = any(column.data_type.typeName() == "variant" for column in contract.columns)
    return {**contract.properties, **(_ALL_FEATURES if has_variant else {})}


def _check_columns(table: deltalake.DeltaTable, path: str, contract: Contract) -> None:
    actual = _types(table.schema().to_json())
    wanted = _types(contract.schema.json())
    if actual == wanted:
        return
    differing = sorted(name for name in {*actual, *wanted} if actual.get(name) != wanted.get(name))
    raise UsageError(
        f"{path} was written by another release of kraftlake (its columns differ in "
        f"{', '.join(differing)}): use that release, or ingest the captures into a new lake"
    )


_NO_PART_OF_A_TYPE = ("nullable", "containsNull", "valueContainsNull", "metadata")


def _types(schema: str) -> dict[str, Any]:
    """Each column's type in Delta's JSON, also a type that Spark doesn't know. Whether a value can
    be NULL, comments and collations make no difference."""

    def bare(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name not in _NO_PART_OF_A_TYPE}

    fields = json.loads(schema, object_hook=bare)["fields"]
    return {field["name"]: field["type"] for field in fields}


def _set_missing_properties(table: deltalake.DeltaTable, contract: Contract) -> None:
    """Sets the properties that an older release's table lacks. A property with another
    value stays."""
    present = table.metadata().configuration
    missing = {key: value for key, value in contract.properties.items() if key not in present}
    if missing:
        table.alter.set_table_properties(missing)

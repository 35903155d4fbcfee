"""Reads and writes the tables as their contracts describe them. delta-spark reads and writes rows.
delta-rs creates a table, which takes it some milliseconds.

Each write is one Delta commit, so a reader sees all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import deltalake
from pyspark.sql import DataFrame, Row, SparkSession

from pipelines.catalog.statements import create_table
from pipelines.delta.by_spark import check_for_spark
from pipelines.delta.conforming import TableState, refuse_other
from pipelines.dialects import SPARK, Sql
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
    """The table at a version. Without `version`, each evaluation of the DataFrame reads the newest
    version at that time. Raises the errors of open_newest and check_for_spark."""
    open_newest(lake, contract)
    check_for_spark(spark, lake, contract)
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
            check_for_spark(spark, lake, contract)
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
    check_for_spark(df.sparkSession, lake, contract)
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
    matched = ", ".join(f"t.{name} = s.{name}" for name in map(SPARK.identifier, update))
    clauses = [f"WHEN MATCHED THEN UPDATE SET {matched}"] if matched else []
    if insert:
        clauses.append("WHEN NOT MATCHED THEN INSERT *")
    _merged(spark, lake, contract, contract.select(source), contract.keys, " ".join(clauses))


def remove(spark: SparkSession, lake: Lake, contract: Contract, keys: DataFrame) -> int:
    """Deletes the rows that equal some row of `keys` in all its columns. Gives their number."""
    clause = "WHEN MATCHED THEN DELETE"
    row = _merged(spark, lake, contract, keys.distinct(), keys.columns, clause)
    return int(row["num_deleted_rows"])


def _merged(
    spark: SparkSession,
    lake: Lake,
    contract: Contract,
    source: DataFrame,
    keys: Iterable[str],
    clauses: Sql,
) -> Row:
    """Merges by SQL, which every kind of session has. Gives the numbers of changed rows."""
    check_for_spark(spark, lake, contract)
    source.createOrReplaceTempView("kraftlake_merged")
    try:
        return spark.sql(
            f"MERGE INTO {identifier(lake.path_of(contract))} AS t USING kraftlake_merged AS s "
            f"ON {keys_equal(keys)} {clauses}"
        ).collect()[0]
    finally:
        spark.catalog.dropTempView("kraftlake_merged")


def vacuum(spark: SparkSession, lake: Lake, contract: Contract) -> None:
    """Deletes every file that the table's newest version doesn't need, however young it is.

    Older versions can't be read any more, nor can changes of the change data feed.
    """
    check_for_spark(spark, lake, contract)
    with settings(spark, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
        spark.sql(f"VACUUM {identifier(lake.path_of(contract))} RETAIN 0 HOURS")


def keys_equal(names: Iterable[str]) -> Sql:
    """Condition of a MERGE: a row of the table, `t`, and a row of the source, `s`, have equal
    keys."""
    quoted = map(SPARK.identifier, names)
    return " AND ".join(f"t.{name} <=> s.{name}" for name in quoted)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Sets the properties of the table at `path`, in one commit."""
    pairs = ", ".join(
        f"{SPARK.literal(key)} = {SPARK.literal(value)}" for key, value in properties.items()
    )
    spark.sql(f"ALTER TABLE {identifier(path)} SET TBLPROPERTIES ({pairs})")


def identifier(path: str) -> Sql:
    """The table at `path`, as SQL names it."""
    return f"delta.{SPARK.identifier(path)}"


_ALL_FEATURES = {"delta.minWriterVersion": "7"}
"""A property that a table with a VARIANT needs, because its protocol lists its features. With this
property delta-rs lists the older features, too. Spark refuses a table that doesn't list them."""


def ensure_table(lake: Lake, contract: Contract) -> int:
    """Creates the table, empty, where it is absent. Checks an existing table against its contract,
    and sets the contract's properties that it lacks. Gives its newest version.

    Raises UsageError where the lake's table isn't as the contract says.
    """
    table = open_if_there(lake, contract.name)
    if table is not None:
        refuse_other(lake.path_of(contract), TableState.by_delta_rs(table), contract)
        _set_missing_properties(table, contract)
        return int(table.version())
    return _create(lake, contract, "ignore")  # another process may be doing the same


def replace_table(lake: Lake, contract: Contract) -> int:
    """Creates the table, empty and with a new id. In the same commit it replaces an existing table
    of this name. Gives the new table's version."""
    return _create(lake, contract, "overwrite")


def _create(lake: Lake, contract: Contract, mode: Literal["ignore", "overwrite"]) -> int:
    deltalake.DeltaTable.create(
        lake.table_uri(contract.name),
        schema=deltalake.Schema.from_json(contract.schema.json()),
        mode=mode,
        description=contract.description,
        configuration=_configuration(contract),
        storage_options=storage_options(lake.place),
    )
    return int(open_newest(lake, contract).version())


def _configuration(contract: Contract) -> dict[str, str | None]:
    has_variant = any(column.data_type.typeName() == "variant" for column in contract.columns)
    return {**contract.properties, **(_ALL_FEATURES if has_variant else {})}


def _set_missing_properties(table: deltalake.DeltaTable, contract: Contract) -> None:
    """Sets the properties that an older release's table lacks. A property with another
    value stays."""
    present = table.metadata().configuration
    missing = {key: value for key, value in contract.properties.items() if key not in present}
    if missing:
        table.alter.set_table_properties(missing)
        table.update_incremental()

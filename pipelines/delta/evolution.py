"""A table's columns brought to its contract, where an earlier release made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from pipelines.delta.lake import Lake
from pipelines.delta.tables import identifier
from pipelines.tables.contract import Contract


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """One that the table lacks. path: names from the top, `element` for what an array holds. after:
    the column it comes behind, None where it is the first."""

    path: tuple[str, ...]
    field: StructField
    after: str | None

    @property
    def name(self) -> str:
        """As Spark's DDL has it, without quotes."""
        return ".".join((*self.path, self.field.name))


@dataclass(frozen=True, slots=True)
class Difference:
    """Of a table from its contract. conflicting: columns that are of another type, or that the
    contract doesn't have. required: columns at the top that are NOT NULL, and needn't be."""

    added: tuple[AddedColumn, ...]
    conflicting: tuple[str, ...]
    required: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.conflicting or self.required)


def difference(spark: SparkSession, lake: Lake, contract: Contract) -> Difference:
    """Of the lake's table, which must be there."""
    table = DeltaTable.forPath(spark, lake.path_of(contract)).toDF()
    return difference_of(table.schema, contract.schema)


def difference_of(actual: StructType, wanted: StructType) -> Difference:
    """Pure. What can be added is a column at the top, or a field of a struct at any depth. A column
    that ought to be NOT NULL is no difference, as Delta lets none become so; comments are none."""
    added: list[AddedColumn] = []
    conflicting: list[str] = []
    for found in _compare(actual, wanted, ()):
        if isinstance(found, AddedColumn):
            added.append(found)
        else:
            conflicting.append(found)
    optional = {field.name for field in wanted if field.nullable}
    required = (one.name for one in actual if one.name in optional and not one.nullable)
    return Difference(tuple(added), tuple(conflicting), tuple(required))


def add_columns(spark: SparkSession, lake: Lake, contract: Contract, found: Difference) -> None:
    """Adds them, NULL in every row, each at its place in the contract and in a commit of its own.

    Delta lets no column that is added be NOT NULL; the quality gate holds rows to that.
    """
    table = identifier(lake.path_of(contract))
    for column in found.added:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({_ddl(column)})")


def allow_nulls(spark: SparkSession, lake: Lake, contract: Contract, found: Difference) -> None:
    """Lets the required columns be NULL, each in a commit of its own."""
    table = identifier(lake.path_of(contract))
    for name in found.required:
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN `{name}` DROP NOT NULL")


def remake(spark: SparkSession, lake: Lake, contract: Contract) -> None:
    """Gives a table that is computed anew anyway the contract's columns, and no rows."""
    empty = spark.createDataFrame([], contract.schema)
    writer = empty.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.save(lake.path_of(contract))


def _compare(
    actual: StructType, wanted: StructType, path: tuple[str, ...]
) -> Iterator[AddedColumn | str]:
    present = {field.name: field.dataType for field in actual}
    known = {field.name for field in wanted}
    yield from (".".join((*path, name)) for name in present if name not in known)
    after: str | None = None
    for field in wanted:
        if field.name not in present:
            yield AddedColumn(path, field, after)
        else:
            yield from _compare_types(present[field.name], field.dataType, (*path, field.name))
        after = field.name


def _compare_types(
    actual: DataType, wanted: DataType, path: tuple[str, ...]
) -> Iterator[AddedColumn | str]:
    if isinstance(actual, StructType) and isinstance(wanted, StructType):
        yield from _compare(actual, wanted, path)
    elif isinstance(actual, ArrayType) and isinstance(wanted, ArrayType):
        yield from _compare_types(actual.elementType, wanted.elementType, (*path, "element"))
    elif actual.simpleString() != wanted.simpleString():
        yield ".".join(path)


def _ddl(column: AddedColumn) -> str:
    name = ".".join(f"`{part}`" for part in (*column.path, column.field.name))
    comment = (
        str(column.field.metadata.get("comment", "")).replace("\\", "\\\\").replace("'", "\\'")
    )
    said = f" COMMENT '{comment}'" if comment else ""
    place = f" AFTER `{column.after}`" if column.after else " FIRST"
    return f"{name} {column.field.dataType.simpleString()}{said}{place}"

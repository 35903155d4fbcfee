"""What a table of an earlier release lacks, and what of it can't be added; pure."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.delta.evolution import AddedColumn, Difference, difference_of

FILE = StructType([StructField("path", StringType()), StructField("size", LongType())])
TABLE = StructType(
    [
        StructField("id", StringType(), nullable=False, metadata={"comment": "the id"}),
        StructField("epoch", IntegerType()),
        StructField("files", ArrayType(FILE)),
    ]
)


def without(schema: StructType, name: str) -> StructType:
    return StructType([field for field in schema if field.name != name])


def test_the_same_columns_are_no_difference_whatever_their_comments() -> None:
    bare = StructType([StructField(field.name, field.dataType) for field in TABLE])
    assert not difference_of(bare, TABLE), "Delta lets no column become NOT NULL"
    assert difference_of(bare, TABLE) == Difference((), ())


def test_a_column_that_is_not_null_where_the_contract_asks_for_no_value_is_a_difference() -> None:
    strict = StructType([StructField(field.name, field.dataType, False) for field in TABLE])
    found = difference_of(strict, TABLE)
    assert found
    assert found.required == ("epoch", "files")


def test_a_column_is_added_behind_the_one_that_the_contract_has_before_it() -> None:
    found = difference_of(without(TABLE, "epoch"), TABLE)
    assert found == Difference((AddedColumn((), TABLE["epoch"], "id"),), ())
    first = difference_of(without(TABLE, "id"), TABLE)
    assert first.added[0].after is None


def test_a_field_of_a_struct_in_an_array_is_added_by_its_path() -> None:
    table = StructType(
        [
            *without(TABLE, "files"),
            StructField("files", ArrayType(without(FILE, "size"))),
        ]
    )
    (column,) = difference_of(table, TABLE).added
    assert (column.name, column.after) == ("files.element.size", "path")


def test_another_type_and_a_column_that_nobody_knows_are_conflicts() -> None:
    table = StructType(
        [
            StructField("id", LongType()),
            StructField("epoch", IntegerType()),
            StructField("files", ArrayType(StructType([*FILE, StructField("hash", LongType())]))),
            StructField("more", StringType()),
        ]
    )
    assert difference_of(table, TABLE) == Difference((), ("more", "id", "files.element.hash"))

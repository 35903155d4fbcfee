"""Types of contracts, read from DDL without a JVM."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from pipelines.tables import of_a_lake
from pipelines.tables.contract import Column, columns, data_type

NESTED = "map<string,array<struct<a:int,b:map<int,array<variant>>>>>"


@pytest.mark.spark
def test_every_type_of_every_table_is_what_spark_reads_there(spark: SparkSession) -> None:
    types = {
        column.type
        for contract in of_a_lake.TABLES
        for column in contract.columns
        if isinstance(column.type, str)
    }
    assert len(types) > 10
    for ddl in (*types, NESTED, "struct< a : int , b : date >"):
        assert data_type(ddl) == DataType.fromDDL(ddl), ddl


@pytest.mark.parametrize(
    "ddl",
    [
        "",
        "decimal(3,1)",
        "array",
        "array<int",
        "array<int>>",
        "struct<a int>",
        "map<int>",
        "int int",
    ],
)
def test_a_text_that_is_no_type_is_refused_and_named(ddl: str) -> None:
    with pytest.raises(ValueError, match="no type that a table of a lake has"):
        data_type(ddl)


def test_columns_are_read_from_lines_and_indented_lines_continue_a_description() -> None:
    text = """
        id bigint: number of the row: from 1
        at timestamp null: time of the row;
            NULL where nobody
            knows it
        spans array<struct<from:int,to:int>>: ranges
    """
    assert columns(text) == (
        Column("id", "bigint", "number of the row: from 1", nullable=False),
        Column("at", "timestamp", "time of the row; NULL where nobody knows it"),
        Column("spans", "array<struct<from:int,to:int>>", "ranges", nullable=False),
    )


@pytest.mark.parametrize("line", ["id bigint", "id: number", "id bigint Null: number", ""])
def test_a_line_that_describes_no_column_is_refused(line: str) -> None:
    with pytest.raises(AssertionError, match="no name, type and description"):
        columns(f"at timestamp: time\n{line}\nid int: number")

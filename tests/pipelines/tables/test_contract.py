"""A contract lets a DataFrame through that keeps it, and names the column of one that doesn't."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from pipelines.tables.contract import Column, Contract, ContractError

pytestmark = pytest.mark.spark

COLUMNS = (
    Column("id", "bigint", "The row.", nullable=False),
    Column("epoch", "int", "The leader epoch."),
    Column("voters", "array<struct<id:int,directory:string>>", "The voters."),
    Column("payload", "variant", "The record."),
)


def contract(**changes: object) -> Contract:
    values = {
        "name": "silver.things",
        "description": "Things.",
        "columns": COLUMNS,
        "keys": ("id",),
    }
    return Contract(**(values | changes))  # type: ignore[arg-type]


def test_a_schema_has_types_nullability_and_comments(spark: SparkSession) -> None:
    schema = contract().schema

    assert schema["id"] == StructField("id", LongType(), False, {"comment": "The row."})
    assert schema["epoch"] == StructField(
        "epoch", IntegerType(), True, {"comment": "The leader epoch."}
    )
    assert [field.dataType.simpleString() for field in schema] == [
        "bigint",
        "int",
        "array<struct<id:int,directory:string>>",
        "variant",
    ]


def test_a_selection_has_the_columns_of_the_contract_in_its_order_and_types(
    spark: SparkSession,
) -> None:
    df = spark.sql(
        """SELECT parse_json('{"a":1}') AS payload, 'x' AS extra, NULL AS epoch,
           array(struct(1 AS id, 'd' AS directory)) AS voters, 7 AS id"""
    )
    assert df.schema["id"].dataType == IntegerType()

    selected = contract().select(df)

    assert tuple(selected.columns) == ("id", "epoch", "voters", "payload")
    assert [f.dataType.simpleString() for f in selected.schema] == [
        f.dataType.simpleString() for f in contract().schema
    ]
    row = selected.collect()[0]
    assert (row["id"], row["epoch"], row["payload"].toPython()) == (7, None, {"a": 1})


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "SELECT 1L AS id",
            "silver.pair: column epoch is missing",
        ),
        (
            "SELECT 1L AS id, 2L AS epoch",
            "silver.pair: column epoch is bigint, not int",
        ),
        (
            "SELECT '1' AS id, 1.5D AS epoch",
            "silver.pair: column id is string, not bigint; column epoch is double, not int",
        ),
        (
            "SELECT 1L AS id, 2 AS epoch, 3 AS epoch",
            "silver.pair: column epoch is there 2 times",
        ),
    ],
)
def test_a_frame_that_breaks_the_contract_is_refused_with_its_columns(
    spark: SparkSession, sql: str, message: str
) -> None:
    pair = contract(name="silver.pair", columns=COLUMNS[:2])

    with pytest.raises(ContractError) as caught:
        pair.select(spark.sql(sql))

    assert str(caught.value) == message


def test_types_inside_of_nested_types_are_compared_too(spark: SparkSession) -> None:
    nested = contract(columns=(COLUMNS[0], COLUMNS[2]))
    renamed = spark.sql("SELECT 1L AS id, array(struct(1 AS id, 'd' AS dir)) AS voters")
    with pytest.raises(ContractError, match=r"column voters is array<struct<id:int,dir:string>>"):
        nested.select(renamed)

    # Spark infers NOT NULL here where the contract allows NULL: no difference in type.
    strict = spark.createDataFrame(
        [(1, "a")],
        StructType(
            [StructField("id", LongType(), False), StructField("name", StringType(), False)]
        ),
    )
    named = contract(columns=(COLUMNS[0], Column("name", "string", "A name.")))
    assert named.select(strict).count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "copper.things"},
        {"name": "things"},
        {"keys": ("nope",)},
        {"keys": ()},
        {"columns": (*COLUMNS, COLUMNS[0])},
        {"columns": (*COLUMNS, Column("bare", "int", " "))},
    ],
)
def test_a_malformed_contract_cannot_exist(changes: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        contract(**changes)


def test_a_contract_has_its_layer_its_table_and_its_columns_by_name() -> None:
    assert contract().schema_name == "silver"
    assert contract().table_name == "things"
    assert contract().column_names == ("id", "epoch", "voters", "payload")

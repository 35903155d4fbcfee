"""A DataFrame has all rows of the Arrow table that it is made of."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from pipelines.delta.small import dataframe_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64())])


def pieces(*ids: list[int]) -> pa.Table:
    return pa.concat_tables([pa.table({"id": some}, SCHEMA) for some in ids])


@pytest.mark.parametrize("ids", [([], [], [1, 2]), ([1], [], [2]), ([1, 2], []), ([1], [2])])
def test_rows_before_and_behind_a_piece_without_a_row_reach_spark(
    spark: SparkSession, ids: tuple[list[int], ...]
) -> None:
    assert sorted(row.id for row in dataframe_of(spark, pieces(*ids)).collect()) == [1, 2]


def test_a_table_without_rows_is_a_dataframe_without_rows(spark: SparkSession) -> None:
    found = dataframe_of(spark, pieces([], []))
    assert (found.columns, found.collect()) == (["id"], [])


def test_spark_takes_the_types_that_it_is_told(spark: SparkSession) -> None:
    schema = StructType([StructField("id", LongType(), nullable=False)])
    assert dataframe_of(spark, pieces([], [1]), schema).schema == schema

"""Arrow tables of this process as DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType


def dataframe_of(
    spark: SparkSession, rows: pa.Table, schema: StructType | None = None
) -> DataFrame:
    """All rows of an Arrow table as a DataFrame. schema: their types in Spark; by default those
    that Spark takes for Arrow's.

    SparkSession.createDataFrame stops at a piece of the table without rows, unless it is the first
    one, and loses all rows behind it (Spark 4.2.0). A table that was joined from others, or
    filtered, may have such pieces, so they are left out here.
    """
    if schema is None:
        schema = from_arrow_schema(rows.schema, prefer_timestamp_ntz=False)
    pieces = [piece for piece in rows.to_batches() if piece.num_rows]
    if not pieces:
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(pa.Table.from_batches(pieces, rows.schema), schema)

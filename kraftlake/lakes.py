"""A lake, opened for programs: its tables as Arrow and as Spark's DataFrames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.lake import Lake
from pipelines.lake.tables import check_table, tables_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def open_lake(place: str | os.PathLike[str]) -> OpenLake:
    """A lake in a folder or at a URI such as s3://bucket/lake. Raises KraftlakeError where there is
    no lake, or one of another release's schema."""
    lake = Lake(place)
    return OpenLake(lake, tables_of(lake))


class OpenLake:
    """A lake. tables: the names of the tables in it, such as gold.findings."""

    def __init__(self, lake: Lake, tables: tuple[str, ...]) -> None:
        self._lake = lake
        self.tables = tables

    def __repr__(self) -> str:
        return f"<lake {self._lake}: {len(self.tables)} tables>"

    def arrow(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a table, as a table of Arrow, with JSON text in the place of VARIANT.
        columns: the wanted ones; None for all. Raises KraftlakeError."""
        return self.batches(table, columns).read_all()

    def batches(self, table: str, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """The rows of a table as a stream of batches of Arrow, for tables that are larger than the
        memory. Otherwise as `arrow`."""
        from pipelines.lake.json_view import json_view

        return json_view(self._lake, table, columns)

    def dataframe(self, spark: SparkSession, table: str) -> DataFrame:
        """A table as a DataFrame. spark: a session with Delta, such as `spark_session` starts.
        Raises KraftlakeError where the lake has no such table."""
        check_table(table, self.tables)
        schema, _, name = table.partition(".")
        return spark.read.format("delta").load(self._lake.path(schema, name))

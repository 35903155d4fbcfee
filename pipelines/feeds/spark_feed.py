"""A table's changes from Delta's change data feed, read by Spark: its executors read the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.delta.by_spark import check_for_spark
from pipelines.dialects import SPARK, Sql
from pipelines.feeds.change_feed import TIME, ChangeFeed, Read
from pipelines.feeds.values import Feed
from pipelines.lake import Lake
from pipelines.spark.classic import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession


class SparkChangeFeed(ChangeFeed):
    """The feed of one table, as in ChangeFeed. Raises the errors of ChangeFeed, and what Spark
    raises."""

    dialect = SPARK

    def __init__(self, spark: SparkSession, lake: Lake, feed: Feed) -> None:
        super().__init__(lake.table_uri(feed.name), feed)
        check_for_spark(spark, lake, feed.contract)
        self._spark = spark
        self._path = lake.path_of(feed.contract)

    def _content_reader(self, version: int) -> Read:
        return self._reader(self._delta().option("versionAsOf", version), version)

    def _feed_reader(self, version: int) -> Read:
        changes = self._delta().option("readChangeFeed", "true")
        span = changes.option("startingVersion", version).option("endingVersion", version)
        read = self._reader(span, version)
        # For Spark it is the time at which the log's file was written, which a copy changes.
        at = pa.scalar(self._committed_at(version), pa.timestamp("ms", "UTC"))

        def with_time(columns: Sequence[str], where: Sql | None) -> pa.Table:
            rows = read(columns, where)
            if TIME not in columns:
                return rows
            times = pa.repeat(at, rows.num_rows)
            return rows.set_column(rows.schema.get_field_index(TIME), TIME, times)

        return with_time

    def _committed_at(self, version: int) -> int:
        """The time in the version's commit, in ms since 1970 (UTC)."""
        entries = self._table.history(self._table.version() - version + 1)
        return next(int(one["timestamp"]) for one in entries if one["version"] == version)

    def _delta(self) -> DataFrameReader:
        return self._spark.read.format("delta")

    def _reader(self, reader: DataFrameReader, version: int) -> Read:
        def read(columns: Sequence[str], where: Sql | None) -> pa.Table:
            rows = reader.load(self._path)
            chosen = rows if where is None else rows.where(where)
            with described(self._spark, f"changes of {self.feed.name}, version {version}"):
                return chosen.select(*map(SPARK.identifier, columns)).toArrow()

        return read

"""What Spark itself sees of a Delta table: Delta's own log where the session has its JVM, the
answers of SQL by Spark Connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from pipelines.dialects import SPARK
from pipelines.spark.connect import is_connect

_ODD_FILE = "deletionVector IS NOT NULL OR NOT path RLIKE '^[A-Za-z0-9_][A-Za-z0-9_=.-]*$'"
"""Condition on Delta's add actions: a file that kraftlake doesn't write. Its own files have plain
names and no deletion vector."""


@dataclass(frozen=True)
class SeenTable:
    """A table's newest version, by the metaData and protocol actions of Delta's log."""

    schema: str
    """The field `schemaString` of the metaData action."""
    configuration: Mapping[str, str | None]
    """The field `configuration` of the metaData action."""
    partition_columns: Sequence[str]
    """The field `partitionColumns` of the metaData action."""
    least_reader: int
    """minReaderVersion of the protocol action."""
    reader_features: list[str]
    """readerFeatures of the protocol action."""
    least_writer: int
    """minWriterVersion of the protocol action."""
    writer_features: list[str]
    """writerFeatures of the protocol action."""


def seen_table(spark: SparkSession, path: str) -> SeenTable:
    """The table at a path.

    By Spark Connect less of the table is known: the schema lacks the column metadata that Delta
    keeps to itself, reader_features is empty, and writer_features has the features of readers, too.
    """
    if is_connect(spark):
        detail = spark.sql(f"DESCRIBE DETAIL delta.{SPARK.identifier(path)}").collect()[0]
        return SeenTable(
            spark.read.format("delta").load(path).schema.json(),
            detail["properties"],
            detail["partitionColumns"],
            detail["minReaderVersion"],
            [],
            detail["minWriterVersion"],
            detail["tableFeatures"] or [],
        )
    snapshot = _snapshot(spark, path)
    metadata, protocol = snapshot.metadata(), snapshot.protocol()
    converters = cast(Any, spark._jvm).scala.jdk.javaapi.CollectionConverters
    return SeenTable(
        metadata.schemaString(),
        dict(converters.asJava(metadata.configuration())),
        _listed(metadata.partitionColumns()),
        protocol.minReaderVersion(),
        _features(protocol.readerFeatures()),
        protocol.minWriterVersion(),
        _features(protocol.writerFeatures()),
    )


def odd_files(spark: SparkSession, path: str) -> list[str]:
    """The path of one data file that kraftlake didn't write (see _ODD_FILE); empty without such a
    file. Spark Connect finds only files outside of the table's folder."""
    if is_connect(spark):  # a deletion vector is a feature of the table
        files = spark.read.format("delta").load(path).inputFiles()
        return [one for one in files if "/" in one.rpartition(f"{path.rstrip('/')}/")[2]][:1]
    adds = DataFrame(_snapshot(spark, path).allFiles().toDF(), spark)
    return [row["path"] for row in adds.where(_ODD_FILE).select("path").limit(1).collect()]


def _snapshot(spark: SparkSession, path: str) -> Any:
    """The newest snapshot: a Java object, which is not in Delta's public API."""
    jvm = cast(Any, spark._jvm)
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    empty = jvm.scala.Option.empty
    return log.update(False, empty(), empty())


def _features(found: Any) -> list[str]:
    """The elements of a Scala Option of a Set; empty where the Option is empty."""
    return _listed(found.get().toSeq()) if found.isDefined() else []


def _listed(found: Any) -> list[str]:
    return [str(found.apply(place)) for place in range(found.size())]

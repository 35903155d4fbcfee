"""A table as Spark itself sees it: its log, and whether it is as its contract says.

delta-rs and Spark may see different tables in one folder, if a stranger has made it so. So before
Spark reads or writes, it is asked what it sees.
"""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta.conforming import TableState, refuse_other
from pipelines.lake import Lake
from pipelines.lake.delta_log import refuse_other_protocol
from pipelines.lake.delta_rs import open_table
from pipelines.tables.contract import Contract
from replica.errors import UnreadableFileError

_ODD_FILE = "deletionVector IS NOT NULL OR NOT path RLIKE '^[A-Za-z0-9_][A-Za-z0-9_=.-]*$'"
"""Condition on Delta's add actions: what kraftlake writes has plain names of files."""


class SparkLog:
    """A table's DeltaLog. Delta's Python API lacks it, and it is no public API of Delta's."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.jvm = cast(Any, spark._jvm)
        self.delta_log = self.jvm.org.apache.spark.sql.delta.DeltaLog
        self.log = self.delta_log.forTable(spark._jsparkSession, path)
        self._spark = spark

    def snapshot(self) -> Any:
        """The newest snapshot, an object of Java's."""
        empty = self.jvm.scala.Option.empty
        return self.log.update(False, empty(), empty())

    def state(self) -> TableState:
        """The newest state. Raises UnreadableFileError where its protocol is another one."""
        snapshot = self.snapshot()
        metadata, protocol = snapshot.metadata(), snapshot.protocol()
        readers = self._python(protocol.readerFeatures())
        refuse_other_protocol(str(self.log.dataPath()), protocol.minReaderVersion(), readers)
        return TableState(
            metadata.schemaString(),
            dict(self.jvm.scala.jdk.javaapi.CollectionConverters.asJava(metadata.configuration())),
            self._listed(metadata.partitionColumns()),
            protocol.minWriterVersion(),
            self._python(protocol.writerFeatures()),
        )

    def odd_files(self) -> list[str]:
        """Paths of data files that lie elsewhere or have a deletion vector; one at most."""
        files = DataFrame(self.snapshot().allFiles().toDF(), self._spark)
        return [row["path"] for row in files.where(_ODD_FILE).select("path").limit(1).collect()]

    def _python(self, features: Any) -> list[str]:
        """An Option of a Set of Scala's; empty where there is none."""
        return self._listed(features.get().toSeq()) if features.isDefined() else []

    def _listed(self, found: Any) -> list[str]:
        return [str(found.apply(place)) for place in range(found.size())]


def check_for_spark(spark: SparkSession, lake: Lake, contract: Contract) -> None:
    """Raises UsageError where Spark doesn't see the table that the contract says; and
    UnreadableFileError where it would open files elsewhere. The table must exist."""
    open_table(lake.table_uri(contract.name))  # This looks at the log before Spark reads it.
    path = lake.path_of(contract)
    log = SparkLog(spark, path)
    refuse_other(path, log.state(), contract)
    for odd in log.odd_files():
        raise UnreadableFileError(
            path, f"its log names the file {odd!a}, which kraftlake didn't write"
        )

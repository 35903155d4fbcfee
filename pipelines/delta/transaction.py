"""One commit of data files that others wrote, by Delta's own transaction code in the JVM.

Delta's Python API has no such thing, so its Scala classes are called: DeltaLog, its
OptimisticTransaction and DeltaOperations.Write. They are no public API; delta-spark is pinned, and
tests commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession

from pipelines.data_files import DataFile
from pipelines.delta import actions
from pipelines.delta.actions import StatisticsColumns
from replica.errors import UsageError

_HARMLESS = (
    *("appendOnly", "changeDataFeed", "deletionVectors", "domainMetadata", "inCommitTimestamp"),
    *("rowTracking", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"),
    *("variantType", "variantType-preview", "allowColumnDefaults"),
)
_JUDGED = (
    *("invariants", "checkConstraints", "generatedColumns", "identityColumns", "columnMapping"),
)
"""Writer features by Delta's protocol. HARMLESS: added files can't break them. JUDGED: refused only
where the table makes use of them."""
_COLUMN_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity.")


class AppendTransaction:
    """A transaction that only adds files. It begins where it is made, at the newest version.

    UsageError: no table at `path`, or one with rules for its rows that only Spark's writer keeps.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._jvm = cast(Any, spark._jvm)
        self._delta = self._jvm.org.apache.spark.sql.delta
        log = self._delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._transaction = log.startTransaction()
        if self._transaction.readVersion() < 0:
            raise UsageError(f"{path}: no Delta table to append to")
        features = self._transaction.protocol().getWriterFeatures() or ()
        metadata = json.loads(self._transaction.metadata().json())["metaData"]
        reason = refusal(set(features), metadata)
        if reason is not None:
            raise UsageError(f"{path}: {reason}, so only Spark's own writer may append to it")
        schema = json.loads(self._transaction.snapshot().statsSchema().json())
        self.statistics_columns = StatisticsColumns.of(schema)

    def version_of(self, application: str) -> int:
        """The last version of the application's writes that the table has, -1 without any."""
        return int(self._transaction.txnVersion(application))

    def has_written(self, application: str, version: int) -> bool:
        """Whether the table has this version of the application's writes, or a later one."""
        return self.version_of(application) >= version

    def commit(self, files: Sequence[DataFile], wrote: tuple[str, int] | None) -> int | None:
        """The table's new version; None where there is nothing to say.

        wrote: (application id, version) to be recorded. Commits that others made since this
        transaction began are no conflict, but for those of the same application id and those that
        change the table's schema or protocol: Delta's exceptions.
        """
        said = [actions.add(file, self.statistics_columns) for file in files]
        if wrote is not None:
            said.append(actions.set_transaction(*wrote, now=int(time.time() * 1000)))
        self._count(files)
        version = self._transaction.commitIfNeeded(
            self._sequence([self._delta.actions.Action.fromJson(text) for text in said]),
            self._append_operation(),
            getattr(self._transaction, "commitIfNeeded$default$3")(),
        )
        return int(version.get()) if version.isDefined() else None

    def _count(self, files: Sequence[DataFile]) -> None:
        """The operation's metrics in the table's history, as Spark's append has them."""
        counts = {
            "numFiles": len(files),
            "numOutputRows": sum(file.row_count for file in files),
            "numOutputBytes": sum(file.size_bytes for file in files),
        }
        metrics = self._jvm.java.util.HashMap()
        context = self._spark.sparkContext._jsc.sc()
        for name, count in counts.items():
            metric = self._jvm.org.apache.spark.sql.execution.metric.SQLMetrics.createMetric(
                context, name
            )
            metric.add(count)
            metrics.put(name, metric)
        self._transaction.registerSQLMetrics(
            self._spark._jsparkSession, self._jvm.PythonUtils.toScalaMap(metrics)
        )

    def _append_operation(self) -> Any:
        none, some = self._jvm.scala.Option.empty, self._jvm.scala.Some
        write = getattr(self._delta, "DeltaOperations$Write")
        mode = self._jvm.org.apache.spark.sql.SaveMode.Append
        return write(mode, some(self._sequence([])), *(none() for _ in range(7)))

    def _sequence(self, items: Iterable[Any]) -> Any:
        collected = self._jvm.java.util.ArrayList()
        for item in items:
            collected.add(item)
        return self._jvm.PythonUtils.toSeq(collected)


def refusal(features: set[str], metadata: Mapping[str, Any]) -> str | None:
    """Why rows may not be added by files alone, None where they may.

    features: the protocol's writer features, none of an older protocol. metadata: the table's
    metaData action.
    """
    configuration = metadata.get("configuration", {})
    if metadata.get("partitionColumns"):
        return "it has partitions"
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        return "it maps column names"
    if any(key.startswith("delta.constraints.") for key in configuration):
        return "it has a CHECK constraint"
    for column in json.loads(metadata["schemaString"])["fields"]:
        if any(key.startswith(_COLUMN_RULES) for key in column["metadata"]):
            return f"its column {column['name']} has a rule of its own"
    unknown = sorted(features - {*_HARMLESS, *_JUDGED})
    return f"it has {', '.join(unknown)}" if unknown else None

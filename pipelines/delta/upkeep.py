"""Upkeep of a table within what its properties promise.

Small files become large ones. Data files of old versions (VACUUM) and old entries of Delta's log
are deleted after the times of delta.deletedFileRetentionDuration and delta.logRetentionDuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from time import time

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from pipelines.delta.by_spark import SparkLog, check_for_spark
from pipelines.delta.tables import identifier, set_properties
from pipelines.lake import Lake
from pipelines.tables.contract import FEED_RETENTION_DAYS, Contract

LEAST_RETENTION_DAYS = 7
"""Delta's own default: younger files may still be read, or be about to be committed."""
_FILE_RETENTION = "delta.deletedFileRetentionDuration"
_CHANGE_FEED = "delta.enableChangeDataFeed"
_DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The work of an upkeep, or the work that a dry run would do. None stands for a number that a
    dry run can't know.

    retention_days: how long files that a commit removed stay on disk. files, files_after: the
    number of files of the newest version, before and after. deleted_files: the number of deleted
    data files. deleted_log_entries: the number of deleted entries of _delta_log.
    """

    retention_days: int
    files: int
    files_after: int | None
    deleted_files: int | None
    deleted_log_entries: int | None


def upkeep(
    spark: SparkSession, lake: Lake, contract: Contract, *, retain_days: int = 0, dry_run: bool
) -> Upkeep:
    """The upkeep of the table. A second run finds nothing to do.

    retain_days: the days for which files are kept, where the table asks for fewer. The table's
    properties have this number from then on, because VACUUM obeys only these. dry_run: change
    nothing.
    """
    check_for_spark(spark, lake, contract)
    path = lake.path_of(contract)
    table = DeltaTable.forPath(spark, path)
    log = _Log(spark, path)
    detail = table.detail().collect()[0]
    feed = detail["properties"].get(_CHANGE_FEED) == "true"
    least = FEED_RETENTION_DAYS if feed else LEAST_RETENTION_DAYS
    promised = log.file_retention_days()
    days = max(least, retain_days, promised)
    if dry_run:
        unneeded = None if days > promised else _unneeded(spark, path)
        return Upkeep(days, detail["numFiles"], None, unneeded, None)
    if days > promised:
        set_properties(spark, path, {_FILE_RETENTION: f"interval {days} days"})
    compacted = table.optimize().executeCompaction().collect()[0]["metrics"]
    change = compacted["numFilesAdded"] - compacted["numFilesRemoved"]
    unneeded = _unneeded(spark, path)
    if unneeded:  # VACUUM writes two entries to the log even where there is nothing to delete
        spark.sql(f"VACUUM {identifier(path)}")
    return Upkeep(days, detail["numFiles"], detail["numFiles"] + change, unneeded, log.clean_up())


def _unneeded(spark: SparkSession, path: str) -> int:
    found = spark.sql(f"VACUUM {identifier(path)} DRY RUN")
    return found.where("path LIKE '%.parquet'").count()  # VACUUM names folders, too


class _Log(SparkLog):
    """The log, for what VACUUM and OPTIMIZE do not do."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        super().__init__(spark, path)
        self._table = DeltaTable.forPath(spark, path)

    def file_retention_days(self) -> int:
        """The days of the table's properties, or Delta's default, rounded up to whole days."""
        retention = self.delta_log.tombstoneRetentionMillis(self.snapshot().metadata())
        return -(-int(retention) // _DAY_MS)

    def clean_up(self) -> int:
        """Deletes expired entries, as Delta does at every tenth commit, which some tables never
        reach. Gives their number.

        Entries from which newer versions are made stay, whatever their age.
        """
        snapshot = self.snapshot()
        retention = int(self.log.deltaRetentionMillis(snapshot.metadata()))
        before = self._commit_times()
        if 1000 * time() - min(before) <= retention:
            return 0
        self.log.checkpointAndCleanUpDeltaLog(snapshot, self.jvm.scala.Option.empty())
        return len(before) - len(self._commit_times())

    def _commit_times(self) -> list[int]:
        """The times (ms since the epoch) of the commits whose entries still exist."""
        times = self._table.history().selectExpr("unix_millis(timestamp) AS at").collect()
        return [row["at"] for row in times]

"""Upkeep of a table within what its properties promise.

Small files become large ones. Data files of old versions (VACUUM) and old entries of Delta's log
are deleted after the times of delta.deletedFileRetentionDuration and delta.logRetentionDuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from pipelines.delta.by_spark import check_for_spark
from pipelines.delta.conforming import open_conforming
from pipelines.delta.tables import identifier, set_properties
from pipelines.dialects import Sql
from pipelines.lake import Lake
from pipelines.tables.contract import FEED_RETENTION_DAYS, Contract
from replica.errors import UsageError

LEAST_RETENTION_DAYS = 7
"""Delta's own default: younger files may still be read, or be about to be committed."""
_FILE_RETENTION = "delta.deletedFileRetentionDuration"
_CHANGE_FEED = "delta.enableChangeDataFeed"
_LOG_RETENTION = "delta.logRetentionDuration"
_DEFAULTS = {_FILE_RETENTION: "interval 1 week", _LOG_RETENTION: "interval 30 days"}


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
    table = identifier(lake.path_of(contract))
    detail = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]
    properties = detail["properties"]
    feed = properties.get(_CHANGE_FEED) == "true"
    least = FEED_RETENTION_DAYS if feed else LEAST_RETENTION_DAYS
    promised = -(-_span(properties, _FILE_RETENTION) // timedelta(days=1))
    days = max(least, retain_days, promised)
    if dry_run:
        unneeded = None if days > promised else _unneeded(spark, table)
        return Upkeep(days, detail["numFiles"], None, unneeded, None)
    if days > promised:
        set_properties(spark, lake.path_of(contract), {_FILE_RETENTION: f"interval {days} days"})
    compacted = spark.sql(f"OPTIMIZE {table}").collect()[0]["metrics"]
    change = compacted["numFilesAdded"] - compacted["numFilesRemoved"]
    unneeded = _unneeded(spark, table)
    if unneeded:  # VACUUM writes two entries to the log even where there is nothing to delete
        spark.sql(f"VACUUM {table}")
    deleted = _clean_log(spark, lake, contract, _span(properties, _LOG_RETENTION))
    return Upkeep(days, detail["numFiles"], detail["numFiles"] + change, unneeded, deleted)


def _span(properties: Mapping[str, str], name: str) -> timedelta:
    """A span of time of the table's properties, or Delta's default. Raises UsageError for a unit
    that Delta doesn't take."""
    text = properties.get(name, _DEFAULTS[name])
    _, number, unit = text.split()
    try:
        return timedelta(**{unit.removesuffix("s") + "s": int(number)})
    except TypeError:
        raise UsageError(f"{name} = {text!a}: no span of weeks, days, hours, ...") from None


def _unneeded(spark: SparkSession, table: Sql) -> int:
    found = spark.sql(f"VACUUM {table} DRY RUN")
    return found.where("path LIKE '%.parquet'").count()  # VACUUM names folders, too


def _clean_log(spark: SparkSession, lake: Lake, contract: Contract, retention: timedelta) -> int:
    """Deletes expired entries, as Delta does at every tenth commit, which some tables never
    reach. Gives their number.

    Entries from which newer versions are made stay, whatever their age.
    """
    before = _commit_times(spark, lake, contract)
    if datetime.now(UTC) - datetime.fromtimestamp(min(before) / 1000, UTC) <= retention:
        return 0
    table = open_conforming(lake, contract)
    table.create_checkpoint()
    table.cleanup_metadata()
    return len(before) - len(_commit_times(spark, lake, contract))


def _commit_times(spark: SparkSession, lake: Lake, contract: Contract) -> list[int]:
    """The times (ms since the epoch) of the commits whose entries still exist."""
    history = spark.sql(f"DESCRIBE HISTORY {identifier(lake.path_of(contract))}")
    return [row["at"] for row in history.selectExpr("unix_millis(timestamp) AS at").collect()]

"""Upkeep of a table within what its properties promise.

Small files become large ones. Data files of old versions (VACUUM) and old entries of Delta's log
are deleted after the times of delta.deletedFileRetentionDuration and delta.logRetentionDuration.

Spark does this work. Whether a table needs it is found out without Spark, because a statement of
Spark's takes a second or more for each table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.delta.by_spark import check_for_spark
from pipelines.delta.conforming import open_conforming
from pipelines.delta.tables import identifier, set_properties
from pipelines.dialects import Sql
from pipelines.lake import Lake
from pipelines.lake.delta_log import LOG_FOLDER, commit_times_ns, files_in
from pipelines.tables.contract import FEED_RETENTION_DAYS, Contract
from replica.errors import UsageError

LEAST_RETENTION_DAYS = 7
"""Delta's own default: younger files may still be read, or be about to be committed."""
_DAY_NS = 86_400 * 10**9
_FILE_RETENTION = "delta.deletedFileRetentionDuration"
_CHANGE_FEED = "delta.enableChangeDataFeed"
_LOG_RETENTION = "delta.logRetentionDuration"
_DEFAULTS = {_FILE_RETENTION: "interval 1 week", _LOG_RETENTION: "interval 30 days"}


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The work of an upkeep, or the work that a dry run would do. None stands for a number that a
    dry run can't know."""

    retention_days: int
    """For how many days files that a commit removed stay on disk."""
    files: int
    """The number of files of the newest version, before the upkeep."""
    files_after: int | None
    """The number of files of the newest version, after the upkeep; None where it isn't known."""
    deleted_files: int | None
    """The number of deleted data files; None where it isn't known."""
    deleted_log_entries: int | None
    """The number of deleted entries of _delta_log; None where it isn't known."""


def upkeep(
    spark: SparkSession, lake: Lake, contract: Contract, *, retain_days: int = 0, dry_run: bool
) -> Upkeep:
    """Does the upkeep of the table, and gives what was done. A second run finds nothing to do.

    retain_days: the days for which files are kept, where the table asks for fewer. The table's
    properties have this number from then on, because VACUUM obeys only these. dry_run: change
    nothing.
    """
    table = open_conforming(lake, contract)
    properties, files = table.metadata().configuration, _files(table)
    feed = properties.get(_CHANGE_FEED) == "true"
    least = FEED_RETENTION_DAYS if feed else LEAST_RETENTION_DAYS
    promised = -(-_span(properties, _FILE_RETENTION) // timedelta(days=1))
    days = max(least, retain_days, promised)
    place = identifier(lake.path_of(contract))
    if dry_run and days > promised:
        return Upkeep(days, len(files), None, None, None)
    has_old = _has_old(lake, contract, files, days)
    if has_old or (not dry_run and (days > promised or len(files) > 1)):
        check_for_spark(spark, lake, contract)
    if dry_run:
        unneeded = _unneeded(spark, place) if has_old else 0
        return Upkeep(days, len(files), None, unneeded, None)
    if days > promised:
        set_properties(spark, lake.path_of(contract), {_FILE_RETENTION: f"interval {days} days"})
    change = _compact(spark, place) if len(files) > 1 else 0
    unneeded = _unneeded(spark, place) if has_old else 0
    if unneeded:  # VACUUM writes two entries to the log even where there is nothing to delete
        spark.sql(f"VACUUM {place}")
    deleted = _clean_log(lake, contract, _span(properties, _LOG_RETENTION))
    return Upkeep(days, len(files), len(files) + change, unneeded, deleted)


def _files(table: DeltaTable) -> set[str]:
    """The data files of the version that is open, by their paths in the table's folder."""
    return set(table.get_add_actions().column("path").to_pylist())


def _has_old(lake: Lake, contract: Contract, files: set[str], days: int) -> bool:
    """Whether there are data files besides `files` that nobody has changed for `days` days. VACUUM
    deletes only such files."""
    before_ns = time.time_ns() - days * _DAY_NS
    return any(
        path.endswith(".parquet") and modified_ns < before_ns and path not in files
        for path, modified_ns, _ in files_in(lake.table_uri(contract.name))
        if not path.startswith(f"{LOG_FOLDER}/")
    )


def _compact(spark: SparkSession, place: Sql) -> int:
    """Runs OPTIMIZE. Gives the number of added files minus the number of removed files."""
    metrics = spark.sql(f"OPTIMIZE {place}").collect()[0]["metrics"]
    return int(metrics["numFilesAdded"] - metrics["numFilesRemoved"])


def _span(properties: Mapping[str, str], name: str) -> timedelta:
    """A span of time of the table's properties, or Delta's default. Raises UsageError for a unit
    that Delta doesn't take."""
    text = properties.get(name, _DEFAULTS[name])
    _, number, unit = text.split()
    try:
        return timedelta(**{unit.removesuffix("s") + "s": int(number)})
    except TypeError:
        raise UsageError(f"{name} = {text!a}: no span of weeks, days, hours, ...") from None


def _unneeded(spark: SparkSession, place: Sql) -> int:
    """The number of data files that VACUUM would delete."""
    found = spark.sql(f"VACUUM {place} DRY RUN")
    return found.where("path LIKE '%.parquet'").count()  # VACUUM names folders, too


def _clean_log(lake: Lake, contract: Contract, retention: timedelta) -> int:
    """Deletes expired entries, as Delta does at every tenth commit, which some tables never
    reach. Gives their number.

    Entries from which newer versions are made stay, whatever their age.
    """
    before = commit_times_ns(lake.table_uri(contract.name))
    if time.time_ns() - min(before) <= retention // timedelta(microseconds=1) * 1000:
        return 0
    table = open_conforming(lake, contract)
    table.create_checkpoint()
    table.cleanup_metadata()
    return len(before) - len(commit_times_ns(lake.table_uri(contract.name)))

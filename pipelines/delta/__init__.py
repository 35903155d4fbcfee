"""The only place that writes Delta.

tables       reads, overwrites, merges into and removes from tables by delta-spark; makes tables,
             and checks them against their contracts, by delta-rs
conforming   whether a table is as its contract says
by_spark     the same for a table as Spark sees it, before Spark reads or writes
compacting   small files of a table joined into larger ones
committing   one commit of files that tasks or the driver wrote, with their statistics, by delta-rs
task_files   append where the tasks write the Parquet files themselves: for bulk loads
few_rows     rows of tables by SQL, by delta-rs
writing      adds rows of the driver to a table, merges them by their keys, or replaces all by them
unit_commits what the units of a build made: one commit for each table
failures     the meaning of what Spark and Delta raise
upkeep       OPTIMIZE, VACUUM and old log entries, within what a table promises
"""

from __future__ import annotations

from pipelines.delta.committing import WriteTarget, Written, commit
from pipelines.delta.few_rows import (
    answer,
    rows_where,
    values,
    version,
)
from pipelines.delta.tables import (
    ensure_table,
    exists,
    merge,
    overwrite,
    read,
    register,
    remove,
    vacuum,
)
from pipelines.delta.task_files import PendingAppend
from pipelines.delta.writing import add_values, merge_values
from pipelines.lake import Lake
from pipelines.new_file import NewFile

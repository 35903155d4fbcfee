"""The only place that writes Delta.

lake         where the tables lie
creation     tables made and held to their contracts, by delta-rs
tables       thin functions over delta-spark: append, overwrite, merge, read
direct       append where the tasks write the Parquet files themselves: for bulk loads
small        small tables read into one partition, by delta-rs
replacing    content replaced, and rows of the driver added, in the same way, by delta-rs
transaction  the one Delta commit behind it, by Delta's own code
actions      what such a commit says of files, as Delta's JSON
changing     the same for a table with a change data feed, by what changed
upkeep       OPTIMIZE, VACUUM and old log entries, within what a table promises
evolution    a table's columns brought to its contract
lake_versions  the table of who wrote the lake, by delta-rs
"""

from __future__ import annotations

from pipelines.delta.changing import replace_by_merge
from pipelines.delta.creation import ensure_table
from pipelines.delta.direct import Written, append_directly, last_transaction
from pipelines.delta.lake import Lake
from pipelines.delta.replacing import add, add_values, replace
from pipelines.delta.small import Reading, Size, read_newest, size, text, values
from pipelines.delta.tables import (
    Commit,
    Merged,
    append,
    exists,
    last_commit,
    merge,
    overwrite,
    read,
    register,
    remove,
    vacuum,
)

__all__ = [
    "Commit",
    "Lake",
    "Merged",
    "Reading",
    "Size",
    "Written",
    "add",
    "add_values",
    "append",
    "append_directly",
    "ensure_table",
    "exists",
    "last_commit",
    "last_transaction",
    "merge",
    "overwrite",
    "read",
    "read_newest",
    "register",
    "remove",
    "replace",
    "replace_by_merge",
    "size",
    "text",
    "vacuum",
    "values",
]

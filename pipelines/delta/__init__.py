"""The only place that writes Delta.

tables       lakes, and thin functions over delta-spark: append, overwrite, merge, read
direct       append where the tasks write the Parquet files themselves: for bulk loads
transaction  the one Delta commit behind it, by Delta's own code
actions      what such a commit says of files, as Delta's JSON
upkeep       OPTIMIZE, VACUUM and old log entries, within what a table promises
evolution    a table's columns brought to its contract
lake_versions  the table of who wrote the lake, by delta-rs
"""

from __future__ import annotations

from pipelines.delta.direct import Written, append_directly, last_transaction
from pipelines.delta.tables import (
    Commit,
    Lake,
    Merged,
    append,
    ensure_table,
    exists,
    last_commit,
    merge,
    overwrite,
    read,
    register,
    remove,
    replace_by_merge,
    vacuum,
    version,
)

__all__ = [
    "Commit",
    "Lake",
    "Merged",
    "Written",
    "append",
    "append_directly",
    "ensure_table",
    "exists",
    "last_commit",
    "last_transaction",
    "merge",
    "overwrite",
    "read",
    "register",
    "remove",
    "replace_by_merge",
    "vacuum",
    "version",
]

"""Which tables a lake holds, found without Spark: folders <lake>/<schema>/<table>/_delta_log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.lake import OWN, SCHEMAS, Lake
from pipelines.lake.links import refuse_links
from pipelines.lake.schema_version import check_schema_version
from pipelines.object_store import check_bucket, opened
from pipelines.own_folder import names_in
from replica.errors import UsageError

_LOG = "_delta_log"
NAMES = frozenset(
    f"{schema}.{name}"
    for schema, names in (
        (
            "bronze",
            "captures damage findings lake_versions log_batches log_records replica_state "
            "snapshot_records snapshots",
        ),
        ("silver", "capture_groups committed_log leader_epochs log_runs voter_sets"),
        (
            "gold",
            "batch_sizes divergence_points elections failure_exposure findings "
            "leader_epoch_history log_growth metadata_changes metadata_history quality_results "
            "quarantined_rows replica_status retention_forecast snapshot_cadence "
            "snapshot_validity state_ranges truncations verdicts voter_beliefs votes",
        ),
    )
    for name in names.split()
)
"""The names of kraftlake's tables in a lake; the tables that users add (is_own) are not among them.
They repeat pipelines.tables, which can't be imported here because it loads Spark's types."""
_OWN_NAME = re.compile(rf"{OWN}\.[a-z][a-z0-9_]{{0,99}}")


def is_own(name: str) -> bool:
    """Whether a table of this name is an own table, which a user has added to a lake."""
    return _OWN_NAME.fullmatch(name) is not None


def _is_table(name: str) -> bool:
    """Whether a table may have this name. A folder of any other name is no table, whatever it
    holds."""
    return name in NAMES or is_own(name)


def check_table(table: str, tables: Sequence[str]) -> None:
    """Raises UsageError for a table that a lake doesn't have. tables: the tables that it has."""
    if table not in tables:
        raise UsageError(f"{table}: the lake has no such table; it has {', '.join(tables)}")


def tables_of(lake: Lake) -> tuple[str, ...]:
    """`schema.table` of every table, sorted by layer.

    Raises UsageError where there is no lake, or a lake of another schema version, or a lake with
    links in it (pipelines.lake.links), and UnreadableFileError where an object store refuses.
    """
    refuse_links(lake)
    check_schema_version(lake)  # first: another release may keep its tables elsewhere
    return _remote_tables(lake) if lake.is_remote else _local_tables(lake.folder)


def check_lake(lake: Lake) -> None:
    """Raises the errors of `tables_of`. Spark's own errors would come late and be hard to read."""
    tables_of(lake)


def _local_tables(root: Path) -> tuple[str, ...]:
    if not root.is_dir():
        raise UsageError(f"--lake {root}: no such folder; `kraftlake ingest --lake` makes a lake")
    found = [
        f"{schema}.{name}"
        for schema in SCHEMAS
        for name in sorted(names_in(root / schema))
        if _is_table(f"{schema}.{name}") and (root / schema / name / _LOG).is_dir()
    ]
    if not found:
        raise UsageError(
            f"--lake {root}: no tables in it (expected {'/, '.join(SCHEMAS[:-1])}/); "
            "run `kraftlake ingest --lake` first, or name the folder above them"
        )
    return tuple(found)


def _remote_tables(lake: Lake) -> tuple[str, ...]:
    from pyarrow import fs  # for remote lakes only: it takes a quarter of a second

    found: list[str] = []
    with opened(lake.place) as (store, root):
        for schema in SCHEMAS:
            selector: Any = fs.FileSelector(f"{root.rstrip('/')}/{schema}", allow_not_found=True)
            names = sorted(entry.base_name for entry in store.get_file_info(selector))
            found += [one for name in names if _is_table(one := f"{schema}.{name}")]
        if not found:
            check_bucket(store, root, lake.place)
    if not found:
        raise UsageError(f"--lake {lake}: no tables in it; run `kraftlake ingest --lake` first")
    return tuple(found)

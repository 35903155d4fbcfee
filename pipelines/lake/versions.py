"""bronze.lake_versions: which releases have written to a lake."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter

from pipelines.delta import add_values, ensure_table, values
from pipelines.lake import Lake
from pipelines.tables.bronze import LAKE_VERSIONS

_CHECKOUT = "unknown"
"""The release of code that isn't installed."""


def note_written(lake: Lake, schema_version: int, *, is_new: bool) -> None:
    """Adds a row to bronze.lake_versions, unless the newest row has this release and this schema
    version already.

    is_new: whether the lake has no tables yet. The caller must hold the lake's lock.
    """
    ensure_table(lake, LAKE_VERSIONS)
    rows = values(lake, LAKE_VERSIONS, LAKE_VERSIONS.column_names)
    wanted = {"schema_version": schema_version, "release": release()}
    if not rows or not wanted.items() <= max(rows, key=itemgetter("at")).items():
        action = "created" if is_new else "written"
        add_values(lake, LAKE_VERSIONS, [{"at": datetime.now(UTC), "action": action, **wanted}])


def release() -> str:
    """This release of kraftlake, such as 1.2.0; "unknown" where kraftlake isn't installed."""
    try:
        return version("kraftlake")
    except PackageNotFoundError:
        return _CHECKOUT

"""Writes bronze.lake_versions by delta-rs, because a Spark job for a single row takes seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import TableNotFoundError

from pipelines.lake import Lake
from pipelines.lake.delta_rs import WRITER, open_table
from pipelines.object_store import storage_options
from pipelines.tables.bronze import LAKE_VERSIONS

_SCHEMA = pa.schema(
    field.with_metadata({"comment": column.description})
    for field, column in zip(LAKE_VERSIONS.arrow_schema, LAKE_VERSIONS.columns, strict=True)
)
_CHECKOUT = "unknown"
"""The release of code that isn't installed."""


@dataclass(frozen=True, slots=True)
class LakeVersion:
    """A row of bronze.lake_versions."""

    at: datetime
    action: str
    schema_version: int
    release: str


def lake_versions(lake: Lake) -> list[LakeVersion]:
    """All rows, oldest first. Empty for a lake without such a table."""
    try:
        table = open_table(lake.table_uri(LAKE_VERSIONS.name))
    except TableNotFoundError:
        return []
    rows = table.to_pyarrow_table(columns=list(LAKE_VERSIONS.column_names)).to_pylist()
    return [LakeVersion(**row) for row in sorted(rows, key=lambda row: row["at"])]


def note_written(lake: Lake, schema_version: int, *, is_new: bool) -> None:
    """Add a row, unless the last one has this release and version already.

    is_new: whether the lake has no tables yet. The caller must hold the lake's lock.
    """
    rows = lake_versions(lake)
    if rows and (rows[-1].schema_version, rows[-1].release) == (schema_version, release()):
        return
    _append(lake, "created" if is_new else "written", schema_version)


def release() -> str:
    """This release of kraftlake."""
    try:
        return version("kraftlake")
    except PackageNotFoundError:
        return _CHECKOUT


def _append(lake: Lake, action: str, schema_version: int) -> None:
    row = [datetime.now(UTC), action, schema_version, release()]
    columns = [pa.array([value], field.type) for value, field in zip(row, _SCHEMA, strict=True)]
    write_deltalake(
        lake.table_uri(LAKE_VERSIONS.name),
        pa.Table.from_arrays(columns, schema=_SCHEMA),
        mode="append",
        storage_options=storage_options(lake.place),
        description=LAKE_VERSIONS.description,
        writer_properties=WRITER,
    )

"""Tables opened by delta-rs, which needs no JVM: of local lakes and of those in object stores."""

from __future__ import annotations

from deltalake import DeltaTable

from pipelines.object_store import storage_options


def open_table(uri: str, version: int | None = None) -> DeltaTable:
    """The table at a version, by default the newest. uri: pipelines.lake_paths.table_uri's.

    Raises what deltalake raises: TableNotFoundError, DeltaError, OSError.
    """
    return DeltaTable(uri, version=version, storage_options=storage_options(uri))

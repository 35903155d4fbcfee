"""Tables opened by delta-rs, which needs no JVM: of local lakes and of those in object stores."""

from __future__ import annotations

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipelines.object_store import is_s3, meaning, storage_options
from replica.errors import UnreadableFileError


def open_table(uri: str, version: int | None = None) -> DeltaTable:
    """The table at a version, by default the newest. uri: pipelines.lake_paths.table_uri's.

    Raises what deltalake raises: TableNotFoundError, DeltaError, OSError; but UnreadableFileError
    for what is known to be an object store's refusal.
    """
    try:
        return DeltaTable(uri, version=version, storage_options=storage_options(uri))
    except (DeltaError, OSError) as error:
        means = meaning(str(error)) if is_s3(uri) else None
        if means is None:
            raise
        raise UnreadableFileError(uri, means) from error

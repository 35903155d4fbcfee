"""Which release's tables a lake holds: a number that rises when a table's meaning changes."""

from __future__ import annotations

from pipelines import lake_files
from replica.errors import UsageError

FILE_NAME = "_schema_version"
VERSION = 3
"""1: before this file. 2: what a replica's newest capture holds is open-ended in log_batches,
which has spans of every state. 3: captures tell their round, and whether their time is their own.
pipelines.upgrading brings a lake from one to the next."""


def schema_version(lake: str) -> int | None:
    """Of the lake's tables, None where it has none yet. UsageError where its file is unreadable."""
    content = lake_files.read(lake, FILE_NAME)
    if content is None:
        return 1 if lake_files.has_folder(lake, "bronze/captures/_delta_log") else None
    try:
        return int(content)
    except ValueError as error:
        raise UsageError(
            f"{lake}/{FILE_NAME}: not a number: restore it, or use a new lake"
        ) from error


def check_schema_version(lake: str) -> None:
    """UsageError where the lake's tables are of another version; an empty one is of none."""
    refuse_newer(lake)
    found = schema_version(lake)
    if found is not None and found < VERSION:
        raise UsageError(
            f"{lake}: its tables are of schema version {found}, this release has {VERSION}: run "
            f"`kraftlake lake --lake {lake} --upgrade`, or use the release that made it"
        )


def refuse_newer(lake: str) -> None:
    """UsageError where a later release made the lake's tables, which may mean what nobody knows."""
    found = schema_version(lake)
    if found is not None and found > VERSION:
        raise UsageError(
            f"{lake}: its tables are of schema version {found}, made by a newer kraftlake; this "
            f"one knows {VERSION}: install the newer one here, or use another lake"
        )


def write_schema_version(lake: str, version: int = VERSION) -> None:
    """Say of which version the lake's tables are; before the first of them is made."""
    lake_files.write(lake, FILE_NAME, f"{version}\n".encode("ascii"))

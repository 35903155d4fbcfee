"""The schema version of a lake: a number that rises when the meaning of its tables changes."""

from __future__ import annotations

from pipelines.lake import Lake
from replica.errors import UsageError

FILE_NAME = "_schema_version"
VERSION = 5
"""Raise this number with a change that gives a table of an existing lake another meaning or another
column."""


def schema_version(lake: Lake) -> int | None:
    """The version of the lake's tables. None where the lake has none yet.

    A lake with tables but without the file of the version has version 0. Raises UsageError where
    that file holds no number.
    """
    content = lake.read(FILE_NAME)
    if content is None:
        return 0 if lake.has_folder("bronze/captures/_delta_log") else None
    try:
        return int(content)
    except ValueError as error:
        raise UsageError(
            f"{lake}/{FILE_NAME}: not a number: restore it, or use a new lake"
        ) from error


def check_schema_version(lake: Lake) -> None:
    """Raises UsageError where the lake's tables have another schema version than this release:
    their columns may mean something else.

    A lake without tables passes.
    """
    found = schema_version(lake)
    if found is None or found == VERSION:
        return
    told = f"{lake}: its tables are of schema version {found}"
    if found > VERSION:
        raise UsageError(
            f"{told}, made by a newer kraftlake; this one knows {VERSION}: install the newer one "
            "here, or use another lake"
        )
    raise UsageError(
        f"{told}, this release has {VERSION}: use the release that made it, or ingest the captures "
        "into a new lake"
    )


def write_schema_version(lake: Lake, version: int = VERSION) -> None:
    """Notes the version of the lake's tables, before the first table is made."""
    lake.write(FILE_NAME, f"{version}\n".encode("ascii"))

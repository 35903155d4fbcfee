"""Which release's tables a lake holds: a number that rises when a table's meaning changes."""

from __future__ import annotations

from pipelines import lake_files
from replica.errors import UsageError

FILE_NAME = "_schema_version"
VERSION = 2
"""1: before this file. 2: what a replica's newest capture holds is open-ended in log_batches,
which has spans of every state."""


def check_schema_version(lake: str) -> None:
    """UsageError where a lake with bronze tables is of another version; an empty one is of none."""
    content = lake_files.read(lake, FILE_NAME)
    if content is not None:
        text = content.decode("ascii", "replace").strip()
    else:
        text = "1" if lake_files.has_folder(lake, "bronze/captures/_delta_log") else ""
    if text not in ("", str(VERSION)):
        raise UsageError(
            f"{lake}: its tables are of schema version {text}, this release has {VERSION}: "
            "ingest the captures into a new lake, or use the release that made it"
        )


def write_schema_version(lake: str) -> None:
    """Say that the lake's tables are of this release; before the first of them is made."""
    lake_files.write(lake, FILE_NAME, f"{VERSION}\n".encode("ascii"))

"""Which release's tables a lake holds: a number that rises when a table's meaning changes."""

from __future__ import annotations

from pathlib import Path

from replica.errors import UsageError

FILE_NAME = "_schema_version"
VERSION = 2
"""1: before this file. 2: what a replica's newest capture holds is open-ended in log_batches,
which has spans of every state."""


def check_schema_version(lake: str) -> None:
    """UsageError where a lake with bronze tables is of another version; an empty one is of none."""
    path = Path(lake, FILE_NAME)
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        text = "1" if Path(lake, "bronze", "captures", "_delta_log").is_dir() else ""
    except ValueError:
        text = "?"
    if text not in ("", str(VERSION)):
        raise UsageError(
            f"{lake}: its tables are of schema version {text}, this release has {VERSION}: "
            "ingest the captures into a new lake, or use the release that made it"
        )


def write_schema_version(lake: str) -> None:
    """Say that the lake's tables are of this release; before the first of them is made."""
    Path(lake, FILE_NAME).write_text(f"{VERSION}\n", encoding="ascii")

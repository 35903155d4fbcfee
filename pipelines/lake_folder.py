"""A lake's folder before a job writes to it: whether this user can. It is asked before Spark starts,
whose own words for it are a stack trace.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipelines import lake_files
from pipelines.lake_paths import is_remote, local_path
from replica.errors import UnwritableFileError


def check_writable(lake: str, schemas: Sequence[str]) -> None:
    """UnwritableFileError naming the first folder of the lake in which this user can't make files:
    the lake's own, or one of a table of these schemas. A lake that isn't there is left to whoever
    makes it."""
    if is_remote(lake):
        _try_file(lake)
        return
    root = Path(local_path(lake))
    if not root.exists():
        return
    _try_file(lake)
    for folder in _table_folders(root, schemas):
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
            raise UnwritableFileError(str(folder), _refusal("this user may not write"))


_EFFECTIVE = os.access in os.supports_effective_ids


def _try_file(lake: str) -> None:
    """Makes a file and removes it: the only way to know."""
    name = f"_trial.{uuid.uuid4().hex}"
    try:
        lake_files.write(lake, name, b"")
        lake_files.remove(lake, name)
    except OSError as error:
        raise UnwritableFileError(lake, _refusal(error.strerror or str(error))) from error


def _refusal(reason: str) -> str:
    return (
        f"{reason}; nothing was changed. Give the user of this process (uid {os.geteuid()}) the "
        "right to write there, or mount it to be written"
    )


def _table_folders(root: Path, schemas: Sequence[str]) -> Iterator[Path]:
    for schema in schemas:
        layer = root / schema
        if not layer.is_dir():
            continue
        yield layer
        for table in sorted(layer.iterdir()):
            if (table / "_delta_log").is_dir():
                yield from (table, table / "_delta_log")

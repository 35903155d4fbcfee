"""Checks a lake's folder before a job writes to it: whether a lake may be made there, and whether
this user can write.

Both are checked before anything is written and before Spark starts, because Spark would show a
stack trace.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipelines.lake import Lake
from pipelines.lake.schema_version import schema_version
from pipelines.object_store import opened, shown_uri
from pipelines.own_folder import names_in, refuse_foreign_names
from replica.errors import UnwritableFileError

_OURS = (
    "_forgetting", "_ingest", "_last_build", "_own_tables", "_pass_over", "_quality",
    "_redaction", "_schema_version", "_spool", "_streams", "_trial",
)  # fmt: skip
"""Beginnings of the names that a job makes in a lake beside its tables. An ingest that ended early
may have left some."""


def refuse_foreign(lake: Lake) -> None:
    """Raises UsageError for a folder, or a prefix of an object store, that holds other things and
    no lake; UnreadableFileError where it can't be listed."""
    if schema_version(lake) is not None:
        return
    place = f"--lake {shown_uri(lake.place)}"
    refuse_foreign_names(place, _names(lake), lambda name: name.startswith(_OURS), "lake")


def check_writable(lake: Lake, schemas: Sequence[str]) -> None:
    """Raises UnwritableFileError, which names the first folder of the lake in which this user can't
    make files: the lake's own, or one of a table of these schemas. A lake that doesn't exist yet
    passes."""
    if lake.is_remote:
        _try_file(lake)
        return
    root = lake.folder
    if not root.exists():
        return
    _try_file(lake)
    for folder in _table_folders(root, schemas):
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
            raise UnwritableFileError(str(folder), _refusal("this user may not write"))


_EFFECTIVE = os.access in os.supports_effective_ids


def _try_file(lake: Lake) -> None:
    """Makes a file and removes it, because only this shows whether the user can write."""
    name = f"_trial.{uuid.uuid4().hex}"
    try:
        lake.write(name, b"")
        lake.remove(name)
    except OSError as error:
        raise UnwritableFileError(lake.place, _refusal(error.strerror or str(error))) from error


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


def _names(lake: Lake) -> list[str]:
    if not lake.is_remote:
        return names_in(lake.folder)
    from pyarrow import fs  # Only remote lakes need it, and it takes a quarter of a second.

    with opened(lake.place) as (store, root):
        selector: Any = fs.FileSelector(root.rstrip("/"), allow_not_found=True)
        return [entry.base_name for entry in store.get_file_info(selector)]

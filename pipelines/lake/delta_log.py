"""Refuses a table's Delta log that holds what kraftlake doesn't write, because the lake may come
from a stranger.

Engines read different parts of a log: Spark takes compacted logs, delta-rs doesn't. What one of
them has checked, another might then not see. And checkpoints may name files anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pipelines.lake.links import refuse_paths_elsewhere
from replica.errors import UnreadableFileError

_FOLDER = "_delta_log"
_NUMBERED = re.compile(r"\d{19,20}\.(json|crc|checkpoint\.parquet)(#\d+)?")
"""The files of Spark and delta-rs, by their versions. delta-rs writes drafts that end with #1."""
_CHECKPOINT = ".checkpoint.parquet"
_READER_FEATURES = {"variantType"}
_PATHS_IN = ("add", "remove", "cdc")


def refuse_odd_log(folder: str) -> None:
    """Raises UnreadableFileError where the log of a local table has something else than commits and
    plain checkpoints: compacted logs, parts, sidecars, folders."""
    log = os.path.join(folder, _FOLDER)
    for entry in _entries(log):
        name = entry.name
        if name.startswith("."):  # Readers pass over these.
            continue
        is_filled = entry.is_dir() and bool(_entries(entry.path))  # Spark makes empty folders
        if is_filled or (name[0].isdigit() and not _NUMBERED.fullmatch(name)):
            raise UnreadableFileError(
                os.path.join(log, name), "kraftlake writes no such thing into a table's log"
            )
        if name.endswith(_CHECKPOINT):
            found = entry.stat()
            _refuse_sidecars(entry.path, found.st_mtime_ns, found.st_size)


def refuse_other_protocol(uri: str, least_reader: int, features: list[str] | None) -> None:
    """Raises UnreadableFileError for a table whose protocol asks of readers what no table that
    kraftlake writes asks: deletion vectors, names of columns that are mapped, and so on."""
    odd = sorted({*(features or ())} - _READER_FEATURES)
    if least_reader == 2:
        odd = ["columnMapping"]
    if odd:
        raise UnreadableFileError(
            uri, f"its readers need {', '.join(odd)}, which kraftlake's tables never do"
        )


def refuse_commit_elsewhere(uri: str, folder: str, version: int) -> None:
    """Raises UnreadableFileError where a commit of a local table, whose changes are to be read,
    names files elsewhere or has rows of them deleted by vectors."""
    try:
        with open(os.path.join(folder, _FOLDER, f"{version:020}.json"), "rb") as file:
            actions = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return  # The reader says it better.
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableFileError(uri, f"commit {version} is no Delta commit") from error
    named = list(_named(actions))
    refuse_paths_elsewhere(uri, (str(one.get("path")) for one in named))
    if any(one.get("deletionVector") for one in named):
        raise UnreadableFileError(uri, "its log has deletion vectors, which kraftlake never writes")


def _named(actions: list[Any]) -> Iterator[dict[str, Any]]:
    for action in actions:
        for kind in _PATHS_IN:
            found = action.get(kind) if isinstance(action, dict) else None
            if isinstance(found, dict):
                yield found


@lru_cache(maxsize=4096)
def _refuse_sidecars(path: str, modified_ns: int, size: int) -> None:
    """Raises UnreadableFileError where a checkpoint can't be read, or names further files.

    The function remembers its answers. modified_ns and size are those of the file, so that a
    changed file is read again."""
    from pipelines.data_files import values_of  # This loads pyarrow; few tables have checkpoints.

    try:
        named = [one for one in values_of(path, "sidecar") if one is not None]
    except (OSError, ValueError) as error:
        raise UnreadableFileError(path, f"no checkpoint: {' '.join(str(error).split())}") from error
    if named:
        raise UnreadableFileError(path, "it names further files, which kraftlake's never do")


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # The code that opens the table says that.
        return []

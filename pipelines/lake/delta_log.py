"""Refuses a table's Delta log that holds what kraftlake doesn't write, because the lake may come
from a stranger.

Engines read different parts of a log: Spark reads compacted logs, delta-rs doesn't. So one engine
might not see what another has checked. And checkpoints may name files anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pipelines.lake.footers import refuse_lying_footers
from pipelines.lake.links import refuse_paths_elsewhere
from pipelines.object_store import is_uri, opened
from replica.errors import UnreadableFileError

LOG_FOLDER = "_delta_log"
_NUMBERED = re.compile(r"\d{19,20}\.(json|crc|checkpoint\.parquet)(#\d+)?")
"""The names of the files that Spark and delta-rs write for a version. A draft of delta-rs ends with
#1."""
_COMMIT = re.compile(r"\d{20}\.json")
_CHECKPOINT = ".checkpoint.parquet"
_READER_FEATURES = {"variantType"}
_PATHS_IN = ("add", "remove", "cdc")


def refuse_odd_log(uri: str) -> None:
    """Raises UnreadableFileError where the log of a table has something else than commits and plain
    checkpoints: compacted logs, parts, sidecars, folders. uri: the form of Lake.table_uri."""
    log = f"{uri}/{LOG_FOLDER}"
    for path, modified_ns, size in files_in(log):
        name, slash, _ = path.partition("/")
        if name.startswith("."):  # readers ignore these files
            continue
        if slash or (name[0].isdigit() and not _NUMBERED.fullmatch(name)):
            raise UnreadableFileError(
                f"{log}/{name}", "kraftlake writes no such thing into a table's log"
            )
        if name.endswith(_CHECKPOINT):
            _refuse_sidecars(f"{log}/{name}", modified_ns, size)


def refuse_other_protocol(uri: str, least_reader: int, features: list[str] | None) -> None:
    """Raises UnreadableFileError for a table that a reader can read only with a feature which
    kraftlake's own tables never use, such as deletion vectors or column mapping.

    least_reader: minReaderVersion of the table's protocol action. features: its readerFeatures;
    None where the action has none.
    """
    odd = sorted({*(features or ())} - _READER_FEATURES)
    if least_reader == 2:
        odd = ["columnMapping"]
    if odd:
        raise UnreadableFileError(
            uri, f"its readers need {', '.join(odd)}, which kraftlake's tables never do"
        )


def refuse_commit_elsewhere(uri: str, version: int) -> None:
    """Raises UnreadableFileError where a commit of a table, whose changes are to be read, names
    files outside the table's folder, files whose footer claims more bytes than the file has, or
    deletion vectors. A commit that can't be opened passes."""
    try:
        with _opened(f"{uri}/{LOG_FOLDER}/{version:020}.json") as file:
            content = file.read()
    except (OSError, UnreadableFileError):
        return  # the reader raises a better error
    try:
        actions = [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(uri, f"commit {version} is no Delta commit") from error
    named = list(_named(actions))
    paths = [str(one.get("path")) for one in named]
    refuse_paths_elsewhere(uri, paths)
    refuse_lying_footers(uri, zip(paths, map(_size_of, named), strict=True))
    if any(one.get("deletionVector") for one in named):
        raise UnreadableFileError(uri, "its log has deletion vectors, which kraftlake never writes")


def _named(actions: list[Any]) -> Iterator[dict[str, Any]]:
    for action in actions:
        for kind in _PATHS_IN:
            found = action.get(kind) if isinstance(action, dict) else None
            if isinstance(found, dict):
                yield found


def _size_of(action: dict[str, Any]) -> int | None:
    """A file's size in bytes by the log. None where the log lacks it, as it may where a file is
    removed."""
    size = action.get("size")
    return size if isinstance(size, int) else None


@lru_cache(maxsize=4096)
def _refuse_sidecars(path: str, modified_ns: int, size: int) -> None:
    """Raises UnreadableFileError where a checkpoint can't be read, or names further files.

    The function remembers its answers. modified_ns and size are those of the file, so that a
    changed file is read again."""
    from pipelines.data_files import values_of  # This loads pyarrow; few tables have checkpoints.

    with _opened(path) as file:
        try:
            named = [one for one in values_of(file, "sidecar") if one is not None]
        except (OSError, ValueError) as error:
            reason = f"no checkpoint: {' '.join(str(error).split())}"
            raise UnreadableFileError(path, reason) from error
    if named:
        raise UnreadableFileError(path, "it names further files, which kraftlake's never do")


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """The file at a local path or a URI. Raises OSError, UnreadableFileError."""
    if not is_uri(path):
        with open(path, "rb") as file:
            yield file
        return
    with opened(path) as (store, key), store.open_input_file(key) as file:
        yield file


def files_in(folder: str) -> Iterator[tuple[str, int, int]]:
    """The files in a folder and in folders below it: path below the folder, time of change in ns,
    and size in bytes. Yields nothing where a local folder can't be listed: the code that opens the
    table raises the error. Raises UnreadableFileError where an object store refuses. folder: a
    local path or a URI."""
    if is_uri(folder):
        with opened(folder) as (store, root):
            from pyarrow import fs

            selector: Any = fs.FileSelector(root, recursive=True, allow_not_found=True)
            for info in store.get_file_info(selector):
                if info.is_file:
                    below = info.path.removeprefix(f"{root}/")
                    yield below, info.mtime_ns or 0, info.size or 0
        return
    for entry in _entries(folder):
        inner = _entries(entry.path) if entry.is_dir() else [entry]  # Spark makes empty folders
        for one in inner:
            found = one.stat(follow_symlinks=False)
            yield os.path.relpath(one.path, folder), found.st_mtime_ns, found.st_size


def commit_times_ns(uri: str) -> list[int]:
    """The time of each commit that a table's log still has, in ns since 1970 (UTC): when its entry
    was written. uri: the table's place, in the form of Lake.table_uri."""
    entries = files_in(f"{uri}/{LOG_FOLDER}")
    return [modified_ns for path, modified_ns, _ in entries if _COMMIT.fullmatch(path)]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []

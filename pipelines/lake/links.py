"""Refuses what a lake of files must not contain, because the lake may come from a stranger.

Through a link in place of a table's folder or file, a reader would open, and VACUUM would delete,
files elsewhere. A pipe would let a reader wait. A path in a commit, such as ../../other.parquet,
would name a file elsewhere. kraftlake writes none of these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from pipelines.lake.lake import SCHEMAS, Lake
from replica.errors import UnreadableFileError, UsageError


def refuse_links(lake: Lake) -> None:
    """Raises UsageError for a lake on a file system that has something other than folders and files
    among its tables, or in the place of its small files. What vanishes meanwhile is skipped. The
    lake's own folder may be a link, because its user has named it."""
    if lake.is_remote:
        return
    for entry in _entries(lake.folder):
        if entry.name in SCHEMAS or entry.name.startswith("_"):
            _refuse_odd(lake, entry)
        if entry.name in SCHEMAS:
            for inner in _all_below(entry.path):
                _refuse_odd(lake, inner)


_PLAIN = re.compile(r"(_change_data/)?[A-Za-z0-9_][A-Za-z0-9_=.-]*")
"""The paths that Spark and delta-rs write. Other paths may be read in several ways: delta-rs takes
a backslash for a slash."""


def refuse_paths_elsewhere(uri: str, paths: Iterable[str]) -> None:
    """Raises UnreadableFileError where a path in a table's commits isn't the plain name of a file
    in the table's folder.

    uri: the table's place, for the message.
    """
    for path in paths:
        if not _PLAIN.fullmatch(path):
            raise UnreadableFileError(
                uri, f"its log names the file {path!a}, which is not in the table's folder"
            )


def _refuse_odd(lake: Lake, entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        what = "a symbolic link"
    elif not (entry.is_dir() or entry.is_file()):
        what = "no regular file"
    else:
        return
    raise UsageError(
        f"--lake {lake}: {entry.path} is {what}: a lake's files lie in its own folder; move what "
        "belongs to it there"
    )


def _all_below(folder: str) -> Iterator[os.DirEntry[str]]:
    for entry in _entries(folder):
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _all_below(entry.path)


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # It vanished; the code that opens it reports that.
        return []

"""Bringing the Kafka files below a URI (s3://, gs://, hdfs://, ...) to a local folder."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from replica.errors import UnreadableFileError, UsageError
from replica.format.capture import FILE_NAME as CAPTURE_FILE
from replica.format.file_names import FileKind, classify

_URI = re.compile(r"[a-z][a-z0-9+.-]*://.+", re.IGNORECASE)


def is_uri(path: str) -> bool:
    """Whether a path is a URI that pyarrow.fs may know, and no local path."""
    return _URI.fullmatch(path) is not None


def download(uri: str, folder: str) -> int:
    """Copy every Kafka file at or below the URI to `folder`, keeping relative paths.

    Returns the number of files. Raises UsageError for a scheme pyarrow doesn't know or a URI with
    nothing below it, UnreadableFileError where the store refuses.
    """
    from pyarrow import ArrowInvalid, fs  # a heavy import, needed for URIs only

    try:
        store, root = fs.FileSystem.from_uri(uri)
    except (ArrowInvalid, ValueError) as error:
        raise UsageError(f"{uri}: {_first_line(error)}") from error
    except OSError as error:
        raise UnreadableFileError(uri, _first_line(error)) from error
    try:
        files = _wanted(store, root)
        for path in files:
            _copy(store, path, _target(root, path, folder))
    except OSError as error:
        raise UnreadableFileError(uri, _first_line(error)) from error
    if not files:
        raise UsageError(f"{uri}: no Kafka metadata file below it")
    return len(files)


def _wanted(store: object, root: str) -> list[str]:
    from pyarrow import fs

    info = store.get_file_info(root)  # type: ignore[attr-defined]
    if info.type == fs.FileType.File:
        return [root]
    selector = fs.FileSelector(root, recursive=True)
    entries = store.get_file_info(selector)  # type: ignore[attr-defined]
    return [
        entry.path for entry in entries if entry.type == fs.FileType.File and _known(entry.path)
    ]


def _known(path: str) -> bool:
    name = PurePosixPath(path).name
    return name == CAPTURE_FILE or classify(name).kind is not FileKind.OTHER


def _target(root: str, path: str, folder: str) -> Path:
    relative = os.path.relpath(path, root)
    return Path(folder, PurePosixPath(path).name if relative == "." else relative)


def _copy(store: object, path: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with store.open_input_stream(path) as source, target.open("xb") as out:  # type: ignore[attr-defined]
        while chunk := source.read(8 * 1024 * 1024):
            out.write(chunk)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]

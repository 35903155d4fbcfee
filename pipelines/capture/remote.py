"""Reads the files below a URI (s3://, gs://, hdfs://, ...), and copies them to a local folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from pipelines.capture.patience import patiently
from pipelines.capture.private import make_folder, new_file, room_for_strangers
from pipelines.object_store import check_bucket, is_unreachable, is_uri, opened, reason, shown_uri
from replica import path_text
from replica.errors import UnreadableFileError, UsageError
from replica.format import capture, meta_properties, quorum_properties, quorum_state
from replica.format.damage import Damage, DamageKind
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.snapshot import BOOTSTRAP_NAME, DRAFT_FOLDER

_BESIDE = (
    capture.FILE_NAME, capture.PART_NAME,
    meta_properties.FILE_NAME, quorum_properties.FILE_NAME, BOOTSTRAP_NAME,
)  # fmt: skip
"""Files that lie above a partition's folder."""
_CHUNK_BYTES = 8 * 1024 * 1024
GROWTH_BYTES = 64 * 1024 * 1024
"""The bytes of a file that are read beyond its listed size, because a log may have grown since. The
bound keeps an object that never ends from filling the disk."""
LISTING_S, CHUNK_S = 120.0, 300.0
"""The most seconds that a listing may take, and that 8 MiB of an object may take."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file below a URI."""

    uri: str
    relative: str
    """The file's path below the URI; "" where the URI is the file's own."""
    path: str
    """The file's path in its store."""
    size_bytes: int | None
    """The size that the store lists; None where it lists no size."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The result of a download."""

    file: str | None
    """The local copy where the URI names a single file, else None."""
    damages: tuple[Damage, ...]
    """Files that could not be read, by their shown URIs."""


def download(uri: str, folder: str) -> Downloaded:
    """Copy the files of the metadata directories at or below the URI, with their relative paths.

    Raises UsageError for a scheme that pyarrow doesn't know, or a URI with nothing below it;
    UnreadableFileError where the store refuses everything, can't be reached, or lists more bytes
    than half of the disk's free space. A single file that can't be read, or ends before the size
    that is listed, is a damage.
    """
    files = remote_files(uri)
    if not files:
        raise UsageError(f"{shown_uri(uri)}: no Kafka metadata file below it")
    damages = copy_files(uri, files, folder)
    if len(damages) == len(files):
        raise UnreadableFileError(damages[0].file, damages[0].detail)
    single = None if files[0].relative else str(Path(folder, files[0].name))
    return Downloaded(single, tuple(damages))


def copy_files(uri: str, files: Sequence[RemoteFile], folder: str) -> list[Damage]:
    """Copies the files, which lie at or below the URI, with their relative paths. Gives a damage
    for each file that can't be read. Raises UnreadableFileError as `download` does."""
    _check_room(uri, sum(file.size_bytes or 0 for file in files), folder)
    damages = []
    with opened(files[0].uri) as (store, _):
        for file in files:
            shown = shown_uri(file.uri)
            try:
                patiently(partial(_copy, store, file, folder), shown, CHUNK_S, "8 MiB of it")
            except OSError as error:
                if is_unreachable(error):
                    raise
                damages.append(Damage(0, 0, DamageKind.UNREADABLE, reason(error, uri), shown))
    return damages


def remote_files(uri: str) -> list[RemoteFile]:
    """The files of the metadata directories at or below a URI, and the files that Kafka keeps above
    such directories.

    Directories are found as among local paths: a folder called __cluster_metadata-0, one with a
    quorum-state file, or the one that the URI names. A URI of a file stands for this file,
    whatever its name. Raises UsageError and UnreadableFileError as `download` does.
    """
    with opened(uri) as (store, root):
        from pyarrow import fs

        info = store.get_file_info(root)
        if info.type == fs.FileType.NotFound:
            check_bucket(store, root, uri)
            raise UsageError(f"{shown_uri(uri)}: no such file or directory")
        if info.type == fs.FileType.File:
            return [RemoteFile(uri, "", root, info.size)]
        below = fs.FileSelector(root, recursive=True)
        entries = patiently(
            lambda _: store.get_file_info(below), shown_uri(uri), LISTING_S, "its listing"
        )
        sizes = {each.path: each.size for each in entries if each.type == fs.FileType.File}
    prefix = root.rstrip("/") + "/"
    # an object store allows keys such as a/../b, which no folder can have
    relative = {
        path.removeprefix(prefix): path
        for path in sorted(sizes)
        if path.startswith(prefix) and path_text.is_below(path.removeprefix(prefix))
    }
    return [
        RemoteFile(_joined(uri, name), name, relative[name], sizes[relative[name]])
        for name in _wanted(relative)
    ]


def read_remote(uri: str, start: int, end: int | None) -> bytes:
    """The bytes start (inclusive) to end (exclusive) of the file at a URI; to the file's end where
    `end` is None."""
    with opened(uri) as (store, path), store.open_input_file(path) as file:
        size = file.size() if end is None else end
        return bytes(file.read_at(max(0, size - start), start))


def size_of(uri: str) -> int:
    """The size in bytes of the file at a URI."""
    with opened(uri) as (store, path), store.open_input_file(path) as file:
        return int(file.size())


def _wanted(relative: Iterable[str]) -> list[str]:
    files = [PurePosixPath(name) for name in relative]
    marked = {file.parent for file in files if file.name == quorum_state.FILE_NAME}
    return [
        str(file)
        for file in files
        if file.name in _BESIDE
        or (
            classify(file.name).kind is not FileKind.OTHER
            and any(
                folder in marked or folder.name == METADATA_FOLDER or not folder.name
                for folder in _folders(file)
            )
        )
    ]


def _folders(file: PurePosixPath) -> Iterator[PurePosixPath]:
    """The possible folders of the partition that a file belongs to."""
    yield file.parent
    if file.parent.name == DRAFT_FOLDER:
        yield file.parent.parent


def _joined(uri: str, relative: str) -> str:
    base, mark, query = uri.partition("?")
    return f"{base.rstrip('/')}/{relative}{mark}{query}"


def _check_room(uri: str, size: int, folder: str) -> None:
    make_folder(Path(folder))
    if size > room_for_strangers(folder):
        raise UnreadableFileError(
            shown_uri(uri),
            f"the store lists {size} bytes here, more than half of the free space of {folder}: "
            "name less of it, or have TMPDIR or the lake on a larger disk",
        )


def _copy(store: Any, file: RemoteFile, folder: str, step: Callable[[], None]) -> None:
    """Copies a file. Raises OSError, and leaves no copy, where the store sends fewer bytes than it
    lists."""
    target = Path(folder, file.relative or file.name)
    make_folder(target.parent)
    listed, copied = file.size_bytes, 0
    most = sys.maxsize if listed is None else listed + GROWTH_BYTES
    with store.open_input_stream(file.path) as source, new_file(target) as out:
        while chunk := source.read(min(_CHUNK_BYTES, most - copied)):
            out.write(chunk)
            copied += len(chunk)
            step()
    if listed is not None and copied < listed:
        target.unlink()
        raise OSError(f"the store lies: it sends {copied} bytes of {listed} that it lists")


def file_name(path: str) -> str:
    """The last part of a local path or of a URI."""
    return os.path.basename(path.partition("?")[0] if is_uri(path) else path)

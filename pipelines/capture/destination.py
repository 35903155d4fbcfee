"""Where a capture is written: a local folder, or a place in an object store.

Files and folders that exist there may be a stranger's. In a local folder no link is followed: each
part of a path is opened below the part before it. A file is always made new, because an existing
one may be a second name of a file elsewhere. Folders of other users are refused. Only the owner may
read the files and folders that are made.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Protocol

from pipelines.capture.private import FOLDER_MODE, new_file
from pipelines.object_store import is_uri, opened, reason, shown_uri
from pipelines.own_folder import refuse_in_log_directory
from replica.errors import FileSystemError, UnwritableFileError, UsageError
from replica.format.byte_source import OpenFile
from replica.format.capture import CapturedFile
from replica.format.content_hash import content_hash
from replica.format.file_names import classify
from replica.message.primitives import Buffer

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR)
"""The errors of open(2) for a link with O_NOFOLLOW, without and with O_DIRECTORY."""

_WITH_FOLDERS = ("local", "hdfs")
"""pyarrow's names of file systems that have folders. In others a folder is only the beginning of
names."""


class CaptureDestination(Protocol):
    """Files by their paths, '/' between the parts, below one root. Raises UnwritableFileError."""

    def read(self, path: str) -> bytes | None:
        """The file's bytes. None where there is no such file."""

    def write(self, path: str, blocks: Iterable[Buffer]) -> None:
        """Write a file with exactly these bytes, and make the folders above it."""

    def replace(self, path: str, data: bytes) -> None:
        """Writes the file as `write` does, but atomically: after a crash there is the old file or
        the new one."""

    def delete(self, path: str) -> None:
        """Delete the file, if it exists."""

    def refuse_links(self, path: str) -> None:
        """Raises UnwritableFileError where `delete` would refuse the path because of a link."""

    def holds(self, file: CapturedFile) -> bool:
        """Whether the file is there with its content. In an object store only the size is compared
        here; the content is compared by hash when the capture is read."""

    def is_empty(self) -> bool:
        """Whether there is no file at or below the root."""


@contextmanager
def destination_at(place: str) -> Iterator[CaptureDestination]:
    """The destination at a place: a folder, made where it is missing, or a URI of pyarrow.fs.

    Raises UsageError for a folder that is a link, that another user owns, that everybody may write
    to, or that lies in a node's log directory.
    """
    if not is_uri(place):
        with _local(os.path.abspath(place), place) as local:
            yield local
        return
    with opened(place, UnwritableFileError) as (store, root):
        if store.type_name == "local":
            with _local(os.path.abspath(root), shown_uri(place)) as local:
                yield local
        else:
            yield _Store(store, root.rstrip("/"), place)


@contextmanager
def _local(root: str, shown: str) -> Iterator[CaptureDestination]:
    is_new = False
    refuse_in_log_directory(shown, root)
    try:
        os.makedirs(os.path.dirname(root), exist_ok=True)
    except OSError as error:
        why = "not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise UnwritableFileError(shown, f"{error.filename}: {why}") from error
    try:
        with suppress(FileExistsError):
            os.mkdir(root, FOLDER_MODE)
            is_new = True
        handle = os.open(root, _FOLDER)
    except OSError as error:
        if os.path.islink(root):
            raise UsageError(f"{shown}: a link: name the folder that it leads to") from error
        raise UnwritableFileError(shown, error.strerror or str(error)) from error
    try:
        distrust = None if is_new else _distrust(os.fstat(handle))
        if distrust is not None:
            raise UsageError(f"{shown}: {distrust}; name another folder")
        yield _Folder(handle, shown)
    finally:
        os.close(handle)


def _distrust(folder: os.stat_result) -> str | None:
    """The reason not to write to a folder that was there before; None where there is no reason."""
    if folder.st_uid != os.geteuid():
        return f"another user owns it (uid {folder.st_uid})"
    if folder.st_mode & stat.S_IWOTH:
        return "everybody may write to it"
    return None


class _Folder(CaptureDestination):
    """A local folder. handle: the folder, open as long as this object is used."""

    def __init__(self, handle: int, shown: str) -> None:
        self._root = handle
        self._shown = shown

    def read(self, path: str) -> bytes | None:
        with suppress(FileNotFoundError), self._opened(path) as file:
            return file.read_all()
        return None

    def _opened(self, path: str) -> OpenFile:
        """The file for reading. Raises FileNotFoundError where there is no such file."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._inside(path) as (folder, name):
            handle = os.open(name, flags, dir_fd=folder)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise UnwritableFileError(f"{self._shown}/{path}", "expected a plain file")
        return OpenFile(f"{self._shown}/{path}", handle, status.st_size)

    def write(self, path: str, blocks: Iterable[Buffer]) -> None:
        with self._inside(path, make=True) as (folder, name):
            self._remove(path, folder, name)
            with new_file(name, folder) as file:
                file.writelines(blocks)

    def replace(self, path: str, data: bytes) -> None:
        draft = f"{path}.new"
        self.write(draft, [data])
        with self._inside(path) as (folder, name):
            os.replace(draft.rpartition("/")[2], name, src_dir_fd=folder, dst_dir_fd=folder)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError), self._inside(path) as (folder, name):
            self._remove(path, folder, name)

    def holds(self, file: CapturedFile) -> bool:
        name = classify(file.path.rpartition("/")[2])
        with suppress(FileNotFoundError), self._opened(file.path) as found:
            if found.size == file.size_bytes:
                return content_hash(name, found) == file.content_hash
        return False

    def is_empty(self) -> bool:
        with self._refusals(""):
            return all(not files for _, _, files, _ in os.fwalk(".", dir_fd=self._root))

    def refuse_links(self, path: str) -> None:
        with suppress(FileNotFoundError), self._inside(path) as (folder, name):
            self._refuse_link(path, folder, name)

    def _remove(self, path: str, folder: int, name: str) -> None:
        with suppress(FileNotFoundError):
            self._refuse_link(path, folder, name)
            os.unlink(name, dir_fd=folder)

    def _refuse_link(self, path: str, folder: int, name: str) -> None:
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise _is_link(f"{self._shown}/{path}")

    @contextmanager
    def _inside(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """(the open folder that holds the file, the file's name in it). make: whether missing
        folders above the file are made; without it a missing one raises FileNotFoundError."""
        *names, file_name = path.split("/")
        with self._refusals(path), ExitStack() as opened_folders:
            folder = self._root
            for name in names:
                folder = self._below(folder, name, path, make=make)
                opened_folders.callback(os.close, folder)
            yield folder, file_name

    def _below(self, folder: int, name: str, path: str, *, make: bool) -> int:
        is_new = False
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, FOLDER_MODE, dir_fd=folder)
                is_new = True
        below = os.open(name, _FOLDER, dir_fd=folder)
        why = None if is_new else _distrust(os.fstat(below))
        if why is not None:
            os.close(below)
            raise UnwritableFileError(f"{self._shown}/{path}", f"{name}: {why}")
        return below

    @contextmanager
    def _refusals(self, path: str) -> Iterator[None]:
        shown = f"{self._shown}/{path}" if path else self._shown
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in _LINK_ERRORS:
                raise _is_link(shown) from error
            raise UnwritableFileError(shown, error.strerror or str(error)) from error


def _is_link(shown: str) -> FileSystemError:
    why = "a link, or no folder, is in the way, and no link is followed: name another folder"
    return UnwritableFileError(shown, why)


class _Store(CaptureDestination):
    """A place in a file system of pyarrow.fs."""

    def __init__(self, store: Any, root: str, place: str) -> None:
        self._store = store
        self._root = root
        self._place = place

    def read(self, path: str) -> bytes | None:
        reading = partial(self._store.open_input_stream, f"{self._root}/{path}")
        with self._refusals(path), suppress(FileNotFoundError), reading() as source:
            return bytes(source.read())
        return None

    def write(self, path: str, blocks: Iterable[Buffer]) -> None:
        absolute = f"{self._root}/{path}"
        with self._refusals(path):
            if self._store.type_name in _WITH_FOLDERS:
                self._store.create_dir(os.path.dirname(absolute), recursive=True)
            with self._store.open_output_stream(absolute) as out:
                for block in blocks:
                    out.write(block)

    def replace(self, path: str, data: bytes) -> None:
        self.write(path, [data])  # A store shows an object only when it is whole.

    def delete(self, path: str) -> None:
        with self._refusals(path), suppress(FileNotFoundError):
            self._store.delete_file(f"{self._root}/{path}")

    def holds(self, file: CapturedFile) -> bool:
        with self._refusals(file.path):
            info = self._store.get_file_info(f"{self._root}/{file.path}")
            return bool(info.is_file and info.size == file.size_bytes)

    def is_empty(self) -> bool:
        from pyarrow import fs

        selector = fs.FileSelector(self._root, allow_not_found=True, recursive=True)
        with self._refusals(""):
            return not any(info.is_file for info in self._store.get_file_info(selector))

    def refuse_links(self, path: str) -> None:
        return  # An object store has no links.

    @contextmanager
    def _refusals(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or reason(error, self._place)
            raise UnwritableFileError(f"{shown_uri(self._place)}/{path}", why) from None

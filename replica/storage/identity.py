"""The file meta.properties, which names the owner of a directory. The command `format` writes this
file once (Kafka: StorageTool)."""

from __future__ import annotations

from replica.errors import DataError, UsageError
from replica.format import meta_properties
from replica.format.meta_properties import FILE_NAME
from replica.model.keys import ReplicaId
from replica.storage.filesystem import FileSystem, read_whole, replace_durably

_MAX_BYTES = 1024 * 1024


def write_identity(
    files: FileSystem, folder: str, replica: ReplicaId, comments: tuple[str, ...] = ()
) -> None:
    """Durable: make the node's log directory, and write meta.properties into it. comments: lines at
    the top of the file, such as the date that Java writes.

    Raises UsageError if the directory already has a meta.properties: the owner of a directory never
    changes.
    """
    files.make_directory(folder)
    if FILE_NAME in files.names(folder):
        raise UsageError(f"{folder}/{FILE_NAME}: already formatted; format an empty directory")
    content = meta_properties.new_meta_properties(replica, comments)
    replace_durably(files, folder, FILE_NAME, meta_properties.encode(content))


def read_identity(files: FileSystem, folder: str) -> ReplicaId | None:
    """The replica that meta.properties names. None if the directory isn't formatted, or if the file
    names no replica.

    Raises DataError, which names file and byte, for a damaged file.
    """
    if FILE_NAME not in files.names(folder):
        return None
    path = f"{folder}/{FILE_NAME}"
    try:
        return meta_properties.decode(read_whole(files, path, _MAX_BYTES)).replica
    except DataError as error:
        raise error.in_file(path) from error

"""The files of one segment: their kinds, their paths, and how all of them are removed."""

from __future__ import annotations

from replica.format.file_names import INDEX_KINDS, FileKind, segment_file_name
from replica.storage.filesystem import FileSystem

KINDS = (FileKind.SEGMENT, *INDEX_KINDS)
MAX_INDEX_FILE_BYTES = 64 * 1024 * 1024


def segment_path(folder: str, base_offset: int, kind: FileKind) -> str:
    return f"{folder}/{segment_file_name(base_offset, kind)}"


def remove_segment(files: FileSystem, folder: str, base_offset: int) -> None:
    """Remove all files of a segment durably. Kafka's producer snapshot is one of them."""
    there = set(files.names(folder))
    for kind in (*KINDS, FileKind.PRODUCER_SNAPSHOT):
        if segment_file_name(base_offset, kind) in there:
            files.remove(segment_path(folder, base_offset, kind))
    files.sync_directory(folder)

"""The files of one segment: their kinds and paths, and how they are made and removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.format.file_names import INDEX_KINDS, FileKind, segment_file_name
from replica.storage.filesystem import File, FileSystem, read_whole

KINDS = (FileKind.SEGMENT, *INDEX_KINDS)
_MAX_INDEX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The files of the segment in `folder` whose first batch has `base_offset`."""

    files: FileSystem
    folder: str
    base_offset: int

    def path(self, kind: FileKind = FileKind.SEGMENT) -> str:
        return f"{self.folder}/{segment_file_name(self.base_offset, kind)}"

    def open(self, kind: FileKind = FileKind.SEGMENT) -> File:
        """Open and return the segment's file of this kind, which must exist. The caller closes
        it."""
        return self.files.open(self.path(kind))

    def offset_index(self) -> bytes:
        """The bytes of the whole .index file."""
        return read_whole(self.files, self.path(FileKind.OFFSET_INDEX), _MAX_INDEX_FILE_BYTES)

    def missing(self, *kinds: FileKind) -> list[FileKind]:
        there = self.files.names(self.folder)
        return [kind for kind in kinds if segment_file_name(self.base_offset, kind) not in there]

    def make(self, kinds: Sequence[FileKind]) -> None:
        """Durable: make empty files of these kinds."""
        for kind in kinds:
            self.files.create(self.path(kind)).close()
        self.files.sync_directory(self.folder)

    def remove(self) -> None:
        """Durable: remove all files of the segment, including Kafka's producer snapshot."""
        kinds = (*KINDS, FileKind.PRODUCER_SNAPSHOT)
        missing = self.missing(*kinds)
        for kind in kinds:
            if kind not in missing:
                self.files.remove(self.path(kind))
        self.files.sync_directory(self.folder)

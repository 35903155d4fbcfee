"""`Damage`: a place of a file that could not be read. Readers report every place that they skip."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from enum import StrEnum

MAX_RAW_BYTES = 64 * 1024
"""The most raw bytes of a damage that are kept. `length` counts all bytes."""


_BROKEN_DISK = frozenset(map(os.strerror, (errno.EIO, errno.EBADMSG, errno.ENXIO)))
"""The texts of the errors by which the operating system reports a disk that is broken or gone."""


class DamageKind(StrEnum):
    """Kinds of damage; the values are those of bronze.damage.kind."""

    CRC_MISMATCH = "crc-mismatch"
    """The batch is whole, but the CRC in its header is not the CRC of its bytes."""
    FRAMING = "framing"
    """Bytes that aren't a batch. Reading continued at the next batch with a valid CRC."""
    TORN_TAIL = "torn-tail"
    """The segment ends with a part of a batch."""
    ZERO_HOLE = "zero-hole"
    """A run of zero bytes between batches, as a crash leaves in a sparse file."""
    OFFSET_GAP = "offset-gap"
    """The next batch starts above the offset that follows the batch before it."""
    OFFSET_MISMATCH = "offset-mismatch"
    """The batch's base offset goes back, or contradicts both neighbouring batches."""
    UNSUPPORTED_MAGIC = "unsupported-magic"
    """A batch with a magic other than 2."""
    RECORD = "record"
    """A record can't be decoded although its batch's CRC is valid."""
    CONTENT = "content"
    """A checkpoint, index or state file can't be decoded."""
    EMPTY_FILE = "empty-file"
    """The file is empty, although a file of its kind must not be empty."""
    UNREADABLE = "unreadable"
    """The operating system refused to read the file."""
    CHANGED = "changed-while-read"
    """The file was removed before it was opened, or changed while the log was read."""
    NOT_KAFKA = "not-kafka"
    """A file or folder that was given holds nothing that kraftlake reads: a file of an unknown
    kind, a folder without a metadata directory, segment or snapshot, or a bundle inside a
    bundle."""
    UNIDENTIFIED = "unidentified"
    """The directory doesn't name the replica to which it belongs."""
    HOSTILE_NAME = "hostile-name"
    """The name of an archive's member leads out of the archive, or its size exceeds the limits."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place of a file, or a file that can't be read."""

    position: int
    """The byte of the file at which the damage begins."""
    length: int
    """The length of the damaged part in bytes; 0 if something is missing at the position."""
    kind: DamageKind
    detail: str
    """What is damaged, in one line for people."""
    file: str = ""
    """The name of the file; empty until it is known."""

    @property
    def is_of_broken_disk(self) -> bool:
        """Whether the disk failed to read the bytes, so that other permissions would not help."""
        return self.kind is DamageKind.UNREADABLE and self.detail in _BROKEN_DISK

    def in_file(self, file: str) -> Damage:
        return replace(self, file=file)

    def __str__(self) -> str:
        return f"{self.file}: byte {self.position}: {self.kind}: {self.detail}"

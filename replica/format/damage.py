"""`Damage`: a place of a file that could not be read. Readers name every place that they skip."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from enum import StrEnum

MAX_RAW_BYTES = 64 * 1024
"""The most raw bytes that are kept of a damage. `length` counts all of its bytes."""


_BROKEN_DISK = frozenset(map(os.strerror, (errno.EIO, errno.EBADMSG, errno.ENXIO)))
"""The error numbers by which the operating system reports a disk that is broken or gone."""


class DamageKind(StrEnum):
    """Kinds of damage; the values are those of bronze.damage.kind."""

    CRC_MISMATCH = "crc-mismatch"
    """The batch's frame is whole, but its CRC-32C is not that of its bytes."""
    FRAMING = "framing"
    """Bytes that are no batch; reading went on at the next batch with a right CRC."""
    TORN_TAIL = "torn-tail"
    """The segment ends with a part of a batch."""
    ZERO_HOLE = "zero-hole"
    """A run of zero bytes between batches, as a crash leaves in a sparse file."""
    OFFSET_GAP = "offset-gap"
    """The next batch starts above the offset that follows the batch before it."""
    OFFSET_MISMATCH = "offset-mismatch"
    """The batch's base offset goes back, or contradicts both its neighbours."""
    UNSUPPORTED_MAGIC = "unsupported-magic"
    """A batch of another magic than 2."""
    RECORD = "record"
    """A record doesn't decode though its batch's CRC is right."""
    CONTENT = "content"
    """A checkpoint, index or state file doesn't decode."""
    EMPTY_FILE = "empty-file"
    """The file is empty, and a file of its kind must not be."""
    UNREADABLE = "unreadable"
    """The operating system refused to read the file."""
    CHANGED = "changed-while-read"
    """The file was gone when it was opened, or changed while the log was read."""
    NOT_KAFKA = "not-kafka"
    """The user named a file whose kind kraftlake doesn't know."""
    UNIDENTIFIED = "unidentified"
    """The directory doesn't say which replica it belongs to."""
    HOSTILE_NAME = "hostile-name"
    """The name of a bundle's member leads out of the bundle, or its size exceeds the limits."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place of a file, or a file that can't be read."""

    position: int
    """The byte of the file at which the damage begins."""
    length: int
    """The length of the damaged part in bytes; 0 where something is missing at the position."""
    kind: DamageKind
    detail: str
    """What is damaged, in one line for people."""
    file: str = ""
    """The name of the file; empty until it is known."""

    @property
    def is_of_broken_disk(self) -> bool:
        """Whether the disk could not give the bytes: no right to read would change that."""
        return self.kind is DamageKind.UNREADABLE and self.detail in _BROKEN_DISK

    def in_file(self, file: str) -> Damage:
        return replace(self, file=file)

    def __str__(self) -> str:
        return f"{self.file}: byte {self.position}: {self.kind}: {self.detail}"

"""What could not be read, as a value: nothing a reader skips goes unnamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

MAX_RAW_BYTES = 64 * 1024
"""Raw bytes kept with one damage; the rest is counted in `length` and stays in the file."""


class DamageKind(StrEnum):
    """Kinds of damage; the values are those of bronze.damage.kind."""

    CRC_MISMATCH = "crc-mismatch"
    """The batch's frame is whole, its CRC-32C is not that of its bytes."""
    FRAMING = "framing"
    """Bytes that start no batch; reading went on at the next batch with a right CRC."""
    TORN_TAIL = "torn-tail"
    """The last bytes of a segment are the beginning of a batch only."""
    ZERO_HOLE = "zero-hole"
    """A run of zero bytes between batches, as a crash leaves in a sparse file."""
    OFFSET_GAP = "offset-gap"
    """The next batch starts above the offset that follows the batch before it."""
    OFFSET_MISMATCH = "offset-mismatch"
    """A batch whose base offset goes back, or contradicts both its neighbours."""
    UNSUPPORTED_MAGIC = "unsupported-magic"
    """A batch of another magic than 2."""
    RECORD = "record"
    """A record that does not decode inside a batch whose CRC is right."""
    CONTENT = "content"
    """A checkpoint, index or state file that does not decode."""
    EMPTY_FILE = "empty-file"
    """Zero bytes where the kind of file needs content."""
    UNREADABLE = "unreadable"
    """The operating system refused to give the file's bytes."""
    CHANGED = "changed-while-read"
    """The file was gone when it was opened, or another one before and after the log was read."""
    NOT_KAFKA = "not-kafka"
    """A file that was named by the user and is of no kind known here."""
    UNIDENTIFIED = "unidentified"
    """A directory that does not say which replica it is of."""
    HOSTILE_NAME = "hostile-name"
    """A bundle's member whose name or size would reach outside the bundle's limits."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place.

    position, length: bytes in the file; length 0 where the damage is an absence.
    detail: one line for a person.
    file: set once known.
    """

    position: int
    length: int
    kind: DamageKind
    detail: str
    file: str = ""

    def in_file(self, file: str) -> Damage:
        return replace(self, file=file)

    def __str__(self) -> str:
        return f"{self.file}: byte {self.position}: {self.kind}: {self.detail}"

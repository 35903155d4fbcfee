"""Record batches as the consensus core sees them: offsets, epoch and control records. The core
doesn't read a batch's bytes."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.control import ControlRecord


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch with its place in a log."""

    base_offset: int
    """The offset of the first record (inclusive)."""
    last_offset: int
    """The offset of the last record (inclusive)."""
    epoch: int
    timestamp: int = -1
    """The append time (ms), which is the batch's max timestamp."""
    control: tuple[ControlRecord, ...] = ()
    """The control records that concern Raft, in order, one for each offset from base_offset on."""
    data: bytes = b""
    """The bytes of the batch on disk. In a proposed batch, the log sets the base offset and the
    leader epoch, which the CRC doesn't cover. A batch that the core itself made has no data: the
    log encodes `control`, or `values`, the values of the state machine's records."""
    values: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.base_offset <= self.last_offset, "a batch holds at least one offset"

    @property
    def end_offset(self) -> int:
        """The end offset of the batch (exclusive)."""
        return self.last_offset + 1

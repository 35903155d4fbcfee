"""Record batches as the consensus core sees them: offsets, epoch, control records; the bytes of a
batch stay opaque."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.control import ControlRecord


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch with its place in a log.

    base_offset, last_offset: both inclusive. timestamp: append time in ms (its max timestamp).
    control: the control records that concern Raft, in order: those of a control batch, each with
    its own offset from base_offset on. data: the batch as it lies on disk. A leader's new batch
    carries what its proposer encoded, and the log stamps base offset and leader epoch, which a
    batch's CRC doesn't cover. A batch that this core made has no data: the log encodes `control`,
    or `values`, the records that its state machine appended.
    """

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int = -1
    control: tuple[ControlRecord, ...] = ()
    data: bytes = b""
    values: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.base_offset <= self.last_offset, "a batch holds at least one offset"

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.last_offset + 1

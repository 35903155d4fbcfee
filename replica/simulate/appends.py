"""Checks what clients see: a client invokes an append, which is acknowledged later or never.

Linearizable means three things. Each acknowledged batch is in the log once, at the acknowledged
offset. A batch without an acknowledgement is in the log once or not at all. A batch that was
invoked after an acknowledgement comes after the acknowledged batch. Clients see only the batches
that the replicas' state machines get.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.format.batch import CRC_START
from replica.raft.roles import Leader
from replica.simulate.broken import broken, demand
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import Ledger


@dataclass(slots=True, eq=False)
class InvokedAppend:
    """The append of one batch.

    leader, epoch: the replica at which the append was invoked, and the replica's epoch.
    floor: the end offset (exclusive) of all batches that were acknowledged before.
    offset: the batch's base offset; None until a state machine gets the batch.
    """

    leader: SimulatedHost
    epoch: int
    floor: int
    offset: int | None = None
    is_acknowledged: bool = False


class Appends:
    """All appends of a run. The key of an append is the bytes that its batch's CRC covers, which
    are different for each batch."""

    def __init__(self) -> None:
        self._appends: dict[bytes, InvokedAppend] = {}
        self._acknowledged_end = 0

    @property
    def acknowledged(self) -> int:
        """The number of appends that were acknowledged."""
        return sum(append.is_acknowledged for append in self._appends.values())

    def invoked(self, leader: SimulatedHost, epoch: int, batches: Sequence[bytes]) -> None:
        """Note that a client appends these batches. The base offset and the epoch in the bytes of a
        batch don't matter."""
        for data in batches:
            content = data[CRC_START:]
            assert content not in self._appends, "no two appends are alike"
            self._appends[content] = InvokedAppend(leader, epoch, self._acknowledged_end)

    def handed(self, host: SimulatedHost) -> None:
        """Note that a host's state machine got committed batches. If the host leads, the batches of
        its clients count as acknowledged."""
        role = host.raft.role
        for batch in host.committed:
            if batch.control:
                continue
            append = self._appends.get(batch.data[CRC_START:])
            if append is None:
                broken("linearizable", f"offset {batch.base_offset}: appended by nobody")
            self._place(append, batch.base_offset)
            if append.leader is host and isinstance(role, Leader) and role.epoch == append.epoch:
                append.is_acknowledged = True
                self._acknowledged_end = max(self._acknowledged_end, batch.end_offset)

    def ended(self, ledger: Ledger) -> None:
        """Check at the end that every acknowledged batch is in the committed log."""
        for content, append in self._appends.items():
            if append.is_acknowledged:
                entry = ledger.entries.get(-1 if append.offset is None else append.offset)
                there = entry is not None and entry.data[CRC_START:] == content
                demand(there, "linearizable", f"acknowledged offset {append.offset} is gone")

    def _place(self, append: InvokedAppend, offset: int) -> None:
        if append.offset is None:
            append.offset = offset
            late = f"offset {offset} was invoked when all below {append.floor} was acknowledged"
            demand(offset >= append.floor, "linearizable", late)
        twice = f"one append at offsets {append.offset} and {offset}"
        demand(append.offset == offset, "linearizable", twice)

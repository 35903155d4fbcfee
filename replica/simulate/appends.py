"""What clients see: an append is invoked, and then acknowledged or never heard of again.

Linearizable means three things. Each acknowledged batch is in the log once, at the acknowledged
offset. A batch whose outcome is unknown is in the log once or not at all. An append that was
invoked after an acknowledgement lies behind the acknowledged batch. Clients see only what the
replicas' machines are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.format.batch import CRC_START
from replica.raft.roles import Leader
from replica.simulate.broken import demand
from replica.simulate.host import SimulatedHost
from replica.simulate.ledger import Ledger


@dataclass(slots=True, eq=False)
class Append:
    """One batch. leader: where the append was invoked, in `epoch`. floor: the end (exclusive) of
    everything that was acknowledged before. offset: its base offset, None before any machine was
    given the batch."""

    leader: SimulatedHost
    epoch: int
    floor: int
    offset: int | None = None
    is_acknowledged: bool = False


class Appends:
    """All appends of a run. The key is unique to a batch: the bytes that its CRC covers."""

    def __init__(self) -> None:
        self._appends: dict[bytes, Append] = {}
        self._acknowledged_end = 0

    @property
    def acknowledged(self) -> int:
        """How many."""
        return sum(append.is_acknowledged for append in self._appends.values())

    def invoked(self, leader: SimulatedHost, epoch: int, batches: Sequence[bytes]) -> None:
        """Batches are being appended, encoded with any base offset and epoch."""
        for data in batches:
            content = data[CRC_START:]
            assert content not in self._appends, "no two appends are alike"
            self._appends[content] = Append(leader, epoch, self._acknowledged_end)

    def handed(self, host: SimulatedHost) -> None:
        """A host's machine was given committed batches. Where that host leads, its clients hear
        that their batches are committed."""
        role = host.raft.role
        for batch in host.machine.committed:
            if batch.control:
                continue
            append = self._appends.get(batch.data[CRC_START:])
            if append is None:
                demand(False, "linearizable", f"offset {batch.base_offset}: appended by nobody")
                return
            self._place(append, batch.base_offset)
            if append.leader is host and isinstance(role, Leader) and role.epoch == append.epoch:
                append.is_acknowledged = True
                self._acknowledged_end = max(self._acknowledged_end, batch.end_offset)

    def ended(self, ledger: Ledger) -> None:
        """Every acknowledged append is in the log that all agree on."""
        for content, append in self._appends.items():
            if append.is_acknowledged:
                entry = ledger.entries.get(-1 if append.offset is None else append.offset)
                there = entry is not None and entry.data[CRC_START:] == content
                demand(there, "linearizable", f"acknowledged offset {append.offset} is gone")

    def _place(self, append: Append, offset: int) -> None:
        if append.offset is None:
            append.offset = offset
            late = f"offset {offset} was invoked when all below {append.floor} was acknowledged"
            demand(offset >= append.floor, "linearizable", late)
        twice = f"one append at offsets {append.offset} and {offset}"
        demand(append.offset == offset, "linearizable", twice)

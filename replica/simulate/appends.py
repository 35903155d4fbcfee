"""What clients see: an append is invoked, and then acknowledged or never heard of again.

Linearizable means: each acknowledged batch is in the log once, where it was said to be; one whose
outcome is unknown is there once or not at all; and what was invoked after an acknowledgement lies
behind it. Clients know nothing of the engine but what its machines are given.
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
    """One batch. leader: where it was invoked, in `epoch`; floor: the end (exclusive) of all that
    was acknowledged by then. offset: its base offset, None before any machine was given it."""

    leader: SimulatedHost
    epoch: int
    floor: int
    offset: int | None = None
    is_acknowledged: bool = False


class Appends:
    """All appends of a run, by what no other batch has: the bytes that its CRC covers."""

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
        """A host's machine was given committed batches; where it leads, clients hear of theirs."""
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

"""The interface of the state machine, which a host gives the committed records.

The core calls neither the state machine nor storage. A host builds `Raft` from what its storage
holds (LogFacts, ElectionState), carries out each `Effects` with its storage and the state machine,
and feeds the results back as inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch


class StateMachine(Protocol):
    """Applies the committed records in the order of the log (Kafka: RaftClient.Listener).

    A host may call `commit` and `load_snapshot` in another thread. Until the call has returned, the
    host calls no other method, and a reader of the state may see a part of the new records.

    next_offset: all records below this offset are applied.
    can_snapshot: whether a snapshot of the state can be written now. Kafka's metadata has no
        snapshot within a transaction (KIP-868).
    """

    next_offset: int

    @property
    def can_snapshot(self) -> bool: ...

    def commit(self, batches: Iterable[Batch]) -> None:
        """Apply committed batches. Each batch comes once, in the order of the log; control batches
        come too."""

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        """Replace the whole state by a snapshot's, at boot or after a snapshot was fetched. The
        next `commit` begins at the snapshot's end offset. The host never calls this method while
        the newest Effects.leader_change names the local replica as the leader."""

    def snapshot_records(self) -> Callable[[], Sequence[bytes]]:
        """Freeze the state at next_offset for a snapshot. Returns a function that gives the values
        of the snapshot's records. The host may call the returned function in another thread while
        it calls `commit`. The host adds the control records (voters, kraft.version)."""

    def changed_ratio(self) -> float:
        """The share, from 0 to 1, of the newest snapshot's records that were changed or removed
        since that snapshot; 1 if there is no snapshot (KIP-630:
        metadata.snapshot.min.changed_records.ratio)."""

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        """The host calls this method when a snapshot of this state machine is complete and
        durable."""

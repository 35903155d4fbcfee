"""Gives records to a state machine that is far behind the log, in another thread."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.epochs import OffsetAndEpoch
from replica.raft.ports import StateMachine
from replica.storage.stored_batches import FileBatches


@dataclass(frozen=True, slots=True)
class BegunReplay:
    """A replay that Host.begin_replay has begun.

    machine: the state machine. Only this replay changes it before Host.end_replay.
    loads: the snapshot to which the batches belong; None for committed batches of the log.
    end_offset: the end (exclusive) of the records that the machine has after the replay.
    batches: the batches, whose files are open.
    """

    machine: StateMachine
    loads: OffsetAndEpoch | None
    end_offset: int
    batches: FileBatches

    def run(self) -> None:
        """Give the machine the batches, and close their files. This method uses nothing that the
        host changes, so any thread may call it. Raises DataError for bytes that the machine can't
        decode, and StoppedReadError after `stop`."""
        try:
            if self.loads is not None:
                self.machine.load_snapshot(self.loads, self.batches)
            else:
                self.machine.commit(self.batches)
        finally:
            self.batches.close()

    def stop(self) -> None:
        """Let `run` end soon with StoppedReadError, because the replica stops."""
        self.batches.stop()

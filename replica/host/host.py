"""One replica: the core, the state machine that it drives, and the storage of both.

The host carries out effects as replica.raft.effects says. Opening recovers from every state that a
crash between two effects leaves. When a flush is owed, the caller may call `flush` at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from replica.errors import DataError
from replica.history.epochs import epoch_for_offset
from replica.model.batch import Batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import SnapshotFacts
from replica.raft import inputs
from replica.raft.config import Config
from replica.raft.effects import Effects, LogRead, Reply, SnapshotPart, SnapshotRead
from replica.raft.messages import (
    FetchQuorumRecordsResponse,
    FetchResponse,
    FetchSnapshotResponse,
    PeerResponse,
)
from replica.raft.ports import StateMachine
from replica.raft.raft import Raft
from replica.storage.batches import batches_of
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.snapshot_writer import FileSnapshotWriter


def as_received(response: PeerResponse) -> PeerResponse:
    """A response of `Host.filled`, decoded as the host that receives it would decode it. Hosts that
    talk to each other without a wire use this. The log has checked the CRCs while reading."""
    if not isinstance(response, FetchResponse):
        return response
    return replace(response, data=b"", batches=batches_of(response.data, check_crc=False))


@dataclass(frozen=True, slots=True)
class BegunSnapshot:
    """A snapshot that Host.begin_snapshot has begun.

    snapshot_id: where it ends.
    writer: the file, which has its header.
    records: gives the values of its records (StateMachine.snapshot_records).
    """

    snapshot_id: OffsetAndEpoch
    writer: FileSnapshotWriter
    records: Callable[[], Sequence[bytes]]

    def write(self) -> SnapshotFacts:
        """Durable: write, check and rename the file. It uses nothing that the host changes, so any
        thread may call it."""
        self.writer.append(self.records())
        return self.writer.complete()


class Host:
    """One replica with its storage. The constructor raises what QuorumStateFile.read and Raft
    raise.

    log: the log that open_log has recovered. store: the file quorum-state in the log's folder.
    machine: a new state machine, which gets everything from the newest snapshot on. draw: a
    function that gives random numbers (see core.Draw). owes_flush: whether a flush is owed.
    new_bytes: the size of the batches that the machine was given since its newest snapshot.
    opened_with: the election state that was on the disk at the start.
    """

    def __init__(
        self,
        config: Config,
        log: FileLog,
        store: QuorumStateFile,
        machine: StateMachine,
        draw: Callable[[int], int],
        now_ms: int,
    ) -> None:
        self.config = config
        self.machine = machine
        self.log = log
        self.store = store
        self.owes_flush = False
        self.new_bytes = 0
        self.opened_with = self.store.read()
        self.raft = Raft(config, self.log.facts(), self.opened_with, draw, now_ms)

    def before_effect(self) -> None:
        """Called before each effect. The simulator cuts the power here."""

    def stepped(self, effects: Effects) -> None:
        """Called when a step's effects are done, except those for the network."""

    def step(self, event: inputs.Input, now_ms: int) -> Iterator[Effects]:
        """Step the core with an input, and with the inputs that follow from its effects. The caller
        has to send the messages of each Effects that this yields; all its other fields are carried
        out."""
        effects = self.raft.step(event, now_ms)
        answers = self._carry_out(effects)
        self.stepped(effects)
        yield effects
        for answer in answers:
            yield from self.step(answer, now_ms)

    def flush(self, now_ms: int) -> Iterator[Effects]:
        """Do the flush that is owed."""
        self.owes_flush = False
        yield from self.step(inputs.Flushed(self.log.flush()), now_ms)

    def snapshot(self, now_ms: int) -> Iterator[Effects]:
        """Take a snapshot of what the state machine has applied, unless that isn't worth it.

        A host that may not stop for so long flushes, calls `begin_snapshot` and `end_snapshot`, and
        lets another thread write between the two.
        """
        if self.owes_flush:
            yield from self.flush(now_ms)
        begun = self.begin_snapshot()
        if begun is not None:
            yield from self.end_snapshot(begun, begun.write(), now_ms)

    def begin_snapshot(self) -> BegunSnapshot | None:
        """Begin a snapshot of what the state machine has applied; None where that isn't worth it.

        No flush may be owed. Other replicas may have committed records that this disk has not
        synced: a crash could remove them from the log, but not the records behind them.
        """
        assert not self.owes_flush, "flush first"
        offset, log = self.machine.next_offset, self.raft.log
        if offset <= log.log_start or offset > (self.raft.high_watermark or 0):
            return None
        epoch = epoch_for_offset(log.epochs, offset - 1)
        if epoch is None or not self.machine.can_snapshot:
            return None
        snapshot_id = OffsetAndEpoch(offset, epoch)
        if not self.raft.may_create_snapshot(snapshot_id):
            return None
        facts: list[ControlRecord] = []
        if version := log.kraft_version_at(offset - 1):
            facts = [KRaftVersion(version), KRaftVoters(log.voters_at(offset - 1))]
        (last,) = self.log.batches(offset - 1, offset)
        writer = self.log.snapshots.write(snapshot_id, last.timestamp, facts)
        begun = BegunSnapshot(snapshot_id, writer, self.machine.snapshot_records())
        self.new_bytes = 0
        return begun

    def end_snapshot(
        self, begun: BegunSnapshot, facts: SnapshotFacts, now_ms: int
    ) -> Iterator[Effects]:
        """Count a snapshot that `begun.write` has written. If the log begins above its end by now,
        because the leader sent a newer snapshot meanwhile, it is removed instead."""
        self.log.snapshots.add(facts)
        if begun.snapshot_id.offset < self.raft.log.log_start:
            self.log.snapshots.delete([begun.snapshot_id])
            return
        yield from self.step(inputs.SnapshotFrozen(facts), now_ms)
        self.machine.snapshot_finished(begun.snapshot_id)

    def tick(self, now_ms: int) -> Iterator[Effects]:
        yield from self.step(inputs.Tick(), now_ms)

    def filled(self, reply: Reply) -> PeerResponse:
        """The response, filled with the bytes of the log or of a snapshot that the core left
        out."""
        match reply.read, reply.message:
            case None, message:
                return message
            case LogRead() as read, FetchResponse() as message:
                return replace(message, data=self._read(read))
            case LogRead() as read, FetchQuorumRecordsResponse() as message:
                return replace(message, records=bytes(self._read(read)))
            case SnapshotRead() as read, FetchSnapshotResponse() as message:
                found = self.log.snapshots.read(read.snapshot_id, read.position, read.length)
                return replace(message, data=found)
            case _:
                raise AssertionError("no other message has room for bytes")

    def _read(self, read: LogRead) -> memoryview:
        return self.log.read(read.start_offset, read.max_bytes)

    def _carry_out(self, effects: Effects) -> list[inputs.Input]:
        answers: list[inputs.Input] = []
        if effects.quorum_state is not None:
            self.before_effect()
            self.store.write(effects.quorum_state)
        answers += self._change_log(effects)
        for part in effects.snapshot_parts:
            self.before_effect()
            answers += self._write(part)
        if effects.log_start is not None:
            self.before_effect()
            self.log.advance_log_start(effects.log_start)
        if effects.delete_snapshots:
            self.before_effect()
            self.log.snapshots.delete(effects.delete_snapshots)
        self.before_effect()
        self._tell_machine(effects)
        return answers

    def _change_log(self, effects: Effects) -> list[inputs.Input]:
        answers: list[inputs.Input] = []
        if effects.truncate_to is not None:
            self.before_effect()
            answers.append(inputs.Truncated(self.log.truncate_to(effects.truncate_to)))
        if effects.reset_to is not None and self.log.is_older_than(effects.reset_to):
            self.before_effect()
            self.log.reset_to(effects.reset_to)
        if effects.append:
            self.before_effect()
            self.log.append(effects.append)
            self.owes_flush = True
        return answers

    def to_commit(self, start_offset: int, end_offset: int) -> Iterator[Batch]:
        """Read the committed batches between these offsets (end exclusive), which the state machine
        gets. The simulator overrides this method, to see them."""
        for batch in self.log.batches(start_offset, end_offset):
            self.new_bytes += len(batch.data)
            yield batch

    def _write(self, part: SnapshotPart) -> list[inputs.Input]:
        snapshots = self.log.snapshots
        snapshots.write_part(part.snapshot_id, part.position, part.data)
        if not part.is_last:
            return []
        try:
            return [inputs.SnapshotFetched(snapshots.freeze(part.snapshot_id))]
        except DataError:
            return [inputs.SnapshotRejected(part.snapshot_id)]

    def _tell_machine(self, effects: Effects) -> None:
        machine, loaded = self.machine, effects.load_snapshot
        if loaded is not None:
            machine.load_snapshot(loaded, self.log.snapshots.batches(loaded))
            self.new_bytes = 0
        if effects.commit is not None and effects.commit > machine.next_offset:
            machine.commit(self.to_commit(machine.next_offset, effects.commit))

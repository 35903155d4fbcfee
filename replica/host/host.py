"""One replica: the core, the state machine that it drives, and the storage of both.

The host carries out effects in the order of Effects.in_order. Opening recovers from every state
that a crash between two effects leaves. When a flush is owed, the caller may call `flush` at any
time, or `begin_flush` and `end_flush`, between which another thread syncs.

Each method that steps the core returns its Effects, the newest last. All effects are then carried
out, except `replies`, `sends` and `stopped`. The caller carries out these; it may lose messages, as
a network may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replica.errors import DataError
from replica.history.epochs import epoch_for_offset
from replica.host.replay import BegunReplay
from replica.model.batch import Batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import ElectionState, LeaderAndEpoch, SnapshotFacts
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
from replica.storage.begun_flush import BegunFlush
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.snapshot_writer import FileSnapshotWriter

_RECORD_BYTES = 64
"""The approximate size of a record in a snapshot, in bytes."""


def as_received(response: PeerResponse) -> PeerResponse:
    """A response of `Host.filled`, decoded as the receiving host decodes it. Hosts that exchange
    messages without a network use this. The log has checked the CRCs."""
    if not isinstance(response, FetchResponse):
        return response
    return replace(response, data=b"", batches=batches_of(response.data, check_crc=False))


@dataclass(frozen=True, slots=True)
class BegunSnapshot:
    """A snapshot that Host.begin_snapshot has begun.

    snapshot_id: the end offset and the epoch of the snapshot.
    writer: the writer of the file, which already has its header.
    records: a function that gives the values of the records (StateMachine.snapshot_records).
    """

    snapshot_id: OffsetAndEpoch
    writer: FileSnapshotWriter
    records: Callable[[], Sequence[bytes]]

    def write(self) -> SnapshotFacts:
        """Write, check and rename the file, durably. This method uses nothing that the host
        changes, so any thread or a forked copy of this process may call it."""
        self.writer.append(self.records())
        return self.writer.complete()


class Host:
    """One replica with its storage. The constructor raises the errors of QuorumStateFile.read,
    FileLog.facts and Raft.

    log: the log that open_log has recovered.
    store: the file quorum-state in the log's folder.
    machine: a new state machine. It gets the newest snapshot and all committed records after it.
    draw: a function that gives random numbers (see core.Draw).
    at_once: the most records that the machine gets within a step; None for any number. More
        records, and everything after them, are put off until the caller calls `begin_replay`.
    owes_flush: whether a flush is owed.
    new_bytes: the size in bytes of the batches that the machine got since its newest snapshot.
    commit_end: the end (exclusive) of the committed records. The machine may lack the last of them.
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
        at_once: int | None = None,
    ) -> None:
        self.config = config
        self.machine = machine
        self.log = log
        self.store = store
        self.owes_flush = False
        self.new_bytes = 0
        self._at_once = at_once
        self.commit_end = 0
        self._put_off: Effects | None = None
        self._is_replaying = False
        self.opened_with = self.store.read()
        self.raft = Raft(config, self.log.facts(), self.opened_with, draw, now_ms)

    def before_effect(self) -> None:
        """Called before each effect on the disk, and before the messages of a step go out. The
        simulator cuts the power here."""

    def stepped(self, effects: Effects) -> None:
        """Called after a step's effects are carried out, and before its messages go out."""

    def step(self, event: inputs.Input, now_ms: int) -> list[Effects]:
        """Step the core with an input, and with the inputs that follow from its effects."""
        effects = self._without_put_off(self.raft.step(event, now_ms))
        answers = self._carry_out(effects)
        self.before_effect()
        self.stepped(effects)
        all_effects = [effects]
        for answer in answers:
            all_effects += self.step(answer, now_ms)
        return all_effects

    def flush(self, now_ms: int) -> list[Effects]:
        """Do the flush that is owed."""
        self.owes_flush = False
        return self.step(inputs.Flushed(self.log.flush()), now_ms)

    def begin_flush(self) -> BegunFlush | None:
        """Begin the flush that is owed; None if no flush is owed. The caller calls `run` of the
        result, in any thread, and then `end_flush`. The host may be stepped meanwhile. Further
        appends owe the next flush."""
        if not self.owes_flush:
            return None
        self.owes_flush = False
        return self.log.begin_flush()

    def end_flush(self, begun: BegunFlush, now_ms: int) -> list[Effects]:
        """Report a flush to the core. Raises the error that `begun.run` has raised."""
        return self.step(inputs.Flushed(self.log.end_flush(begun)), now_ms)

    @property
    def is_applied_flushed(self) -> bool:
        """Whether this disk has synced all records that the state machine has applied. Other
        replicas may have committed records that this disk hasn't synced."""
        return self.machine.next_offset <= self.log.flushed_end

    def snapshot(self, now_ms: int) -> list[Effects]:
        """Take a snapshot of the applied records, unless `begin_snapshot` gives None.

        This blocks while the snapshot is written. A caller that may not block flushes, calls
        `begin_snapshot`, lets another thread or process write, and calls `end_snapshot`.
        """
        effects = [] if self.is_applied_flushed else self.flush(now_ms)
        begun = self.begin_snapshot()
        if begun is not None:
            effects += self.end_snapshot(begun, begun.write(), now_ms)
        return effects

    def begin_snapshot(self) -> BegunSnapshot | None:
        """Begin a snapshot of the applied records; None if no snapshot can or need be written.

        The applied records have to be flushed. Otherwise a crash could leave a snapshot that ends
        above the log end.
        """
        assert self.is_applied_flushed, "flush first"
        if self.is_behind:
            return None
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
    ) -> list[Effects]:
        """Report to the core a snapshot that `begun.write` has written. If the leader has sent a
        newer snapshot meanwhile, and the log begins above this one's end, remove this one."""
        begun.writer.close()
        self.log.snapshots.add(facts)
        if begun.snapshot_id.offset < self.raft.log.log_start:
            self.log.snapshots.delete([begun.snapshot_id])
            return []
        effects = self.step(inputs.SnapshotFrozen(facts), now_ms)
        self.machine.snapshot_finished(begun.snapshot_id)
        return effects

    @property
    def is_behind(self) -> bool:
        """Whether effects for the state machine were put off."""
        return self._put_off is not None

    def begin_replay(self) -> BegunReplay | None:
        """Begin to give the state machine the records that were put off; None if nothing was put
        off, or if a replay is in progress. The caller calls `run` of the result, in any thread, and
        then `end_replay`.

        The host may be stepped meanwhile. The machine's state then belongs to no offset, so no
        snapshot is taken.
        """
        put_off, machine = self._put_off, self.machine
        if put_off is None or self._is_replaying:
            return None
        loads = put_off.load_snapshot
        if loads is not None:
            begun = BegunReplay(machine, loads, loads.offset, self.log.snapshots.stored(loads))
        else:
            assert put_off.commit is not None, "a snapshot or records were put off"
            batches = self.log.stored(machine.next_offset, put_off.commit)
            begun = BegunReplay(machine, None, put_off.commit, batches)
        self._is_replaying = True
        return begun

    def end_replay(self, begun: BegunReplay) -> list[Effects]:
        """Note the end of the replay. Returns the effects that were put off and are now carried
        out."""
        self._is_replaying = False
        put_off = self._put_off
        assert put_off is not None, "it is kept until the machine has it"
        self.before_effect()
        if begun.loads is None:
            self.new_bytes += begun.batches.size_bytes
            done = Effects(commit=begun.end_offset)
        else:
            self.new_bytes = 0
            done = Effects(load_snapshot=begun.loads)
        if put_off.load_snapshot == begun.loads:
            put_off = replace(put_off, load_snapshot=None)
        self._put_off = None
        if self._is_other_leader(put_off.leader_change):
            done.leader_change = put_off.leader_change
            put_off = replace(put_off, leader_change=None)
        if put_off.load_snapshot is None and (put_off.commit or 0) <= self.machine.next_offset:
            done.leader_change = done.leader_change or put_off.leader_change
            put_off = Effects()
        self.stepped(done)
        rest = self._without_put_off(put_off)
        if rest == Effects():
            return [done]
        self._carry_out(rest)
        self.stepped(rest)
        return [done, rest]

    def tick(self, now_ms: int) -> list[Effects]:
        """Step the core with the time alone."""
        return self.step(inputs.Tick(), now_ms)

    def filled(self, reply: Reply) -> PeerResponse:
        """The response, with the bytes of the log or of a snapshot that the core left out."""
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

    def _carry_out(self, effects: Effects) -> list[inputs.Input]:
        answers: list[inputs.Input] = []
        for name, value in effects.in_order():
            if name in _ON_DISK:
                self.before_effect()
                answers += _ON_DISK[name](self, value) or ()
            elif name in _IN_MEMORY:
                _IN_MEMORY[name](self, value)
        return answers

    def _without_put_off(self, effects: Effects) -> Effects:
        """Put off the effects for the state machine, if they would take long or if earlier effects
        were put off. Returns the other effects.

        The effect leader_change names this replica only after the machine has all older records. It
        names another leader once no replay is in progress: a leader's machine may load no snapshot.
        """
        if effects.commit is not None:
            self.commit_end = effects.commit
        before = self._put_off
        if before is None and not self._takes_long(effects):
            return effects
        before = before or Effects()
        change = effects.leader_change or before.leader_change
        is_heard = not self._is_replaying and self._is_other_leader(change)
        self._put_off = Effects(
            load_snapshot=effects.load_snapshot or before.load_snapshot,
            commit=before.commit if effects.commit is None else effects.commit,
            leader_change=None if is_heard else change,
        )
        heard = change if is_heard else None
        return replace(effects, load_snapshot=None, commit=None, leader_change=heard)

    def _is_other_leader(self, change: LeaderAndEpoch | None) -> bool:
        return change is not None and change.leader_id != self.raft.local_id

    def _takes_long(self, effects: Effects) -> bool:
        """Whether these effects give the state machine more records than it may get within a
        step."""
        if self._at_once is None:
            return False
        loads, start = effects.load_snapshot, self.machine.next_offset
        if loads is not None:
            if self.log.snapshots.size(loads) > self._at_once * _RECORD_BYTES:
                return True
            start = loads.offset
        return effects.commit is not None and effects.commit - start > self._at_once

    def _read(self, read: LogRead) -> memoryview:
        return self.log.read(read.start_offset, read.max_bytes)

    def to_commit(self, start_offset: int, end_offset: int) -> Iterator[Batch]:
        """Read the committed batches between these offsets (end exclusive) for the state machine.
        The simulator overrides this method to see the batches."""
        for batch in self.log.batches(start_offset, end_offset):
            self.new_bytes += len(batch.data)
            yield batch

    def _write_quorum_state(self, state: ElectionState) -> None:
        self.store.write(state)

    def _truncate(self, end_offset: int) -> Sequence[inputs.Input]:
        return [inputs.Truncated(self.log.truncate_to(end_offset))]

    def _reset(self, snapshot_id: OffsetAndEpoch) -> None:
        if self.log.is_older_than(snapshot_id):
            self.log.reset_to(snapshot_id)

    def _append(self, batches: Sequence[Batch]) -> None:
        self.log.append(batches)
        self.owes_flush = True

    def _write_parts(self, parts: Sequence[SnapshotPart]) -> Sequence[inputs.Input]:
        snapshots, answers = self.log.snapshots, list[inputs.Input]()
        for part in parts:
            snapshots.write_part(part.snapshot_id, part.position, part.data)
            if not part.is_last:
                continue
            try:
                answers.append(inputs.SnapshotFetched(snapshots.freeze(part.snapshot_id)))
            except DataError:
                answers.append(inputs.SnapshotRejected(part.snapshot_id))
        return answers

    def _advance_log_start(self, offset: int) -> None:
        self.log.advance_log_start(offset)

    def _delete_snapshots(self, snapshot_ids: Sequence[OffsetAndEpoch]) -> None:
        self.log.snapshots.delete(snapshot_ids)

    def _load(self, snapshot_id: OffsetAndEpoch) -> None:
        self.machine.load_snapshot(snapshot_id, self.log.snapshots.batches(snapshot_id))
        self.new_bytes = 0

    def _commit(self, end_offset: int) -> None:
        if end_offset > self.machine.next_offset:
            self.machine.commit(self.to_commit(self.machine.next_offset, end_offset))


_ON_DISK: Mapping[str, Callable[[Host, Any], Sequence[inputs.Input] | None]] = {
    "quorum_state": Host._write_quorum_state,
    "truncate_to": Host._truncate,
    "reset_to": Host._reset,
    "append": Host._append,
    "snapshot_parts": Host._write_parts,
    "log_start": Host._advance_log_start,
    "delete_snapshots": Host._delete_snapshots,
}
"""The methods that carry out each effect on the disk. Some return inputs, which the core has to get
before any other input."""

_IN_MEMORY: Mapping[str, Callable[[Host, Any], None]] = {
    "load_snapshot": Host._load,
    "commit": Host._commit,
}
"""The methods that carry out each effect on the state machine. No state machine here uses
Effects.leader_change."""

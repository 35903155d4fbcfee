"""One replica of the simulator: the core, its state machine, and storage on a simulated disk.

Carries out Effects field by field. The power can go in any call to the disk, and before any
effect; a restart is what a real one is, recovery of what the disk still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from replica.errors import DataError
from replica.history.epochs import epoch_for_offset
from replica.machines.opaque import OpaqueMachine
from replica.raft.config import Config
from replica.raft.effects import Effects, LogRead, Reply, SnapshotPart
from replica.raft.inputs import (
    Flushed,
    Input,
    SnapshotFetched,
    SnapshotFrozen,
    SnapshotRejected,
    Tick,
    Truncated,
)
from replica.raft.messages import PeerResponse
from replica.raft.ports import Batch, ControlRecord, KRaftVersion, KRaftVoters
from replica.raft.raft import Raft
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.batches import batch_in, frames
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from replica.types import OffsetAndEpoch

FOLDER = "node/__cluster_metadata-0"
LOG_CONFIG = LogConfig(segment_bytes=4096, index_interval_bytes=512)


@dataclass(frozen=True, slots=True)
class Watch:
    """Whom the host tells what it has done, in order: each takes the host and the effects."""

    stepped: Callable[[Host, Effects], None]


class Host:
    """Opening one recovers what is on its disk.

    must_flush: a flush is owed; `flush` does it. effects_left: how many effects are still carried
    out before the power goes, None for all.
    """

    def __init__(
        self,
        config: Config,
        disk: SimulatedDisk,
        draw: Callable[[int], int],
        now_ms: int,
        watch: Watch,
    ) -> None:
        self.config = config
        self.disk = disk
        self.machine = OpaqueMachine()
        self.log: FileLog = open_log(disk, FOLDER, LOG_CONFIG)
        self.store = QuorumStateFile(disk, FOLDER)
        self.must_flush = False
        self.effects_left: int | None = None
        self._watch = watch
        self.opened_with = self.store.read()
        self.raft = Raft(config, self.log.facts(), self.opened_with, draw, now_ms)

    def step(self, event: Input, now_ms: int) -> Iterator[Effects]:
        """Take an input and all that follows from it; what is for the network is in the effects
        given, once everything before it is done."""
        effects = self.raft.step(event, now_ms)
        answers = self._carry_out(effects)
        self._watch.stepped(self, effects)
        yield effects
        for answer in answers:
            yield from self.step(answer, now_ms)

    def flush(self, now_ms: int) -> Iterator[Effects]:
        """Do the flush that is owed."""
        self.must_flush = False
        yield from self.step(Flushed(self.log.flush()), now_ms)

    def snapshot(self, now_ms: int) -> Iterator[Effects]:
        """Snapshot the state machine at what it has applied, unless that isn't worth it."""
        offset, log = self.machine.next_offset, self.raft.log
        if offset <= log.log_start or offset > (self.raft.high_watermark or 0):
            return
        epoch = epoch_for_offset(log.epochs, offset - 1)
        if epoch is None:
            return
        snapshot_id = OffsetAndEpoch(offset, epoch)
        if not self.raft.may_create_snapshot(snapshot_id):
            return
        facts: list[ControlRecord] = []
        if log.kraft_version:
            facts = [KRaftVersion(log.kraft_version), KRaftVoters(log.voters_at(offset - 1))]
        writer = self.log.snapshots.write(snapshot_id, now_ms, facts)
        writer.append(self.machine.snapshot_records())
        yield from self.step(SnapshotFrozen(writer.freeze()), now_ms)
        self.machine.snapshot_finished(snapshot_id)

    def tick(self, now_ms: int) -> Iterator[Effects]:
        yield from self.step(Tick(), now_ms)

    def filled(self, reply: Reply) -> PeerResponse:
        """The response with the bytes that it lacks."""
        read = reply.read
        if read is None:
            return reply.message
        if isinstance(read, LogRead):
            data = self.log.read(read.start_offset, read.max_bytes)
            return replace(reply.message, batches=_decoded(data))  # type: ignore[call-arg]
        found = self.log.snapshots.read(read.snapshot_id, read.position, read.length)
        return replace(reply.message, data=found)  # type: ignore[call-arg]

    def _carry_out(self, effects: Effects) -> list[Input]:
        answers: list[Input] = []
        if effects.quorum_state is not None:
            self._before_effect()
            self.store.write(effects.quorum_state)
        answers += self._change_log(effects)
        for part in effects.snapshot_parts:
            self._before_effect()
            answers += self._write(part)
        if effects.log_start is not None:
            self._before_effect()
            self.log.advance_log_start(effects.log_start)
        if effects.delete_snapshots:
            self._before_effect()
            self.log.snapshots.delete(effects.delete_snapshots)
        self._before_effect()
        self._tell_machine(effects)
        return answers

    def _change_log(self, effects: Effects) -> list[Input]:
        answers: list[Input] = []
        if effects.truncate_to is not None:
            self._before_effect()
            answers.append(Truncated(self.log.truncate_to(effects.truncate_to)))
        if effects.reset_to is not None and self.log.is_older_than(effects.reset_to):
            self._before_effect()
            self.log.reset_to(effects.reset_to)
        if effects.append:
            self._before_effect()
            self.log.append(effects.append)
        self.must_flush |= effects.flush
        return answers

    def _write(self, part: SnapshotPart) -> list[Input]:
        snapshots = self.log.snapshots
        snapshots.write_part(part.snapshot_id, part.position, part.data)
        if not part.is_last:
            return []
        try:
            return [SnapshotFetched(snapshots.freeze(part.snapshot_id))]
        except DataError:
            return [SnapshotRejected(part.snapshot_id)]

    def _tell_machine(self, effects: Effects) -> None:
        machine, loaded = self.machine, effects.load_snapshot
        if loaded is not None:
            machine.load_snapshot(loaded, self.log.snapshots.batches(loaded))
        if effects.commit is not None and effects.commit > machine.next_offset:
            machine.commit(self.log.batches(machine.next_offset, effects.commit))
        if effects.leader_change is not None:
            machine.leader_change(effects.leader_change)

    def _before_effect(self) -> None:
        if self.effects_left is None:
            return
        self.effects_left -= 1
        if self.effects_left < 0:
            self.disk.crash()
            raise PowerLossError("between two effects")


def _decoded(data: bytes) -> tuple[Batch, ...]:
    return tuple(batch_in(data, frame) for frame in frames(data, start=0, expected_offset=None))

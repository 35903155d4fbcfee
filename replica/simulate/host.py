"""The replica in the simulator: the real host on a simulated disk. Power may be lost in any call to
the disk, and before any effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from replica.host.host import Host, as_received
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import LeaderAndEpoch
from replica.raft.config import Config
from replica.raft.effects import Effects, Reply
from replica.raft.inputs import Flushed, Input, Tick
from replica.raft.messages import PeerResponse
from replica.raft.ports import StateMachine
from replica.raft.roles import Unattached
from replica.raft.transitions import Role
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig

FOLDER = "node/__cluster_metadata-0"
LOG_CONFIG = LogConfig(segment_bytes=4096, index_interval_bytes=512)

Stepped = Callable[["SimulatedHost", Effects], None]
"""A function that is called with the effects that a host has carried out, before any other node
hears of them."""


class ObservedMachine(StateMachine):
    """A state machine that notes what it was given. committed: the batches that it was given.
    loaded: the snapshots that it was given, each with the leader that was known then. The host
    clears both. leader: the newest leader that was named."""

    def __init__(self, machine: StateMachine) -> None:
        self.machine = machine
        self.next_offset = machine.next_offset
        self.committed: list[Batch] = []
        self.loaded: list[tuple[OffsetAndEpoch, LeaderAndEpoch | None]] = []
        self.leader: LeaderAndEpoch | None = None

    @property
    def can_snapshot(self) -> bool:
        return self.machine.can_snapshot

    def commit(self, batches: Iterable[Batch]) -> None:
        read = list(batches)
        self.machine.commit(read)
        self.next_offset = self.machine.next_offset
        self.committed += read

    def load_snapshot(self, snapshot_id: OffsetAndEpoch, batches: Iterable[Batch]) -> None:
        self.machine.load_snapshot(snapshot_id, batches)
        self.next_offset = self.machine.next_offset
        self.loaded.append((snapshot_id, self.leader))

    def snapshot_records(self) -> tuple[bytes, ...]:
        return self.machine.snapshot_records()

    def changed_ratio(self) -> float:
        return self.machine.changed_ratio()

    def snapshot_finished(self, snapshot_id: OffsetAndEpoch) -> None:
        self.machine.snapshot_finished(snapshot_id)

    def leader_change(self, leader: LeaderAndEpoch) -> None:
        self.leader = leader
        self.machine.leader_change(leader)


class SimulatedHost(Host):
    """The replica in the simulator. effects_left: how many effects are carried out before power is
    lost; None where power isn't lost. flushed_end: the durable end of the log (exclusive), which
    the core may not know yet. has_stopped: whether the replica has shut down by itself. taken: the
    newest input. taken_at: the time of that input, in ms of the host's clock. former_role: the role
    before that input. observed: the state machine, as it is observed."""

    def __init__(
        self,
        config: Config,
        disk: SimulatedDisk,
        machine: StateMachine,
        draw: Callable[[int], int],
        now_ms: int,
        watch: Stepped,
        log_config: LogConfig = LOG_CONFIG,
    ) -> None:
        self.disk = disk
        self.effects_left: int | None = None
        self.has_stopped = False
        self.taken: Input = Tick()
        self.taken_at = now_ms
        self.former_role: type[Role] = Unattached
        self._watch = watch
        self.observed = ObservedMachine(machine)
        log, store = open_log(disk, FOLDER, log_config), QuorumStateFile(disk, FOLDER)
        super().__init__(config, log, store, self.observed, draw, now_ms)
        self.flushed_end = self.log.log_end

    def step(self, event: Input, now_ms: int) -> Iterator[Effects]:
        self.taken, self.taken_at, self.former_role = event, now_ms, type(self.raft.role)
        if isinstance(event, Flushed):
            self.flushed_end = event.end_offset
        return super().step(event, now_ms)

    def before_effect(self) -> None:
        if self.effects_left is None:
            return
        self.effects_left -= 1
        if self.effects_left < 0:
            self.disk.crash()
            raise PowerLossError("between two effects")

    def filled(self, reply: Reply) -> PeerResponse:
        """The response, decoded as the receiver would decode it, because two simulated hosts talk
        without a wire."""
        return as_received(super().filled(reply))

    def stepped(self, effects: Effects) -> None:
        self.has_stopped |= effects.stopped is not None
        if effects.truncate_to is not None:
            self.flushed_end = min(self.flushed_end, effects.truncate_to)
        if effects.reset_to is not None:
            self.flushed_end = effects.reset_to.offset
        self._watch(self, effects)
        self.observed.committed.clear()
        self.observed.loaded.clear()

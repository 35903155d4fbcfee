"""The replica in the simulator: the real host on a simulated disk. Power may be lost in any call to
the disk, and before any effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replica.format.file_names import METADATA_FOLDER
from replica.host.host import Host, as_received
from replica.host.replay import BegunReplay
from replica.model.batch import Batch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import LeaderAndEpoch
from replica.raft.config import Config
from replica.raft.effects import Effects, Reply
from replica.raft.inputs import Flushed, Input, Tick
from replica.raft.messages import PeerResponse, VoterChangeResponse
from replica.raft.ports import StateMachine
from replica.raft.roles import Unattached
from replica.raft.transitions import Role
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig

HOME = "node"
"""A node's log directory on its disk."""
FOLDER = f"{HOME}/{METADATA_FOLDER}"
LOG_CONFIG = LogConfig(segment_bytes=4096, index_interval_bytes=512, newest_bytes=2048)

ADMINISTRATOR = "administrator"
"""The id of every request of an administrator."""

Stepped = Callable[["SimulatedHost", Effects], None]
"""A function that is called with the effects that a host has carried out, before their messages go
out."""


class SimulatedHost(Host):
    """The replica in the simulator.

    effects_left: the number of effects that are carried out before power is lost; None for no loss
        of power.
    flushed_end: the durable end of the log (exclusive), which the core may not know yet.
    has_stopped: whether the replica has shut down without a loss of power.
    taken: the newest input.
    taken_at: the time of this input, in ms of the host's clock.
    former_role: the role before this input.
    committed: the batches that this step has given the state machine.
    leader: the newest leader that an effect named before this step.
    """

    def __init__(
        self,
        config: Config,
        disk: SimulatedDisk,
        machine: StateMachine,
        draw: Callable[[int], int],
        now_ms: int,
        watch: Stepped,
        log_config: LogConfig = LOG_CONFIG,
        at_once: int | None = None,
    ) -> None:
        self.disk = disk
        self.effects_left: int | None = None
        self.has_stopped = False
        self.taken: Input = Tick()
        self.taken_at = now_ms
        self.former_role: type[Role] = Unattached
        self.committed: list[Batch] = []
        self.leader: LeaderAndEpoch | None = None
        self._watch = watch
        log, store = open_log(disk, FOLDER, log_config), QuorumStateFile(disk, FOLDER)
        super().__init__(config, log, store, machine, draw, now_ms, at_once)
        self.flushed_end = self.log.log_end

    def step(self, event: Input, now_ms: int) -> list[Effects]:
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
        """The response to send, with the records that the reply asks the host to read. The records
        are decoded already, because simulated hosts don't exchange bytes."""
        return as_received(super().filled(reply))

    def stepped(self, effects: Effects) -> None:
        self.has_stopped |= effects.stopped is not None
        if effects.truncate_to is not None:
            self.flushed_end = min(self.flushed_end, effects.truncate_to)
        if effects.reset_to is not None:
            self.flushed_end = effects.reset_to.offset
        self._watch(self, effects)
        self.committed = []
        self.leader = effects.leader_change or self.leader

    def end_replay(self, begun: BegunReplay) -> list[Effects]:
        if begun.loads is None:
            self.committed = list(begun.batches)
        return super().end_replay(begun)

    def to_commit(self, start_offset: int, end_offset: int) -> Iterator[Batch]:
        self.committed = list(super().to_commit(start_offset, end_offset))
        return iter(self.committed)


def is_change_done(reply: Reply) -> bool:
    """Whether a reply tells an administrator that the voters or kraft.version have changed."""
    message = reply.message
    is_change = isinstance(message, VoterChangeResponse) and message.error is ErrorCode.NONE
    return is_change and reply.request_id == ADMINISTRATOR

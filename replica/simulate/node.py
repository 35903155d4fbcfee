"""A simulated machine: a disk, a clock, and the replica on it, unless the machine is down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from replica.host.replay import BegunReplay
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set, without_directories
from replica.raft.config import FOREVER, Config
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.simulate.host import FOLDER, HOME, LOG_CONFIG, SimulatedHost, Stepped
from replica.simulate.workload import METADATA, OPAQUE, Workload
from replica.storage.begun_flush import BegunFlush
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig

QUORUM_CHARACTERS = 16
"""The number of characters at the beginning of a directory id that identify the quorum."""
MAX_DRIFT = 50
"""The largest drift of a clock, in thousandths of its rate."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The quorum at the beginning: nodes 1 to `voters` are voters, the next `observers` nodes are
    observers.

    is_static: whether the configuration names the voters (kraft.version 0); if False, the log names
        the voters.
    auto_joins: whether every observer makes itself a voter (KIP-1186).
    quorum: the first QUORUM_CHARACTERS characters of the directory ids of this quorum's replicas,
        which no other quorum has.
    """

    voters: int = 3
    observers: int = 0
    is_static: bool = False
    auto_joins: bool = False
    workload: Workload = OPAQUE
    quorum: str = "node" * 4

    @property
    def first_voters(self) -> VoterSet:
        """The voters in force before a log names voters."""
        voters = voter_set(voter(self.quorum, node_id) for node_id in range(1, self.voters + 1))
        return without_directories(voters) if self.is_static else voters


@dataclass(slots=True, eq=False)
class SimulatedMachine:
    """A simulated machine.

    offset_ms, drift: at the simulated time t (ms) its clock shows offset_ms + t * (1000 + drift) /
        1000.
    host: the replica; None while the machine is down.
    boots: the number of times that the machine was started.
    wake_at: the time (ms) of the replica's next tick; -1 for no tick.
    busy_until: the time (ms) at which the machine's slow disk is done.
    is_slow: whether the replica's flushes are slow.
    wiped, moved: the number of times that the machine's disk was wiped and its endpoint changed.
    at_once: the argument of Host.
    replay: the replay in progress.
    replay_due: whether an event of this replay is scheduled.
    flush: the flush in progress.
    syncs: the durations (ms) of the replica's syncs in another thread; empty if the replica syncs
        in its steps.
    log_config: the settings of the log's segments.
    """

    node_id: int
    disk: SimulatedDisk
    config: Config
    workload: Workload
    offset_ms: int
    drift: int
    host: SimulatedHost | None = None
    boots: int = 0
    wake_at: int = -1
    busy_until: int = 0
    is_slow: bool = False
    flush_due: bool = False
    wiped: int = 0
    moved: int = 0
    at_once: int | None = None
    replay: BegunReplay | None = None
    replay_due: bool = False
    flush: BegunFlush | None = None
    syncs: tuple[int, ...] = ()
    log_config: LogConfig = LOG_CONFIG

    @property
    def running(self) -> SimulatedHost:
        assert self.host is not None
        return self.host

    @property
    def local(self) -> Voter:
        assert self.config.local is not None
        return self.config.local

    def clock(self, now_ms: int) -> int:
        return self.offset_ms + now_ms * (1000 + self.drift) // 1000

    def due(self, local_ms: int) -> int:
        """The first simulated time (ms) at which the node's clock shows `local_ms` or more."""
        if local_ms >= FOREVER:
            return FOREVER
        return -((self.offset_ms - local_ms) * 1000 // (1000 + self.drift))

    def skew(self, now_ms: int, drift: int) -> None:
        """Change the rate of the node's clock from now on, without a jump."""
        shown = self.clock(now_ms)
        self.drift, self.offset_ms = drift, 0
        self.offset_ms = shown - self.clock(now_ms)

    def start(self, draw: Callable[[int], int], now_ms: int, watch: Stepped) -> SimulatedHost:
        """Start the replica, which recovers from its disk, and return the replica. Raises
        DataError, UsageError, FileSystemError or PowerLossError if the replica can't start from
        this disk."""
        self.disk.restart()
        self.boots += 1
        self.wake_at, self.flush_due, self.busy_until = -1, False, 0
        self.replay, self.replay_due, self.flush = None, False, None
        machine, now = self.workload.machine(), self.clock(now_ms)
        return SimulatedHost(
            self.config, self.disk, machine, draw, now, watch, self.log_config, self.at_once
        )

    def wait_for_disk(self, now_ms: int) -> None:
        """Keep the node busy for as long as its slow calls to the disk take."""
        took, self.disk.busy_ms = int(self.disk.busy_ms), 0.0
        self.busy_until = max(self.busy_until, now_ms) + took

    def stop_faults(self) -> None:
        self.disk.faults = DiskFaults()
        self.disk.power_loss_in(None)
        self.is_slow, self.syncs = False, self.syncs and (0,)
        if self.host is not None:
            self.host.effects_left = None

    def wipe(self, random: Random) -> None:
        """Give a node that is down an empty disk with a new directory id."""
        assert self.host is None, "a running node's disk stays"
        self.wiped += 1
        self.disk = new_disk(random)
        self._name()

    def move(self) -> None:
        """Let the node listen at another endpoint from its next start on, so that the voter set has
        to be updated."""
        self.moved += 1
        self._name()

    def _name(self) -> None:
        quorum = self.local.key.directory_id[:QUORUM_CHARACTERS]
        local = voter(quorum, self.node_id, self.wiped, self.moved)
        self.config = replace(self.config, local=local)


def key_of(host: SimulatedHost) -> ReplicaKey:
    assert host.config.local is not None, "every simulated replica has an id"
    return host.config.local.key


def voter(quorum: str, node_id: int, wiped: int = 0, moved: int = 0) -> Voter:
    """A node's entry in the voter set. quorum: the characters that identify the quorum
    (Layout.quorum). wiped, moved: the number of times that the node's disk and endpoint were
    replaced."""
    key = ReplicaKey(node_id, f"{quorum}{node_id:03}{wiped:02}A")
    return Voter(key, (Endpoint("CONTROLLER", f"node{node_id}", 9093 + moved),))


def node_of(name: int) -> int:
    """The id of the node with this name: its node id, or the negative id of a bootstrap server."""
    return name if name >= 0 else -10 - name


def new_disk(random: Random) -> SimulatedDisk:
    disk = SimulatedDisk(Random(random.random()))  # noqa: S311 - no secret
    disk.make_directory(HOME)
    return disk


def random_layout(random: Random, *, auto_joins: bool) -> Layout:
    """A layout with three or five voters, named by the configuration or the log, and two
    observers."""
    return Layout(
        voters=random.choice((3, 3, 5)),
        observers=2,
        is_static=random.random() < 0.25,
        auto_joins=auto_joins,
        workload=METADATA if random.random() < 0.25 else OPAQUE,
    )


def first_nodes(random: Random, layout: Layout) -> dict[int, SimulatedMachine]:
    """The nodes by their ids. All nodes are down. Only the voters' disks are formatted."""
    voters, nodes = layout.first_voters, {}
    for node_id in range(1, layout.voters + layout.observers + 1):
        disk = new_disk(random)
        if node_id <= layout.voters and not layout.is_static:
            _format(disk, voters)
        config = Config(
            "cluster",
            voter(layout.quorum, node_id),
            static_voters=voters if layout.is_static else VoterSet(),
            bootstrap_ids=tuple(-10 - voter_id for voter_id in voters.ids),
            retention_bytes=random.choice((0, 8000, -1)),
            auto_join=layout.auto_joins,
        )
        offset, drift = random.randrange(1000), random.randint(-MAX_DRIFT, MAX_DRIFT)
        nodes[node_id] = SimulatedMachine(node_id, disk, config, layout.workload, offset, drift)
    return nodes


def _format(disk: SimulatedDisk, voters: VoterSet) -> None:
    log = open_log(disk, FOLDER, LOG_CONFIG)
    writer = log.snapshots.write(BOOTSTRAP_SNAPSHOT, 0, [KRaftVersion(1), KRaftVoters(voters)])
    writer.freeze()
    log.close()

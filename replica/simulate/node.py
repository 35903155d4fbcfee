"""A machine of the simulator: a disk, a clock, and the replica that runs on it, if one does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from replica.history.log import BOOTSTRAP_SNAPSHOT
from replica.raft.config import FOREVER, Config
from replica.raft.ports import Endpoint, KRaftVersion, KRaftVoters, Voter, VoterSet
from replica.raft.voters import voter_set, without_directories
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.simulate.host import FOLDER, LOG_CONFIG, SimulatedHost
from replica.storage.recovery import open_log
from replica.types import ReplicaKey


@dataclass(slots=True, eq=False)
class Node:
    """offset_ms, drift: its clock shows offset_ms + t * (1000 + drift) / 1000 at t ms. wake_at:
    when its next tick is due, -1 for none. boots: how often it was started."""

    node_id: int
    disk: SimulatedDisk
    config: Config
    offset_ms: int
    drift: int
    host: SimulatedHost | None = None
    boots: int = 0
    wake_at: int = -1
    is_slow: bool = False
    flush_due: bool = False
    wiped: int = 0

    @property
    def running(self) -> SimulatedHost:
        assert self.host is not None
        return self.host

    def local(self, now_ms: int) -> int:
        return self.offset_ms + now_ms * (1000 + self.drift) // 1000

    def due(self, local_ms: int) -> int:
        """The first moment at which its clock shows `local_ms` or more."""
        if local_ms >= FOREVER:
            return FOREVER
        return -((self.offset_ms - local_ms) * 1000 // (1000 + self.drift))

    def stop_faults(self) -> None:
        self.disk.faults = DiskFaults()
        self.disk.power_loss_in(None)
        self.is_slow = False
        if self.host is not None:
            self.host.effects_left = None

    def wipe(self, random: Random) -> None:
        """An empty disk with a new directory id; the node is down."""
        assert self.host is None, "a running node's disk stays"
        self.wiped += 1
        self.disk = new_disk(random)
        local = voter(self.node_id, self.wiped)
        self.config = replace(self.config, local=local)


def voter(node_id: int, wiped: int = 0) -> Voter:
    key = ReplicaKey(node_id, f"{'node' * 4}{node_id:03}{wiped:02}A")
    return Voter(key, (Endpoint("CONTROLLER", f"node{node_id}", 9093),))


def node_of(name: int) -> int:
    """The node behind an id, or behind the negative id of a bootstrap server."""
    return name if name >= 0 else -10 - name


def new_disk(random: Random) -> SimulatedDisk:
    disk = SimulatedDisk(Random(random.random()))  # noqa: S311 - no secret
    disk.make_directory(FOLDER.rpartition("/")[0])
    return disk


def first_nodes(random: Random) -> dict[int, Node]:
    """Three or five voters, of a static quorum or of one in the log, and two observers."""
    count = random.choice((3, 3, 5))
    voters = voter_set(voter(node_id) for node_id in range(1, count + 1))
    is_static = random.random() < 0.25
    nodes = {}
    for node_id in range(1, count + 3):
        disk = new_disk(random)
        if node_id <= count and not is_static:
            _format(disk, voters)
        config = Config(
            "cluster",
            voter(node_id),
            static_voters=without_directories(voters) if is_static else VoterSet(),
            bootstrap_ids=tuple(-10 - voter_id for voter_id in voters.ids),
            retention_bytes=random.choice((0, 8000, -1)),
        )
        offset, drift = random.randrange(1000), random.randint(-50, 50)
        nodes[node_id] = Node(node_id, disk, config, offset, drift)
    return nodes


def _format(disk: SimulatedDisk, voters: VoterSet) -> None:
    log = open_log(disk, FOLDER, LOG_CONFIG)
    writer = log.snapshots.write(BOOTSTRAP_SNAPSHOT, 0, [KRaftVersion(1), KRaftVoters(voters)])
    writer.freeze()
    log.close()

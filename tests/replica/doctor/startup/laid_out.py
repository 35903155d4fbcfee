"""Directories and server.properties of one node, in a state in which an operator may have left
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from replica.format import meta_properties, partition_metadata, quorum_state
from replica.format.control import ControlType, LeaderChange, LeaderVoter, encode_control
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import METADATA_TOPIC_ID, ReplicaId, ReplicaKey
from replica.model.voters import Endpoint, Voter, voter_set
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.secret_log import batch, control_batch, level

CLUSTER, ANOTHER = "wK4Z31XJSxyKdzPVlZaFsg", "SeqmQktRQ9eNfuKic4TCIg"
DIRECTORIES = ("DRDZqbSEv8ciy5R8B0--MA", "6fCe32obF05A6xjtv4-4AQ", "o5u_57iwDm0dmcnAO0koIw")
FOLDER = "__cluster_metadata-0"


@dataclass(frozen=True)
class Place:
    """The folder of a case. port: of the node's listener. other: a port on which
    nothing listens."""

    folder: Path
    port: int = 19093
    other: int = 19094

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        """The first log directory."""
        return self.folder / "a"

    @property
    def second(self) -> Path:
        return self.folder / "b"

    def configure(self, *, without: Sequence[str] = (), more: str = "", **settings: object) -> None:
        """Writes the file of a controller that is the only static voter, with the given settings
        instead of its own. In a name, _ stands for a dot. without: its own settings that are left
        out."""
        own = {
            "process.roles": "controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self.port}",
            "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": self.data,
            "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
        }
        given = {name.replace("_", "."): value for name, value in settings.items()}
        lines = {k: v for k, v in {**own, **given}.items() if k not in without}
        text = "".join(f"{key}={value}\n" for key, value in lines.items())
        self.properties.write_text(text + more)

    def dynamic(self, **settings: object) -> None:
        """Writes the file of a controller that finds a dynamic quorum by itself."""
        servers = f"127.0.0.1:{self.port}"
        named = {"controller_quorum_bootstrap_servers": servers, **settings}
        self.configure(without=("controller.quorum.voters",), **named)

    def combined(self, **settings: object) -> None:
        """Writes the file of a node with both roles."""
        both = f"CONTROLLER://127.0.0.1:{self.port},PLAINTEXT://127.0.0.1:{self.other}"
        self.configure(**{"process_roles": "broker,controller", "listeners": both, **settings})

    def broker(self, **settings: object) -> None:
        """Writes the file of a broker whose voter doesn't run."""
        own = {
            "process_roles": "broker",
            "node_id": 2,
            "controller_quorum_voters": f"1@127.0.0.1:{self.other}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
        }
        self.configure(**{**own, **settings})

    def format(
        self, folder: Path, node_id: int = 1, cluster_id: str = CLUSTER, directory: int = 0
    ) -> Path:
        """A log directory as kafka-storage leaves it."""
        replica = ReplicaId(cluster_id, node_id, DIRECTORIES[directory])
        folder.mkdir(parents=True)
        content = meta_properties.encode(meta_properties.new_meta_properties(replica))
        (folder / meta_properties.FILE_NAME).write_bytes(content)
        return folder

    def stand_alone(self, folder: Path, directory: int = 0, voters: Sequence[int] = (1,)) -> Path:
        """The 0-0.checkpoint that makes nodes the first voters of a dynamic quorum."""
        partition = folder / FOLDER
        partition.mkdir(exist_ok=True)
        endpoints = (Endpoint("CONTROLLER", "127.0.0.1", self.port),)
        keys = [ReplicaKey(one, DIRECTORIES[directory + at]) for at, one in enumerate(voters)]
        facts = [KRaftVersion(1), KRaftVoters(voter_set([Voter(key, endpoints) for key in keys]))]
        log = open_log(LocalDisk(), str(partition), LogConfig(), METADATA_TOPIC_ID)
        log.snapshots.write(BOOTSTRAP_SNAPSHOT, 0, facts).freeze()
        log.close()
        return folder

    def wrote(
        self,
        folder: Path,
        voters: Sequence[int] = (1,),
        level_of: int = 21,
        first: int = 0,
        more: Sequence[bytes] = (),
    ) -> Path:
        """Writes a log of a static quorum, in which node 1 was elected in epoch 1. level_of: its
        metadata.version. first: the offset at which the log begins. more: records after these."""
        partition = folder / FOLDER
        partition.mkdir(exist_ok=True)
        records = enumerate((level(level_of), *more), first + 1)
        content = election(1, voters, first) + b"".join(batch(at, [one]) for at, one in records)
        (partition / f"{first:020d}.log").write_bytes(content)
        (partition / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
        topic = partition_metadata.encode(METADATA_TOPIC_ID)
        (partition / partition_metadata.FILE_NAME).write_bytes(topic)
        state = quorum_state.new_state(
            version=0, leader_id=1, leader_epoch=1, current_voters=tuple(voters)
        )
        (partition / quorum_state.FILE_NAME).write_bytes(quorum_state.encode(state))
        return folder


def election(leader: int, voters: Sequence[int], offset: int = 0) -> bytes:
    """The batch with which a leader's epoch 1 begins."""
    named = tuple(LeaderVoter(one) for one in voters)
    _, value = encode_control(LeaderChange(0, leader, named, named))
    return control_batch(offset, ControlType.LEADER_CHANGE, value)


Lay = Callable[[Place], None]
"""Writes the files of a case."""

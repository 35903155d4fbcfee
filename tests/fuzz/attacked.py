"""The attacked replicas: three voters, each a `kraftlake replica run` with a load of its own, and
what can be seen of them from outside.

Voters know each other by password, on a listener of their own. On the other listener every client
may read, replicate, append and change the quorum, and no client may vote.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from replica.errors import DataError, PeerError
from replica.format.quorum_state import decode
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import Process, started

HOST = "127.0.0.1"
TOPIC, TOPIC_ID = "orders", "AAAAAAAAAAAAAAAAAAAAAg"
CLUSTER_ID = "kraftlake-fuzz-cluster"
WITHIN_S = 60.0
"""The most seconds for each answer to a correct client."""
VOTERS = (1, 2, 3)
LOAD = "50,100"
_DIRECTORY = "fuzz" * 5 + "%dA"
_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="voter" password="of-voters" user_voter="of-voters";'
)
_FAULTS = ("Traceback", "xception", "never retrieved", "Error:")
"""Texts in a replica's output that show an unforeseen error."""


@dataclass
class Attacked:
    """One attacked replica. port: the port for every client. voters_port: the port on which voters
    log in."""

    node_id: int
    folder: Path
    port: int
    voters_port: int
    process: Process | None = None

    @property
    def partition(self) -> Path:
        return self.folder / "log" / f"{TOPIC}-0"

    @property
    def voter(self) -> Voter:
        """The voter as it describes itself, with both listeners. Its formatting named only the
        first listener."""
        key = ReplicaKey(self.node_id, _DIRECTORY % self.node_id)
        ports = {"CONTROLLER": self.voters_port, "CLIENTS": self.port}
        return Voter(key, tuple(Endpoint(name, HOST, port) for name, port in ports.items()))

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def election(self) -> bytes:
        """The bytes of quorum-state."""
        return (self.partition / "quorum-state").read_bytes()

    @property
    def log(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.partition.glob("*.log")))

    @property
    def said(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")

    @property
    def resident_kib(self) -> int:
        ran = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True)
        return int(ran.stdout)

    def start(self, *options: str) -> None:
        command = ("replica", "run", "-c", self.folder / "server.properties", *options)
        self.process = started(self.folder / "output.txt", *command)

    def stop(self) -> int:
        """Ends the replica in order. Gives the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WITHIN_S)

    def kill(self) -> None:
        """Ends the replica by SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def assert_sound(self) -> None:
        """Asserts that the replica runs, and that no unforeseen error occurred."""
        assert self.process is not None
        assert self.process.poll() is None, f"node {self.node_id} ended:\n{self.said[-5000:]}"
        said = self.said
        assert not any(fault in said for fault in _FAULTS), f"{self.node_id}: {said[-5000:]}"


@dataclass
class Quorum:
    """Voters 1 to 3, started on entry and killed on exit. leader: the voter that
    is elected then."""

    folder: Path
    replicas: dict[int, Attacked] = field(default_factory=dict)
    leader: Attacked = field(init=False)

    @property
    def followers(self) -> list[Attacked]:
        return [replica for replica in self.replicas.values() if replica is not self.leader]

    @property
    def voters(self) -> VoterSet:
        return voter_set(replica.voter for replica in self.replicas.values())

    def __enter__(self) -> Quorum:
        ports = iter(free_ports(6))
        for node_id in VOTERS:
            folder = self.folder / str(node_id)
            folder.mkdir()
            self.replicas[node_id] = Attacked(node_id, folder, next(ports), next(ports))
        named = ",".join(
            f"{node_id}@{HOST}:{replica.voters_port}:{_DIRECTORY % node_id}"
            for node_id, replica in self.replicas.items()
        )
        servers = ",".join(f"{HOST}:{replica.voters_port}" for replica in self.replicas.values())
        for replica in self.replicas.values():
            _format(replica, servers, named)
        try:
            for replica in self.replicas.values():
                replica.start("--workload", LOAD)
            self._wait(self._is_led)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas.values():
            if replica.process is not None:
                replica.process.kill()
                replica.process.wait()

    def _is_led(self) -> bool:
        """Whether all quorum-states name one leader, and all logs have records."""
        states = {decode(replica.election).leader_id for replica in self.replicas.values()}
        leader = self.replicas.get(max(states))
        if len(states) > 1 or leader is None:
            return False
        self.leader = leader
        return all(len(replica.log) > 0 for replica in self.replicas.values())

    def _wait(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not _tried(is_so):
            for replica in self.replicas.values():
                replica.assert_sound()
            assert time.monotonic() < deadline, "no leader"
            time.sleep(0.05)


def _tried(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except (OSError, DataError):
        return False


def _format(replica: Attacked, servers: str, voters: str) -> None:
    """Formats a replica. Its timeouts are long, so that a busy machine causes no election."""
    voting, open_to_all = f"{HOST}:{replica.voters_port}", f"{HOST}:{replica.port}"
    lines = {
        "process.roles": "controller",
        "node.id": replica.node_id,
        "log.dirs": replica.folder / "log",
        "listeners": f"CONTROLLER://{voting},CLIENTS://{open_to_all}",
        "controller.listener.names": "CONTROLLER,CLIENTS",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,CLIENTS:PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": _JAAS,
        "controller.quorum.bootstrap.servers": servers,
        "controller.quorum.fetch.timeout.ms": 120_000,
        "kraftlake.topic.name": TOPIC,
        "kraftlake.topic.id": TOPIC_ID,
        "kraftlake.principals.voter": "voter",
        "kraftlake.principals.administrator": "*",
    }
    path = replica.folder / "server.properties"
    path.touch(0o600)
    path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    settings = settings_in(read_properties(os.fspath(path)))
    format_node(LocalDisk(), settings, CLUSTER_ID, initial_controllers=voters)


async def watermark(port: int) -> int:
    """The high watermark that a correct client gets. The client may have to try again, for example
    where other clients hold all connections. Raises where it isn't served in time."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            return await _watermark(port)
        except PeerError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


async def _watermark(port: int) -> int:
    connection = await Connection.connect(HOST, port, ClientConfig(timeout_s=WITHIN_S))
    try:
        asked = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}
        topics = [{"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [asked]}]
        request = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1000}
        answer = await connection.call(FETCH, {**request, "topics": topics})
    finally:
        await connection.close()
    ((found,),) = (topic["partitions"] for topic in answer.message["responses"])
    assert found["errorCode"] == 0, f"a reader gets error {found['errorCode']}"
    assert found["records"], "a reader gets no records"
    return int(found["highWatermark"])

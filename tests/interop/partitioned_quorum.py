"""A quorum of Kafka's controllers and kraftlake's replicas behind proxies that cut their ways.

Node 1 is Kafka's, formatted alone. The other nodes join the voters by themselves, also after they
were removed (KIP-853, controller.quorum.auto.join.enable).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from replica.errors import KraftlakeError
from replica.format.meta_properties import decode as decode_meta
from replica.format.quorum_state import decode
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import METADATA_TOPIC
from replica.wire.apis.membership import REMOVE_RAFT_VOTER
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import ClientConfig, Connection
from replica.wire.schema import Message
from tests.interop.cutting_proxy import CuttingProxies, Watch, cutting_proxies
from tests.interop.kafka_cluster import STARTED
from tests.interop.kafka_node import LISTENER, Controller, free_ports
from tests.interop.kraftlake_quorum import CLUSTER_ID, Replica
from tests.interop.mixed_quorum import KAFKAS, OURS, part
from tests.kraftlake_process import kraftlake

WITHIN_S = 180.0
_START_AGAIN_S = 10.0
JOINS = {"controller.quorum.auto.join.enable": "true"}


@dataclass
class Node:
    """A node. port: the port on which it listens. advertised: the port of its proxy."""

    node_id: int
    kind: str
    port: int
    advertised: int
    process: Controller | Replica

    @property
    def partition(self) -> Path:
        return self.process.log_dir / "__cluster_metadata-0"

    @property
    def election(self) -> tuple[int, int]:
        """(epoch, leader id) on the node's disk."""
        try:
            state = decode((self.partition / "quorum-state").read_bytes())
        except (OSError, KraftlakeError):
            return (-1, -1)
        return state.leader_epoch, state.leader_id

    @property
    def log(self) -> bytes:
        """The bytes of all segments, one after the other."""
        return b"".join(path.read_bytes() for path in sorted(self.partition.glob("*.log")))

    @property
    def directory_id(self) -> str:
        meta = (self.process.log_dir / "meta.properties").read_bytes()
        return str(decode_meta(meta).directory_id)

    @property
    def said(self) -> str:
        text = self.process.log if isinstance(self.process, Controller) else self.process.said
        return f"--- {self.kind} {self.node_id}, {self.election}\n{text[-3000:]}"

    @property
    def is_running(self) -> bool:
        process = self.process
        if isinstance(process, Controller):
            return process.is_running
        return process.process is not None and process.process.poll() is None

    def kill(self) -> None:
        """Sends SIGKILL."""
        if isinstance(self.process, Controller):
            self.process.kill()
        elif self.process.process is not None:
            self.process.process.kill()
            self.process.process.wait()
            self.process.process = None


@dataclass
class PartitionedQuorum:
    """Nodes by their ids; started by `partitioned`. hear_start: is called with each process that
    starts again."""

    nodes: dict[int, Node] = field(default_factory=dict)
    proxies: CuttingProxies | None = None
    hear_start: Callable[[int], None] = lambda node_id: None

    def start_again(self, node: Node) -> None:
        """Starts a node again after it was ended."""
        self.hear_start(node.node_id)
        node.process.start()

    def newest_election(self) -> tuple[int, int]:
        """The newest (epoch, leader id) on any disk."""
        return max(node.election for node in self.nodes.values())

    def described(self) -> Message | None:
        """The partition as the leader describes it; None where no leader can be asked."""
        leader = self.nodes.get(self.newest_election()[1])
        if leader is None:
            return None
        request = {"topics": [{"topicName": METADATA_TOPIC, "partitions": [{}]}]}
        try:
            answer = asyncio.run(_asked(leader.advertised, DESCRIBE_QUORUM, request))
        except KraftlakeError:
            return None
        (found,) = answer["topics"][0]["partitions"]
        return None if found["errorCode"] else found

    def voters(self) -> set[int]:
        """The voters by the leader's answer; empty where no leader answers."""
        found = self.described()
        return set() if found is None else {each["replicaId"] for each in found["currentVoters"]}

    def remove(self, node_id: int) -> bool:
        """Asks the leader to remove a voter, as kafka-metadata-quorum remove-controller does. Gives
        whether it says that this is done."""
        leader, node = self.nodes.get(self.newest_election()[1]), self.nodes[node_id]
        if leader is None:
            return False
        request = {
            "clusterId": CLUSTER_ID,
            "voterId": node_id,
            "voterDirectoryId": node.directory_id,
        }
        try:
            answer = asyncio.run(_asked(leader.advertised, REMOVE_RAFT_VOTER, request))
        except KraftlakeError:
            return False
        return bool(answer["errorCode"] == ErrorCode.NONE)

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            said = "\n".join(node.said for node in self.nodes.values())
            assert time.monotonic() < deadline, f"{otherwise}\n{said}"
            for node in self.nodes.values():
                assert node.is_running, f"node {node.node_id} has ended\n{said}"
            time.sleep(0.2)

    def wait_for_all(self, removed: Collection[int] = ()) -> int:
        """Waits until all nodes are voters and hold what was committed by then. Gives its end
        (exclusive).

        removed: kraftlake's replicas for which a removal was requested. A replica that isn't
        counted as a voter for ten seconds is started again, because it joins the voters once in the
        life of a process.
        """
        begins = time.monotonic()

        def all_vote() -> bool:
            nonlocal begins
            voters = self.voters()
            if voters and time.monotonic() - begins > _START_AGAIN_S:
                for node_id in set(removed) - voters:
                    self.nodes[node_id].kill()
                    self.start_again(self.nodes[node_id])
                begins = time.monotonic()
            return voters == set(self.nodes)

        self.wait_until(all_vote, "not all are voters")
        found = self.described()
        while found is None or found["highWatermark"] < 0:
            time.sleep(0.2)
            found = self.described()
        end = int(found["highWatermark"])
        self.wait_until(
            lambda: all(part(node.log, end) is not None for node in self.nodes.values()),
            f"not all hold what is below {end}",
        )
        return end

    def appended(self, end: int, name: str) -> dict[int, str]:
        """The values of a dynamic broker default of this name by their offsets, in the order of the
        log below `end`; from node 1, after all have ended."""
        words = ("--json", "--type", "CONFIG_RECORD", "--logs-only", "--keep-secrets")
        ran = kraftlake("dump", *words, self.nodes[1].process.log_dir)
        assert ran.returncode == 0, ran.stderr
        rows = map(json.loads, ran.stdout.splitlines())
        return {
            int(row["offset"]): str(row["data"]["value"])
            for row in rows
            if row["offset"] < end and row["data"]["name"] == name
        }


async def _asked(port: int, api: object, request: Message) -> Message:
    connection = await Connection.connect("127.0.0.1", port, ClientConfig(timeout_s=5.0))
    try:
        return (await connection.call(api, request)).message  # type: ignore[arg-type]
    finally:
        await connection.close()


@contextmanager
def partitioned(
    folder: Path,
    kinds: tuple[str, ...],
    watch: Watch | None = None,
    settings: Mapping[str, object] | None = None,
    *,
    is_static: bool = False,
) -> Iterator[PartitionedQuorum]:
    """A running quorum of voters. kinds: of nodes 1, 2 and so on; the first is KAFKAS. watch: gets
    what passes the proxies. settings: of Kafka's nodes. is_static: whether controller.quorum.voters
    names them all (kraft.version 0); all of them are Kafka's then."""
    assert kinds[0] == KAFKAS
    ids = range(1, len(kinds) + 1)
    ports = dict(zip(ids, free_ports(len(kinds)), strict=True))
    advertised = dict(zip(ids, free_ports(len(kinds)), strict=True))
    quorum = PartitionedQuorum()
    with ExitStack() as stack:
        targets = {node_id: (advertised[node_id], ports[node_id]) for node_id in ids}
        quorum.proxies = stack.enter_context(cutting_proxies(targets, watch))
        for node_id, kind in zip(ids, kinds, strict=True):
            place = folder / str(node_id)
            process: Controller | Replica
            if kind == OURS:
                process = _ours(place, node_id, ports[node_id], advertised)
            else:
                port = ports[node_id]
                more = settings or {}
                process = _kafkas(place, node_id, port, advertised, more, is_static=is_static)
            node = Node(node_id, kind, ports[node_id], advertised[node_id], process)
            quorum.nodes[node_id] = node
            stack.callback(node.kill)
            process.start()
            if isinstance(process, Controller) and node_id == 1 and not is_static:
                process.wait_for(STARTED)
        quorum.wait_for_all()
        yield quorum


def _kafkas(
    folder: Path,
    node_id: int,
    port: int,
    advertised: dict[int, int],
    more: Mapping[str, object],
    *,
    is_static: bool,
) -> Controller:
    settings = {
        **more,
        "listeners": f"{LISTENER}://127.0.0.1:{port}",
        "advertised.listeners": f"{LISTENER}://127.0.0.1:{advertised[node_id]}",
        **({} if node_id == 1 or is_static else JOINS),
    }
    made = Controller(folder, node_id, advertised, is_static=is_static, settings=settings)
    first = "--standalone" if node_id == 1 else "--no-initial-controllers"
    made.format(CLUSTER_ID, *(() if is_static else (first,)))
    return made


def _ours(folder: Path, node_id: int, port: int, advertised: dict[int, int]) -> Replica:
    replica = Replica(folder, node_id, port, "")
    folder.mkdir()
    lines = {
        "node.id": node_id,
        "controller.quorum.bootstrap.servers": ",".join(
            f"127.0.0.1:{each}" for each in advertised.values()
        ),
        "listeners": f"{LISTENER}://{replica.address}",
        "advertised.listeners": f"{LISTENER}://127.0.0.1:{advertised[node_id]}",
        "controller.listener.names": LISTENER,
        "log.dirs": replica.log_dir,
        "kraftlake.principals.administrator": "*",
        **JOINS,
    }
    replica.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    ran = kraftlake("replica", "format", "-c", replica.properties, "-t", CLUSTER_ID)
    assert ran.returncode == 0, ran.stderr
    return replica

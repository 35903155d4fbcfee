"""Three kraftlake voters as processes, each in a rack of its own, each behind a recording proxy.
Clients and nodes know only the proxies' ports."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from replica.errors import KraftlakeError
from replica.format.record import records_of
from replica.format.segment import scan
from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode, error_name
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.fetching import FETCH
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from replica.wire.schema import Api, Message
from tests.interop.kafka_node import free_ports
from tests.interop.recording_proxy import Call, Proxies, proxies
from tests.kraftlake_process import Process, started

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
WITHIN_S = 60.0
US = ClientConfig(client_id="test", timeout_s=10.0)


@dataclass(frozen=True)
class Topic:
    name: str
    id: str

    @property
    def is_metadata(self) -> bool:
        return self.name == "__cluster_metadata"


ORDERS = Topic("orders", "AAAAAAAAAAAAAAAAAAAAAg")
METADATA_TOPIC = Topic("__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ")


@dataclass
class Node:
    """A node. metrics: the port of its metrics."""

    node_id: int
    folder: Path
    metrics: int
    topic: Topic
    process: Process | None = None

    @property
    def rack(self) -> str:
        return f"rack-{self.node_id}"

    @property
    def partition(self) -> Path:
        return self.folder / "log" / f"{self.topic.name}-0"

    @property
    def values(self) -> list[bytes | None]:
        """The values of the data records in its segments, committed or not."""
        data = b"".join(path.read_bytes() for path in sorted(self.partition.glob("*.log")))
        return [value for batch in _data_batches(data) for value in batch]

    def measured(self, name: str) -> int:
        """The value of a metric without labels; -1 while the node doesn't answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return -1
        samples = (s for f in text_string_to_metric_families(text) for s in f.samples)
        return next((int(s.value) for s in samples if s.name == f"kraftlake_{name}"), -1)

    @property
    def high_watermark(self) -> int:
        """The high watermark (exclusive) that the node knows."""
        return self.measured("raft_high_watermark")

    @property
    def log_end(self) -> int:
        """The log end (exclusive); -1 while the node doesn't answer."""
        return self.measured("raft_log_end_offset")

    @property
    def reader_fetches(self) -> int:
        """The number of readers' fetches that the node answered with records."""
        return self.measured("reader_fetches_total")

    def format(self) -> None:
        settings = settings_in(read_properties(str(self.folder / "server.properties")))
        format_node(LocalDisk(), settings, CLUSTER_ID)

    def start(self) -> None:
        properties = self.folder / "server.properties"
        self.process = started(self.folder / "output.txt", "replica", "run", "-c", properties)

    def kill(self) -> None:
        """Sends SIGKILL, also to a process that SIGSTOP has stopped."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)


@dataclass
class ReaderQuorum:
    """The quorum, made by `reader_quorum`. nodes: 1 to 3."""

    topic: Topic
    proxies: Proxies
    nodes: dict[int, Node] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port, _ in self.proxies.targets.values())

    def port(self, node_id: int) -> int:
        """The port that clients know."""
        return self.proxies.targets[node_id][0]

    def call(self, node_id: int, api: Api, message: Message, version: int | None = None) -> Message:
        """Sends one request on a connection of its own. Gives the answer."""

        async def exchange() -> Message:
            connection = await Connection.connect("127.0.0.1", self.port(node_id), US)
            try:
                return (await connection.call(api, message, version)).message
            finally:
                await connection.close()

        return asyncio.run(exchange())

    def leader(self, above_epoch: int = 0) -> int:
        """The leader of an epoch that has committed. Waits for it."""
        found: list[int] = []

        def is_known() -> bool:
            for node_id in self._running():
                leader, epoch = self.leadership(node_id)
                if leader in self._running() and epoch > above_epoch:
                    found[:] = [leader]
                    return self.nodes[leader].high_watermark > 0
            return False

        self.wait_until(is_known, "no leader")
        return found[0]

    def leadership(self, node_id: int) -> tuple[int, int]:
        """(leader, epoch) in a node's answer; -1 for both where it doesn't answer."""
        try:
            answer = self.call(node_id, METADATA, {"topics": None})
        except KraftlakeError:
            return -1, -1
        (partition,) = answer["topics"][0]["partitions"]
        return partition["leaderId"], partition["leaderEpoch"]

    def followers(self) -> list[int]:
        leader = self.leader()
        return [node_id for node_id in self._running() if node_id != leader]

    def append(self, values: Sequence[bytes], *, is_committed: bool = True, batch: int = 25) -> int:
        """Appends values in batches of `batch` to the leader. Gives the leader's high watermark
        then.

        is_committed: whether all values must be committed, or none can be.
        """
        leader = self.leader()
        for start in range(0, len(values), batch):
            now = int(time.time() * 1000)
            data = value_batch(0, 0, now, list(values[start : start + batch]))
            error = self._produce(leader, data, 10_000 if is_committed else 100)
            expected = ErrorCode.NONE if is_committed else ErrorCode.REQUEST_TIMED_OUT
            assert error == expected, error_name(error)
        return self.nodes[leader].high_watermark

    def replicated(self, end: int) -> None:
        """Waits until every running node knows that everything below `end` is committed."""
        for node_id in self._running():
            node = self.nodes[node_id]
            self.wait_until(lambda node=node: node.high_watermark >= end, f"{node_id} lags")  # type: ignore[misc]

    def fetches(self) -> dict[int, int]:
        """By node id, the number of readers' fetches that the node answered with records, by its
        own count."""
        return {node_id: self.nodes[node_id].reader_fetches for node_id in self._running()}

    def served(self, client_id: str) -> dict[int, int]:
        """By node id, the bytes of records that the node sent to a client, where there were any."""
        found: dict[int, int] = {}
        for call in self.proxies.of(client_id):
            size = sum(len(partition["records"] or b"") for partition in fetched(call))
            if size:
                found[call.node_id] = found.get(call.node_id, 0) + size
        return found

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline, f"{otherwise}\n{self.outputs()}"
            time.sleep(0.05)

    def outputs(self) -> str:
        """The end of each node's output."""
        return "\n".join(
            f"--- {node.node_id}\n" + (node.folder / "output.txt").read_text()[-1500:]
            for node in self.nodes.values()
        )

    def _running(self) -> list[int]:
        return [node_id for node_id, node in self.nodes.items() if node.process is not None]

    def _produce(self, leader: int, data: bytes, timeout_ms: int) -> int:
        topic = {"name": self.topic.name, "topicId": self.topic.id}
        partitions = [{"index": 0, "records": data}]
        request = {
            "acks": -1,
            "timeoutMs": timeout_ms,
            "topicData": [{**topic, "partitionData": partitions}],
        }
        (answered,) = self.call(leader, PRODUCE, request)["responses"]
        return int(answered["partitionResponses"][0]["errorCode"])


def fetched(call: Call) -> list[Message]:
    """The partitions in the answer to a fetch; none for any other call."""
    if call.api_key != FETCH.key or call.answer is None:
        return []
    return [each for topic in call.answer["responses"] for each in topic["partitions"]]


def is_acknowledgement(call: Call, offset: int) -> bool:
    """Whether a request is a replica's fetch that tells the leader that it holds `offset`."""
    if call.api_key != FETCH.key or call.request is None or not is_replica(call):
        return False
    return any(
        partition["fetchOffset"] > offset
        for topic in call.request["topics"]
        for partition in topic["partitions"]
    )


def is_replica(call: Call) -> bool:
    """Whether a fetch is a replica's, which names itself."""
    request = call.request or {}
    return max(request.get("replicaId", -1), request["replicaState"]["replicaId"]) >= 0


@contextmanager
def reader_quorum(
    folder: Path, topic: Topic = ORDERS, **settings: object
) -> Iterator[ReaderQuorum]:
    """The running quorum, killed at the end. settings: lines of server.properties, with two
    underscores for a dot."""
    ports = free_ports(9)
    targets = {n: (ports[n - 1], ports[n + 2]) for n in (1, 2, 3)}
    with proxies(targets) as watched:
        quorum = ReaderQuorum(topic, watched)
        named = ",".join(f"{n}@127.0.0.1:{port}" for n, (port, _) in targets.items())
        try:
            for node_id, (port, own) in targets.items():
                metrics = ports[node_id + 5]
                node = quorum.nodes[node_id] = Node(node_id, folder / str(node_id), metrics, topic)
                node.folder.mkdir(parents=True)
                lines = {
                    "process.roles": "controller",
                    "node.id": node_id,
                    "log.dirs": node.folder / "log",
                    "listeners": f"CONTROLLER://127.0.0.1:{own}",
                    "advertised.listeners": f"CONTROLLER://127.0.0.1:{port}",
                    "controller.listener.names": "CONTROLLER",
                    "controller.quorum.voters": named,
                    "controller.quorum.append.linger.ms": 0,
                    "broker.rack": node.rack,
                    "kraftlake.principals.administrator": "*",
                    "kraftlake.metrics.listener": f"127.0.0.1:{metrics}",
                    **_topic_settings(topic),
                    **{key.replace("__", "."): value for key, value in settings.items()},
                }
                text = "".join(f"{key}={value}\n" for key, value in lines.items())
                (node.folder / "server.properties").write_text(text)
                node.format()
                node.start()
            yield quorum
        finally:
            for node in quorum.nodes.values():
                node.kill()


def _topic_settings(topic: Topic) -> dict[str, object]:
    if topic.is_metadata:
        return {}
    return {"kraftlake.topic.name": topic.name, "kraftlake.topic.id": topic.id}


def _data_batches(data: bytes) -> Iterable[list[bytes | None]]:
    for batch in scan(data).batches:
        if not batch.header.is_control:
            raw = data[batch.position : batch.position + batch.header.size_bytes]
            yield [record.value for record in records_of(batch.header, raw)]

"""Records what real Kafka controllers send to each other and answer to kraftlake, as golden frames.

    python -m tests.interop.wire_recording            # writes tests/golden/wire.jsonl

Three voters and an observer run on 127.0.0.1, each advertised behind a relay that keeps whole
frames. They elect, replicate, send a snapshot to the observer, which joins the voters, and lose
their leader. Meanwhile kraftlake's client asks each of them in every version. The result has a few
frames of each API, version and direction, and frames that Kafka's classes make without a quorum
(KafkaFrames.java).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.spark.java import find_java
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import ClientConfig, Connection
from replica.wire.frame import framed, read_frame
from replica.wire.schema import Api, Message
from tests.interop.kafka_jars import NEWEST, class_path
from tests.interop.kafka_node import free_ports

GOLDEN = Path(__file__).parent.parent / "golden" / "wire.jsonl"
_MADE = Path(__file__).with_name("KafkaFrames.java")
CLUSTER_ID = "kraftlake-wire-golden0"
HOST = "127.0.0.1"
VOTERS, OBSERVER = (1, 2, 3), 4
DIRECTORIES = {n: f"kraftlake-golden-dir{n}A" for n in (*VOTERS, OBSERVER)}
_EACH = 3
_MAX_FRAME = 64 * 1024 * 1024
_MAX_KEPT = 1500
_JAVA = ("-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass
class Recording:
    """(api key, version, request or response) -> frames without their size."""

    frames: dict[tuple[int, int, str], list[bytes]] = field(default_factory=dict)

    def keep(self, key: int, version: int, side: str, frame: bytes) -> None:
        if key not in APIS or len(frame) > _MAX_KEPT:
            return
        kept = self.frames.setdefault((key, version, side), [])
        if len(frame) not in {len(other) for other in kept} and len(kept) < _EACH:
            kept.append(frame)

    def add_made(self) -> None:
        """Adds frames that Kafka's own classes make."""
        made = subprocess.run(
            [*_java(), str(_MADE)], check=True, capture_output=True, text=True, timeout=120
        )
        for line in made.stdout.splitlines():
            key, version, side, frame = line.split()
            kept = self.frames.setdefault((int(key), int(version), side), [])
            kept.append(bytes.fromhex(frame))

    def lines(self) -> list[str]:
        return [
            json.dumps({"api": APIS[key].name, "version": version, "side": side, "hex": raw.hex()})
            for (key, version, side), frames in sorted(self.frames.items())
            for raw in sorted(frames)
        ]


class Relay:
    """Passes bytes on between the clients of `port` and a controller."""

    def __init__(self, recording: Recording, target: int) -> None:
        self._recording = recording
        self._target = target
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there, back = await asyncio.open_connection(HOST, self._target)
            asked: deque[tuple[int, int]] = deque()
            ways = [self._requests(reader, back, asked), self._responses(there, writer, asked)]
            done, rest = await asyncio.wait(
                [asyncio.create_task(way) for way in ways], return_when=asyncio.FIRST_COMPLETED
            )
            for way in rest:
                way.cancel()
            await asyncio.gather(*done, *rest, return_exceptions=True)
            back.close()
        writer.close()
        self._tasks.discard(task)

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        asked: deque[tuple[int, int]],
    ) -> None:
        while (frame := await read_frame(reader, _MAX_FRAME)) is not None:
            key = int.from_bytes(frame[:2], "big")
            version = int.from_bytes(frame[2:4], "big")
            asked.append((key, version))
            self._recording.keep(key, version, "request", frame)
            back.write(framed(frame))
            await back.drain()

    async def _responses(
        self,
        there: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: deque[tuple[int, int]],
    ) -> None:
        while (frame := await read_frame(there, _MAX_FRAME)) is not None:
            self._recording.keep(*asked.popleft(), "response", frame)
            writer.write(framed(frame))
            await writer.drain()


class Controllers:
    """Kafka's own controllers, one process each."""

    def __init__(self, folder: Path, ports: dict[int, int], relays: dict[int, Relay]) -> None:
        self._folder = folder
        self._ports = ports
        self._relays = relays
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def format(self, node_id: int) -> None:
        voters = ",".join(f"{n}@{HOST}:{self._relays[n].port}:{DIRECTORIES[n]}" for n in VOTERS)
        first = ["--initial-controllers", voters]
        kind = first if node_id in VOTERS else ["--no-initial-controllers"]
        arguments = ["format", "-c", str(self._properties(node_id)), "-t", CLUSTER_ID, *kind]
        subprocess.run(
            [*_java(), "kafka.tools.StorageTool", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )

    def start(self, node_id: int) -> None:
        log = (self._folder / f"{node_id}.out").open("wb")
        self._running[node_id] = subprocess.Popen(
            [*_java(), "kafka.Kafka", str(self._properties(node_id))], stdout=log, stderr=log
        )

    def stop(self, node_id: int) -> None:
        """Sends SIGTERM: a leader resigns first."""
        process = self._running.pop(node_id)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_all(self) -> None:
        for node_id in tuple(self._running):
            self.stop(node_id)

    def _properties(self, node_id: int) -> Path:
        path = self._folder / f"{node_id}.properties"
        servers = ",".join(f"{HOST}:{self._relays[n].port}" for n in VOTERS)
        path.write_text(
            "process.roles=controller\n"
            f"node.id={node_id}\n"
            "controller.listener.names=CONTROLLER\n"
            f"listeners=CONTROLLER://{HOST}:{self._ports[node_id]}\n"
            f"advertised.listeners=CONTROLLER://{HOST}:{self._relays[node_id].port}\n"
            f"controller.quorum.bootstrap.servers={servers}\n"
            f"log.dirs={self._folder}/{node_id}\n"
            f"controller.quorum.auto.join.enable={str(node_id == OBSERVER).lower()}\n"
            "metadata.max.idle.interval.ms=50\n"
            "metadata.log.max.record.bytes.between.snapshots=2000\n"
        )
        return path


async def record(folder: Path) -> Recording:
    """Runs everything; this takes about a minute."""
    recording = Recording()
    nodes = (*VOTERS, OBSERVER)
    ports = dict(zip(nodes, free_ports(len(nodes)), strict=True))
    relays = {node_id: Relay(recording, ports[node_id]) for node_id in ports}
    for relay in relays.values():
        await relay.start()
    controllers = Controllers(folder, ports, relays)
    try:
        for node_id in ports:
            await asyncio.to_thread(controllers.format, node_id)
        for node_id in VOTERS:
            controllers.start(node_id)
        await _leader(relays, 60)
        await asyncio.sleep(8)  # long enough for a snapshot
        controllers.start(OBSERVER)
        await asyncio.sleep(16)  # long enough to join the voters
        for node_id in VOTERS:
            await _ask(relays[node_id].port)
        first = await _leader(relays, 30)
        await asyncio.to_thread(controllers.stop, first)
        await _leader(relays, 30, other_than=first)
        await asyncio.sleep(2)
    finally:
        await asyncio.to_thread(controllers.stop_all)
        for relay in relays.values():
            await relay.close()
    await asyncio.to_thread(recording.add_made)
    return recording


async def _leader(relays: dict[int, Relay], timeout_s: float, other_than: int = -1) -> int:
    """Asks until a node answers as leader."""
    async with asyncio.timeout(timeout_s):
        while True:
            for node_id in relays:
                with contextlib.suppress(Exception):
                    answer = await _describe(relays[node_id].port)
                    (entry,) = answer["topics"][0]["partitions"]
                    if entry["errorCode"] == 0 and entry["leaderId"] not in (-1, other_than):
                        leader: int = entry["leaderId"]
                        return leader
            await asyncio.sleep(0.5)


async def _describe(port: int) -> Message:
    connection = await Connection.connect(HOST, port, ClientConfig(timeout_s=3))
    try:
        return (await connection.call(DESCRIBE_QUORUM, _topics("topicName"))).message
    finally:
        await connection.close()


async def _ask(port: int) -> None:
    """Asks every API that the controller serves, in each version that both sides know."""
    served = await Connection.connect(HOST, port, ClientConfig(timeout_s=10))
    await served.close()
    for api in APIS.values():
        for version in api.versions:
            if version not in served.versions.get(api.key, ()):
                continue
            connection = await Connection.connect(HOST, port, ClientConfig(timeout_s=3))
            with contextlib.suppress(Exception):
                await connection.call(api, _question(api, version), version)
            await connection.close()


def _question(api: Api, version: int) -> Message:
    """A harmless request: of an old epoch, about another cluster, or one that only reads."""
    if api is API_VERSIONS:
        return {"clientSoftwareName": "kraftlake", "clientSoftwareVersion": "0"}
    questions: dict[str, Message] = {
        "Fetch": {
            "maxWaitMs": 10,
            "maxBytes": 1000,
            "topics": [
                {
                    "topic": METADATA_TOPIC,
                    "topicId": METADATA_TOPIC_ID,
                    "partitions": [
                        {"partition": 0, "partitionMaxBytes": 1000, "currentLeaderEpoch": 0}
                    ],
                }
            ],
        },
        "FetchSnapshot": _topics("name", {"partition": 0, "snapshotId": {"endOffset": 1}}),
        "Vote": {"voterId": 9, **_topics("topicName", {"replicaId": 9})},
        "BeginQuorumEpoch": {"voterId": 9, **_topics("topicName", {"leaderId": 9})},
        "EndQuorumEpoch": _topics("topicName", {"leaderId": 9}),
        "DescribeQuorum": _topics("topicName"),
        "AddRaftVoter": {"clusterId": "another", "voterId": 9, "timeoutMs": 1000},
        "RemoveRaftVoter": {"clusterId": "another", "voterId": 9},
        "UnregisterController": {"controllerId": 9},
        "UpdateRaftVoter": {"clusterId": "another", "voterId": 9},
        "UpdateFeatures": {
            "timeoutMs": 1000,
            "validateOnly": True,
            "featureUpdates": [{"feature": "kraft.version", "maxVersionLevel": 1}],
        },
        "DescribeCluster": {"endpointType": 2},
        "DescribeConfigs": {
            "resources": [
                {"resourceType": 4, "resourceName": "1", "configurationKeys": ["node.id"]}
            ]
        },
    }
    return questions.get(api.name, {})


def _topics(name: str, partition: Message | None = None) -> Message:
    return {"topics": [{name: METADATA_TOPIC, "partitions": [partition or {}]}]}


def _java() -> list[str]:
    return [str(find_java().executable), *_JAVA, "-cp", class_path()]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kraftlake-wire-") as folder:
        recording = asyncio.run(record(Path(folder)))
    GOLDEN.write_text("".join(f"{line}\n" for line in recording.lines()))
    print(f"Kafka {NEWEST}: {len(recording.lines())} frames to {GOLDEN}")  # noqa: T201


if __name__ == "__main__":
    main()

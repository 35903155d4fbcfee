"""A real Kafka cluster on 127.0.0.1: three controllers with a dynamic quorum and a broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replica.errors import KraftlakeError
from replica.format.quorum_state import decode
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_jars import NEWEST
from tests.interop.kafka_node import Controller, free_ports

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
CONTROLLERS = (1, 2, 3)
BROKER = 11
WITHIN_S = 120.0
_DIRECTORIES = {node_id: f"{'kraftlake' * 2}{node_id}AAA"[:21] + "A" for node_id in CONTROLLERS}
STARTED = "Kafka Server started"


class KafkaCluster:
    """The cluster, started on entry, killed on exit. `nodes`: controllers 1 to 3, and the broker
    11."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        version: str = NEWEST,
    ) -> None:
        self.version = version
        *controllers, broker = free_ports(len(CONTROLLERS) + 1)
        self.ports = dict(zip((*CONTROLLERS, BROKER), (*controllers, broker), strict=True))
        common = {
            "controller.quorum.election.timeout.ms": 2000,
            "controller.quorum.fetch.timeout.ms": 5000,
            "offsets.topic.replication.factor": 1,
            **(settings or {}),
        }
        voters = {node_id: self.ports[node_id] for node_id in CONTROLLERS}
        self.nodes = {
            node_id: Controller(
                folder / str(node_id),
                node_id,
                voters,
                is_static=False,
                settings=common,
                version=version,
            )
            for node_id in CONTROLLERS
        }
        as_broker = {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{broker}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            **common,
        }
        self.nodes[BROKER] = Controller(
            folder / str(BROKER),
            BROKER,
            voters | {BROKER: broker},
            is_static=False,
            settings={**as_broker, "controller.quorum.bootstrap.servers": self.controllers},
            version=version,
        )

    @property
    def controllers(self) -> str:
        """The addresses of the controllers, with commas between them."""
        return ",".join(f"127.0.0.1:{self.ports[node_id]}" for node_id in CONTROLLERS)

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self.ports[BROKER]}"

    def __enter__(self) -> KafkaCluster:
        voters = ",".join(
            f"{node_id}@127.0.0.1:{self.ports[node_id]}:{_DIRECTORIES[node_id]}"
            for node_id in CONTROLLERS
        )
        for node_id, node in self.nodes.items():
            first = ("--initial-controllers", voters) if node_id in CONTROLLERS else ()
            node.format(CLUSTER_ID, *first)
        try:
            for node in self.nodes.values():
                node.start()
            for node in self.nodes.values():
                node.wait_for(STARTED)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.1)

    def leader(self, other_than: int = -1) -> int:
        """The leader, by its own answer. Waits for a leader that isn't `other_than`."""
        found: list[int] = []

        def is_elected() -> bool:
            found[:] = [
                node_id
                for node_id in CONTROLLERS
                if node_id != other_than and self.described(node_id) is not None
            ]
            return bool(found)

        self.wait_until(is_elected, "no leader")
        return found[0]

    def described(self, node_id: int) -> dict[str, Any] | None:
        """DescribeQuorum's partition in a node's answer; None where the node doesn't lead or
        answer."""
        if not self.nodes[node_id].is_running or self.nodes[node_id].is_stopped:
            return None
        return asyncio.run(_described(self.ports[node_id]))

    def epoch_of(self, node_id: int) -> int:
        """The epoch in a node's quorum-state."""
        return decode((self.nodes[node_id].partition / "quorum-state").read_bytes()).leader_epoch


async def _described(port: int) -> dict[str, Any] | None:
    asked = {"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}
    try:
        connection = await Connection.connect("127.0.0.1", port, ClientConfig(timeout_s=2.0))
        try:
            answer = await connection.call(DESCRIBE_QUORUM, {"topics": [asked]})
        finally:
            await connection.close()
    except KraftlakeError:
        return None
    ((topic,),) = (answer.message["topics"],)
    (partition,) = topic["partitions"]
    return partition if partition["errorCode"] == 0 else None

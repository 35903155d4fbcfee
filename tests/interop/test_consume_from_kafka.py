"""`kraftlake consume` on two real Kafka brokers: from the leader, from the follower, and over
a change of leader."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replica.consumer.client import Consumer
from replica.consumer.connections import WireConnections
from replica.consumer.selector import RACK_KEY, SELECTOR_KEY, selector_named
from replica.consumer.session import Session, SessionSettings
from replica.consumer.translate import TopicPartition
from replica.consumer.values import (
    Answer,
    Ask,
    ConsumerRecord,
    Fetch,
    Fetched,
    ResetPolicy,
)
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, run_tool, tool_command
from tests.kraftlake_process import followed, kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
TOPIC = "orders"
WITHIN_S = 120
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_CODEC = 40
STARTED = "Kafka Server started"


@dataclass(frozen=True)
class Brokers:
    """Node 1 is the controller too; node 2 leads the topic's partition as long as it runs."""

    nodes: tuple[Controller, Controller]
    bootstrap: str


def broker(folder: Path, node_id: int, controller_port: int, port: int) -> Controller:
    roles = "broker,controller" if node_id == 1 else "broker"
    listeners = [f"PLAINTEXT://127.0.0.1:{port}"]
    if node_id == 1:
        listeners.append(f"CONTROLLER://127.0.0.1:{controller_port}")
    settings = {
        "process.roles": roles,
        "listeners": ",".join(listeners),
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "broker.rack": f"rack-{node_id}",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "auto.create.topics.enable": "false",
    }
    ports = {node_id: controller_port}
    return Controller(folder / str(node_id), node_id, ports, is_static=True, settings=settings)


def tool(main_class: str, *arguments: object) -> None:
    ran = run_tool(main_class, *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def produce(bootstrap: str, lines: list[str], codec: str) -> None:
    """key:value lines by Kafka's console producer, acknowledged by all in sync."""
    arguments = [
        "--bootstrap-server",
        bootstrap,
        "--topic",
        TOPIC,
        "--compression-codec",
        codec,
        "--producer-property",
        "acks=all",
        "--producer-property",
        "batch.size=300",
        "--property",
        "parse.key=true",
        "--property",
        "key.separator=:",
    ]
    ran = subprocess.run(
        tool_command("warn", "org.apache.kafka.tools.ConsoleProducer", arguments),
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def lines_of(codec: str) -> list[str]:
    return [f"{codec}-{number}:value {number} " + "x" * 40 for number in range(PER_CODEC)]


WANTED = [tuple(line.split(":")) for codec in CODECS for line in lines_of(codec)]


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    class_path_or_skip()
    folder = tmp_path_factory.mktemp("kafka")
    controller_port, *ports = free_ports(3)
    nodes = [broker(folder, n, controller_port, port) for n, port in enumerate(ports, 1)]
    for node in nodes:
        node.format(CLUSTER_ID)
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
    with nodes[0], nodes[1]:
        for node in nodes:
            node.wait_for(STARTED)
        create = ("--create", "--topic", TOPIC, "--replica-assignment", "2:1")
        tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, *create)
        for codec in CODECS:
            produce(bootstrap, lines_of(codec), codec)
        yield Brokers((nodes[0], nodes[1]), bootstrap)


def consume(brokers: Brokers, *arguments: str) -> list[dict[str, Any]]:
    ran = kraftlake("consume", "-b", brokers.bootstrap, "--topic", TOPIC, "--json", *arguments)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


class Recording(WireConnections):
    """served: the nodes whose fetches gave records."""

    def __init__(self, brokers: Brokers, *, measures: bool) -> None:
        addresses = [
            ("127.0.0.1", int(text.split(":")[1])) for text in brokers.bootstrap.split(",")
        ]
        super().__init__(addresses, TopicPartition(TOPIC), measures=measures)
        self.served: set[int] = set()

    async def call(self, ask: Ask) -> Answer:
        answer = await super().call(ask)
        if isinstance(ask, Fetch) and isinstance(answer, Fetched) and answer.data:
            self.served.add(ask.node_id)
        return answer


def test_every_record_is_printed_once_and_in_order(brokers: Brokers) -> None:
    rows = consume(brokers, "--until-end")
    assert [(row["key"], row["value"]) for row in rows] == WANTED
    assert [row["offset"] for row in rows] == list(range(len(WANTED)))


@pytest.mark.parametrize(
    ("selector", "rack", "served_by"),
    [
        ("leader", "", 2),
        ("leader", "rack-1", 1),
        ("leader", "rack-2", 2),
        ("rack", "rack-1", 1),
        ("rack", "rack-2", 2),
        ("nearest", "", None),
        ("least-lag", "", 1),
    ],
)
def test_the_replica_that_is_wished_for_serves_every_record(
    brokers: Brokers, selector: str, rack: str, served_by: int | None
) -> None:
    chosen = selector_named({SELECTOR_KEY: selector, RACK_KEY: rack})
    connections = Recording(brokers, measures=selector in ("nearest", "least-lag"))
    session = Session(ResetPolicy.EARLIEST, chosen, None, SessionSettings(rack=rack))
    with Consumer(session, connections) as consumer:
        found: list[ConsumerRecord] = []
        while len(found) < len(WANTED):
            found += consumer.poll(1000).records
    assert [(read.record.key, read.record.value) for read in found] == [
        (key.encode(), value.encode()) for key, value in WANTED
    ]
    assert len(connections.served) == 1
    assert served_by in (None, *connections.served)


def test_reading_begins_at_an_offset_that_the_leader_confirms(brokers: Brokers) -> None:
    (last,) = consume(brokers, "--until-end", "--from", f"{len(WANTED) - 1}:0")
    assert (last["key"], last["value"]) == WANTED[-1]


def test_a_reader_goes_over_to_the_next_leader(brokers: Brokers) -> None:
    """Last in this module: node 2 doesn't come back."""
    options = ("-b", brokers.bootstrap, "--topic", TOPIC, "--json", "--follow")
    with followed("consume", *options) as reading:
        assert reading.stdout is not None
        before = [json.loads(reading.stdout.readline()) for _ in WANTED]
        brokers.nodes[1].stop()
        produce(brokers.bootstrap, ["after:the change of leader"], "none")
        after = json.loads(reading.stdout.readline())
    assert [(row["key"], row["value"]) for row in before] == WANTED
    assert (after["key"], after["value"]) == ("after", "the change of leader")
    assert after["offset"] == len(WANTED)
    assert after["epoch"] > before[-1]["epoch"]

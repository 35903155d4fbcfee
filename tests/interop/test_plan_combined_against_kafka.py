"""`kraftlake plan` before nodes stop that are voter and broker at once, and what Kafka then does.
The cases are rows of PREFLIGHT.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.asked_plan import planned
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.interop.result_page import PREFLIGHT, hold
from tests.interop.small_cluster import CLUSTER_ID, DIRECTORIES, STARTED
from tests.interop.test_plan_against_kafka import Topics, that_take_records
from tests.waiting import until

NODES = (1, 2, 3)
CHANGE_WITHIN_S = 45
EVERYWHERE: Topics = {"everywhere": ([1, 2, 3], 1)}
STRICT: Topics = {**EVERYWHERE, "two-of-two": ([1, 2], 2)}
STOPS = [
    ("all run", EVERYWHERE, set(), {1}),
    ("all run", EVERYWHERE, set(), {2, 3}),
    ("3 is down", EVERYWHERE, {3}, {1}),
    ("all run, and a topic needs 1 and 2", STRICT, set(), {1}),
]
"""What the cluster is like, its topics, the nodes that are down already, those that are killed."""


class CombinedCluster:
    """Three nodes with process.roles=broker,controller; started on entry, killed on exit."""

    def __init__(self, folder: Path, version: str) -> None:
        self.version = version
        voters = dict(zip(NODES, free_ports(len(NODES)), strict=True))
        self.ports = dict(zip(NODES, free_ports(len(NODES)), strict=True))
        self.nodes = {
            node_id: Controller(
                folder / str(node_id),
                node_id,
                voters,
                is_static=False,
                version=version,
                settings={
                    "process.roles": "broker,controller",
                    "listeners": f"CONTROLLER://127.0.0.1:{voters[node_id]},"
                    f"PLAINTEXT://127.0.0.1:{port}",
                    "advertised.listeners": f"CONTROLLER://127.0.0.1:{voters[node_id]},"
                    f"PLAINTEXT://127.0.0.1:{port}",
                    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                    "offsets.topic.replication.factor": 1,
                    "auto.create.topics.enable": "false",
                    "broker.session.timeout.ms": 4000,
                    "broker.heartbeat.interval.ms": 500,
                },
            )
            for node_id, port in self.ports.items()
        }
        first = ",".join(
            f"{one}@127.0.0.1:{port}:{DIRECTORIES[one]}" for one, port in voters.items()
        )
        for node in self.nodes.values():
            node.format(CLUSTER_ID, "--initial-controllers", first)

    @property
    def bootstrap(self) -> str:
        """Of the nodes that run."""
        running = (one for one in NODES if self.nodes[one].is_running)
        return ",".join(f"127.0.0.1:{self.ports[one]}" for one in running)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.nodes[node_id].start()
        for node_id in node_ids:
            self.nodes[node_id].wait_for(STARTED)

    def takes_a_change(self, name: str) -> bool:
        """Whether a topic with one replica, on a node that runs, is created in time."""
        left = next(one for one in NODES if self.nodes[one].is_running)
        admin = self.admin()
        new = NewTopic(name, 1, replica_assignment=[[left]])
        (made,) = admin.create_topics([new], request_timeout=CHANGE_WITHIN_S).values()
        try:
            made.result(CHANGE_WITHIN_S + 5)
        except KafkaException:
            return False
        return True

    def create(self, topics: Topics) -> None:
        new = [
            NewTopic(name, 1, replica_assignment=[held], config={"min.insync.replicas": str(least)})
            for name, (held, least) in topics.items()
        ]
        admin = self.admin()
        for made in admin.create_topics(new, request_timeout=120).values():
            made.result(120)

    def is_in_sync(self, topics: Topics) -> bool:
        found = self.admin().list_topics(timeout=30)
        up = {one for one in NODES if self.nodes[one].is_running}
        return set(found.brokers) == up and all(
            topic in found.topics and set(found.topics[topic].partitions[0].isrs) == {*held} & up
            for topic, (held, _) in topics.items()
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CombinedCluster]:
    class_path_or_skip(NEWEST)
    made = CombinedCluster(tmp_path_factory.mktemp("combined"), NEWEST)
    try:
        made.start(*NODES)
        yield made
    finally:
        for node in made.nodes.values():
            node.kill()


@pytest.mark.slow
def test_a_stop_of_combined_nodes_is_unsafe_where_kafka_loses_records_or_the_quorum(
    cluster: CombinedCluster,
) -> None:
    known: set[str] = set()
    for number, (like, topics, down, stopped) in enumerate(STOPS):
        new = {name: one for name, one in topics.items() if name not in known}
        if new:
            cluster.create(new)
        known |= topics.keys()
        for node_id in down:
            cluster.nodes[node_id].kill()
        until(lambda: cluster.is_in_sync(topics), "not in sync before the stop")  # noqa: B023
        left = next(one for one in NODES if one not in {*down, *stopped})
        directory = cluster.nodes[left].log_dir
        told = planned(directory, "--stop-broker", ",".join(map(str, sorted(stopped))))
        for node_id in stopped:
            cluster.nodes[node_id].kill()
        has_quorum = cluster.takes_a_change(f"probe-{number}")
        harmed = topics.keys() - that_take_records(cluster, topics, within_s=30)
        assert (told["answer"] == "safe") == (has_quorum and not harmed), told
        did = "took a change" if has_quorum else "took no change: no majority of the voters"
        lost = f"; no records for {', '.join(sorted(harmed))}" if harmed else ""
        how = f"combined nodes, {like}; {','.join(map(str, sorted(stopped)))} killed"
        hold(PREFLIGHT, ("`--stop-broker`", how, NEWEST), ("directory", told["answer"], did + lost))
        cluster.start(*down, *stopped)
        until(lambda: cluster.is_in_sync(topics), "not in sync afterwards")  # noqa: B023

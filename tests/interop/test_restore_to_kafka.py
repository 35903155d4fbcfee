"""`kraftlake restore`: a new Kafka cluster boots with the metadata of one whose controllers are
gone, and its brokers keep their data."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.kafka_jars import VERSIONS, class_path_or_skip
from tests.interop.small_cluster import BROKERS, Cluster
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

WITHIN_S = 120.0
RECORDS = 200


def fill(cluster: Cluster) -> None:
    """Topics, records, a config, a quota, an ACL and a credential."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = [
        NewTopic("orders", 3, 2, config={"retention.ms": "86400000"}),
        NewTopic("moved", 2, replica_assignment=[[12], [11]]),
    ]
    for made in admin.create_topics(topics, request_timeout=WITHIN_S).values():
        made.result(WITHIN_S)
    produce(cluster.bootstrap, 0, RECORDS)
    configs = "kafka.admin.ConfigCommand"
    alter = ("--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config")
    cluster.tool(configs, *alter, "consumer_byte_rate=1024")
    cluster.tool(configs, *alter, "SCRAM-SHA-256=[iterations=4096,password=hunter2]")
    package = "kafka.admin" if cluster.version.startswith("3.") else "org.apache.kafka.tools"
    cluster.tool(
        f"{package}.AclCommand",
        "--add",
        "--allow-principal",
        "User:alice",
        "--operation",
        "Read",
        "--topic",
        "orders",
    )


def produce(bootstrap: str, first: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    failed: list[Any] = []
    for number in range(first, first + count):
        producer.produce(
            "orders",
            str(number).encode(),
            partition=number % 3,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(WITHIN_S) == 0
    assert failed == []


def consumed(bootstrap: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reading"})
    consumer.assign([TopicPartition("orders", number, OFFSET_BEGINNING) for number in range(3)])
    found: list[int] = []
    deadline = time.monotonic() + WITHIN_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append(int(message.value() or b""))
    consumer.close()
    return sorted(found)


def state_of(folder: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What a lake of one controller's directory tells of its newest state, by entity and key."""
    lake = folder.parent / f"{folder.name}-lake"
    for command in (
        ("ingest", "--keep-secrets", "--lake", str(lake), str(folder)),
        ("build", "--lake", str(lake)),
    ):
        ran = kraftlake(*command)
        assert ran.returncode == 0, ran.stderr
    ran = kraftlake("state", "--lake", str(lake), "--json")
    assert ran.returncode == 0, ran.stderr
    rows = map(json.loads, ran.stdout.splitlines())
    return {(row["entity"], row["key"]): json.loads(row["value"]) for row in rows}


OF_NODES = ("broker", "controller", "voters", "kraft_version", "zk_migration_state")
PLACES = ("isr", "leader", "leaderEpoch", "partitionEpoch", "directories")


def kept(state: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
    """What has to be the same in the restored cluster."""
    return {
        key: {name: value[name] for name in value if name not in PLACES}
        for key, value in state.items()
        if key[0] not in OF_NODES and key != ("feature", "eligible.leader.replicas.version")
    }


def restore(source: Path, new: Cluster, output: Path) -> subprocess.CompletedProcess[str]:
    release = new.version.rpartition(".")[0]
    formatted = ("--formatted", new.controller.log_dir)
    return kraftlake("restore", "--release", release, *formatted, "-o", output, source)


@pytest.mark.parametrize("controllers", [1, 3])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_lost_cluster_s_metadata_boots_a_new_one_whose_brokers_keep_their_records(
    tmp_path: Path, version: str, controllers: int
) -> None:
    class_path_or_skip(version)
    old = Cluster(tmp_path / "old", version)
    old.format()
    with old:
        fill(old)
    before = state_of(old.controller.log_dir)
    new = Cluster(tmp_path / "new", version, controllers)
    for lost, broker in zip(old.brokers, new.brokers, strict=True):
        shutil.copytree(lost.log_dir, broker.log_dir)
        shutil.rmtree(broker.partition)  # the metadata of the cluster that is gone
    new.format()
    ran = restore(old.controller.log_dir, new, tmp_path / "restored")
    assert ran.returncode == 0, ran.stderr
    for node in new.controllers:
        shutil.copytree(tmp_path / "restored", node.log_dir, dirs_exist_ok=True)
    with new:
        assert consumed(new.bootstrap, RECORDS) == list(range(RECORDS))
        produce(new.bootstrap, RECORDS, 30)
        assert consumed(new.bootstrap, RECORDS + 30) == list(range(RECORDS + 30))
    after = state_of(new.controller.log_dir)
    restored = kept(after)
    assert {key: restored.get(key) for key in kept(before)} == kept(before)
    added = {key[0] for key in restored.keys() - kept(before).keys()}
    assert added <= {"topic", "partition", "config", "producer_ids"}, "for __consumer_offsets"
    leaders = [value["leader"] for key, value in after.items() if key[0] == "partition"]
    assert set(leaders) == set(BROKERS), "each partition has one again"

"""`kraftlake plan` before changes of a real cluster, and what Kafka then does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.small_cluster import Cluster
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

WITHIN_S = 120.0
ASSIGNMENTS = {
    "on-11": ([11], 1),
    "on-12": ([12], 1),
    "on-both": ([11, 12], 1),
    "on-both-too": ([12, 11], 1),
    "both-wanted": ([11, 12], 2),
}
"""Topic -> replicas of its partition, min.insync.replicas."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    class_path_or_skip(NEWEST)
    made = Cluster(tmp_path / "kafka", NEWEST)
    made.format("--release-version", "4.3")
    with made:
        admin = AdminClient({"bootstrap.servers": made.bootstrap})
        topics = [
            NewTopic(
                name, 1, replica_assignment=[replicas], config={"min.insync.replicas": str(least)}
            )
            for name, (replicas, least) in ASSIGNMENTS.items()
        ]
        for created in admin.create_topics(topics, request_timeout=WITHIN_S).values():
            created.result(WITHIN_S)
        yield made


def planned(cluster: Cluster, *change: object) -> dict[str, Any]:
    ran = kraftlake("plan", "--json", *map(str, change), cluster.controller.log_dir)
    assert ran.returncode in (0, 1, 3), ran.stderr
    (row,) = map(json.loads, ran.stdout.splitlines())
    assert isinstance(row, dict)
    return row


def test_a_running_quorum_answers_as_its_directory_does(cluster: Cluster) -> None:
    of_directory = planned(cluster, "--stop-broker", 12)
    bootstrap = f"127.0.0.1:{cluster.controller.port}"
    ran = kraftlake("plan", "--json", "--stop-broker", "12", "-b", bootstrap)
    assert ran.returncode == 1, ran.stderr
    (live,) = map(json.loads, ran.stdout.splitlines())
    assert live["reasons"] == of_directory["reasons"]
    assert live["end_offset"] >= of_directory["end_offset"]


def that_take_records(cluster: Cluster) -> set[str]:
    """The topics of which a record is acknowledged by all that are in sync; each has a producer of
    its own, so that none waits for another one's retries."""
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0}
    acknowledged: set[str] = set()

    def delivered(error: Any, message: Message) -> None:
        if error is None:
            acknowledged.add(str(message.topic()))

    producers = {
        topic: Producer({**settings, "message.timeout.ms": 20000}) for topic in ASSIGNMENTS
    }
    for topic, producer in producers.items():
        producer.produce(topic, b"x", on_delivery=delivered)
    for producer in producers.values():
        assert producer.flush(40) == 0
    return acknowledged


def test_the_partitions_that_are_told_to_be_harmed_are_those_that_take_no_records(
    cluster: Cluster,
) -> None:
    told = planned(cluster, "--stop-broker", 12)
    harmed = {reason["subject"] for reason in told["reasons"] if reason["answer"] == "unsafe"}
    assert harmed == {"on-12-0", "both-wanted-0"}
    assert that_take_records(cluster) == set(ASSIGNMENTS)
    cluster.brokers[1].kill()
    time.sleep(8)  # two sessions of a broker
    assert that_take_records(cluster) == {one for one in ASSIGNMENTS if f"{one}-0" not in harmed}


@pytest.mark.parametrize(
    ("replicas", "topic"),
    [
        ([12], "on-11"),
        ([11, 12], "on-11"),
        ([11, 99], "on-both"),
        ([11, 11], "on-both"),
        ([11], "not-there"),
        ([], "on-both"),
    ],
)
def test_a_reassignment_is_refused_by_kafka_where_it_is_told_to_be(
    cluster: Cluster, tmp_path: Path, replicas: list[int], topic: str
) -> None:
    path = tmp_path / "moves.json"
    one = {"topic": topic, "partition": 0, "replicas": replicas}
    path.write_text(json.dumps({"version": 1, "partitions": [one]}))
    answer = planned(cluster, "--reassignment", path)["answer"]
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    options = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", path)
    ran = run_tool(tool, *options, "--execute", version=cluster.version)
    is_taken = ran.returncode == 0 and "Successfully started" in ran.stdout
    assert is_taken == (answer == "safe"), ran.stdout + ran.stderr


def test_levels_and_voters_are_refused_by_kafka_where_they_are_told_to_be(cluster: Cluster) -> None:
    features = ("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", cluster.bootstrap)
    quorum = ("org.apache.kafka.tools.MetadataQuorumCommand", *features[1:])
    directory = ("--controller-directory-id", "AAAAAAAAAAAAAAAAAAAAFQ")
    own = ("--controller-directory-id", "restoredController1AAA")
    changes: list[tuple[tuple[object, ...], tuple[object, ...]]] = [
        (("--upgrade", "4.2"), (*features, "upgrade", "--release-version", "4.2")),
        (("--upgrade", "4.4"), (*features, "upgrade", "--release-version", "4.4")),
        (("--remove-voter", 9), (*quorum, "remove-controller", "--controller-id", 9, *directory)),
        (("--remove-voter", 1), (*quorum, "remove-controller", "--controller-id", 1, *own)),
    ]
    answers = []
    for change, command in changes:
        answers.append(planned(cluster, *change)["answer"])
        ran = run_tool(*map(str, command), version=cluster.version)
        assert (ran.returncode == 0) == (answers[-1] == "safe"), ran.stdout + ran.stderr
    assert answers == ["unsafe", "safe", "unsafe", "unsafe"]

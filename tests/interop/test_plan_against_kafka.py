"""`kraftlake plan` before brokers stop and partitions move in a real cluster, and what Kafka then
does. The cases are rows of PREFLIGHT.md."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.asked_plan import planned
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.result_page import PREFLIGHT, hold, rows
from tests.interop.small_cluster import Cluster
from tests.waiting import until

WITHIN_S = 120.0
KINDS = (
    "--reassignment",
    "--stop-broker",
    "--stop-rack",
    "--decommission",
    "--roll",
    "--remove-voter",
    "--add-voter",
    "--upgrade",
    "--downgrade",
    "--to-dynamic",
)
RACKS = {11: "a", 12: "b", 13: "b"}
Topics = Mapping[str, tuple[list[int], int]]
"""By name: the replicas of the only partition, min.insync.replicas."""
SPREAD: Topics = {
    "everywhere": ([11, 12, 13], 1),
    "both-racks": ([11, 12], 1),
    "both-racks-too": ([13, 11], 1),
}
EXPOSED: Topics = {
    "on-12": ([12], 1),
    "in-b": ([12, 13], 1),
    "two-of-three": ([11, 12, 13], 2),
    "two-of-two": ([12, 13], 2),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A controller, and three brokers in two racks."""
    class_path_or_skip(NEWEST)
    made = Cluster(tmp_path_factory.mktemp("plan") / "kafka", NEWEST, racks=RACKS)
    made.format()
    with made:
        yield made


def admin_of(cluster: Cluster) -> AdminClient:
    """One of its own, for an older one may wait for a broker that was killed. It has to outlive
    the futures that it gives."""
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def create(cluster: Cluster, topics: Topics) -> None:
    if not topics:
        return
    new = [
        NewTopic(name, 1, replica_assignment=[replicas], config={"min.insync.replicas": str(least)})
        for name, (replicas, least) in topics.items()
    ]
    admin = admin_of(cluster)
    for created in admin.create_topics(new, request_timeout=WITHIN_S).values():
        created.result(WITHIN_S)


def delete(cluster: Cluster, topics: Topics) -> None:
    admin = admin_of(cluster)
    for one in admin.delete_topics(list(topics), request_timeout=WITHIN_S).values():
        one.result(WITHIN_S)


def source(cluster: Cluster, *, is_live: bool) -> Path | str:
    """What a plan is asked of: the running quorum, or the directory of its controller."""
    return f"127.0.0.1:{cluster.controller.port}" if is_live else cluster.controller.log_dir


def held(option: str, case: str, asked: str, answer: str, did: str) -> None:
    hold(PREFLIGHT, (f"`{option}`", case, NEWEST), (asked, answer, did))


def that_take_records(cluster: Cluster, topics: Topics, within_s: int = 10) -> set[str]:
    """The topics of which a record is acknowledged by all that are in sync; each has a producer of
    its own, so that none waits for another one's retries."""
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0}
    acknowledged: set[str] = set()

    def delivered(error: Any, message: Message) -> None:
        if error is None:
            acknowledged.add(str(message.topic()))

    patience = {"message.timeout.ms": within_s * 1000}
    producers = {topic: Producer({**settings, **patience}) for topic in topics}
    for topic, producer in producers.items():
        producer.produce(topic, b"x", on_delivery=delivered)
    for producer in producers.values():
        assert producer.flush(2 * within_s) == 0
    return acknowledged


def metadata(cluster: Cluster) -> Any:
    """Of all topics and live brokers."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            return admin_of(cluster).list_topics(timeout=15)
        except KafkaException:
            assert time.monotonic() < deadline, "no broker tells the metadata"


def live_brokers(cluster: Cluster) -> set[int]:
    return set(metadata(cluster).brokers)


def is_in_sync(cluster: Cluster, topics: Topics) -> bool:
    found = metadata(cluster).topics
    return all(
        topic in found and sorted(found[topic].partitions[0].isrs) == sorted(replicas)
        for topic, (replicas, _) in topics.items()
    )


def after_the_end_of(
    cluster: Cluster, stopped: set[int], topics: Topics, *, in_order: bool
) -> set[str]:
    """The topics that take no records while the brokers are gone; they are back afterwards."""
    nodes = [node for id, node in zip(RACKS, cluster.brokers, strict=True) if id in stopped]
    until(lambda: is_in_sync(cluster, topics), "not in sync before the test")
    assert that_take_records(cluster, topics) == set(topics)
    for node in nodes:
        if in_order:
            node.stop()
        else:
            node.kill()
    until(lambda: not live_brokers(cluster) & stopped, f"{stopped} are not fenced")
    harmed = set(topics) - that_take_records(cluster, topics)
    for node in nodes:
        node.start()
    until(lambda: live_brokers(cluster) == set(RACKS), "not all brokers came back")
    until(lambda: is_in_sync(cluster, topics), "not in sync afterwards")
    return harmed


def told_to_be_harmed(answer: Mapping[str, Any]) -> set[str]:
    found = {one["subject"] for one in answer["reasons"] if one["answer"] == "unsafe"}
    return {subject.removesuffix("-0") for subject in found - {"partitions"}}  # that is their sum


def in_words(harmed: set[str], topics: Topics) -> str:
    if not harmed:
        return f"all {len(topics)} partitions took records"
    others = len(topics.keys() - harmed)
    return f"no records for {', '.join(sorted(harmed))}, but for the other {others}"


STOPS = [
    ("topics spread over both racks", SPREAD, {11}, False, "a"),
    ("topics spread over both racks", SPREAD, {12, 13}, False, "b"),
    ("also topics in rack b alone", {**SPREAD, **EXPOSED}, {12, 13}, False, "b"),
    ("also topics in rack b alone", {**SPREAD, **EXPOSED}, {12}, True, None),
    ("also topics in rack b alone", {**SPREAD, **EXPOSED}, {11}, True, "a"),
    ("also topics in rack b alone", {**SPREAD, **EXPOSED}, {13}, False, None),
]
"""What the cluster is like, its topics, the brokers that stop, whether in order (else kill -9), and
the rack that they are."""


@pytest.mark.slow
def test_the_partitions_that_are_told_to_be_harmed_are_those_that_take_no_records(
    cluster: Cluster,
) -> None:
    topics: Topics = {}
    for number, (like, wanted, stopped, in_order, rack) in enumerate(STOPS):
        create(cluster, {name: one for name, one in wanted.items() if name not in topics})
        topics = wanted
        until(lambda: is_in_sync(cluster, wanted), "not created")  # noqa: B023
        named, is_live = ",".join(map(str, sorted(stopped))), number % 2 == 1
        told = planned(source(cluster, is_live=is_live), "--stop-broker", named)
        of_rack = planned(cluster.controller.log_dir, "--stop-rack", rack) if rack else None
        harmed = after_the_end_of(cluster, stopped, topics, in_order=in_order)
        assert told_to_be_harmed(told) == harmed
        assert (told["answer"] == "safe") == (not harmed)
        asked, did = "`-b`" if is_live else "directory", in_words(harmed, topics)
        how = f"{like}; {named} {'shut down' if in_order else 'killed'}"
        held("--stop-broker", how, asked, told["answer"], did)
        if of_rack is not None:
            assert told_to_be_harmed(of_rack) == harmed
            how = f"{like}; rack {rack}, brokers {named}, {'shut down' if in_order else 'killed'}"
            held("--stop-rack", how, "directory", of_rack["answer"], did)
    delete(cluster, topics)


@pytest.mark.slow
def test_brokers_and_racks_that_kafka_does_not_have_are_unsafe(cluster: Cluster) -> None:
    admin = admin_of(cluster)
    described = admin.describe_cluster(request_timeout=WITHIN_S).result(WITHIN_S)
    assert {(node.id, node.rack) for node in described.nodes} == set(RACKS.items())
    for option, name in (("--stop-broker", "99"), ("--stop-rack", "c")):
        answer = planned(cluster.controller.log_dir, option, name)["answer"]
        assert answer == "unsafe"
        did = "DescribeCluster names no such broker or rack"
        held(option, f"{name}, which is not there", "directory", answer, did)


MOVED: Topics = {
    "one": ([11], 1),
    "two": ([11, 12], 1),
    "three": ([11, 12, 13], 1),
    "strict": ([11, 12, 13], 2),
    "no-spare": ([11, 12, 13], 2),
}
MOVES = [
    ("to another broker", "one", [12]),
    ("one replica more", "one", [12, 11]),
    ("a replica of the other rack", "two", [11, 13]),
    ("one replica less", "three", [13, 11]),
    ("fewer replicas than min.insync.replicas", "strict", [13]),
    ("a broker that is not registered", "two", [11, 99]),
    ("a broker twice", "two", [11, 11]),
    ("a topic that is not there", "none", [11]),
    ("no replicas", "two", []),
    ("as many replicas as min.insync.replicas", "no-spare", [11, 13]),
]


def execute(cluster: Cluster, path: Path) -> bool:
    """Whether Kafka takes it."""
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    options = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", path)
    ran = run_tool(tool, *options, "--execute", version=cluster.version)
    is_taken = ran.returncode == 0 and "Successfully started" in ran.stdout
    assert is_taken or "rror" in ran.stdout + ran.stderr, ran.stdout + ran.stderr
    return is_taken


def written_move(folder: Path, topic: str, replicas: list[int]) -> Path:
    path = folder / f"{topic}-{'-'.join(map(str, replicas))}.json"
    one = {"topic": topic, "partition": 0, "replicas": replicas}
    path.write_text(json.dumps({"version": 1, "partitions": [one]}))
    return path


def has_ended(cluster: Cluster, topic: str, replicas: list[int]) -> bool:
    partition = metadata(cluster).topics[topic].partitions[0]
    return partition.replicas == replicas and set(partition.isrs) == set(replicas)


def outcome(cluster: Cluster, path: Path, topic: str, replicas: list[int]) -> str:
    if not execute(cluster, path):
        return "refused"
    until(lambda: has_ended(cluster, topic, replicas), "the reassignment does not end")
    if not that_take_records(cluster, {topic: (replicas, 0)}):
        return "ended, and takes no records"
    least = MOVED[topic][1]
    if len(replicas) == least > 1:
        return f"ended, and takes records{while_one_is_away(cluster, topic, replicas)}"
    fewer = f" with {len(replicas)} of {least} copies" if len(replicas) < least else ""
    return f"ended, and takes records{fewer}"


def while_one_is_away(cluster: Cluster, topic: str, replicas: list[int]) -> str:
    """What a restart of the last broker, which has a replica, does to the partition."""
    assert replicas[-1] == 13
    cluster.brokers[-1].kill()
    until(lambda: 13 not in live_brokers(cluster), "13 is not fenced")
    takes = that_take_records(cluster, {topic: (replicas, 0)})
    cluster.brokers[-1].start()
    until(lambda: live_brokers(cluster) == set(RACKS), "13 does not come back")
    until(lambda: has_ended(cluster, topic, replicas), "13 does not catch up")
    return "" if takes else ", but none while a replica is away"


@pytest.mark.slow
def test_reassignments_are_refused_end_and_keep_records_out_as_told(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, MOVED)
    until(lambda: is_in_sync(cluster, MOVED), "not created")
    for number, (case, topic, replicas) in enumerate(MOVES):
        path, is_live = written_move(tmp_path, topic, replicas), number % 3 == 2
        answer = planned(source(cluster, is_live=is_live), "--reassignment", path)["answer"]
        did = outcome(cluster, path, topic, replicas)
        assert (answer == "safe") == (did == "ended, and takes records")
        asked = "`-b`" if is_live else "directory"
        held("--reassignment", case, asked, answer, did)
    held_while_a_broker_is_down(cluster, tmp_path)
    delete(cluster, MOVED)


def held_while_a_broker_is_down(cluster: Cluster, folder: Path) -> None:
    """The tool knows live brokers alone; the controller would take it, and it would not end."""
    cluster.brokers[-1].kill()
    until(lambda: 13 not in live_brokers(cluster), "13 is not fenced")
    path = written_move(folder, "one", [13])
    answer = planned(cluster.controller.log_dir, "--reassignment", path)["answer"]
    did = "refused" if not execute(cluster, path) else "taken"
    assert (answer, did) == ("unsafe", "refused")
    held("--reassignment", "to a fenced broker", "directory", answer, did)
    cluster.brokers[-1].start()
    until(lambda: live_brokers(cluster) == set(RACKS), "13 does not come back")


def test_five_cases_of_each_change_were_made_with_unsafe_and_safe_ones_among_them() -> None:
    table = rows(PREFLIGHT)
    for kind in KINDS:
        answers = [answer for option, _, _, _, answer, _ in table if option == f"`{kind}`"]
        assert len(answers) >= 5, kind
        assert {"safe", "unsafe"} <= set(answers), kind
    assert sum(asked == "`-b`" for _, _, _, asked, _, _ in table) >= 5

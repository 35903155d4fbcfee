"""`kraftlake plan` before brokers leave a real cluster for good, and before all of its nodes
restart, and what Kafka then does. The cases are rows of PREFLIGHT.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.asked_plan import planned
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.result_page import PREFLIGHT, hold
from tests.interop.small_cluster import Cluster
from tests.interop.test_plan_against_kafka import (
    RACKS,
    Topics,
    create,
    delete,
    execute,
    has_ended,
    is_in_sync,
    live_brokers,
    metadata,
    that_take_records,
    written_move,
)
from tests.interop.test_plan_combined_against_kafka import NODES, CombinedCluster
from tests.waiting import until

LEAVES = 13
TOPICS: Topics = {"two": ([13, 11], 1), "all-three": ([11, 12, 13], 1)}
ROLLED: Topics = {"everywhere": ([1, 2, 3], 1)}
ROLLS = [
    ("all run", ROLLED, set()),
    ("3 is down", ROLLED, {3}),
    ("all run, and a topic needs 1 and 2", {**ROLLED, "two-of-two": ([1, 2], 2)}, set()),
    ("all run, and a topic has one replica, on 2", {**ROLLED, "one": ([2], 1)}, set()),
    ("all run, after both topics are gone", ROLLED, set()),
]
"""What the cluster is like, its topics, and the nodes that are down."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    class_path_or_skip(NEWEST)
    made = Cluster(tmp_path_factory.mktemp("leaving") / "kafka", NEWEST, racks=RACKS)
    made.format()
    with made:
        yield made


@pytest.fixture(scope="module")
def combined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CombinedCluster]:
    class_path_or_skip(NEWEST)
    made = CombinedCluster(tmp_path_factory.mktemp("rolled"), NEWEST)
    try:
        made.start(*NODES)
        yield made
    finally:
        for node in made.nodes.values():
            node.kill()


def unregisters(cluster: Cluster, broker: int) -> bool:
    """Whether Kafka takes it."""
    options = ("unregister", "--bootstrap-server", cluster.bootstrap, "--id", broker)
    ran = run_tool("org.apache.kafka.tools.ClusterTool", *options, version=cluster.version)
    told = ran.stdout + ran.stderr
    assert "no longer registered" in told or "ERROR" in told or "xception" in told, told
    return "no longer registered" in told


def held(case: str, asked: str, answer: str, did: str) -> None:
    hold(PREFLIGHT, ("`--decommission`", case, NEWEST), (asked, answer, did))


def moved(cluster: Cluster, folder: Path, topic: str, replicas: list[int]) -> None:
    assert execute(cluster, written_move(folder, topic, replicas))
    until(lambda: has_ended(cluster, topic, replicas), "the reassignment does not end")


def what_unregistering_does(cluster: Cluster, topics: Topics) -> str:
    """Stops broker LEAVES, unregisters it, looks at its topics, and starts it again."""
    node = cluster.brokers[-1]
    node.stop()
    until(lambda: LEAVES not in live_brokers(cluster), f"{LEAVES} is not fenced")
    assert unregisters(cluster, LEAVES)
    found = metadata(cluster).topics
    short = [
        topic
        for topic in topics
        if set(found[topic].partitions[0].isrs) != set(found[topic].partitions[0].replicas)
    ]
    takes = that_take_records(cluster, topics)
    assert takes == set(topics)
    node.start()
    until(lambda: live_brokers(cluster) == set(RACKS), f"{LEAVES} does not come back")
    if short:
        return f"unregistered; {', '.join(sorted(short))} stay with a replica less than they have"
    return "unregistered; every partition has all of its replicas in sync"


@pytest.mark.slow
def test_a_broker_leaves_without_harm_where_the_plan_calls_it_safe(
    brokers: Cluster, tmp_path: Path
) -> None:
    create(brokers, TOPICS)
    until(lambda: is_in_sync(brokers, TOPICS), "not created")
    controller = brokers.controller

    told = planned(controller.log_dir, "--decommission", LEAVES)
    (stuck,) = (one for one in told["reasons"] if one["subject"] == "all-three-0")
    assert stuck["detail"].startswith("needs 3 brokers, and 2 would be left")
    did = what_unregistering_does(brokers, TOPICS)
    assert (told["answer"] == "safe") == ("stay with" not in did)
    held("a topic of two, and one of all three brokers", "directory", told["answer"], did)
    until(lambda: is_in_sync(brokers, TOPICS), "not in sync afterwards")

    refused = not execute(brokers, written_move(tmp_path, "all-three", [11, 12, 99]))
    assert refused
    held("its move to a third broker, which is not there", "directory", told["answer"], "refused")

    moved(brokers, tmp_path, "two", [12, 11])
    moved(brokers, tmp_path, "all-three", [11, 12])
    told = planned(f"127.0.0.1:{controller.port}", "--decommission", LEAVES)
    did = what_unregistering_does(brokers, TOPICS)
    assert (told["answer"] == "safe") == ("stay with" not in did)
    held("both topics moved to the others", "`-b`", told["answer"], did)

    for node_id, like in ((99, "a broker that is not registered"), (1, "a controller that votes")):
        told = planned(controller.log_dir, "--decommission", node_id)
        assert (told["answer"], unregisters(brokers, node_id)) == ("unsafe", False)
        held(like, "directory", told["answer"], "refused")
    delete(brokers, TOPICS)


def harmed_by_the_roll(cluster: CombinedCluster, order: list[int], topics: Topics) -> set[str]:
    """The topics that took no records while one of the nodes was stopped. The nodes are stopped and
    started in this order."""
    harmed: set[str] = set()
    for node_id in order:
        cluster.nodes[node_id].stop()
        harmed |= topics.keys() - that_take_records(cluster, topics, within_s=30)
        cluster.start(node_id)
        until(lambda: cluster.is_in_sync(topics), f"{node_id} is not in sync again")
    return harmed


@pytest.mark.slow
def test_all_nodes_restart_in_the_order_of_the_plan(combined: CombinedCluster) -> None:
    there: set[str] = set()
    for number, (like, topics, down) in enumerate(ROLLS):
        if gone := there - topics.keys():
            drop(combined, gone)
        if new := {name: one for name, one in topics.items() if name not in there}:
            combined.create(new)
        there = set(topics)
        for node_id in down:
            combined.nodes[node_id].kill()
        until(lambda: combined.is_in_sync(topics), "not in sync before")  # noqa: B023
        first = told = asked(combined, number)
        assert sorted(told["order"]) in ([], list(NODES))
        if down:
            # test_plan_combined_against_kafka.py stops a node while another is down.
            assert (told["answer"], told["order"]) == ("unsafe", [])
            combined.start(*down)
            until(lambda: combined.is_in_sync(topics), "not in sync afterwards")  # noqa: B023
            told = asked(combined, number)
        harmed = harmed_by_the_roll(combined, told["order"] or list(NODES), topics)
        assert (told["answer"] == "safe") == (not harmed), (told, harmed)
        did = f"{', '.join(map(str, sorted(down)))} started: {told['answer']}; " if down else ""
        did += "all took records while each node was stopped"
        if harmed:
            did = f"no records for {', '.join(sorted(harmed))} while a node was stopped"
        row = ("`-b`" if number == 0 else "directory", first["answer"], did)
        hold(PREFLIGHT, ("`--roll`", f"combined nodes, {like}", NEWEST), row)


def asked(cluster: CombinedCluster, number: int) -> dict[str, Any]:
    if number == 0:
        return planned(f"127.0.0.1:{cluster.nodes[NODES[0]].port}", "--roll")
    running = next(one for one in NODES if cluster.nodes[one].is_running)
    return planned(cluster.nodes[running].log_dir, "--roll")


def drop(cluster: CombinedCluster, topics: set[str]) -> None:
    admin = cluster.admin()
    for one in admin.delete_topics(list(topics), request_timeout=120).values():
        one.result(120)

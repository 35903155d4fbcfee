"""Rules of health on real Kafka: what check says of a cluster, and what Kafka then does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.kafka_cluster import STARTED
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import LISTENER, Controller, free_ports, run_tool
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

WITHIN_S = 120.0
OLD, NEW = "4.1.2", "4.3.1"
_FEATURES = "org.apache.kafka.tools.FeatureCommand"
_TOPICS = "org.apache.kafka.tools.TopicCommand"


def both(folder: Path, controller: int, broker: int, version: str) -> Controller:
    """Node 1, controller and broker in one."""
    settings = {
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker},{LISTENER}://127.0.0.1:{controller}",
        "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "offsets.topic.replication.factor": 1,
    }
    node = folder / "1"
    return Controller(node, 1, {1: controller}, is_static=False, settings=settings, version=version)


def standby(folder: Path, controller: int, version: str) -> Controller:
    """Node 2, a controller that follows the quorum of node 1 and has no vote."""
    (port,) = free_ports(1)
    settings = {"controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}"}
    ports = {1: controller, 2: port}
    node = Controller(folder, 2, ports, is_static=False, settings=settings, version=version)
    node.format(CLUSTER_ID, "--no-initial-controllers")
    return node


def health(node: Controller) -> dict[str, dict[str, Any]]:
    """The findings about the cluster by rule, from the directory of a node that runs."""
    ran = kraftlake("check", "--family", "health", "--json", node.log_dir)
    assert ran.returncode in (0, 1), ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {row["rule"]: row for row in rows if row["kind"] == "finding"}


def until(node: Controller, is_so: Callable[[dict[str, dict[str, Any]]], bool]) -> Any:
    """The findings once they are so."""
    deadline = time.monotonic() + WITHIN_S
    while not is_so(found := health(node)):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    return found


def test_a_ghost_of_an_old_release_keeps_metadata_version_back_until_it_is_replaced(
    tmp_path: Path,
) -> None:
    for version in (OLD, NEW):
        class_path_or_skip(version)
    controller, broker = free_ports(2)
    node = both(tmp_path, controller, broker, NEW)
    node.format(CLUSTER_ID, "--standalone", "--release-version", "4.1-IV1")
    upgrade = ("--bootstrap-controller", f"127.0.0.1:{controller}", "upgrade")
    with node:
        node.wait_for(STARTED)
        with standby(tmp_path / "old", controller, OLD):
            found = until(node, lambda rules: "ghost-blocks-feature" in rules)
        subjects = found["ghost-blocks-feature"]["subjects"]
        assert {one["name"] for one in subjects} == {"controller 2"}
        subject = next(one for one in subjects if one["what"].startswith("metadata.version: "))
        assert "supports 4.1-IV1, others 4.3-IV0" in subject["what"]
        assert "node.id=2 of the newer release" in subject["what"]

        ran = run_tool(_FEATURES, *upgrade, "--release-version", "4.3-IV0", version=NEW)
        assert ran.returncode != 0
        assert "Controller 2 only supports versions 7-27" in ran.stdout + ran.stderr

        with standby(tmp_path / "new", controller, NEW):
            until(node, lambda rules: "ghost-blocks-feature" not in rules)
        found = until(node, lambda rules: "metadata-version-behind" in rules)
        assert found["controller-without-vote"]["subjects"][0]["name"] == "controller 2"
        ran = run_tool(_FEATURES, *upgrade, "--release-version", "4.3-IV0", version=NEW)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        until(node, lambda rules: "metadata-version-behind" not in rules)


def test_a_ghost_of_kafka_4_4_goes_when_it_is_unregistered(tmp_path: Path) -> None:
    class_path_or_skip(NEWEST)
    controller, broker = free_ports(2)
    node = both(tmp_path, controller, broker, NEWEST)
    node.format(CLUSTER_ID, "--standalone")
    with node:
        node.wait_for(STARTED)
        with standby(tmp_path / "2", controller, NEWEST):
            found = until(node, lambda rules: "controller-without-vote" in rules)
        (subject,) = found["controller-without-vote"]["subjects"]
        assert "kafka-cluster.sh unregister-controller" in subject["what"]
        program = Path(__file__).with_name("Unregister.java")
        ran = run_tool(str(program), f"127.0.0.1:{controller}", 2)
        assert ran.stdout.splitlines() == ["unregistered"], ran.stdout + ran.stderr
        until(node, lambda rules: "controller-without-vote" not in rules)


def test_the_exposure_of_a_broker_equals_the_partitions_that_its_stop_harms(tmp_path: Path) -> None:
    """Broker 11 holds partitions alone, and others with node 1, of which two replicas are to be in
    sync."""
    class_path_or_skip(NEWEST)
    controller, first, second = free_ports(3)
    node = both(tmp_path, controller, first, NEWEST)
    node.format(CLUSTER_ID, "--standalone")
    other = Controller(
        tmp_path / "11",
        11,
        {1: controller, 11: second},
        is_static=False,
        settings={
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{second}",
            "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        },
    )
    other.format(CLUSTER_ID)
    create = ("--bootstrap-server", f"127.0.0.1:{first}", "--create", "--topic")
    with node:
        node.wait_for(STARTED)
        other.start()
        try:
            other.wait_for(STARTED)
            alone = ("alone", "--replica-assignment", "11,11,11,1")
            shared = ("shared", "--replica-assignment", "11:1,1:11")
            for topic in (alone, (*shared, "--config", "min.insync.replicas=2")):
                ran = run_tool(_TOPICS, *create, *topic)
                assert ran.returncode == 0, ran.stdout + ran.stderr
            until(node, lambda rules: "partition-below-min-isr" not in rules)
            told = exposure(node)["broker", "11"]
            assert (told["leaderless"], told["below_min_isr"]) == (3, 2)
        finally:
            other.kill()
        found = until(node, lambda rules: "replica-on-fenced-broker" in rules
                      and "partition-below-min-isr" in rules)  # fmt: skip
        leaderless = [one["name"] for one in found["partition-without-leader"]["subjects"]]
        below = [one["name"] for one in found["partition-below-min-isr"]["subjects"]]
        assert leaderless == ["alone-0", "alone-1", "alone-2"]
        assert below == ["shared-0", "shared-1"]
        now = exposure(node)["nothing",]
        assert (now["leaderless"], now["below_min_isr"]) == (3, 2)


def exposure(node: Controller) -> dict[tuple[str, ...], dict[str, Any]]:
    ran = kraftlake("state", "--exposure", "--json", node.log_dir)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {(row["kind"], *row["gone"]): row for row in rows}

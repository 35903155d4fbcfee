"""A node that is upgraded from release to release, as operators do it: what it keeps of the older
ones is sound to the doctor, and every snapshot equals the log."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.kafka_jars import VERSIONS, class_path_or_skip, numbers
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.interop.matrix import hold
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

WITHIN_S = 120.0
OFTEN = 3000
"""Bytes of records between snapshots."""
ONLY_OF_KAFKA_3 = {"message.format.version": "3.0"}


def node(folder: Path, ports: tuple[int, int], version: str) -> Controller:
    controller, broker = ports
    settings = {
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "metadata.log.max.record.bytes.between.snapshots": OFTEN,
    }
    named = {1: controller}
    return Controller(folder, 1, named, is_static=False, settings=settings, version=version)


def fill(bootstrap: str, version: str) -> None:
    """Enough topics for a snapshot; those of Kafka 3 have a config that Kafka 4 does not know."""
    of_kafka_3 = ONLY_OF_KAFKA_3 if version.startswith("3.") else {}
    config = {"retention.ms": "86400000", **of_kafka_3}
    topics = [NewTopic(f"by-{version}-{n}", 2, 1, config=config) for n in range(20)]
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for made in admin.create_topics(topics, request_timeout=WITHIN_S).values():
        made.result(WITHIN_S)


def finalize(bootstrap: str, version: str) -> None:
    """All features at the levels of the release; it is the last step of an upgrade."""
    release = version.rpartition(".")[0]
    option = "--metadata" if version.startswith("3.") else "--release-version"
    tool = ("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", bootstrap)
    ran = run_tool(*tool, "upgrade", option, release, version=version)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def snapshots(kafka: Controller) -> set[str]:
    return {path.name for path in kafka.partition.glob("*.checkpoint")}


def wait_for_snapshot(kafka: Controller, before: set[str]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not snapshots(kafka) - before:
        assert time.monotonic() < deadline, f"Kafka {kafka.version} wrote no snapshot"
        time.sleep(0.2)


def judged(kafka: Controller) -> dict[str, str]:
    """Severity by rule, of what the doctor finds in the directory of a node that was stopped."""
    ran = kraftlake("check", "--json", "--family", "files", kafka.partition)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    found = {row["rule"]: row["severity"] for row in rows if "rule" in row}
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return found


def topics_in(kafka: Controller) -> set[str]:
    ran = kraftlake("dump", "--json", "--type", "TOPIC_RECORD", kafka.partition)
    assert ran.returncode == 0, ran.stderr
    return {json.loads(line)["data"]["name"] for line in ran.stdout.splitlines()}


def test_a_node_upgraded_from_release_to_release_is_sound_at_every_step(tmp_path: Path) -> None:
    for version in VERSIONS:
        class_path_or_skip(version)
    controller, broker = free_ports(2)
    bootstrap = f"127.0.0.1:{broker}"
    for before, version in zip((None, *VERSIONS), VERSIONS, strict=False):
        kafka = node(tmp_path, (controller, broker), version)
        if before is None:
            kafka.format(CLUSTER_ID, "--standalone")
        with kafka:
            kafka.wait_for("Kafka Server started")
            there = snapshots(kafka)
            fill(bootstrap, version)
            finalize(bootstrap, version)
            fill(bootstrap, f"{version}-finalized")
            wait_for_snapshot(kafka, there)
        found = judged(kafka)
        assert set(found.values()) <= {"info"}
        assert ("configs-left-out" in found) == (numbers(version) >= (4, 2))
        assert f"by-{version}-finalized-19" in topics_in(kafka)
        assert f"by-{VERSIONS[0]}-0" in topics_in(kafka)
        hold(version, "upgraded", f"from {before}" if before else "begins here")

"""Controllers that make themselves voters (controller.quorum.auto.join.enable): Kafka's of quorums
that kraftlake leads, and kraftlake's of quorums that Kafka leads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from replica.format.meta_properties import decode
from tests.interop.kafka_cluster import STARTED
from tests.interop.kafka_jars import VERSIONS, class_path_or_skip, jar_folder, numbers
from tests.interop.kafka_node import LISTENER, Controller, free_ports, run_tool
from tests.interop.kraftlake_quorum import (
    CLUSTER_ID,
    KraftlakeQuorum,
    Replica,
    append_record,
)
from tests.interop.matrix import hold
from tests.kraftlake_process import kraftlake
from tests.waiting import until

pytestmark = pytest.mark.slow

JOINS = {"controller.quorum.auto.join.enable": "true"}
ADMINISTRATOR = {"kraftlake.principals.administrator": "*"}
_METADATA_VERSION = 29
"""4.2-IV1, which all releases that join by themselves know."""
JOINING = tuple(version for version in VERSIONS if numbers(version) >= (4, 2))
"""Releases whose controllers join by themselves."""


def described(*addresses: str) -> Mapping[str, Any]:
    """The quorum as its leader tells it, asked through the first that answers."""
    ran = kraftlake("replica", "describe", "-b", ",".join(addresses), "--json")
    found: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {}
    return found


def voters(*addresses: str) -> dict[int, str]:
    """Directory ids by node id."""
    replicas = described(*addresses).get("replicas", ())
    return {
        each["node_id"]: each["directory_id"] for each in replicas if each["role"] != "observer"
    }


def committed(*addresses: str) -> int:
    return int(described(*addresses)["high_watermark"])


def directory_of(log_dir: Path) -> str:
    return decode((log_dir / "meta.properties").read_bytes()).directory_id


@pytest.mark.parametrize("version", JOINING)
def test_kafkas_controller_becomes_a_voter_of_a_quorum_that_kraftlake_leads(
    tmp_path: Path, version: str
) -> None:
    """In the end the quorum has two voters left, and commits only what Kafka's has, too."""
    class_path_or_skip(version)
    with ExitStack() as stack:
        quorum = stack.enter_context(KraftlakeQuorum(tmp_path, ADMINISTRATOR))
        leader = quorum.wait_for_leader()
        # what Kafka's controllers begin every metadata log with, and stop without
        level = {"name": "metadata.version", "featureLevel": _METADATA_VERSION}
        append_record(leader.address, "FEATURE_LEVEL_RECORD", **level)
        ports = {n: replica.port for n, replica in quorum.replicas.items()}
        (port,) = free_ports(1)
        joining = Controller(
            tmp_path / "4",
            4,
            ports | {4: port},
            is_static=False,
            settings={**JOINS, "controller.quorum.bootstrap.servers": quorum.bootstrap},
            version=version,
        )
        joining.format(CLUSTER_ID, "--no-initial-controllers")
        stack.enter_context(joining)
        own = directory_of(joining.log_dir)
        until(
            lambda: voters(leader.address).get(4) == own, lambda: joining.log[-3000:] + leader.said
        )
        joining.wait_for(STARTED)
        tool = "org.apache.kafka.tools.MetadataQuorumCommand"
        for gone in [r for r in quorum.replicas.values() if r is not leader]:
            gone.stop()
            which = ("-i", gone.node_id, "-d", gone.directory_id)
            controller = ("--bootstrap-controller", leader.address)
            ran = run_tool(tool, *controller, "remove-controller", *which, version=version)
            assert ran.returncode == 0, ran.stdout + ran.stderr
        assert voters(leader.address).keys() == {leader.node_id, 4}
        before = committed(leader.address)
        append_record(leader.address, "NO_OP_RECORD")
        assert committed(leader.address) == before + 1
        log = "__cluster_metadata-0/00000000000000000000.log"
        ours = (leader.log_dir / log).read_bytes()
        theirs = (joining.log_dir / log).read_bytes()
        assert theirs[: len(ours)] == ours
        assert not theirs[len(ours) :].strip(b"\0"), "Kafka's segment is longer by zeros alone"
        assert joining.is_running
    hold(version, "kafka_joins", "fourth voter, and one of two that are left")


@pytest.mark.parametrize("version", [each for each in VERSIONS if each not in JOINING])
def test_an_older_controller_of_kafka_has_no_setting_to_join(version: str) -> None:
    class_path_or_skip(version)
    (jar,) = jar_folder(version).glob("kafka-raft-*.jar")
    with ZipFile(jar) as classes:
        settings = classes.read("org/apache/kafka/raft/QuorumConfig.class")
    assert b"controller.quorum.fetch.timeout.ms" in settings
    assert next(iter(JOINS)).encode() not in settings
    hold(version, "kafka_joins", "no such setting")


class KafkaLed:
    """One controller of Kafka's as the only voter, and replicas of ours that join it by themselves;
    ended on exit."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        (port,) = free_ports(1)
        self.kafka = Controller(folder / "1", 1, {1: port}, is_static=False, version=version)
        self.address = f"127.0.0.1:{port}"
        self.replicas: list[Replica] = []

    def __enter__(self) -> KafkaLed:
        self.kafka.format(CLUSTER_ID, "--standalone")
        self.kafka.start()
        self.kafka.wait_for(STARTED)
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas:
            replica.stop()
        self.kafka.kill()

    def join(self, node_id: int) -> Replica:
        """A new replica with an empty directory; returns when Kafka's leader counts it."""
        folder = self._folder / f"{node_id}-{len(self.replicas)}"
        replica = Replica(folder, node_id, free_ports(1)[0], "")
        folder.mkdir()
        lines = {
            "node.id": node_id,
            "controller.quorum.bootstrap.servers": self.address,
            "listeners": f"{LISTENER}://{replica.address}",
            "controller.listener.names": LISTENER,
            "log.dirs": replica.log_dir,
            **JOINS,
        }
        replica.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        ran = kraftlake("replica", "format", "-c", replica.properties, "-t", CLUSTER_ID)
        assert ran.returncode == 0, ran.stderr
        replica.directory_id = directory_of(replica.log_dir)
        replica.start()
        self.replicas.append(replica)
        until(
            lambda: voters(self.address).get(node_id) == replica.directory_id,
            lambda: replica.said + self.kafka.log[-3000:],
        )
        return replica


@pytest.mark.parametrize("version", VERSIONS)
def test_kraftlake_becomes_a_voter_of_a_quorum_that_kafka_leads(
    tmp_path: Path, version: str
) -> None:
    """Up to Kafka 4.1 by AddRaftVoter 0, whose answer waits for the commit, which for the second
    voter waits for that voter: it becomes one in spite of that."""
    class_path_or_skip(version)
    with KafkaLed(tmp_path, version) as quorum:
        former = quorum.join(2)
        third = quorum.join(3)
        assert f"add directory {third.directory_id}: " in third.said
        assert voters(quorum.address).keys() == {1, 2, 3}

        former.stop()
        second = quorum.join(2)
        assert second.directory_id != former.directory_id
        assert f"remove directory {former.directory_id}: NONE" in second.said
        assert voters(quorum.address)[2] == second.directory_id
        before = committed(quorum.address)
        until(lambda: committed(quorum.address) > before, lambda: quorum.kafka.log[-3000:])
        assert quorum.kafka.is_running

        quorum.kafka.kill()
        ours = (second.address, third.address)
        until(lambda: described(*ours).get("leader_id") in (2, 3), lambda: second.said + third.said)
        quorum.kafka.start()
        until(lambda: _is_caught_up(1, *ours), lambda: quorum.kafka.log[-3000:])
    hold(
        version,
        "joins_kafka",
        "second and third voter, again on a new disk, leads on without Kafka",
    )


def _is_caught_up(node_id: int, *addresses: str) -> bool:
    found = described(*addresses)
    ends = {each["node_id"]: each["log_end_offset"] or 0 for each in found.get("replicas", ())}
    return ends.get(node_id, 0) >= found.get("high_watermark", 0) > 0

"""Each release's kafka-metadata-quorum and kafka-features on quorums of kraftlake replicas, by
controllers and by bootstrap servers: a replica that doesn't lead sends the request on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.kraftlake_quorum import (
    CLUSTER_ID,
    WITHIN_S,
    KraftlakeQuorum,
    Replica,
    append_record,
)
from tests.interop.matrix import hold

ADMINISTRATOR = {"kraftlake.principals.administrator": "*"}


@pytest.fixture(scope="module")
def quorum(
    tmp_path_factory: pytest.TempPathFactory, kafka_version: str
) -> Iterator[KraftlakeQuorum]:
    with KraftlakeQuorum(tmp_path_factory.mktemp("quorum"), ADMINISTRATOR) as quorum:
        yield quorum


def tool(version: str, *arguments: object) -> str:
    ran = run_tool("org.apache.kafka.tools.MetadataQuorumCommand", *arguments, version=version)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def status(version: str, *bootstrap: object) -> dict[str, str]:
    lines = tool(version, *bootstrap, "describe", "--status").splitlines()
    pairs = (line.partition(":") for line in lines if line)
    return {name: value.strip() for name, _, value in pairs}


def replication(version: str, *bootstrap: object) -> dict[int, dict[str, str]]:
    """By node id; the columns as the tool names them."""
    header, *lines = tool(version, *bootstrap, "describe", "--replication").splitlines()
    names = header.split()
    rows = [dict(zip(names, line.split(), strict=True)) for line in lines if line]
    return {int(row["NodeId"]): row for row in rows}


def follower(quorum: KraftlakeQuorum) -> Replica:
    leader = quorum.wait_for_leader()
    return next(each for each in quorum.replicas.values() if each is not leader)


@pytest.mark.parametrize("option", ["--bootstrap-controller", "--bootstrap-server"])
def test_a_follower_tells_status_and_replication(
    quorum: KraftlakeQuorum, kafka_version: str, option: str
) -> None:
    leader = quorum.wait_for_leader()
    found = status(kafka_version, option, follower(quorum).address)
    assert found["ClusterId"] == CLUSTER_ID
    assert found["LeaderId"] == str(leader.node_id)
    assert int(found["HighWatermark"]) > 0
    for replica in quorum.replicas.values():
        assert replica.directory_id in found["CurrentVoters"]
        assert f"CONTROLLER://{replica.address}" in found["CurrentVoters"]
    rows = replication(kafka_version, option, follower(quorum).address)
    assert sorted(rows) == [1, 2, 3]
    assert rows[leader.node_id]["Status"] == "Leader"
    assert {row["Lag"] for row in rows.values()} == {"0"}


def test_an_observer_becomes_a_voter_and_the_leader_goes(
    quorum: KraftlakeQuorum, kafka_version: str
) -> None:
    leader, asked = quorum.wait_for_leader(), follower(quorum)
    added = quorum.add(4)
    deadline = time.monotonic() + WITHIN_S
    while "follower" not in added.said:
        assert time.monotonic() < deadline, added.said
        time.sleep(0.05)
    server = ("--bootstrap-server", asked.address)
    said = tool(kafka_version, *server, "--command-config", added.properties, "add-controller")
    assert f"Added controller 4 with directory id {added.directory_id}" in said
    assert f"CONTROLLER://{added.address}" in status(kafka_version, *server)["CurrentVoters"]

    gone = ("-i", leader.node_id, "-d", leader.directory_id)
    tool(kafka_version, "--bootstrap-controller", asked.address, "remove-controller", *gone)
    voters = sorted({1, 2, 3, 4} - {leader.node_id})
    rows = replication(kafka_version, "--bootstrap-controller", asked.address)
    assert sorted(n for n, row in rows.items() if row["Status"] != "Observer") == voters
    assert rows[4]["DirectoryId"] == added.directory_id
    (successor,) = (n for n, row in rows.items() if row["Status"] == "Leader")
    assert successor in voters
    hold(kafka_version, "tool", "describe, add-controller, remove-controller")


@pytest.mark.slow
def test_kafkas_admin_client_unregisters_a_controller_through_any_replica(tmp_path: Path) -> None:
    """Its answers are those that Kafka's own controller gives it (ClusterControlManager)."""
    class_path_or_skip()
    with KraftlakeQuorum(tmp_path, ADMINISTRATOR) as quorum:
        leader, asked = quorum.wait_for_leader(), follower(quorum)
        for type_name, fields in (
            ("FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": 33}),
            ("REGISTER_CONTROLLER_RECORD", {"controllerId": 7, "incarnationId": "B" * 21 + "A"}),
        ):
            append_record(leader.address, type_name, **fields)
        program = Path(__file__).with_name("Unregister.java")
        ran = run_tool(str(program), asked.address, 7, 7, leader.node_id)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        done, again, itself = ran.stdout.splitlines()
        assert done == "unregistered"
        assert again == "ControllerIdNotRegisteredException: controller 7 is not registered"
        assert itself.startswith(f"InvalidRequestException: node {leader.node_id} leads")


@pytest.mark.slow
def test_kafka_features_makes_a_static_quorum_dynamic(tmp_path: Path, kafka_version: str) -> None:
    with KraftlakeQuorum(tmp_path, ADMINISTRATOR, is_static=True) as quorum:
        server = ("--bootstrap-server", follower(quorum).address)
        upgrade = ("upgrade", "--feature", "kraft.version=1")
        deadline = time.monotonic() + WITHIN_S
        # each voter has to have told the leader its directory id first
        while (
            ran := run_tool(
                "org.apache.kafka.tools.FeatureCommand", *server, *upgrade, version=kafka_version
            )
        ).returncode:
            assert "have told their directory ids" in ran.stdout + ran.stderr
            assert time.monotonic() < deadline
        assert "kraft.version was upgraded to 1" in ran.stdout
        voters = status(kafka_version, *server)["CurrentVoters"]
        assert all(replica.directory_id in voters for replica in quorum.replicas.values())

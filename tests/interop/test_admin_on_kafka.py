"""`kraftlake replica describe` and `append` on a real Kafka node, by controller and broker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of a node that is both, by role."""
    class_path_or_skip()
    controller, broker = free_ports(2)
    settings = {
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    folder = tmp_path_factory.mktemp("kafka")
    node = Controller(folder, 1, {1: controller}, is_static=False, settings=settings)
    node.format(CLUSTER_ID, "--standalone")
    with node:
        node.wait_for("Kafka Server started")
        yield {"controller": f"127.0.0.1:{controller}", "broker": f"127.0.0.1:{broker}"}


@pytest.mark.parametrize("role", ["controller", "broker"])
def test_kafkas_own_quorum_is_described(addresses: dict[str, str], role: str) -> None:
    ran = kraftlake("replica", "describe", "-b", addresses[role], "--json")
    assert ran.returncode == 0, ran.stderr
    row = json.loads(ran.stdout)
    (replica,) = row["replicas"]
    assert (row["cluster_id"], row["leader_id"], replica["role"]) == (CLUSTER_ID, 1, "leader")
    assert replica["listeners"] == [f"CONTROLLER://{addresses['controller']}"]
    assert replica["log_end_offset"] >= row["high_watermark"] > 0
    assert row["features"]["kraft.version"] == 1
    assert row["features"]["metadata.version"] > 0


@pytest.mark.parametrize("role", ["controller", "broker"])
def test_kafkas_metadata_log_takes_no_records_and_that_is_said(
    addresses: dict[str, str], role: str
) -> None:
    ran = kraftlake("replica", "append", "-b", addresses[role], text="hello\n")
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"kraftlake: error: line 1: {addresses[role]}: ")
    assert "takes records from nobody else" in line

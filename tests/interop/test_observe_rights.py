"""Which rights `kraftlake replica observe` needs on a real Kafka with an authorizer, and what
it says where one is missing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
PASSWORDS = {"admin": "admin-secret", "recorder": "recorder-secret"}
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Kafka:
    """One node that is controller and broker; clients authenticate by SASL PLAIN."""

    folder: Path
    controller: str
    broker: str

    def client(self, user: str, password: str = "") -> Path:
        """A client's properties file."""
        path = self.folder / f"{user}{'-wrong' if password else ''}.properties"
        named = f'username="{user}" password="{password or PASSWORDS[user]}"'
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f"sasl.jaas.config={MODULE} {named};\n"
        )
        path.chmod(0o600)
        return path

    def allow(self, *operations: str) -> None:
        """As docs/reference/security.md says it."""
        asked = [word for operation in operations for word in ("--operation", operation)]
        ran = run_tool(
            "org.apache.kafka.tools.AclCommand",
            "--bootstrap-server",
            self.broker,
            "--command-config",
            self.client("admin"),
            "--add",
            "--allow-principal",
            "User:recorder",
            "--cluster",
            *asked,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def observe(
        self, name: str, bootstrap: str, *options: object, config: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Until it has caught up, as the recorder."""
        call = ["replica", "observe", "-b", bootstrap, "-o", self.folder / name]
        call += ["--command-config", config or self.client("recorder"), "--until-caught-up"]
        return kraftlake(*call, "--json", *options)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    class_path_or_skip()
    folder = tmp_path_factory.mktemp("rights")
    controller, broker = free_ports(2)
    users = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())
    jaas = f'{MODULE} username="admin" password="{PASSWORDS["admin"]}" {users};'
    settings = {
        "process.roles": "broker,controller",
        "listeners": f"CONTROLLER://127.0.0.1:{controller},BROKER://127.0.0.1:{broker}",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,BROKER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "BROKER",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "listener.name.broker.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "offsets.topic.replication.factor": 1,
    }
    node = Controller(folder / "kafka", 1, {1: controller}, is_static=True, settings=settings)
    node.format(CLUSTER_ID)
    with node:
        node.wait_for("Kafka Server started")
        yield Kafka(folder, f"127.0.0.1:{controller}", f"127.0.0.1:{broker}")


def test_each_right_is_asked_for_where_it_is_missing_and_enough_where_it_is_there(
    kafka: Kafka,
) -> None:
    """In the order in which somebody would find out."""
    refused = kafka.observe("a", kafka.controller, "--anonymous")
    assert refused.returncode == 2
    assert "--cluster-id: missing, and no node says it" in refused.stderr

    known = ("--cluster-id", CLUSTER_ID)
    refused = kafka.observe("a", kafka.controller, "--anonymous", *known)
    assert refused.returncode == 1
    assert "refuses to be read: CLUSTER_AUTHORIZATION_FAILED" in refused.stderr
    assert "--operation ClusterAction" in refused.stderr

    kafka.allow("ClusterAction")
    taken = kafka.observe("a", kafka.controller, "--anonymous", *known)
    assert taken.returncode == 0, taken.stderr
    refused = kafka.observe("b", kafka.controller, *known)
    assert refused.returncode == 2
    assert "no node says whether node id" in refused.stderr
    assert "DescribeQuorum is denied" in refused.stderr
    assert not (kafka.folder / "b").exists()

    kafka.allow("Describe")
    taken = kafka.observe("b", kafka.controller, *known)
    assert taken.returncode == 0, taken.stderr
    by_broker = kafka.observe("c", kafka.broker)
    assert by_broker.returncode == 0, by_broker.stderr
    told = json.loads(by_broker.stdout)
    assert told["cluster_id"] == CLUSTER_ID
    assert told["log_end_offset"] > 0


def test_a_wrong_password_is_one_line(kafka: Kafka) -> None:
    config = kafka.client("recorder", "not-the-password")
    refused = kafka.observe("d", kafka.controller, config=config)

    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert kafka.controller in line
    assert "authentication failed" in line.lower()


def test_the_brokers_own_id_is_refused(kafka: Kafka) -> None:
    kafka.allow("ClusterAction", "Describe")
    refused = kafka.observe("e", kafka.broker, "--node-id", "1")

    assert refused.returncode == 2
    assert "node id 1 is a voter's of this quorum" in refused.stderr

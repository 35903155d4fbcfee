"""A small Kafka cluster of any release: controllers, and brokers with an authorizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.interop.kafka_node import Controller, free_ports, run_tool

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
BROKERS = (11, 12)
STARTED = "Kafka Server started"
DIRECTORIES = {number: f"restoredController{number}AAA" for number in (1, 2, 3)}


class Cluster:
    """Controllers 1 and so on, and brokers: two if `racks` names no others. All
    are killed on exit."""

    def __init__(
        self,
        folder: Path,
        version: str,
        controllers: int = 1,
        racks: Mapping[int, str | None] = dict.fromkeys(BROKERS),
    ) -> None:
        """racks: the rack of each broker, by its id."""
        self.folder, self.version = folder, version
        first, ports = free_ports(controllers), free_ports(len(racks))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
        voters = dict(enumerate(first, 1))
        acls = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",
        }
        self.controllers = [
            Controller(
                folder / str(node_id),
                node_id,
                voters,
                is_static=False,
                version=version,
                settings=acls,
            )
            for node_id in voters
        ]
        self.controller = self.controllers[0]
        self.brokers = [
            Controller(
                folder / str(node_id),
                node_id,
                voters | {node_id: port},
                is_static=False,
                version=version,
                settings={
                    "process.roles": "broker",
                    "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                    "controller.quorum.bootstrap.servers": f"127.0.0.1:{first[0]}",
                    "offsets.topic.replication.factor": 1,
                    "auto.create.topics.enable": "false",
                    "broker.session.timeout.ms": 4000,
                    "broker.heartbeat.interval.ms": 500,
                    **({"broker.rack": rack} if rack else {}),
                    **acls,
                },
            )
            for (node_id, rack), port in zip(racks.items(), ports, strict=True)
        ]

    def format(self, *options: str) -> None:
        """Formats all nodes. options: options of kafka-storage format, such as --release-version
        4.3."""
        first = ",".join(
            f"{number}@127.0.0.1:{node.port}:{DIRECTORIES[number]}"
            for number, node in enumerate(self.controllers, 1)
        )
        for node in self.controllers:
            node.format(CLUSTER_ID, "--initial-controllers", first, *options)
        for broker in self.brokers:
            if not broker.log_dir.exists():
                broker.format(CLUSTER_ID, *options)

    def __enter__(self) -> Cluster:
        nodes = [*self.controllers, *self.brokers]
        try:
            for node in nodes:
                node.start()
            for node in nodes:
                node.wait_for(STARTED)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in (*self.brokers, *self.controllers):
            node.kill()

    def tool(self, main_class: str, *arguments: object) -> str:
        ran = run_tool(
            main_class, "--bootstrap-server", self.bootstrap, *arguments, version=self.version
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

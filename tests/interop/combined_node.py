"""One node of real Kafka that is broker and controller, with a static quorum of itself."""

from __future__ import annotations

from pathlib import Path

from tests.interop.kafka_node import Controller, free_ports

NODE_ID = 1


def combined_node(folder: Path, **settings: object) -> tuple[Controller, str]:
    """(the node, the address for clients). settings: more lines of its server.properties, with _
    for the dots."""
    controller, plain = free_ports(2)
    bootstrap = f"127.0.0.1:{plain}"
    usual = {
        "process.roles": "broker,controller",
        "listeners": f"CONTROLLER://127.0.0.1:{controller},PLAINTEXT://{bootstrap}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "offsets.topic.replication.factor": 1,
    }
    more = {name.replace("_", "."): value for name, value in settings.items()}
    node = Controller(folder, NODE_ID, {NODE_ID: controller}, is_static=True, settings=usual | more)
    return node, bootstrap

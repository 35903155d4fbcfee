"""A cluster of Kafka 3.9 that migrates from ZooKeeper: a ZooKeeper, two brokers, a controller."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.interop.kafka_node import Controller, free_ports, java_command, run_tool
from tests.kraftlake_process import kraftlake

VERSION = "3.9.2"
BROKERS, CONTROLLER = (11, 12), 1
PARTITIONS = 2
_WAIT_S, _POLL_S = 120, 0.2


class MigratingCluster:
    """The processes of the cluster. None is started at first; they are killed on exit."""

    def __init__(self, folder: Path) -> None:
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self._folder = folder
        self._zk_port, quorum, *ports = free_ports(2 + len(BROKERS))
        voters = {CONTROLLER: quorum}
        self._ports = dict(zip(BROKERS, ports, strict=True))
        self._of_quorum = {
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{quorum}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
        self._of_migration = {
            "zookeeper.connect": f"127.0.0.1:{self._zk_port}",
            "zookeeper.metadata.migration.enable": "true",
        }
        node = lambda number: Controller(  # noqa: E731
            folder / str(number), number, voters | self._ports, is_static=True, version=VERSION
        )
        self.controller = node(CONTROLLER)
        self.brokers = {number: node(number) for number in BROKERS}
        self._quorum_port = quorum

    def __exit__(self, *_: object) -> None:
        for one in (*self.brokers.values(), self.controller):
            one.kill()
        if self._zookeeper is not None:
            self._zookeeper.kill()
            self._zookeeper.wait()

    def __enter__(self) -> MigratingCluster:
        return self

    def start_zookeeper(self) -> None:
        self._folder.mkdir(exist_ok=True)
        arguments = [str(self._zk_port), str(self._folder / "zookeeper")]
        command = java_command(
            "warn", "org.apache.zookeeper.server.ZooKeeperServerMain", arguments, VERSION
        )
        at = next(place for place, word in enumerate(command) if word == "-cp")
        command[at:at] = ["-Dzookeeper.admin.enableServer=false"]
        with (self._folder / "zookeeper.log").open("wb") as log:
            self._zookeeper = subprocess.Popen(command, stdout=log, stderr=log)

    def start_controller(self, *, migrates: bool) -> None:
        """Starts the controller, or starts it again, with or without the migration."""
        more = {**self._of_quorum, **(self._of_migration if migrates else {})}
        self._restart(
            self.controller,
            {
                "process.roles": "controller",
                "node.id": CONTROLLER,
                "listeners": f"CONTROLLER://127.0.0.1:{self._quorum_port}",
                "log.dirs": self.controller.log_dir,
                **more,
            },
        )

    def start_broker(self, number: int, mode: str) -> None:
        """Starts a broker, or starts it again. mode: zookeeper, migrating or kraft."""
        identity = {"process.roles": "broker", "node.id": number}
        if mode != "kraft":
            identity = {"broker.id": number, **self._of_migration}
        if mode == "zookeeper":
            del identity["zookeeper.metadata.migration.enable"]
        self._restart(
            self.brokers[number],
            {
                **identity,
                "listeners": f"PLAINTEXT://127.0.0.1:{self._ports[number]}",
                "log.dirs": self.brokers[number].log_dir,
                "offsets.topic.replication.factor": 1,
                **({} if mode == "zookeeper" else self._of_quorum),
            },
        )
        started = (
            "Kafka Server started" if mode == "kraft" else f"[KafkaServer id={number}] started"
        )
        self.brokers[number].wait_for(started)

    def _restart(self, node: Controller, settings: Mapping[str, object]) -> None:
        if node.is_running:
            node.stop()
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        node.properties.write_text(text)
        node.start()

    @property
    def cluster_id(self) -> str:
        """The id that the first broker has made."""
        lines = (self.brokers[BROKERS[0]].log_dir / "meta.properties").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)["cluster.id"]

    def wait_for(self, state: int, what: str, of_zookeeper: tuple[int, ...] | None = None) -> None:
        """Waits until the controller's log says that the migration has come to this state.
        of_zookeeper: the registered brokers of ZooKeeper to wait for."""

        def has_come() -> bool:
            brokers = self._entities("broker")
            left = {one["brokerId"] for one in brokers if one["isMigratingZkBroker"]}
            now = [one["zkMigrationState"] for one in self._entities("zk_migration_state")]
            return now == [state] and of_zookeeper in (None, tuple(sorted(left)))

        wait_until(has_come, what)

    def _entities(self, kind: str) -> list[dict[str, object]]:
        ran = kraftlake("state", "--entity", kind, "--json", str(self.controller.log_dir))
        return [json.loads(json.loads(line)["value"]) for line in ran.stdout.splitlines()]

    def create_topic(self, name: str) -> None:
        ran = run_tool(
            "org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
            f"127.0.0.1:{self._ports[BROKERS[0]]}", "--create", "--topic", name,
            "--partitions", PARTITIONS, "--replication-factor", 2, version=VERSION,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr


def wait_until(holds: object, what: str) -> None:
    """Waits until `holds()` is true."""
    assert callable(holds)
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(_POLL_S)

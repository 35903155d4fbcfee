"""A quorum of `kraftlake replica` processes for __cluster_metadata, on 127.0.0.1."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from replica.message.schema import Value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.interop.kafka_node import LISTENER, free_ports
from tests.kraftlake_process import Process, kraftlake, started

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
WITHIN_S = 60.0


@dataclass
class Replica:
    """A replica that is or was a process. `directory_id` is the id with which it was formatted."""

    folder: Path
    node_id: int
    port: int
    directory_id: str
    process: Process | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log_dir(self) -> Path:
        return self.folder / "log"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def said(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")

    def start(self) -> None:
        output = self.folder / "output.txt"
        self.process = started(output, "replica", "run", "-c", self.properties)

    def stop(self) -> None:
        """Stops the replica in order where possible, else by force."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


@dataclass
class KraftlakeQuorum:
    """Voters 1 to 3, started on entry, and ended on exit with all added replicas. settings: lines
    of server.properties for all. is_static: whether controller.quorum.voters names the voters
    (kraft.version 0)."""

    folder: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    is_static: bool = False
    replicas: dict[int, Replica] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """The addresses of the first voters."""
        return ",".join(self.replicas[node_id].address for node_id in (1, 2, 3))

    def __enter__(self) -> KraftlakeQuorum:
        for node_id, port in zip((1, 2, 3), free_ports(3), strict=True):
            self._place(node_id, port)
        for replica in self.replicas.values():
            self._write_properties(replica, {})
        named = ",".join(
            f"{each.node_id}@{each.address}:{each.directory_id}" for each in self.replicas.values()
        )
        for replica in self.replicas.values():
            self._format(replica, *(() if self.is_static else ("--initial-controllers", named)))
        try:
            for replica in self.replicas.values():
                replica.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas.values():
            if replica.process is not None:
                replica.process.terminate()
        for replica in self.replicas.values():
            replica.stop()

    def add(self, node_id: int, **settings: object) -> Replica:
        """Adds a replica, formatted without voters and started. It begins as an observer."""
        replica = self._place(node_id, free_ports(1)[0])
        self._write_properties(replica, settings)
        self._format(replica)
        replica.start()
        return replica

    def wait_for_leader(self) -> Replica:
        """The leader that all running voters name, once it knows what is committed."""
        deadline = time.monotonic() + WITHIN_S
        while True:
            found = self._leader()
            if found is not None:
                return found
            assert time.monotonic() < deadline, "\n".join(r.said for r in self.replicas.values())
            time.sleep(0.05)

    def _leader(self) -> Replica | None:
        said = [r.said.splitlines()[-1:] for r in self.replicas.values() if r.process]
        leading = {line[0].rpartition("leader ")[2] for line in said if "leader " in "".join(line)}
        if len(leading) != 1 or len(said) != sum("leader " in "".join(line) for line in said):
            return None
        return self.replicas[int(leading.pop())]

    def _place(self, node_id: int, port: int) -> Replica:
        directory_id = f"{'kraftlake' * 2}{node_id:03}A"
        replica = Replica(self.folder / str(node_id), node_id, port, directory_id)
        replica.folder.mkdir(parents=True)
        self.replicas[node_id] = replica
        return replica

    def _write_properties(self, replica: Replica, settings: Mapping[str, object]) -> None:
        named = ",".join(f"{n}@{self.replicas[n].address}" for n in (1, 2, 3))
        lines = {
            "process.roles": "controller",
            "node.id": replica.node_id,
            **(
                {"controller.quorum.voters": named}
                if self.is_static
                else {"controller.quorum.bootstrap.servers": self.bootstrap}
            ),
            "listeners": f"{LISTENER}://{replica.address}",
            "controller.listener.names": LISTENER,
            "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT",
            "log.dirs": replica.log_dir,
            **self.settings,
            **settings,
        }
        replica.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def _format(self, replica: Replica, *options: str) -> None:
        command = ("replica", "format", "-c", replica.properties, "-t", CLUSTER_ID, "--json")
        ran = kraftlake(*command, *options)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        replica.directory_id = json.loads(ran.stdout)["directory_id"]


def append_record(address: str, type_name: str, **fields: Value) -> None:
    """Appends one metadata record of version 0, and waits for its commit. address:
    of any replica."""
    value = base64.b64encode(encode(new_record(type_name, 0, fields))).decode()
    line = json.dumps({"value": {"base64": value}})
    ran = kraftlake("replica", "append", "-b", address, "--records", text=line)
    assert ran.returncode == 0, ran.stderr

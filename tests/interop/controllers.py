"""A quorum of Kafka's controllers on 127.0.0.1, static or dynamic, and Kafka's tools for it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from replica.format.meta_properties import decode
from replica.metadata.changes.releases import NEWEST_LEVELS
from tests.interop.kafka_cluster import STARTED
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.interop.kraftlake_quorum import CLUSTER_ID
from tests.kraftlake_process import kraftlake

_SOON_S = 15.0
_FEATURES = "org.apache.kafka.tools.FeatureCommand"
_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
_DIRECTORIES = {node_id: f"{'voter' * 4}{node_id}A" for node_id in (1, 2, 3)}


@dataclass
class Quorum:
    """Controllers on 127.0.0.1. `nodes` also has observers; the voters are the nodes of `ports`."""

    folder: Path
    is_static: bool
    ports: dict[int, int]
    nodes: dict[int, Controller] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """The output of Kafka's tools."""

    def node(self, node_id: int, version: str = NEWEST) -> Controller:
        """Controller `node_id` of a release on its directory. It is neither formatted
        nor started."""
        if node_id in self.nodes:
            self.nodes[node_id].kill()
        ports = self.ports if node_id in self.ports else self.ports | {node_id: free_ports(1)[0]}
        place = self.folder / str(node_id)
        made = Controller(place, node_id, ports, is_static=self.is_static, version=version)
        self.nodes[node_id] = made
        return made

    def observer(self, node_id: int, version: str = NEWEST) -> Controller:
        """An observer, formatted and not started."""
        made = self.node(node_id, version)
        made.format(CLUSTER_ID, "--no-initial-controllers")
        return made

    def kill(self) -> None:
        for node in self.nodes.values():
            node.kill()

    def source(self, *, is_live: bool) -> Path | str:
        return f"127.0.0.1:{self.ports[1]}" if is_live else self.nodes[1].log_dir

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def features(self, feature: str, level: int) -> bool:
        """Runs kafka-features upgrade. Gives whether Kafka accepts it."""
        return self._took(_FEATURES, "upgrade", "--feature", f"{feature}={level}")

    def upgrade(self, release: str) -> bool:
        return self.features("metadata.version", NEWEST_LEVELS[release])

    def downgrade(self, release: str, *options: str) -> bool:
        """Whether Kafka lowers metadata.version to a release's newest level. options: options of
        kafka-features downgrade, such as --unsafe."""
        level = str(NEWEST_LEVELS[release])
        return self._took(
            _FEATURES, "downgrade", "--feature", f"metadata.version={level}", *options
        )

    def remove(self, node_id: int) -> bool:
        directory = "A" * 21 + "Q"
        if node_id in self.nodes:
            meta = (self.nodes[node_id].log_dir / "meta.properties").read_bytes()
            directory = decode(meta).directory_id
        which = ("--controller-id", node_id, f"--controller-directory-id={directory}")
        return self._took(_QUORUM, "remove-controller", *which)

    def add(self, node_id: int) -> bool:
        return self._took(_QUORUM, "--command-config", self.nodes[node_id].properties,
                          "add-controller")  # fmt: skip

    def to_dynamic(self) -> str:
        """The outcome of kafka-features upgrade: refused, or done. The tool of Kafka 3.9 also says
        that a level was upgraded where the quorum stays unchanged."""
        if not self.features("kraft.version", 1):
            return "refused"
        deadline = time.monotonic() + _SOON_S
        while time.monotonic() < deadline:
            if all(self.has_kraft_version(node_id) for node_id in self.ports):
                return "done"
            time.sleep(0.5)
        return "said to be done, but the voters stay static"

    def has_kraft_version(self, node_id: int) -> bool:
        """Whether the log of a running node has the control record of kraft.version 1."""
        ran = kraftlake("dump", "--json", "--type", "KRAFT_VERSION", self.nodes[node_id].log_dir)
        rows = map(json.loads, ran.stdout.splitlines())
        return any(row["data"]["kRaftVersion"] == 1 for row in rows)

    def _took(self, tool: str, *arguments: object) -> bool:
        ran = run_tool(tool, "--bootstrap-controller", self.bootstrap, *arguments,
                       version=self.nodes[1].version)  # fmt: skip
        self.said.append(f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran.returncode == 0

    def leader(self) -> int:
        tool = ("--bootstrap-controller", self.bootstrap, "describe", "--status")
        ran = run_tool(_QUORUM, *tool)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (line,) = (one for one in ran.stdout.splitlines() if one.startswith("LeaderId"))
        return int(line.split()[1])


def made(
    folder: Path, *formatting: str, versions: tuple[str, ...] = (NEWEST,) * 3, is_static: bool
) -> Quorum:
    """Voters 1, 2 and so on, formatted and not started."""
    for version in versions:
        class_path_or_skip(version)
    ports = dict(enumerate(free_ports(len(versions)), 1))
    quorum = Quorum(folder, is_static, ports)
    named = ",".join(f"{n}@127.0.0.1:{port}:{_DIRECTORIES[n]}" for n, port in ports.items())
    initial = () if is_static else ("--initial-controllers", named)
    for node_id, version in enumerate(versions, 1):
        quorum.node(node_id, version).format(CLUSTER_ID, *initial, *formatting)
    return quorum


def started(quorum: Quorum, *node_ids: int) -> None:
    for node_id in node_ids:
        quorum.nodes[node_id].start()
    for node_id in node_ids:
        quorum.nodes[node_id].wait_for(STARTED)

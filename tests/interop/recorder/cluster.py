"""The processes of a recorded cluster: controllers, brokers, or nodes that are both."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.interop.kafka_node import LISTENER, Controller, free_ports
from tests.interop.recorder.migrating import Migrated
from tests.interop.recorder.script import Kind, Shape
from tests.interop.recorder.tools import Tools

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
STORAGE = "kafka.tools.StorageTool"
_DIRECTORIES = {node_id: f"{'recorder' * 2}0000{node_id}A" for node_id in (1, 2, 3)}
STARTED = "Kafka Server started"
_KEPT = ("meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0")
_SMALL = {
    "num.network.threads": 1,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 10_485_760,
    "offsets.topic.replication.factor": 1,
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 500,
    "initial.broker.registration.timeout.ms": 300_000,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}


class RecordedCluster:
    """The cluster, formatted and started on entry, killed on exit."""

    def __init__(
        self, folder: Path, shape: Shape, tools: Tools, migrated: Migrated | None = None
    ) -> None:
        """migrated: what the nodes' directories have by a migration from ZooKeeper. Such
        directories are not formatted again."""
        self.folder, self.shape, self.tools, self.migrated = folder, shape, tools, migrated
        self.cluster_id = CLUSTER_ID if migrated is None else migrated.cluster_id
        is_both = shape.kind in (Kind.COMBINED, Kind.JBOD)
        self.voters = (1, 2, 3) if shape.has_followers else (1,)
        alone = (11,) if shape.has_followers else (11, 12)
        self.brokers = self.voters if is_both else alone
        self.ports = dict(zip(self.voters, free_ports(len(self.voters)), strict=True))
        self.plain = dict(zip(self.brokers, free_ports(len(self.brokers)), strict=True))
        self.nodes = {
            node_id: self._node(node_id) for node_id in sorted({*self.voters, *self.brokers})
        }

    def _node(self, node_id: int) -> Controller:
        roles = [name for name, of in (("broker", self.brokers), ("controller", self.voters))
                 if node_id in of]  # fmt: skip
        listeners = {
            "broker": f"PLAINTEXT://127.0.0.1:{self.plain.get(node_id)}",
            "controller": f"{LISTENER}://127.0.0.1:{self.ports.get(node_id)}",
        }
        place = self.folder / str(node_id)
        is_jbod = self.shape.kind is Kind.JBOD
        more = {"log.dirs": f"{place / 'log'},{place / 'log2'}"} if is_jbod else {}
        quorum = ",".join(f"127.0.0.1:{port}" for port in self.ports.values())
        if not self.shape.is_static:
            more["controller.quorum.bootstrap.servers"] = quorum
        return Controller(
            place,
            node_id,
            self.ports if node_id in self.ports else self.ports | {node_id: self.plain[node_id]},
            is_static=self.shape.is_static,
            version=self.shape.version,
            settings={
                "process.roles": ",".join(roles),
                "listeners": ",".join(listeners[role] for role in roles),
                "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "metadata.log.dir": place / "log",
                "metadata.log.max.record.bytes.between.snapshots": self.shape.snapshot_bytes,
                **_SMALL,
                **({"controller.quorum.voters": self._static()} if self.shape.is_static else {}),
                **more,
            },
        )

    def _static(self) -> str:
        return ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in self.ports.items())

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, running brokers first, because a client waits at a broker that is
        suspended."""
        awake = [n for n in self.brokers if self.is_awake(n)] or self.brokers
        return ",".join(f"127.0.0.1:{self.plain[node_id]}" for node_id in awake)

    def format(self, node_id: int, *, is_again: bool = False) -> None:
        """Formats a node. is_again: whether it has lost its disk, and gets a new id."""
        options: tuple[str, ...] = ()
        if not self.shape.is_static and node_id in self.voters:
            named = ",".join(
                f"{voter}@127.0.0.1:{port}:{_DIRECTORIES[voter]}"
                for voter, port in self.ports.items()
            )
            options = ("--initial-controllers", named)
            if is_again:
                options = ("--no-initial-controllers",)
        if self.shape.release_at_format is not None:
            options += ("--release-version", self.shape.release_at_format)
        said = self.tools.run(
            STORAGE, "format", "-t", CLUSTER_ID, "-c", self.nodes[node_id].properties, *options,
            within_s=60,
        )  # fmt: skip
        assert said.is_done, said

    def __enter__(self) -> RecordedCluster:
        try:
            for node_id in self.nodes if self.migrated is None else ():
                self.format(node_id)
            self.start(self.nodes)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()

    def start(self, node_ids: Iterable[int], *, waits: bool = True) -> None:
        started = list(node_ids)
        for node_id in started:
            self.nodes[node_id].start()
        for node_id in started if waits else ():
            self.nodes[node_id].wait_for(STARTED)

    def wipe(self, node_id: int) -> None:
        for name in ("log", "log2"):
            shutil.rmtree(self.folder / str(node_id) / name, ignore_errors=True)

    def is_awake(self, node_id: int) -> bool:
        return self.nodes[node_id].is_running and not self.nodes[node_id].is_stopped

    def copy(self, node_id: int, to: Path) -> Path:
        """Copies the files of a node's directory that `kraftlake` needs, as they are now."""
        source = self.nodes[node_id].log_dir
        to.mkdir(parents=True)
        for name in _KEPT:
            one = source / name
            if one.is_dir():
                _copy_tree(one, to / name)
            elif one.exists():
                shutil.copy2(one, to / name)
        return to


def _copy_tree(source: Path, to: Path) -> None:
    """Copies the tree of a node that may run. A file that disappears meanwhile is left out."""
    to.mkdir()
    for one in sorted(source.iterdir()):
        with suppress(FileNotFoundError):
            shutil.copy2(one, to / one.name)


def wait_until(is_so: Callable[[], bool], otherwise: str, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.3)

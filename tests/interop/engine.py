"""Our engine as the only voter, on a directory that it or a real Kafka node made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random

from replica.host.host import Host
from replica.machines.metadata import MetadataMachine
from replica.node.properties import read_properties
from replica.node.settings import NodeSettings, settings_in
from replica.raft.inputs import Input, Proposal, Propose
from replica.raft.roles import Leader
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from tests.interop.kafka_node import Controller


def settings_of(controller: Controller) -> NodeSettings:
    """The settings, read from the same server.properties that Kafka reads."""
    return settings_in(read_properties(str(controller.properties)))


class Engine:
    """The engine. now_ms: a clock that advances by 1 ms in each step."""

    def __init__(self, settings: NodeSettings) -> None:
        files = LocalDisk()
        replica = read_identity(files, settings.log_dir)
        assert replica is not None
        folder = settings.partition_folder
        log, store = open_log(files, folder, settings.log), QuorumStateFile(files, folder)
        self.now_ms = 1_795_300_000_000
        self.machine = MetadataMachine()
        self.host = Host(
            settings.config(replica), log, store, self.machine, Random(1).randrange, self.now_ms
        )

    def lead(self) -> None:
        """Lets the only voter elect itself, at once or after its election timeout."""
        for _ in range(10):
            self._do(self.host.tick)
            if isinstance(self.host.raft.role, Leader):
                return
            self.now_ms += 1000
        raise AssertionError(f"a lone voter is {self.host.raft.role}")

    def propose(self, proposals: Iterable[Proposal]) -> None:
        """Appends and commits batches, each of them flushed."""
        for proposal in proposals:
            self.step(Propose(self.host.raft.role.epoch, (proposal,)))

    def step(self, event: Input) -> None:
        self._do(lambda now_ms: self.host.step(event, now_ms))

    def snapshot(self) -> None:
        self._do(self.host.snapshot)

    def _do(self, work: Callable[[int], object]) -> None:
        work(self.now_ms)
        self.now_ms += 1
        while self.host.owes_flush:
            self._do(self.host.flush)


@contextmanager
def running(settings: NodeSettings) -> Iterator[Engine]:
    """The engine, locked, opened and leading. It is closed in order."""
    with DirectoryLock(settings.log_dir):
        engine = Engine(settings)
        engine.lead()
        yield engine
        engine.host.log.close()

"""A running replica: settings in, and then everything around one driver, until it stops."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import SystemRandom

from replica.errors import UsageError
from replica.host.host import Host, Place
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine
from replica.node.driver import Clock, Driver
from replica.node.metrics import Metrics, Sources
from replica.node.notice import Fields, Notice, Report
from replica.node.peers import Peers
from replica.node.serve.dispatch import SERVED, Dispatch
from replica.node.serve.partition import ServedPartition
from replica.node.settings import Settings
from replica.node.translate.partition import Partition
from replica.node.workload import Load, run_load
from replica.raft.effects import Send, Stopped
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.types import ReplicaId
from replica.wire.client import ClientConfig
from replica.wire.pool import Address
from replica.wire.server import Server, Service
from replica.wire.versions import KRAFT_VERSION, Features


@dataclass(slots=True)
class Node:
    """Opened by `opened`; `run` ends when the replica has stopped."""

    settings: Settings
    replica: ReplicaId
    driver: Driver
    partition: ServedPartition
    dispatch: Dispatch
    peers: Peers
    report: Report
    servers: dict[str, Server] = field(default_factory=dict)

    async def run(self, load: Load | None = None) -> Stopped:
        """Listen and take part; load: to append while leading. Raises what stopped the replica, and
        UsageError for a listener that can't be had."""
        async with AsyncExitStack() as open_things:
            for listener in self.settings.listeners:
                await self._listen(listener.name, listener.host, listener.port, open_things)
            open_things.push_async_callback(self.peers.close)
            self._measure(open_things)
            telling = asyncio.create_task(self._tell())
            open_things.callback(telling.cancel)
            if load is not None:
                loading = asyncio.create_task(run_load(self.driver, load, self.report))
                open_things.callback(loading.cancel)
            return await self.driver.run()

    async def _listen(self, name: str, host: str, port: int, open_things: AsyncExitStack) -> None:
        service = Service(self.dispatch, SERVED, self._features, listener=name)
        server = Server(service)
        try:
            bound = await server.start(host, port)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"{self.settings.path}: listeners: {host}:{port}: {why}") from error
        open_things.push_async_callback(server.close)
        self.servers[name] = server
        text = f"listening on {name}://{host or '*'}:{bound}"
        self.report(Notice("listening", text, {"listener": name, "host": host, "port": bound}))

    def _measure(self, open_things: AsyncExitStack) -> None:
        listener = self.settings.metrics_listener
        if listener is None:
            return
        metrics = Metrics(Sources(self.driver, self.dispatch, self.partition, self.servers))
        port = metrics.serve(*listener)
        open_things.push_async_callback(metrics.close)
        url = f"http://{listener[0]}:{port}/metrics"
        self.report(Notice("metrics", f"metrics at {url}", {"url": url}))

    def _features(self) -> Features:
        raft = self.driver.host.raft
        finalized = {KRAFT_VERSION: raft.log.kraft_version} if raft.log.kraft_version else {}
        return Features({KRAFT_VERSION: (0, 1)}, finalized, raft.high_watermark or -1)

    async def _tell(self) -> None:
        """Report each new role or epoch."""
        told = None
        while True:
            role = self.driver.host.raft.role
            now = (type(role).__name__, role.epoch, role.leader_id)
            if now != told:
                leader = f", leader {role.leader_id}" if role.leader_id >= 0 else ""
                name = now[0].lower()
                facts: Fields = {"epoch": role.epoch, "role": name, "leader": role.leader_id}
                self.report(Notice("role", f"epoch {role.epoch}: {name}{leader}", facts))
                told = now
            await self.driver.wait_for_news(3600)


def opened(settings: Settings, report: Report) -> tuple[Node, DirectoryLock]:
    """Lock and recover the directory, and put the node together; called in its event loop.

    Raises UsageError where the directory isn't formatted or is in use, DataError, naming file and
    byte, where what it holds can't be what was written, FileSystemError.
    """
    files = LocalDisk()
    replica = _identity(settings, files)
    lock = DirectoryLock(settings.log_dir)
    try:
        files.make_directory(settings.partition_folder)
        clock = Clock()
        config = settings.config(replica)
        place = Place(files, settings.partition_folder, settings.log)
        machine = MetadataMachine() if settings.topic.is_metadata else OpaqueMachine()
        host = Host(config, place, machine, SystemRandom().randrange, clock())
        for repair in host.log.repairs:
            report(Notice("repair", repair))
    except BaseException:
        lock.close()
        raise
    topic, listener = settings.topic, settings.controller_listener
    about = Partition(topic.name, topic.id, listener, rack=settings.rack)
    timeout_s = settings.timing.request_timeout_ms / 1000
    client = ClientConfig(client_id=f"raft-client-{settings.node_id}", timeout_s=timeout_s)
    peers = Peers(about, client, _addresses(settings), report)
    policy = settings.snapshots if settings.topic.is_metadata else None
    driver = Driver(host, peers.call, clock, policy)
    partition = ServedPartition(
        settings.topic,
        driver,
        settings.advertised,
        settings.rack,
        uncommitted_is_empty=settings.uncommitted_is_empty,
    )
    dispatch = Dispatch(partition, settings.authorizer)
    return Node(settings, replica, driver, partition, dispatch, peers, report), lock


def _identity(settings: Settings, files: LocalDisk) -> ReplicaId:
    is_there = os.path.isdir(settings.log_dir)
    replica = read_identity(files, settings.log_dir) if is_there else None
    if replica is None:
        raise UsageError(
            f"{settings.log_dir} is not formatted: `kraftlake replica format -c {settings.path} "
            "-t CLUSTER_ID` does that"
        )
    if replica.node_id != settings.node_id:
        raise UsageError(
            f"{settings.log_dir}/meta.properties names node {replica.node_id}, "
            f"{settings.path} node {settings.node_id}: correct log.dirs or node.id"
        )
    return replica


def _addresses(settings: Settings) -> Callable[[Send], Address | None]:
    def address_of(send: Send) -> Address | None:
        if send.node_id < 0:
            return settings.bootstrap_address(send.node_id)
        for endpoint in send.endpoints:
            if endpoint.name == settings.controller_listener:
                return endpoint.host, endpoint.port
        return None

    return address_of

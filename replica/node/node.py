"""A running replica: settings in, and then everything around one driver, until it stops."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from random import SystemRandom

from replica.errors import UsageError
from replica.host.host import Host, Place
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine
from replica.node.driver import Clock, Driver
from replica.node.listeners import Listener
from replica.node.metrics import Metrics, Sources
from replica.node.notice import Fields, Notice, Report
from replica.node.peers import Peers
from replica.node.serve.dispatch import Dispatch
from replica.node.serve.forwarding import Forwarder
from replica.node.serve.partition import ServedPartition
from replica.node.settings import Settings
from replica.node.translate.partition import Partition
from replica.node.workload import Load, run_load
from replica.raft.effects import Send, Stopped
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.types import ReplicaId
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
    servers: dict[str, Server]

    async def run(self, load: Load | None = None) -> Stopped:
        """Listen and take part; load: to append while leading. Raises what stopped the replica, and
        UsageError for a listener that can't be had."""
        async with AsyncExitStack() as open_things:
            for listener in self.settings.listeners:
                await self._listen(listener, open_things)
            open_things.push_async_callback(self.peers.close)
            self._measure(open_things)
            telling = asyncio.create_task(self._tell())
            open_things.callback(telling.cancel)
            if load is not None:
                loading = asyncio.create_task(run_load(self.driver, load, self.report))
                open_things.callback(loading.cancel)
            return await self.driver.run()

    async def _listen(self, listener: Listener, open_things: AsyncExitStack) -> None:
        name, host, port = listener.name, listener.host, listener.port
        server = self.servers[name]
        try:
            bound = await server.start(host, port)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"{self.settings.path}: listeners: {host}:{port}: {why}") from error
        open_things.push_async_callback(server.close)
        text = f"listening on {name}://{host or '*'}:{bound} ({listener.protocol})"
        facts: Fields = {"listener": name, "host": host, "port": bound}
        self.report(Notice("listening", text, {**facts, "protocol": listener.protocol}))

    def _measure(self, open_things: AsyncExitStack) -> None:
        listener = self.settings.metrics_listener
        if listener is None:
            return
        metrics = Metrics(Sources(self.driver, self.dispatch, self.partition, self.servers))
        port = metrics.serve(*listener)
        open_things.push_async_callback(metrics.close)
        url = f"http://{listener[0]}:{port}/metrics"
        self.report(Notice("metrics", f"metrics at {url}", {"url": url}))

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

    Raises UsageError where the directory isn't formatted or is in use, or a file with certificates
    or credentials isn't one, DataError, naming file and byte, where what the directory holds can't
    be what was written, FileSystemError.
    """
    files = LocalDisk()
    replica = _identity(settings, files)
    lock = DirectoryLock(settings.log_dir)
    try:
        return _assembled(settings, replica, files, report), lock
    except BaseException:
        lock.close()
        raise


def _assembled(settings: Settings, replica: ReplicaId, files: LocalDisk, report: Report) -> Node:
    security = settings.security
    # first what may be wrong without a look at the log
    to_voters = security.to_voters(settings.timing.request_timeout_ms / 1000)
    guards = {name: each.guard() for name, each in security.listeners.items()}
    files.make_directory(settings.partition_folder)
    clock = Clock()
    place = Place(files, settings.partition_folder, settings.log)
    machine = MetadataMachine() if settings.topic.is_metadata else OpaqueMachine()
    host = Host(settings.config(replica), place, machine, SystemRandom().randrange, clock())
    for repair in host.log.repairs:
        report(Notice("repair", repair))
    topic, listener = settings.topic, settings.controller_listener
    about = Partition(topic.name, topic.id, listener, rack=settings.rack)
    peers = Peers(about, to_voters, _addresses(settings), report)
    policy = settings.snapshots if settings.topic.is_metadata else None
    driver = Driver(host, peers.call, clock, policy)
    partition = ServedPartition(
        settings.topic,
        driver,
        settings.advertised,
        settings.rack,
        uncommitted_is_empty=settings.uncommitted_is_empty,
    )
    forwarder = Forwarder(partition, to_voters)
    dispatch = Dispatch(partition, settings.authorizer, forwarder, settings.draft_key)
    servers = {}
    for name, (authenticator, tls) in guards.items():
        features = partial(_features, driver)
        service = Service(
            dispatch, dispatch.served, features, authenticator, tls, name, dispatch.apis
        )
        servers[name] = Server(service, security.listeners[name].limits)
    return Node(settings, replica, driver, partition, dispatch, peers, report, servers)


def _features(driver: Driver) -> Features:
    raft = driver.host.raft
    finalized = {KRAFT_VERSION: raft.log.kraft_version} if raft.log.kraft_version else {}
    return Features({KRAFT_VERSION: (0, 1)}, finalized, raft.high_watermark or -1)


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

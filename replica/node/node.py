"""A running replica: it listens, takes part in its quorum, and reports until it stops."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from replica.errors import UsageError
from replica.model.keys import ReplicaId
from replica.node.driver import Driver
from replica.node.exposure import open_reading
from replica.node.garbage import short_rounds
from replica.node.listeners import Listener
from replica.node.metrics import Collect, Metrics, Sources
from replica.node.notice import Fields, Notice, Report
from replica.node.peers import Peers
from replica.node.readiness import Readiness, ReplicaSample
from replica.node.serve.dispatch import Dispatch
from replica.node.serve.partition import ServedPartition
from replica.node.settings import NodeSettings
from replica.node.workload import AppendLoad, run_load
from replica.raft.effects import Stopped
from replica.raft.roles import Leader
from replica.wire.server import Server

SAMPLE_EVERY_S = 0.5


@dataclass(slots=True)
class Node:
    """A node, which assembly.opened makes. `run` ends when the replica has stopped."""

    settings: NodeSettings
    replica: ReplicaId
    driver: Driver
    partition: ServedPartition
    dispatch: Dispatch
    peers: Peers
    report: Report
    servers: dict[str, Server]
    collectors: list[Collect] = field(default_factory=list)
    """Functions that give further metrics. These functions are called in the node's event loop. Add
    them before `run`."""
    readiness: Readiness = field(default_factory=lambda: Readiness(time.monotonic()))

    def sample(self) -> None:
        """Give `readiness` a sample of the replica as it is now."""
        raft, heard = self.driver.raft, self.driver.heard
        leads, end = isinstance(raft.role, Leader), raft.log.log_end
        mark = raft.leader_watermark
        caught_up = mark is not None and end >= mark
        now = ReplicaSample(
            leads, heard.answered_at, heard.described_at, raft.high_watermark, end, caught_up
        )
        self.readiness.take(now, time.monotonic())

    async def run(self, load: AppendLoad | None = None) -> Stopped:
        """Listen, and take part in the quorum. Returns how the shutdown of the replica ended. load:
        the records that the replica appends while it leads. Raises the error that stopped the
        replica, and UsageError for a listener whose address can't be used."""
        async with AsyncExitStack() as open_things:
            open_things.enter_context(short_rounds())
            for listener in self.settings.listeners:
                await self._listen(listener, open_things)
            open_things.push_async_callback(self.peers.close)
            await self._measure(open_things)
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
        exposed = open_reading(self.settings, listener)
        if exposed is not None:
            self.report(exposed)

    async def _measure(self, open_things: AsyncExitStack) -> None:
        listener = self.settings.metrics_listener
        if listener is None:
            return
        sampling = asyncio.create_task(self._keep_sampling())
        open_things.callback(sampling.cancel)
        sources = Sources(self.driver, self.dispatch, self.partition, self.servers)
        metrics = Metrics(sources, self.readiness, self.sample, self.collectors)
        try:
            port = await metrics.start(*listener)
        except OSError as error:
            where = f"{listener[0]}:{listener[1]}: {error.strerror or error}"
            if self.settings.recording is not None:
                raise UsageError(f"--metrics {where}") from error
            path = self.settings.path
            raise UsageError(f"{path}: kraftlake.metrics.listener: {where}") from error
        open_things.push_async_callback(metrics.close)
        url = f"http://{listener[0]}:{port}/metrics"
        self.report(Notice("metrics", f"metrics at {url}", {"url": url}))

    async def _keep_sampling(self) -> None:
        """Sample the replica at intervals, so that `readiness` knows how long a fault has
        lasted."""
        while True:
            self.sample()
            await asyncio.sleep(SAMPLE_EVERY_S)

    async def _tell(self) -> None:
        """Report each new role and epoch."""
        told = None
        while True:
            role = self.driver.raft.role
            now = (type(role).__name__, role.epoch, role.leader_id)
            if now != told:
                leader = f", leader {role.leader_id}" if role.leader_id >= 0 else ""
                name = now[0].lower()
                facts: Fields = {"epoch": role.epoch, "role": name, "leader": role.leader_id}
                self.report(Notice("role", f"epoch {role.epoch}: {name}{leader}", facts))
                told = now
            await self.driver.wait_for_news(3600)

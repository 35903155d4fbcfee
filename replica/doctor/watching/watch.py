"""Keeps the knowledge of a quorum up to date, beside the node that observes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import Metric

from replica.doctor.watching.committed import CommittedReplay
from replica.doctor.watching.described import Described
from replica.doctor.watching.judged import HealthJudge
from replica.doctor.watching.metrics import (
    health_metrics,
    log_metrics,
    quorum_metrics,
    snapshot_metrics,
)
from replica.node.metrics import gauge
from replica.node.node import Node
from replica.node.notice import Notice
from replica.wire.client import ClientConfig
from replica.wire.pool import Address

DESCRIBE_EVERY_S = 5.0
SNAPSHOT_EVERY_S = 30.0
SLICE_S = 0.02
"""The time, in seconds, for which the event loop reads records before it does other work. It then
reads no records for as long as it has read."""


class Watch:
    """Asks the leader about the quorum, replays the log of an observing node and judges the
    cluster, until it is cancelled."""

    def __init__(
        self,
        node: Node,
        controllers: Sequence[Address],
        client: ClientConfig,
        broker_defaults: Mapping[str, str],
    ) -> None:
        """controllers: the nodes to ask about the quorum. client: how to connect to them.
        broker_defaults: the settings in a broker's server.properties; empty where they are
        unknown."""
        self._node = node
        self._driver = node.driver
        self.committed = CommittedReplay(node.driver.log)
        self.described = Described(node.driver, controllers, client, node.settings.topic.name)
        self.judged = HealthJudge(broker_defaults)
        self._has_failed = False

    def metrics(self) -> Iterator[Metric]:
        """The metrics of what is known now. No request is sent for them."""
        yield from quorum_metrics(self.described)
        yield from snapshot_metrics(self.described)
        yield from log_metrics(self.committed)
        yield from health_metrics(self.judged.newest)
        yield gauge("watching", "0 where an error has ended watching", not self._has_failed)

    async def run(self) -> None:
        """Watch until cancelled. An error is reported and ends the watching; the node keeps
        recording."""
        tasks = (self._follow(), self._describe(), self._ask_for_snapshots())
        try:
            async with asyncio.TaskGroup() as group:
                for task in tasks:
                    group.create_task(task)
        except* Exception as errors:  # noqa: BLE001 - After any error the recording must go on
            self._has_failed = True
            first = errors.exceptions[0]
            text = f"the quorum is watched no more, the recording goes on: {first}"
            self._node.report(Notice("watch-failed", text, {"error": type(first).__name__}))

    async def _follow(self) -> None:
        """Read the committed records, and judge the state after the last of them."""
        driver = self._driver
        while True:
            end = driver.raft.high_watermark
            began = time.monotonic()
            if end is None:
                await driver.wait_for_news(1.0)
            elif not self.committed.advance(end, SLICE_S):
                await asyncio.sleep(time.monotonic() - began)
            elif self.judged.is_due(time.monotonic()):
                await self.judged.judge(self.committed, self._voters())
            else:
                await driver.wait_for_news(1.0)

    def _voters(self) -> frozenset[int]:
        """The node ids of the voters in the log; if the log names no voter, of the voters in the
        leader's answer."""
        known = self._driver.raft.log.voters.ids
        described = self.described.quorum
        if known or described is None:
            return frozenset(known)
        return frozenset(voter.key.node_id for voter in described.voters)

    async def _describe(self) -> None:
        while True:
            await self.described.ask()
            await asyncio.sleep(DESCRIBE_EVERY_S)

    async def _ask_for_snapshots(self) -> None:
        while True:
            await self._driver.wait_for_news(1.0)
            await self.described.ask_for_snapshot()
            await asyncio.sleep(SNAPSHOT_EVERY_S)

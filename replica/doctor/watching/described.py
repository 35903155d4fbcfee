"""Asks the leader of a quorum for the log end of each replica, and for its newest snapshot."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from replica.admin.describing import describe_quorum
from replica.errors import KraftlakeError, NoLeaderError, PeerError
from replica.format.control import SnapshotHeader
from replica.format.whole_batch import messages_in
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.node.driver import Driver
from replica.raft.effects import Send
from replica.raft.messages import FetchRequest, FetchResponse
from replica.raft.roles import Follower
from replica.wire.client import ClientConfig
from replica.wire.describe_quorum import DescribedQuorum
from replica.wire.pool import Address

_BEFORE_THE_FIRST = -1


@dataclass(frozen=True, slots=True)
class NewestSnapshot:
    """The leader's newest snapshot."""

    id: OffsetAndEpoch
    contained_at: int | None
    """The time at which the newest record in the snapshot was appended, in ms since 1970 (UTC);
    None if the log of this node doesn't show it."""


class Described:
    """What leaders have answered.

    quorum: the last answer of a leader; None before the first answer.
    at_s: when that answer came, in seconds of time.monotonic.
    trouble: why the last question got no answer; "" if it got an answer.
    snapshot: the newest snapshot that a leader named.
    """

    def __init__(
        self, driver: Driver, controllers: Sequence[Address], client: ClientConfig, topic: str
    ) -> None:
        """controllers: the nodes to ask. client: how to connect. topic: the name of the quorum's
        log."""
        self.quorum: DescribedQuorum | None = None
        self.at_s: float | None = None
        self.trouble = ""
        self.snapshot: NewestSnapshot | None = None
        self._driver = driver
        self._controllers = tuple(controllers)
        self._client = client
        self._topic = topic

    async def ask(self) -> None:
        """Ask the leader once. An error is noted in `trouble`."""
        try:
            self.quorum = await describe_quorum(self._controllers, self._client, self._topic)
        except (NoLeaderError, PeerError) as error:
            self.trouble = str(error)
            return
        self.trouble, self.at_s = "", time.monotonic()
        self._driver.heard.described(self.at_s)

    async def ask_for_snapshot(self) -> None:
        """Ask the leader for the id of its newest snapshot, by a fetch from offset 0.

        The fetch names no node, so the leader doesn't count it as a fetch by a replica. `snapshot`
        becomes the newer of the leader's snapshot and this node's own newest snapshot.
        """
        found = await self._leaders_newest()
        own = self._driver.log.snapshots.newest
        known = [each for each in (found, own) if each is not None and each.offset > 0]
        if known:
            newest = max(known, key=election_order)
            self.snapshot = NewestSnapshot(newest, self._contained_at(newest))

    async def _leaders_newest(self) -> OffsetAndEpoch | None:
        driver = self._driver
        role = driver.raft.role
        if not isinstance(role, Follower):
            return None
        request = FetchRequest(
            cluster_id=driver.config.cluster_id,
            replica=ReplicaKey(NO_NODE),
            epoch=role.epoch,
            fetch_offset=0,
            last_fetched_epoch=0,
            max_bytes=1,
        )
        send = Send(role.leader_id, role.leader_endpoints, _BEFORE_THE_FIRST, request)
        try:
            answer = await driver.call(send)
        except PeerError:
            return None
        if isinstance(answer, FetchResponse) and answer.error is ErrorCode.NONE:
            return answer.snapshot_id
        return None

    def _contained_at(self, snapshot_id: OffsetAndEpoch) -> int | None:
        log = self._driver.log
        last = snapshot_id.offset - 1
        try:
            if log.log_start <= last < log.log_end:
                return next(iter(log.batches(last, snapshot_id.offset))).timestamp
            if snapshot_id in log.snapshots:
                first = next(iter(log.snapshots.batches(snapshot_id)))
                header = messages_in(first.data)[0]
                if isinstance(header, SnapshotHeader):
                    return header.last_contained_log_timestamp
        except KraftlakeError:  # A damaged file; the command `check` reports it.
            return None
        return None

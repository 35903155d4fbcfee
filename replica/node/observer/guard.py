"""Checks each request of an observer before it is sent, because another node may use the observer's
node id.

A leader counts a fetch for the node whose id the fetch names. If an observer used a voter's id, the
leader would count the observer as that voter, and the high watermark would rise over records that
no majority holds (KIP-595).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from replica.errors import KraftlakeError, UnreachablePeerError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.node.driver import Call
from replica.raft.effects import Send
from replica.raft.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchSnapshotRequest,
    PeerResponse,
    ReplicaState,
)
from replica.raft.raft import Raft

RIGHTS = (
    "`kafka-acls --add --allow-principal User:NAME --cluster --operation ClusterAction "
    "--operation Describe` gives the rights that an observer needs"
)


class RefusedObserverError(KraftlakeError):
    """The quorum refuses this observer, or would mistake it for another node."""


class Guard:
    """Checks requests before they are sent. Before the observer first fetches from a node in an
    epoch, the guard asks that node to describe the quorum. Before every request, the guard checks
    the voters in the log. `call` sends a request, as the driver's `call` does.

    failed: a future that gets an error when no more requests may be sent.
    key: the replica key under which the observer fetches; None for an anonymous observer, which no
        leader counts.
    """

    def __init__(self, call: Call, raft: Raft, key: ReplicaKey | None) -> None:
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._call = call
        self._raft = raft
        self._key = key
        self._verified: tuple[int, int] | None = None
        """The node that gave the last description without a conflict, and the epoch at that time;
        None before the first description."""

    async def call(self, send: Send) -> PeerResponse:
        """Send the request, and return the answer. Raises PeerError if no answer comes, or if a
        check fails. A failed check sets `failed`. Afterwards the guard sends nothing and raises
        PeerError at once."""
        if self.failed.done():
            raise _stopped(send)
        if self._key is not None and self._key.node_id in self._raft.log.voters.ids:
            why = f"node id {self._key.node_id} has become a voter's of this quorum: {_ADVICE}"
            raise self._failure(send, why)
        assert isinstance(send.message, FetchRequest | FetchSnapshotRequest), "an observer fetches"
        if self._key is not None:
            await self._check(send, send.message.epoch, self._key)
        response = await self._call(send)
        if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
            known = send.message.cluster_id
            raise self._failure(send, f"the quorum is not cluster {known}'s: correct --cluster-id")
        if response.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            why = f"the quorum refuses to be read: CLUSTER_AUTHORIZATION_FAILED; {RIGHTS}"
            raise self._failure(send, why)
        return response

    async def _check(self, send: Send, epoch: int, key: ReplicaKey) -> None:
        if self._verified == (send.node_id, epoch):
            return
        ask = DescribeQuorumRequest(cluster_id=send.message.cluster_id)
        described = await self._call(replace(send, message=ask))
        if described.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            why = f"no node says whether node id {key.node_id} is free: {DENIED}"
            raise self._failure(send, why)
        if described.error is not ErrorCode.NONE:
            return  # the node doesn't lead, so it will refuse the fetch too
        assert isinstance(described, DescribeQuorumResponse)
        conflicting = conflict(described, key)
        if conflicting is not None:
            raise self._failure(send, f"{conflicting}: {_ADVICE}")
        self._verified = (send.node_id, epoch)

    def _failure(self, send: Send, why: str) -> UnreachablePeerError:
        """Let the recording fail with the reason `why`. Returns the error for the core."""
        if not self.failed.done():
            self.failed.set_exception(RefusedObserverError(why))
        return _stopped(send)


def _stopped(send: Send) -> UnreachablePeerError:
    return UnreachablePeerError(f"node {send.node_id}", "this observer has stopped")


_ADVICE = "record into a new directory, without --node-id or with one that nobody has"
DENIED = f"DescribeQuorum is denied; {RIGHTS}, or take --anonymous, which needs no Describe"


RECENT_MS = 5_000
"""A replica counts as alive if it fetched within this time (ms). An observer fetches at least every
500 ms."""


def conflict(
    quorum: DescribeQuorumResponse, key: ReplicaKey, node_ids: Collection[int] = ()
) -> str | None:
    """Why this node must not fetch as `key`. None if no other node has the same node id.

    node_ids: the node ids of the registered brokers and controllers.

    Another observer with the same node id is a conflict too, unless its directory id is that of
    `key` or is unknown. `may_be_alive` judges an unknown directory id.
    """
    node_id = key.node_id
    if any(state.replica.node_id == node_id for state in quorum.voters):
        return f"node id {node_id} is a voter's of this quorum"
    if node_id in node_ids:
        return f"node id {node_id} is a broker's or controller's of this cluster"
    for state in _of(quorum, node_id):
        if state.replica.directory_id not in (key.directory_id, ZERO_UUID):
            return (
                f"node id {node_id} is another observer's of this quorum (directory id "
                f"{state.replica.directory_id}; one that is gone is forgotten after 5 minutes)"
            )
    return None


def may_be_alive(quorum: DescribeQuorumResponse, key: ReplicaKey) -> bool:
    """Whether an observer with the node id of `key` and an unknown directory id has fetched within
    RECENT_MS. That observer may be this observer before its restart: Kafka before 3.9 gives no
    directory ids.

    The leader's current time comes from its own entry among the voters.
    """
    now = max((state.last_fetch for state in quorum.voters), default=-1)
    return any(
        state.replica.directory_id == ZERO_UUID and now - state.last_fetch < RECENT_MS
        for state in _of(quorum, key.node_id)
    )


def _of(quorum: DescribeQuorumResponse, node_id: int) -> list[ReplicaState]:
    return [state for state in quorum.observers if state.replica.node_id == node_id]

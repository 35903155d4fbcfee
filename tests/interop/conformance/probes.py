"""Requests that no node of a healthy quorum sends, or seldom sends, to record the answers of
Kafka's node.

Each is a request of the core, sent in the newest version by a client that is no node. `harmless`
requests leave the quorum unchanged. `lasting` requests raise epochs, take votes and announce
leaders without an election, so they come last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from replica.errors import KraftlakeError
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Endpoints, Voter
from replica.raft.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    PeerRequest,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoteRequest,
)
from replica.wire.client import ClientConfig, Connection
from tests.interop.conformance.exchanges import ASKED, PARTITION

_TIMEOUT_S = 3.0
_STRANGER = ReplicaKey(99, "stranger" * 2 + "99999A")
_OTHER_DIRECTORY = "other" * 4 + "9A"
_NOWHERE = (Endpoint(PARTITION.listener, "127.0.0.1", 9),)


@dataclass(frozen=True, slots=True)
class Target:
    """The node that gets the requests, and the present quorum. peer: another voter, which doesn't
    lead. log_end, last_epoch: of the committed log."""

    cluster_id: str
    local: Voter
    leader: Voter
    peer: Voter
    epoch: int
    log_end: int
    last_epoch: int


def harmless(about: Target) -> Iterator[PeerRequest]:
    """Requests, each also for another cluster and for no cluster."""
    yield DescribeQuorumRequest()
    for request in (*_votes(about), *_begins(about), *_ends(about), *_fetches(about),
                    *_snapshot_fetches(about), *_changes(about)):  # fmt: skip
        yield replace(request, cluster_id=about.cluster_id)
    for request in (*_votes(about)[:1], *_begins(about)[:1], *_ends(about)[:1],
                    *_fetches(about)[:1], *_snapshot_fetches(about)[:1],
                    *_changes(about)):  # fmt: skip
        yield replace(request, cluster_id="another cluster")
    for request in (*_votes(about)[:1], *_begins(about)[:1], *_fetches(about)[:1]):
        yield replace(request, cluster_id=None)


def lasting(about: Target) -> Iterator[PeerRequest]:
    """Requests in this order. Each group begins in epochs of its own, so that it meets no real
    election."""
    cluster = about.cluster_id
    peer, epoch = about.peer.key, about.epoch
    for pre_vote in (True, False):
        epoch += 20
        vote = VoteRequest(
            cluster_id=cluster,
            epoch=epoch,
            candidate=peer,
            last_epoch=0,
            end_offset=0,
            pre_vote=pre_vote,
        )
        newer = replace(vote, last_epoch=epoch - 1, end_offset=10**9)
        other = replace(newer, candidate=about.leader.key)
        elsewhere = replace(newer, candidate=ReplicaKey(peer.node_id, _OTHER_DIRECTORY))
        stranger = replace(newer, candidate=_STRANGER)
        again = replace(newer, last_epoch=epoch, pre_vote=False)
        yield from (vote, again, newer, newer, vote, other, elsewhere, stranger)
        begin = BeginQuorumEpochRequest(
            cluster_id=cluster,
            epoch=epoch,
            leader_id=peer.node_id,
            leader_endpoints=about.peer.endpoints,
            voter=about.local.key,
        )
        rival = replace(begin, leader_id=about.leader.key.node_id)
        yield from (begin, begin, newer, other, rival, replace(newer, pre_vote=not pre_vote))
        yield EndQuorumEpochRequest(cluster_id=cluster, epoch=epoch, leader_id=peer.node_id,
                                    leader_endpoints=about.peer.endpoints,
                                    preferred_successors=(about.leader.key,))  # fmt: skip
        yield from (replace(newer, pre_vote=True), replace(other, pre_vote=True))
    epoch += 20
    stranger_leads = BeginQuorumEpochRequest(
        cluster_id=cluster,
        epoch=epoch,
        leader_id=_STRANGER.node_id,
        leader_endpoints=_NOWHERE,
        voter=about.local.key,
    )
    yield stranger_leads
    yield replace(
        stranger_leads, epoch=epoch + 1, voter=ReplicaKey(about.local.key.node_id, _OTHER_DIRECTORY)
    )
    yield replace(stranger_leads, epoch=epoch + 2, leader_id=peer.node_id, leader_endpoints=())
    yield VoteRequest(
        cluster_id=cluster, epoch=epoch + 10, candidate=_STRANGER, last_epoch=0, end_offset=0
    )
    yield EndQuorumEpochRequest(cluster_id=cluster, epoch=epoch + 20, leader_id=peer.node_id,
                                leader_endpoints=about.peer.endpoints)  # fmt: skip
    yield VoteRequest(cluster_id=cluster, epoch=2**30, candidate=peer, last_epoch=0, end_offset=0)


def features() -> Iterator[PeerRequest]:
    """Requests about kraft.version. None of them changes it."""
    for level in (0, 1, 2, -1):
        yield UpdateFeaturesRequest(kraft_version=level, validate_only=True)
    for level in (2, -1):
        yield UpdateFeaturesRequest(kraft_version=level)


def _votes(about: Target) -> tuple[VoteRequest, ...]:
    peer, epoch = about.peer.key, about.epoch
    base = VoteRequest(
        epoch=epoch,
        candidate=peer,
        voter=about.local.key,
        last_epoch=about.last_epoch - 1,
        end_offset=10**9,
    )
    found = [
        base,
        replace(base, epoch=epoch - 1, last_epoch=0),
        replace(base, last_epoch=epoch),
        replace(base, last_epoch=epoch + 1),
        replace(base, last_epoch=-1),
        replace(base, end_offset=-1),
        replace(base, epoch=-1),
        replace(base, voter=None),
        replace(base, voter=ReplicaKey(about.local.key.node_id)),
        replace(base, voter=ReplicaKey(about.local.key.node_id, _OTHER_DIRECTORY)),
        replace(base, voter=about.peer.key),
        replace(base, candidate=_STRANGER),
        replace(base, candidate=ReplicaKey(peer.node_id, _OTHER_DIRECTORY)),
        replace(base, candidate=ReplicaKey(peer.node_id)),
        replace(base, candidate=about.local.key),
        replace(base, candidate=about.leader.key),
        replace(base, candidate=ReplicaKey(-1)),
        replace(base, end_offset=0, last_epoch=0),
    ]
    return tuple(replace(each, pre_vote=pre) for pre, each in product((False, True), found))


def _begins(about: Target) -> tuple[BeginQuorumEpochRequest, ...]:
    leader = about.leader
    base = BeginQuorumEpochRequest(
        epoch=about.epoch,
        leader_id=leader.key.node_id,
        leader_endpoints=leader.endpoints,
        voter=about.local.key,
    )
    return (
        base,
        replace(base, leader_endpoints=()),
        replace(base, voter=None),
        replace(base, voter=ReplicaKey(about.local.key.node_id, _OTHER_DIRECTORY)),
        replace(base, voter=about.peer.key),
        replace(base, epoch=about.epoch - 1),
        replace(base, epoch=-1),
        replace(base, leader_id=about.peer.key.node_id, leader_endpoints=about.peer.endpoints),
        replace(base, leader_id=_STRANGER.node_id, leader_endpoints=_NOWHERE),
        replace(base, leader_id=-1),
        replace(base, epoch=about.epoch - 1, voter=about.peer.key),
    )


def _ends(about: Target) -> tuple[EndQuorumEpochRequest, ...]:
    peer = about.peer
    base = EndQuorumEpochRequest(
        epoch=about.epoch - 1, leader_id=peer.key.node_id, leader_endpoints=peer.endpoints
    )
    return (
        base,
        replace(base, epoch=-1),
        replace(base, epoch=about.epoch),
        replace(base, epoch=about.epoch, leader_id=_STRANGER.node_id, leader_endpoints=_NOWHERE),
        replace(base, epoch=about.epoch, leader_id=-1),
    )


def _fetches(about: Target) -> tuple[FetchRequest, ...]:
    base = FetchRequest(
        replica=_STRANGER,
        epoch=about.epoch,
        fetch_offset=about.log_end,
        last_fetched_epoch=about.last_epoch,
        high_watermark=-1,
    )
    epoch = about.epoch
    return (
        base,
        replace(base, fetch_offset=0, last_fetched_epoch=0),
        replace(base, fetch_offset=1),
        replace(base, fetch_offset=about.log_end // 2, last_fetched_epoch=1),
        replace(base, fetch_offset=2, last_fetched_epoch=1),
        replace(base, fetch_offset=2, last_fetched_epoch=0),
        replace(base, fetch_offset=10**9),
        replace(base, fetch_offset=10**9, last_fetched_epoch=1),
        replace(base, last_fetched_epoch=epoch + 1),
        replace(base, last_fetched_epoch=-1),
        replace(base, fetch_offset=-1),
        replace(base, max_wait_ms=-1),
        replace(base, epoch=epoch - 1, last_fetched_epoch=0),
        replace(base, epoch=epoch + 1),
        replace(base, epoch=-1, last_fetched_epoch=0),
        replace(base, replica=about.local.key),
        replace(base, max_bytes=0, fetch_offset=1, last_fetched_epoch=1),
        replace(base, high_watermark=10**9),
    )


def _snapshot_fetches(about: Target) -> tuple[FetchSnapshotRequest, ...]:
    base = FetchSnapshotRequest(
        replica=_STRANGER,
        epoch=about.epoch,
        snapshot_id=OffsetAndEpoch(12345, about.epoch),
        position=0,
    )
    return (
        base,
        replace(base, snapshot_id=BOOTSTRAP_SNAPSHOT),
        replace(base, snapshot_id=OffsetAndEpoch(-1, -1)),
        replace(base, position=-1),
        replace(base, epoch=about.epoch - 1),
        replace(base, epoch=about.epoch + 1),
    )


def _changes(about: Target) -> tuple[PeerRequest, ...]:
    peer, epoch = about.peer, about.epoch
    add = AddVoterRequest(voter=_STRANGER, endpoints=_NOWHERE, timeout_ms=1000)
    remove = RemoveVoterRequest(voter=_STRANGER)
    update = UpdateVoterRequest(epoch=epoch, voter=peer)
    elsewhere = ReplicaKey(peer.key.node_id, _OTHER_DIRECTORY)
    return (
        replace(add, voter=peer.key, endpoints=peer.endpoints),
        replace(add, voter=elsewhere, endpoints=peer.endpoints),
        replace(add, endpoints=()),
        replace(add, endpoints=(Endpoint("OTHER", "127.0.0.1", 9),)),
        replace(add, voter=ReplicaKey(99)),
        replace(add, voter=ReplicaKey(-1, _STRANGER.directory_id)),
        add,
        remove,
        RemoveVoterRequest(voter=elsewhere),
        RemoveVoterRequest(voter=ReplicaKey(peer.key.node_id)),
        RemoveVoterRequest(voter=ReplicaKey(-1)),
        update,
        replace(update, epoch=epoch - 1),
        replace(update, epoch=epoch + 1),
        replace(update, epoch=-1),
        replace(update, voter=replace(peer, endpoints=())),
        replace(update, voter=replace(peer, endpoints=_OTHER_LISTENER)),
        replace(update, voter=replace(peer, key=elsewhere)),
        replace(update, voter=replace(peer, key=ReplicaKey(peer.key.node_id))),
        replace(update, voter=replace(peer, min_kraft_version=2, max_kraft_version=3)),
        replace(update, voter=Voter(_STRANGER, _NOWHERE)),
    )


_OTHER_LISTENER: Endpoints = (Endpoint("OTHER", "127.0.0.1", 9),)


def ask(port: int, request: PeerRequest) -> bool:
    """Sends a request, and waits for the answer. Gives whether one came. The proxy in front of the
    node keeps both."""
    return asyncio.run(_ask(port, request))


async def _ask(port: int, request: PeerRequest) -> bool:
    rpc = ASKED[type(request)]
    assert rpc.client is not None
    config = ClientConfig(timeout_s=_TIMEOUT_S)
    try:
        connection = await Connection.connect("127.0.0.1", port, config)
        try:
            version = connection.versions[rpc.api.key][-1]
            message = rpc.client.write(PARTITION, request, version)
            await connection.call(rpc.api, message, version)
        finally:
            await connection.close()
    except KraftlakeError:
        return False
    return True

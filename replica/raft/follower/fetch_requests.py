"""The fetches of a replica: for the next records, for the next slice of a snapshot, or to learn who
leads."""

from __future__ import annotations

from collections.abc import Sequence

from replica.model.keys import NO_NODE, ReplicaKey
from replica.raft.config import FOREVER
from replica.raft.core import Core
from replica.raft.messages import FetchRequest, FetchSnapshotRequest
from replica.raft.roles import Follower, SnapshotFetch

ANONYMOUS = ReplicaKey(NO_NODE)


def fetch_from_leader(core: Core, role: Follower) -> int:
    """Fetch records, or a slice of a snapshot. Returns when (ms) to ask again.

    A fetch tells the leader that everything below its offset is on disk. So no fetch goes out while
    a flush is owed, while the host truncates the log, or while it validates a fetched snapshot.
    """
    if core.truncating or awaits_flush(core):
        return FOREVER
    if role.fetching is None:
        return core.send(role.leader_id, role.leader_endpoints, _fetch(core))
    if role.fetching.is_complete:
        return FOREVER
    request = _fetch_snapshot(core, role.fetching)
    return core.send(role.leader_id, role.leader_endpoints, request)


def servers_of(core: Core) -> tuple[int, ...]:
    """The ids of the nodes that this replica may ask who leads: the bootstrap servers, or, without
    bootstrap servers, the configured voters without the local replica (Kafka:
    KafkaRaftClient.initialize, which keeps the local replica among the voters)."""
    if core.config.bootstrap_ids:
        return core.config.bootstrap_ids
    return tuple(each for each in core.config.static_voters.ids if each != core.local_id)


def fetch_from_any(core: Core, voters: Sequence[int] = ()) -> int:
    """Send a fetch to a node of servers_of(core) or to one of `voters`. The answer names the leader
    (KIP-853). Returns when (ms) to ask again; FOREVER while a fetch may not be sent."""
    servers = tuple(dict.fromkeys((*servers_of(core), *voters)))
    if not servers or core.truncating or awaits_flush(core):
        return FOREVER
    node_id = core.connections.ready_bootstrap(servers, core.now, core.draw)
    if node_id is None:
        return core.connections.next_bootstrap_at(servers, core.now)
    return core.send(node_id, core.endpoints_of(node_id, ()), _fetch(core))


def awaits_flush(core: Core) -> bool:
    """Whether this replica may not tell others its log end yet, because a crash could undo the
    append.

    An observer also waits, as Kafka's controllers do: its fetches count once it is a voter.
    """
    return core.log.flushed_end < core.log.log_end


def _fetch(core: Core) -> FetchRequest:
    high_watermark = core.high_watermark
    return FetchRequest(
        replica=core.local_key or ANONYMOUS,
        epoch=core.role.epoch,
        fetch_offset=core.log.log_end,
        last_fetched_epoch=core.log.last_epoch,
        max_wait_ms=core.config.fetch_max_wait_ms,
        max_bytes=core.config.fetch_max_bytes,
        high_watermark=-1 if high_watermark is None else high_watermark,
    )


def _fetch_snapshot(core: Core, fetching: SnapshotFetch) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        replica=core.local_key or ANONYMOUS,
        epoch=core.role.epoch,
        snapshot_id=fetching.snapshot_id,
        position=fetching.position,
        max_bytes=core.config.fetch_snapshot_max_bytes,
    )

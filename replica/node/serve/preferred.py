"""How a leader chooses the replica from which a client should read (KIP-392; Kafka:
RackAwareReplicaSelector)."""

from __future__ import annotations

from replica.model.keys import ReplicaKey
from replica.node.serve.partition import ServedPartition
from replica.raft.roles import Leader, ReplicaProgress


def preferred_replica(partition: ServedPartition, rack: str) -> int | None:
    """The in-sync voter in the client's rack that has the highest log end. None where the client
    should read from this replica.

    KRaft has no ISR: here a voter is in sync if it caught up within the last fetch timeout. A
    follower chooses no replica, and neither does a leader that is in the client's rack.
    """
    role = partition.raft.role
    if not rack or not isinstance(role, Leader) or partition.rack == rack:
        return None
    near = [
        (progress.log_end, key)
        for key, progress in in_sync(partition, role).items()
        if partition.racks.get(key.node_id) == rack
    ]
    return max(near)[1].node_id if near else None


def in_sync(partition: ServedPartition, role: Leader) -> dict[ReplicaKey, ReplicaProgress]:
    """The voters other than the leader that reached its log end within the last fetch timeout."""
    host, now = partition.driver.host, partition.driver.now()
    oldest = now - host.config.fetch_timeout_ms
    return {
        key: progress
        for key, progress in role.progress.items()
        if host.raft.log.voters.is_voter(key) and progress.last_caught_up >= oldest
    }

"""Finds whether another node uses the observer's node id, by the leader's description of the
quorum.

A leader counts a fetch for the node whose id it names. With a voter's id, an observer would be
counted as that voter, and the high watermark would rise over records that no majority holds
(KIP-595).
"""

from __future__ import annotations

from collections.abc import Collection

from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.raft.messages import DescribeQuorumResponse, ReplicaState

RECENT_MS = 5_000
"""A replica that fetched within this time (ms) is alive; an observer fetches at least every 500
ms."""


def conflict(
    quorum: DescribeQuorumResponse, key: ReplicaKey, node_ids: Collection[int] = ()
) -> str | None:
    """Why this node must not fetch as `key`. None where no other node has its id.

    node_ids: the node ids of the registered brokers and controllers. An observer with the same node
    id is in conflict too, unless its directory id is the one of `key` or unknown (see
    `may_be_alive`).
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
    """Whether an observer with the node id of `key` has fetched just now. It may be this observer
    before its restart: Kafka before 3.9 gives no directory ids.

    The leader's present time is taken from its own entry among the voters.
    """
    now = max((state.last_fetch for state in quorum.voters), default=-1)
    return any(
        state.replica.directory_id == ZERO_UUID and now - state.last_fetch < RECENT_MS
        for state in _of(quorum, key.node_id)
    )


def _of(quorum: DescribeQuorumResponse, node_id: int) -> list[ReplicaState]:
    return [state for state in quorum.observers if state.replica.node_id == node_id]

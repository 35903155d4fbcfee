"""Chooses the replica for the next fetch: the leader's choice, the selector's choice, or the
leader.

The leader's choice (PreferredReadReplica, KIP-392) holds for a lease. A replica that failed is
avoided until the metadata changes, or for the time of a lease. Meanwhile the reader fetches from
the leader, because only the leader knows why an offset is out of range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.consumer.selector import PartitionView, ReplicaSelector, ReplicaView
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.keys import NO_NODE, ZERO_UUID

PATIENCE = 10
"""The number of successive answers in which a follower may say that its log hasn't reached the
position. After them the follower is avoided."""


@dataclass(frozen=True, slots=True)
class KnownLeader:
    """The leader that the metadata names."""

    node_id: int = NO_NODE
    """The node id of the leader; NO_NODE while there is no leader."""
    epoch: int = UNDEFINED_EPOCH
    """The leader epoch; -1 if the metadata has no epoch."""
    topic_id: str = ZERO_UUID


class Replicas:
    """Chooses the replica to fetch from. lease_ms: the time for which the leader's choice holds,
    and for which a failed replica is avoided."""

    def __init__(self, selector: ReplicaSelector, lease_ms: int) -> None:
        self.leader = KnownLeader()
        self._selector = selector
        self._lease_ms = lease_ms
        self._partition = PartitionView(NO_NODE, ())
        self._selected: int | None = None
        self._preferred: tuple[int, int] | None = None
        self._avoided: dict[int, int] = {}
        self._patience = PATIENCE
        self._high_watermarks: dict[int, int] = {}

    def learn(self, partition: PartitionView, leader: KnownLeader) -> bool:
        """Take the partition's metadata. Returns False for metadata that is older than the known
        metadata, and ignores it.

        Epochs are compared only if the topic id is the same, because the epochs of a topic that was
        deleted and created again start again.
        """
        known = self.leader
        if leader.topic_id == known.topic_id and 0 <= leader.epoch < known.epoch:
            return False
        if leader != known or _shape(partition) != _shape(self._partition):
            self._avoided.clear()
            self._patience = PATIENCE
        if leader != known:
            self._preferred = None
        self.leader = leader
        self._partition = partition
        self._select()
        return True

    def knows(self, node_id: int) -> bool:
        """Whether the metadata names the replica."""
        return any(replica.node_id == node_id for replica in self._partition.replicas)

    def node(self, now_ms: int) -> int:
        """The replica to fetch from: the chosen replica if it can be used, else the leader."""
        for wished in (self.preferred(now_ms), self._selected):
            if wished is not None and self.knows(wished) and not self._is_avoided(wished, now_ms):
                return wished
        return self.leader.node_id

    def preferred(self, now_ms: int) -> int | None:
        """The replica that the leader chose. None if there is no choice, or its lease is over."""
        if self._preferred is None or now_ms > self._preferred[1]:
            return None
        return self._preferred[0]

    def prefer(self, node_id: int, now_ms: int) -> bool:
        """Take the leader's choice, which replaces an earlier choice. Returns False if the chosen
        replica is unknown or avoided."""
        if not self.knows(node_id) or self._is_avoided(node_id, now_ms):
            self._preferred = None
            return False
        self._preferred = (node_id, now_ms + self._lease_ms)
        return True

    def avoids_any(self, now_ms: int) -> bool:
        """Whether any replica is avoided. The leader must then not be asked for a choice, because
        the leader might choose an avoided replica."""
        return any(self._is_avoided(node_id, now_ms) for node_id in self._avoided)

    def failed(self, node_id: int, now_ms: int) -> None:
        """Avoid a replica that can't serve this reader. The next fetch goes to the leader, which is
        never avoided."""
        if node_id == self.leader.node_id:
            return
        self._preferred = None
        self._avoided[node_id] = now_ms + self._lease_ms

    def not_there_yet(self, node_id: int, now_ms: int) -> None:
        """Note that a replica answered that its log hasn't reached the position. Most replicas
        catch up soon, so the replica is avoided only after PATIENCE successive answers of this
        kind."""
        self._patience -= 1
        if self._patience <= 0:
            self._patience = PATIENCE
            self.failed(node_id, now_ms)

    def served(self, node_id: int, high_watermark: int) -> None:
        """Note that a replica answered a fetch. high_watermark: the answer's high watermark
        (exclusive); -1 if the answer has none."""
        self._patience = PATIENCE
        if high_watermark >= 0:
            self._high_watermarks[node_id] = high_watermark

    def close(self) -> None:
        """Close the selector."""
        self._selector.close()

    def _select(self) -> None:
        """Let the selector choose. The selector gets the lag of each replica from the metadata. If
        the metadata gives no lag, the lag follows from the high watermarks of earlier fetches."""
        seen = tuple(self._with_lag(replica) for replica in self._partition.replicas)
        self._selected = self._selector.select(replace(self._partition, replicas=seen))

    def _with_lag(self, replica: ReplicaView) -> ReplicaView:
        leaders = self._high_watermarks.get(self.leader.node_id)
        own = self._high_watermarks.get(replica.node_id)
        if replica.lag is not None or leaders is None or own is None:
            return replica
        return replace(replica, lag=max(0, leaders - own))

    def _is_avoided(self, node_id: int, now_ms: int) -> bool:
        return node_id in self._avoided and now_ms <= self._avoided[node_id]


def _shape(partition: PartitionView) -> frozenset[tuple[int, bool]]:
    """The part of the metadata that, when it changes, lets failed replicas be used again."""
    return frozenset((replica.node_id, replica.in_sync) for replica in partition.replicas)

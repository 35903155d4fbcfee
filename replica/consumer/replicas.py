"""Chooses the replica for the next fetch: the one that the leader names, the one that the selector
names, or the leader.

The leader's choice (PreferredReadReplica, KIP-392) holds for a lease. A replica that failed is
avoided until the metadata changes or a lease has gone by. Meanwhile the leader serves, because it
alone knows what an offset out of range means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.consumer.selector import PartitionView, ReplicaSelector, ReplicaView
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.keys import NO_NODE, ZERO_UUID

PATIENCE = 10
"""How many times in a row a follower may answer that it isn't that far yet, before it is
avoided."""


@dataclass(frozen=True, slots=True)
class KnownLeader:
    """The leader by the metadata. node_id: NO_NODE while there is none. epoch: -1 where the
    metadata has none."""

    node_id: int = NO_NODE
    epoch: int = UNDEFINED_EPOCH
    topic_id: str = ZERO_UUID


class Replicas:
    """lease_ms: how long the leader's choice holds, and how long a failed replica is avoided."""

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
        """Take the partition's metadata. Returns False where it is older than what is known; then
        it is ignored.

        Epochs are compared only where the topic id is the same: a topic that was created anew
        begins again.
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
        """Whether metadata names the replica."""
        return any(replica.node_id == node_id for replica in self._partition.replicas)

    def node(self, now_ms: int) -> int:
        """The replica to fetch from: the leader, unless another one is chosen and usable."""
        for wished in (self.preferred(now_ms), self._selected):
            if wished is not None and self.knows(wished) and not self._is_avoided(wished, now_ms):
                return wished
        return self.leader.node_id

    def preferred(self, now_ms: int) -> int | None:
        """The replica that the leader chose; None after the lease, whose end is inclusive."""
        if self._preferred is None or now_ms > self._preferred[1]:
            return None
        return self._preferred[0]

    def prefer(self, node_id: int, now_ms: int) -> bool:
        """Take the leader's choice, which replaces an earlier one. Returns False where it can't be
        followed."""
        if not self.knows(node_id) or self._is_avoided(node_id, now_ms):
            self._preferred = None
            return False
        self._preferred = (node_id, now_ms + self._lease_ms)
        return True

    def avoids_any(self, now_ms: int) -> bool:
        """Whether any replica is avoided: then the leader must not be asked for a choice, because
        it might choose that one."""
        return any(self._is_avoided(node_id, now_ms) for node_id in self._avoided)

    def failed(self, node_id: int, now_ms: int) -> None:
        """Avoid a replica that can't serve this reader. The next fetch goes to the leader."""
        if node_id == self.leader.node_id:
            return
        self._preferred = None
        self._avoided[node_id] = now_ms + self._lease_ms

    def not_there_yet(self, node_id: int, now_ms: int) -> None:
        """Note that a replica lags. It is avoided only after PATIENCE such answers: mostly it
        catches up soon."""
        self._patience -= 1
        if self._patience <= 0:
            self._patience = PATIENCE
            self.failed(node_id, now_ms)

    def served(self, node_id: int, high_watermark: int) -> None:
        """Note that a replica answered a fetch. high_watermark: -1 where the answer had none."""
        self._patience = PATIENCE
        if high_watermark >= 0:
            self._high_watermarks[node_id] = high_watermark

    def close(self) -> None:
        """Close the selector."""
        self._selector.close()

    def _select(self) -> None:
        """Let the selector choose. It sees the lag that the metadata has, or else the lag by the
        high watermarks that fetches have shown."""
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
    """The part of the metadata that must change before a failed replica is tried again."""
    return frozenset((replica.node_id, replica.in_sync) for replica in partition.replicas)

"""The settings of a replica, which never change while it runs.

Where Kafka has such a setting, its name and default are those of controller.quorum.* and metadata.*
(QuorumConfig, MetadataLogConfig).
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import UsageError
from replica.model.keys import NO_NODE
from replica.model.voters import Voter, VoterSet
from replica.raft.mistakes import HostError

FOREVER = 2**63 - 1
"""A time in ms that never comes: the deadline of an action that is not due."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one replica. Every time is in ms, every size in bytes."""

    cluster_id: str
    local: Voter | None
    """This replica, its endpoints and the kraft.versions that it supports; None for a replica
    without a node id, which can only be an observer."""
    static_voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    """controller.quorum.voters: the voters while neither the log nor a snapshot names any."""
    bootstrap_ids: tuple[int, ...] = ()
    """Negative ids, which the host maps to controller.quorum.bootstrap.servers."""
    default_listener: str = "CONTROLLER"
    """The listener that peers connect to."""
    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    fetch_max_wait_ms: int = 500
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1024 * 1024
    """The most bytes of records that one fetch asks for (KIP-1219)."""
    fetch_snapshot_max_bytes: int = 1024 * 1024
    """The most bytes of a snapshot that one fetch asks for (KIP-1219)."""
    response_max_bytes: int = 10 * 1024 * 1024
    """The largest answer that this replica gives as leader, in bytes."""
    append_linger_ms: int = 25
    """The longest time that a leader's records wait for further records to share their batch."""
    append_when_idle: bool = True
    """Whether a leader appends waiting records before the end of the linger when all earlier
    records are committed; with False, records always wait for the end of the linger, as in Kafka.
    """
    max_batch_bytes: int = 8 * 1024 * 1024
    """The largest batch that a leader appends, in bytes."""
    max_pending_batches: int = 10
    """The most batches that may wait in the leader's BatchAccumulator for the end of the linger."""
    retention_bytes: int = 100 * 1024 * 1024
    """The most bytes of log and snapshots (metadata.max.retention.bytes); -1 for no limit."""
    retention_ms: int = 7 * 24 * 3_600_000
    """The age (ms) from which on a snapshot is too old (metadata.max.retention.ms); -1 for no
    limit."""
    start_lag_ms: int | None = None
    """The longest time (ms) for which the log start waits for a live replica that lags, by
    KIP-630's policy (metadata.start.offset.lag.time.max.ms). None for Kafka's policy, which depends
    on retention_bytes and retention_ms."""
    auto_join: bool = False
    """Whether an observer that has endpoints makes itself a voter (KIP-1186)."""
    removed_voter_stands: bool = True
    """Whether a removed voter may stand for election until it knows that its removal is committed.
    Kafka's replicas behave as with False."""

    def __post_init__(self) -> None:
        if any(node_id >= NO_NODE for node_id in self.bootstrap_ids):
            raise HostError(f"bootstrap servers have ids below -1, not {self.bootstrap_ids}")
        # a leader may hold a fetch back for fetch_max_wait_ms, so the follower must wait longer
        # than that
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            raise UsageError(
                f"controller.quorum.request.timeout.ms is {self.request_timeout_ms}: set it above "
                f"{self.fetch_max_wait_ms}, the ms that a leader may hold a fetch back"
            )

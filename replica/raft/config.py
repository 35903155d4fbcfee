"""What a replica is told once: who it is, whom it may ask, how long it waits.

Names and defaults are those of Kafka's controller.quorum.* and metadata.* settings where there is
one (QuorumConfig, MetadataLogConfig).
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import UsageError
from replica.model.voters import Voter, VoterSet

FOREVER = 2**63 - 1
"""A deadline that never comes, in ms."""


@dataclass(frozen=True, slots=True)
class Config:
    """Times in ms, sizes in bytes.

    local: this replica with its endpoints and supported kraft.version; None for one without a node
    id, which only observes. static_voters: controller.quorum.voters, in force while the log and
    its snapshots name none. bootstrap_ids: negative ids that the host maps to
    controller.quorum.bootstrap.servers. default_listener: the one peers are reached by.
    append_linger_ms, max_batch_bytes, max_pending_batches: of records that a leader's state machine
    appends, see BatchAccumulator; the bytes bound every batch of a leader.
    fetch_max_bytes, fetch_snapshot_max_bytes: asked of a leader at a time (KIP-1219).
    auto_join: whether an observer that others can reach makes itself a voter (KIP-1186).
    retention_bytes, retention_ms: metadata.max.retention.*, -1 for no limit. start_lag_ms:
    metadata.start.offset.lag.time.max.ms (KIP-630), which chooses that policy; None for Kafka's.
    """

    cluster_id: str
    local: Voter | None
    static_voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    bootstrap_ids: tuple[int, ...] = ()
    default_listener: str = "CONTROLLER"
    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    fetch_max_wait_ms: int = 500
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024
    response_max_bytes: int = 10 * 1024 * 1024
    append_linger_ms: int = 25
    max_batch_bytes: int = 8 * 1024 * 1024
    max_pending_batches: int = 10
    retention_bytes: int = 100 * 1024 * 1024
    retention_ms: int = 7 * 24 * 3_600_000
    start_lag_ms: int | None = None
    auto_join: bool = False

    def __post_init__(self) -> None:
        assert all(node_id < -1 for node_id in self.bootstrap_ids), "-1 is nobody's id"
        # a leader holds a fetch back for so long, and its answer must still be waited for
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            raise UsageError(
                f"controller.quorum.request.timeout.ms {self.request_timeout_ms} must be above the "
                f"{self.fetch_max_wait_ms} ms that a fetch may wait"
            )

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
"""A time in ms that never comes: the deadline of what is not due at all."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one replica. Every time is in ms, every size in bytes.

    local: this replica with its endpoints and the kraft.versions that it supports; None for a
    replica without a node id, which only observes. static_voters: controller.quorum.voters, in
    force while neither the log nor a snapshot names voters. bootstrap_ids: negative ids, which the
    host maps to controller.quorum.bootstrap.servers. default_listener: the listener that peers
    connect to. append_linger_ms: how long records of a leader's state machine wait for others that
    share their batch. max_pending_batches: how many batches may wait so (see BatchAccumulator).
    append_when_idle: whether a leader appends waiting records before the end of the linger when all
    earlier records are committed; with False they always wait for its end, as in Kafka.
    max_batch_bytes: the largest batch that a leader appends. fetch_max_bytes,
    fetch_snapshot_max_bytes: how much one fetch asks a leader for (KIP-1219). response_max_bytes:
    the largest answer that this replica gives as leader. auto_join: whether an observer that has
    endpoints makes itself a voter (KIP-1186). removed_voter_stands: see Core.may_stand; False for a
    replica that does as Kafka's. retention_bytes, retention_ms:
    metadata.max.retention.*, -1 for no limit. start_lag_ms: metadata.start.offset.lag.time.max.ms;
    if set, the log start moves by KIP-630's policy and not by Kafka's (see `log_start`).
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
    append_when_idle: bool = True
    max_batch_bytes: int = 8 * 1024 * 1024
    max_pending_batches: int = 10
    retention_bytes: int = 100 * 1024 * 1024
    retention_ms: int = 7 * 24 * 3_600_000
    start_lag_ms: int | None = None
    auto_join: bool = False
    removed_voter_stands: bool = True

    def __post_init__(self) -> None:
        if any(node_id >= NO_NODE for node_id in self.bootstrap_ids):
            raise HostError(f"bootstrap servers have ids below -1, not {self.bootstrap_ids}")
        # a leader may hold a fetch back for fetch_max_wait_ms, and the follower must wait longer
        # for it
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            raise UsageError(
                f"controller.quorum.request.timeout.ms is {self.request_timeout_ms}: set it above "
                f"{self.fetch_max_wait_ms}, the ms that a leader may hold a fetch back"
            )

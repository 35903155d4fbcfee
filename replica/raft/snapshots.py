"""Snapshots of the local state machine, and snapshots fetched from a leader (KIP-630).

Kafka: KafkaMetadataLog.createNewSnapshot, truncateToLatestSnapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.errors import UsageError
from replica.history.fetch import ValidPosition, validate_position
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.stored import SnapshotFacts
from replica.raft.core import Core
from replica.raft.messages import FetchSnapshotResponse
from replica.raft.mistakes import Mistake
from replica.raft.roles import Follower, Leader


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """When a state machine makes a snapshot."""

    max_new_bytes: int = 20 * 1024 * 1024
    """The bytes of new records after which a snapshot is due
    (metadata.log.max.record.bytes.between.snapshots)."""
    max_interval_ms: int = 3_600_000
    """The time (ms) after which a snapshot is due (metadata.log.max.snapshot.interval.ms); 0 for no
    limit of time. A snapshot is due when either limit is reached, as in released Kafka."""
    min_changed_ratio: float | None = None
    """The share (0 to 1) of the newest snapshot's records that must have changed before a snapshot
    is due, besides max_new_bytes of new records (metadata.snapshot.min.changed_records.ratio of
    KIP-630). None for released Kafka's two limits alone."""

    def is_due(self, new_bytes: int, interval_ms: int, changed_ratio: float) -> bool:
        """Whether a snapshot is due.

        new_bytes: the bytes of the records committed since the newest snapshot.
        interval_ms: the time since the newest snapshot.
        changed_ratio: the share (0 to 1) of the newest snapshot's records that have changed.
        """
        has_bytes = new_bytes >= self.max_new_bytes
        if self.min_changed_ratio is not None:
            return has_bytes and changed_ratio >= self.min_changed_ratio
        is_old = 0 < self.max_interval_ms <= interval_ms and new_bytes > 0
        return has_bytes or is_old


def may_create(core: Core, snapshot_id: OffsetAndEpoch) -> bool:
    """Whether to write a snapshot with this id: False if the snapshot exists already, or ends below
    the log start. Raises UsageError for an id that is not a position of the committed log."""
    if snapshot_id.offset < core.log.log_start or core.log.snapshot(snapshot_id) is not None:
        return False
    committed = core.high_watermark
    if committed is None or snapshot_id.offset > committed:
        known = "unknown" if committed is None else str(committed)
        raise UsageError(
            f"snapshot {snapshot_id.offset}-{snapshot_id.epoch} lies above the high watermark, "
            f"which is {known}"
        )
    decision = validate_position(core.log.view, snapshot_id.offset, snapshot_id.epoch)
    if snapshot_id == BOOTSTRAP_SNAPSHOT or not isinstance(decision, ValidPosition):
        raise UsageError(
            f"snapshot {snapshot_id.offset}-{snapshot_id.epoch} doesn't lie in the log: no record "
            f"of epoch {snapshot_id.epoch} is the last before offset {snapshot_id.offset}"
        )
    return True


def handle_fetched(core: Core, facts: SnapshotFacts) -> None:
    """Restart the log at the leader's snapshot. If this replica leads now, or its log is not older
    than the snapshot, only note the snapshot. The epoch may have changed since the fetch: a
    snapshot holds committed records only, so the snapshot is valid in every later epoch."""
    _end_fetch(core, facts.snapshot_id)
    if isinstance(core.role, Leader) or not core.log.is_older_than(facts.snapshot_id):
        core.add_snapshot(facts)
    else:
        core.restart_at(facts)


def handle_rejected(core: Core, snapshot_id: OffsetAndEpoch) -> None:
    """Go back to a plain fetch, because the bytes that the leader sent are not a valid snapshot."""
    core.blame(Mistake.SNAPSHOT_BYTES, core.role.leader_id, FetchSnapshotResponse)
    _end_fetch(core, snapshot_id)


def _end_fetch(core: Core, snapshot_id: OffsetAndEpoch) -> None:
    role = core.role
    if not isinstance(role, Follower) or role.fetching is None:
        return
    if role.fetching.snapshot_id == snapshot_id:
        deadline = core.now + core.config.fetch_timeout_ms
        core.keep(replace(role, fetching=None).trusting(deadline))

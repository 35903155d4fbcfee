"""When the log start moves up, and which snapshots are then removed.

There are two policies. Kafka's policy removes the oldest snapshot, and the log below the next
snapshot, by size and age (KafkaMetadataLog.maybeClean). By KIP-630's policy, a leader waits until
all live replicas have reached a snapshot's end, or until a time limit. A follower moves its log
start at most to its leader's log start, and at most to the end of its own newest snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from replica.model.stored import SnapshotFacts
from replica.raft.core import Core
from replica.raft.inputs import Clean
from replica.raft.roles import Leader


def handle_clean(core: Core, clean: Clean) -> None:
    """Move the log start as far up as the configured policy allows, but never above what is
    committed."""
    if core.config.start_lag_ms is not None:
        if isinstance(core.role, Leader):
            oldest = core.now - core.config.start_lag_ms
            _move(core, start_by_lag(core.log.snapshots, _live_ends(core), oldest))
        return
    start = start_by_retention(
        core.log.snapshots,
        clean.log_bytes,
        core.config.retention_bytes,
        core.now - core.config.retention_ms if core.config.retention_ms >= 0 else None,
    )
    _move(core, start)


def follow_log_start(core: Core, leader_log_start: int) -> None:
    """Move a follower's log start by KIP-630's policy, to the lower of two offsets: the leader's
    log start, and the end of the follower's own newest snapshot."""
    if core.config.start_lag_ms is None:
        return
    offsets = [s.snapshot_id.offset for s in core.log.snapshots]
    _move(core, max((o for o in offsets if o <= leader_log_start), default=None))


def start_by_retention(
    snapshots: Sequence[SnapshotFacts],
    log_bytes: int,
    retention_bytes: int,
    oldest_timestamp: int | None,
) -> int | None:
    """The new log start (inclusive) by Kafka's policy; None if the log start doesn't change. The
    oldest snapshot is deleted while all files together are too large, or while this snapshot is too
    old. The newest snapshot always stays.

    snapshots: the snapshots, in ascending order.
    log_bytes: the size of the log in bytes.
    retention_bytes: the most bytes of log and snapshots; -1 for no limit.
    oldest_timestamp: snapshots older than this time (ms) are too old; None for no limit.
    """
    total = log_bytes + sum(facts.size for facts in snapshots)
    start = None
    for facts, following in pairwise(snapshots):
        is_too_large = 0 <= retention_bytes < total
        is_too_old = oldest_timestamp is not None and facts.timestamp < oldest_timestamp
        if not is_too_large and not is_too_old:
            break
        total -= facts.size
        start = following.snapshot_id.offset
    return start


def start_by_lag(
    snapshots: Sequence[SnapshotFacts], live_ends: Iterable[int], oldest_timestamp: int
) -> int | None:
    """The new log start (inclusive) of a leader by KIP-630's policy: the highest end offset of a
    snapshot that all live replicas have reached, or whose last record is older than
    `oldest_timestamp` (ms). None if there is no such snapshot."""
    reached = min(live_ends, default=None)
    starts = [
        facts.snapshot_id.offset
        for facts in snapshots
        if (reached is not None and facts.snapshot_id.offset <= reached)
        or 0 <= facts.timestamp < oldest_timestamp
    ]
    return max(starts, default=None)


def _live_ends(core: Core) -> list[int]:
    """The log ends (exclusive) of this leader, and of the replicas that fetched within the fetch
    timeout."""
    since = core.now - core.config.fetch_timeout_ms
    known = chain(core.leader.progress.values(), core.work.observers.view.values())
    return [core.log.log_end, *(each.log_end for each in known if each.last_fetch >= since)]


def _move(core: Core, start: int | None) -> None:
    if start is not None and core.log.log_start < start <= (core.committed or 0):
        core.start_log_at(start)

"""Decides what a follower does with a diverging answer, and counts the fetches until the logs
agree.

The released protocol is in ReplicatedLog.truncateToEndOffset, which
KafkaRaftClient.handleFetchResponse calls. In the draft's protocol, the follower cuts its log at the
NextFetchOffset of FetchQuorumRecords (KIP-595's first draft), which may need more fetches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.errors import KraftlakeError
from replica.history.epochs import truncate_from_end
from replica.history.fetch import (
    Diverging,
    DraftOutOfRange,
    LogView,
    SnapshotNeeded,
    draft_validate_position,
    validate_position,
    view_of,
)
from replica.history.log import ReplicaLog, epochs_of
from replica.model.epochs import OffsetAndEpoch


class TruncationBelowHighWatermarkError(KraftlakeError):
    """A leader asks a follower to truncate committed records, so one of the two logs broke Raft's
    rules. The follower must stop."""

    def __init__(self, offset: int, high_watermark: int) -> None:
        super().__init__(
            "the leader asks it to cut off committed records: to truncate to offset "
            f"{offset}, below the high watermark {high_watermark}"
        )
        self.offset = offset


def truncation_offset(follower: LogView, diverging: Diverging) -> int:
    """The end (exclusive) at which `follower` cuts its log after a diverging answer."""
    if diverging.epoch == 0:
        return min(diverging.end_offset, follower.log_end)
    local = follower.end_offset_for(diverging.epoch)
    if local.epoch == diverging.epoch:
        return min(local.offset, diverging.end_offset)
    return local.offset


def checked_truncation_offset(
    follower: LogView, diverging: Diverging, high_watermark: int | None
) -> int:
    """The result of truncation_offset. Raises TruncationBelowHighWatermarkError if the result, or
    the end offset in the answer, is below the follower's high watermark (None if unknown).
    KafkaRaftClient also checks the answer's offset, before it reads the local log."""
    offset = truncation_offset(follower, diverging)
    if high_watermark is not None:
        lowest = min(offset, diverging.end_offset)
        if lowest < high_watermark:
            raise TruncationBelowHighWatermarkError(lowest, high_watermark)
    return offset


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """The result of the fetches until a follower's log agrees with the leader's log."""

    truncation_offset: int
    """The end (exclusive) of the follower's log when it gets records again. A log removes the whole
    batch that holds this offset."""
    rounds: int
    """The number of fetches that are answered with a diverging epoch (in KIP-595's draft, with
    OUT_OF_RANGE); 0 if the first fetch gets records."""
    snapshot_id: OffsetAndEpoch | None = None
    """The snapshot that the leader would send instead of records; None if it would send none. If
    there is a snapshot, truncation_offset and rounds are computed as if there were none."""


def fetch_rounds(leader: ReplicaLog, follower: ReplicaLog) -> FetchOutcome:
    """Run the released protocol between `follower` and a leader whose log doesn't change."""
    if follower.restarted_from_snapshot():
        snapshot_id = follower.newest_snapshot
    else:
        outcome = _run_released(view_of(leader), view_of(follower))
        if isinstance(outcome, FetchOutcome):
            return outcome
        snapshot_id = outcome.snapshot_id
    from_logs = _run_released(_logs_alone(leader), _logs_alone(follower))
    assert isinstance(from_logs, FetchOutcome), "a log without snapshots never offers one"
    return replace(from_logs, snapshot_id=snapshot_id)


def draft_fetch_rounds(leader: ReplicaLog, follower: ReplicaLog) -> FetchOutcome:
    """Run the draft's protocol, which has no snapshots, between `follower` and a leader whose log
    doesn't change. The follower cuts its log at the answer's NextFetchOffset.

    NextFetchOffset is an offset in the leader's log. If the follower's log ends before it, there is
    nothing to cut. Then the follower drops its records of FetchEpoch, because the leader never had
    this epoch; otherwise it would send the same request forever.
    """
    leader_view, view = _logs_alone(leader), _logs_alone(follower)
    rounds = 0
    while view.epochs:
        answer = draft_validate_position(leader_view, view.log_end, view.last_fetched_epoch)
        if not isinstance(answer, DraftOutOfRange):
            break
        end = answer.next_fetch_offset
        view = truncated(view, end if end < view.log_end else view.epochs[-1].start_offset)
        rounds += 1
    return FetchOutcome(view.log_end, rounds)


def truncated(log: LogView, end_offset: int) -> LogView:
    """The log after a cut at `end_offset` (exclusive). If `end_offset` is below the log start, the
    result is an empty log at `end_offset`."""
    return replace(
        log,
        log_start=min(log.log_start, end_offset),
        log_end=min(log.log_end, end_offset),
        epochs=truncate_from_end(log.epochs, end_offset),
    )


def _run_released(leader: LogView, follower: LogView) -> FetchOutcome | SnapshotNeeded:
    """Repeat the fetch until the answer has records or names a snapshot."""
    view = follower
    rounds = 0
    while True:
        answer = validate_position(leader, view.log_end, view.last_fetched_epoch)
        if isinstance(answer, SnapshotNeeded):
            return answer
        end = truncation_offset(view, answer) if isinstance(answer, Diverging) else view.log_end
        if end >= view.log_end:
            # either records follow, or Raft never permits these logs, and a real follower would
            # send the same request forever
            return FetchOutcome(view.log_end, rounds)
        view = truncated(view, end)
        rounds += 1


def _logs_alone(log: ReplicaLog) -> LogView:
    """The view of all batches in the files, including leftovers, as if there were no snapshot."""
    return LogView(log.first_offset, log.end_offset, epochs_of(log.batches))

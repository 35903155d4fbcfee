"""Finds how far each replica of a group is: the part of its log that is proven committed, and the
records that it lacks.

Kafka writes no high watermark of a metadata log to disk. So this module gives a lower bound of it,
by the group's proofs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replica.doctor.quorum.branch import BranchPart
from replica.history.commitment import Commitment, EntryCommitment, GroupComparison, Proof
from replica.history.log import ReplicaLog
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaKey


@dataclass(frozen=True, slots=True)
class CommittedProgress:
    """What one replica holds of the committed records. All ends are exclusive. `high_watermark`
    and `proof` are None if nothing is proven."""

    high_watermark: int | None
    """A lower bound of the replica's high watermark. All offsets below it are in the log, and
    `proof` shows that they are committed. None if nothing is proven."""
    proof: Proof | None
    agreed_end: int
    """The end (exclusive) of the part of the agreed branch that the replica holds, or has in a
    snapshot."""
    own_records: int
    """The number of records from agreed_end on that the replica holds and the branch lacks."""


def progress_of(
    group: GroupComparison, commitment: Commitment, branch: Sequence[BranchPart]
) -> Mapping[ReplicaKey, CommittedProgress]:
    """The progress of each replica. branch: the group's agreed_branch."""
    return {log.key: _progress(group, commitment, branch, log) for log in group.logs}


def _progress(
    group: GroupComparison, commitment: Commitment, branch: Sequence[BranchPart], log: ReplicaLog
) -> CommittedProgress:
    proof, high_watermark = _evidence(group, commitment, log)
    agreed_end = _agreed_end(group, branch, log)
    return CommittedProgress(high_watermark, proof, agreed_end, log.held_from(agreed_end))


def _evidence(
    group: GroupComparison, commitment: Commitment, log: ReplicaLog
) -> tuple[Proof | None, int | None]:
    """The proof with the highest end in this log, and this end; both None if nothing is proven."""
    proven = commitment.ranges(log.key, EntryCommitment.PROVEN)
    end = proven[-1].end if proven else 0
    snapshot = max(log.snapshots, default=BOOTSTRAP_SNAPSHOT)
    if snapshot.offset > end:
        # the log doesn't hold the snapshot's last record: it was deleted, or the log ends before it
        own = Proof(log.key, snapshot.offset - 1, snapshot.epoch, snapshot_id=snapshot)
        return own, snapshot.offset
    if not end:
        return None, None
    reaching = [p for p in commitment.proofs if p.offset >= end - 1 and _tells(group, p, log, end)]
    return min(reaching, key=lambda p: (p.key != log.key, p.offset, p.key)), end


def _tells(group: GroupComparison, proof: Proof, log: ReplicaLog, end: int) -> bool:
    """Whether the log that the proof is about holds the same last entry before `end` as `log`."""
    if proof.key == log.key:
        return True
    spans = group.between(log.key, proof.key).spans
    return any(span.same and span.start < end <= span.end for span in spans)


def _agreed_end(group: GroupComparison, branch: Sequence[BranchPart], log: ReplicaLog) -> int:
    ends = [log.log_start, *(snapshot.offset for snapshot in log.snapshots)]
    for part in branch:
        if part.key == log.key:
            ends.append(part.end)
            continue
        shared = group.between(log.key, part.key).agreement
        if shared is not None and max(shared.start, part.start) < min(shared.end, part.end):
            ends.append(min(shared.end, part.end))
    return max(ends)

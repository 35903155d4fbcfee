"""Finds the agreed branch of a group: the history with which the cluster continues, as far as the
group's replicas hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.history.commitment import Commitment, EntryCommitment, GroupComparison
from replica.history.log import OffsetRange, ReplicaLog
from replica.history.ranges import Ranges, below, difference, intersection, union
from replica.model.epochs import election_order
from replica.model.keys import ReplicaKey


@dataclass(frozen=True, slots=True)
class BranchPart:
    """The entries from `start` (inclusive) to `end` (exclusive) of the agreed branch. The log of
    `key` holds them."""

    start: int
    end: int
    key: ReplicaKey
    verdict: EntryCommitment


def agreed_branch(group: GroupComparison, commitment: Commitment) -> tuple[BranchPart, ...]:
    """The parts of the agreed branch, ascending and without overlap. No replica holds the entries
    between two parts.

    The branch ends in one log: the log that would win an election among the logs without an entry
    that a proof contradicts. This log may lack entries, because retention deleted its beginning or
    because a batch is damaged. These entries come from logs that agree with it, or from any log in
    which they are proven. So every entry of the branch is proven or unproven. Where two proofs
    contradict each other, the branch follows the log in which it ends, and doesn't mix the two
    histories. The result is empty if all logs are empty.
    """
    tip = _tip(group, commitment)
    if tip is None:
        return ()
    others = sorted((log for log in group.logs if log is not tip), key=lambda log: log.key)
    parts: list[BranchPart] = []
    covered: Ranges = ()
    for log in (tip, *others):
        kept = union(
            commitment.ranges(log.key, EntryCommitment.PROVEN),
            _on_branch(group, commitment, tip, log),
        )
        if log is not tip:
            kept = below(kept, _contradiction(group, commitment, tip, log))
        taken = difference(kept, covered)
        covered = union(covered, taken)
        parts.extend(_labelled(log.key, taken, commitment))
    return tuple(sorted(parts, key=lambda part: part.start))


def contradicted_logs(group: GroupComparison, commitment: Commitment) -> frozenset[ReplicaKey]:
    """The logs with an entry that a proof contradicts: no leader that the quorum elects has it. The
    branch doesn't end in such a log if there is another one."""
    return frozenset(log.key for log in group.holding if _is_contradicted(group, commitment, log))


def overruled_parts(
    group: GroupComparison, commitment: Commitment, branch: Sequence[BranchPart]
) -> tuple[BranchPart, ...]:
    """The parts of each log that are proven, but not on the agreed branch, because another proof
    contradicts them.

    branch: the group's agreed_branch. The result is empty unless the cluster broke Raft's safety,
    or an invalid snapshot was mistaken for valid.
    """
    if not commitment.contested:
        return ()
    found: list[BranchPart] = []
    for log in group.logs:
        left = difference(
            commitment.ranges(log.key, EntryCommitment.PROVEN), _shared(group, branch, log.key)
        )
        found.extend(BranchPart(r.start, r.end, log.key, EntryCommitment.PROVEN) for r in left)
    return tuple(found)


def _shared(group: GroupComparison, branch: Sequence[BranchPart], key: ReplicaKey) -> Ranges:
    """The part of a log that is on the branch."""
    shared: list[Ranges] = []
    for part in branch:
        of_part: Ranges = (OffsetRange(part.start, part.end),)
        if part.key != key:
            of_part = intersection(of_part, group.between(part.key, key).ranges(same=True))
        shared.append(of_part)
    return union(*shared)


def _tip(group: GroupComparison, commitment: Commitment) -> ReplicaLog | None:
    """The log in which the branch ends; None if all logs are empty."""
    contradicted = contradicted_logs(group, commitment)
    clean = [log for log in group.holding if log.key not in contradicted]
    return max(
        clean or group.holding,
        # the lowest key wins among equals, so that the order of the logs changes nothing
        key=lambda log: (
            election_order(log.position()),
            -log.first_offset,
            -log.key.node_id,
            log.key.directory_id,
        ),
        default=None,
    )


def _is_contradicted(group: GroupComparison, commitment: Commitment, log: ReplicaLog) -> bool:
    """Whether another log holds a proven entry at an offset at which this log holds a different
    entry that isn't proven. This entry may be superseded or, if the two logs conflict, unproven."""
    open_ranges = difference(
        group.runs[log.key], commitment.ranges(log.key, EntryCommitment.PROVEN)
    )
    return any(
        intersection(
            open_ranges,
            intersection(
                group.between(log.key, other.key).ranges(same=False),
                commitment.ranges(other.key, EntryCommitment.PROVEN),
            ),
        )
        for other in group.holding
        if other.key != log.key
    )


def _on_branch(
    group: GroupComparison, commitment: Commitment, tip: ReplicaLog, log: ReplicaLog
) -> Ranges:
    """The unproven entries of `log` that are on the branch of `tip`. Superseded entries are never
    on the branch."""
    unproven = commitment.ranges(log.key, EntryCommitment.UNPROVEN)
    if log is tip:
        return unproven
    # without a common entry it is unknown where the two logs diverged
    agreement = group.between(tip.key, log.key).agreement
    return () if agreement is None else below(unproven, agreement.end)


def _contradiction(
    group: GroupComparison, commitment: Commitment, tip: ReplicaLog, log: ReplicaLog
) -> int:
    """The first offset at which `log` holds another entry than a proven entry of `tip`; the end of
    `log` if there is no such offset. From this offset on the two logs have nothing in common."""
    proven = commitment.ranges(tip.key, EntryCommitment.PROVEN)
    others = intersection(group.between(tip.key, log.key).ranges(same=False), proven)
    return others[0].start if others else log.end_offset


def _labelled(key: ReplicaKey, taken: Ranges, commitment: Commitment) -> list[BranchPart]:
    found: list[BranchPart] = []
    for verdict in (EntryCommitment.PROVEN, EntryCommitment.UNPROVEN):
        ranges: Sequence[OffsetRange] = intersection(taken, commitment.ranges(key, verdict))
        found.extend(BranchPart(r.start, r.end, key, verdict) for r in ranges)
    return found

"""Which of the replicas that are left a quorum should go on with, and what that costs.

Raft's own order decides: the newest last epoch wins, then the highest end offset. A log that is
longer but ends in an older epoch was left behind by an election and may hold what was undone. With
a majority of the voters left, the best of them wins the election and holds every committed record,
for each of them is on a majority, any two majorities share a voter, and who ranks above a holder
holds it too (Raft, section 5.4). An observer stands for no election: what it alone holds was never
committed then. Without a majority nobody can be elected and nothing of the kind is known, so the
newest log of all, an observer's too, is the one to give to those who stand in for lost voters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from replica.errors import UsageError
from replica.history.commitment import (
    Commitment,
    EntryCommitment,
    GroupComparison,
    Losses,
    classify_compared,
    compare_group,
)
from replica.history.divergence import Relation, diverge
from replica.history.log import OffsetRange, ReplicaLog
from replica.history.ranges import Ranges, difference, intersection, union
from replica.history.truncation import fetch_rounds
from replica.history.voters import is_majority, is_voter
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys


class RecoveryDecision(Enum):
    """Whether to go on with the winner."""

    SAFE = "safe"
    """The first replica holds all committed records."""
    UNPROVEN = "unproven"
    """The first replica holds all records that are known to be committed, but lost voters may have
    held more."""
    REFUSED = "refused"
    """Committed records would be lost, or nobody can tell which history is right."""


@dataclass(frozen=True, slots=True)
class RankedReplica:
    """A replica in the ranking. relation: to the winner, None for the winner itself.

    at_risk: offsets with entries of its own that the winner lacks, ascending; lost: how many they
    are, by commitment. is_voter: None while the voters are unknown. truncates_to: its log end
    (exclusive) once it follows the winner, None where it truncates nothing. snapshot_id: of the
    winner's snapshot that it is given instead, to begin anew with; None where it isn't.
    """

    log: ReplicaLog
    is_voter: bool | None
    relation: Relation | None
    at_risk: Ranges
    lost: Losses
    truncates_to: int | None = None
    snapshot_id: OffsetAndEpoch | None = None


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """ranking: the winner first, which is the log to go on with: that of the voter that wins the
    election, or without a majority the newest of all. voters: in force at the end of the newest
    log, None where nothing tells. missing: those of them that aren't among the replicas, or are but
    can't be relied on. has_majority: whether the rest is a majority of every voter set that may
    count. on_no_voter: offsets of the winner that no voter here holds, ascending;
    on_no_voter_counts: how many they are, by commitment. reasons: why the answer is not SAFE, a
    sentence each."""

    answer: RecoveryDecision
    ranking: tuple[RankedReplica, ...]
    voters: VoterKeys | None
    missing: VoterKeys
    has_majority: bool
    on_no_voter: Ranges
    on_no_voter_counts: Losses
    reasons: tuple[str, ...]

    @property
    def winner(self) -> ReplicaLog:
        """The log to go on with."""
        return self.ranking[0].log

    @property
    def leader(self) -> ReplicaLog | None:
        """The log of the voter that wins an election among those that are left; None where they
        are no majority, so that nobody can."""
        return self.winner if self.has_majority else None


def plan_recovery(
    logs: Sequence[ReplicaLog], unreliable: Collection[ReplicaKey] = ()
) -> RecoveryPlan:
    """Plan for the replicas of one cluster that are left, read while they were stopped.

    unreliable: part of their log could not be read, so what they don't show they may have held;
    they win only where all are. Raises UsageError for no log, or a replica that is there twice.
    """
    if not logs:
        raise UsageError("no replica to go on with")
    group = compare_group(logs)
    commitment = classify_compared(group)
    newest = max(logs, key=lambda log: _rank(log, unreliable, frozenset()))
    known = {log.key for log in logs}
    relied = known - set(unreliable)
    sets = _voter_sets(newest, _settled_end(newest, commitment))
    voters = sets[0] if sets else None
    has_majority = bool(sets) and all(is_majority(each, relied, known) for each in sets)
    ranked = sorted(logs, key=lambda log: _rank(log, unreliable, voters), reverse=True)
    if has_majority and voters is not None:
        leader = next(log for log in ranked if is_voter(voters, log.key))
        ranked = [leader, *(log for log in ranked if log is not leader)]
    ranking = tuple(_standing(group, commitment, ranked[0], log, voters) for log in ranked)
    reasons = [*_refusals(ranking, commitment, unreliable, has_majority)]
    answer = RecoveryDecision.REFUSED if reasons else RecoveryDecision.SAFE
    if not has_majority:
        reasons.append(_no_majority(sets, relied, known))
        answer = answer if answer is RecoveryDecision.REFUSED else RecoveryDecision.UNPROVEN
    missing = frozenset(v for v in voters or () if not is_majority(frozenset({v}), relied, known))
    alone = _on_no_voter(group, ranking)
    counts = _counted(commitment, ranked[0].key, alone)
    return RecoveryPlan(
        answer, ranking, voters, missing, has_majority, alone, counts, tuple(reasons)
    )


def _rank(
    log: ReplicaLog, unreliable: Collection[ReplicaKey], voters: VoterKeys | None
) -> tuple[bool, tuple[int, int], bool, int, int, str]:
    """Orders the logs: among equals a voter comes first, then the longer history, then the lower
    id. So the order of the arguments doesn't matter."""
    position, key = election_order(log.position()), log.key
    votes = voters is not None and is_voter(voters, key)
    return key not in unreliable, position, votes, -log.first_offset, -key.node_id, key.directory_id


def _settled_end(winner: ReplicaLog, commitment: Commitment) -> int:
    """The end (exclusive) of what is proven committed in a log."""
    proven = commitment.ranges(winner.key, EntryCommitment.PROVEN)
    ends = [proven[-1].end if proven else 0, winner.log_start]
    return max(*ends, *(snapshot.offset for snapshot in winner.snapshots), 0)


def _voter_sets(log: ReplicaLog, settled_end: int) -> tuple[VoterKeys, ...]:
    """The set in force at the log's end, then the one before it, unless the newer one is proven
    committed: no leader appends a set before the last one is. Empty where one of them is unknown.
    """
    named = sorted(log.voter_sets or log.leader_changes, key=lambda each: each.offset)
    if not named:
        return ()
    newest = named[-1]
    if newest.offset < settled_end or not log.voter_sets:
        return (newest.voters,)
    older = [each for each in (*named, *log.leader_changes) if each.offset < newest.offset]
    if not older:
        return ()
    before = max(older, key=lambda each: each.offset)
    return (newest.voters, before.voters)


def _standing(
    group: GroupComparison,
    commitment: Commitment,
    winner: ReplicaLog,
    log: ReplicaLog,
    voters: VoterKeys | None,
) -> RankedReplica:
    votes = None if voters is None else is_voter(voters, log.key)
    if log is winner:
        return RankedReplica(log, votes, None, (), Losses(0, 0, 0))
    comparison = group.between(winner.key, log.key)
    # in the order in which the pair was compared, which names the offsets alike either way
    relation = diverge(winner, log, comparison).relation
    same = comparison.ranges(same=True)
    held = group.runs[log.key]
    own = difference(held, same)
    # below its log start the winner has a snapshot, which holds only committed records
    above = (OffsetRange(winner.log_start, max(winner.log_start, log.end_offset)),)
    at_risk = intersection(own, above)
    lost = _counted(commitment, log.key, at_risk)
    outcome = fetch_rounds(winner, log)
    end = outcome.truncation_offset if outcome.truncation_offset < log.end_offset else None
    return RankedReplica(log, votes, relation, at_risk, lost, end, outcome.snapshot_id)


def _on_no_voter(group: GroupComparison, ranking: Sequence[RankedReplica]) -> Ranges:
    """The winner's offsets that no voter here holds; below its log start a voter has a snapshot."""
    winner = ranking[0].log
    if any(standing.is_voter is not False for standing in ranking[:1]):
        return ()
    held: Ranges = ()
    for standing in ranking[1:]:
        if standing.is_voter is not False:
            same = group.between(winner.key, standing.log.key).ranges(same=True)
            held = union(held, union(same, (OffsetRange(0, standing.log.log_start),)))
    return difference(group.runs[winner.key], held)


def _counted(commitment: Commitment, key: ReplicaKey, ranges: Ranges) -> Losses:
    counts = [
        sum(each.size for each in intersection(ranges, commitment.ranges(key, verdict)))
        for verdict in (
            EntryCommitment.PROVEN,
            EntryCommitment.UNPROVEN,
            EntryCommitment.SUPERSEDED,
        )
    ]
    return Losses(*counts)


def _refusals(
    ranking: Sequence[RankedReplica],
    commitment: Commitment,
    unreliable: Collection[ReplicaKey],
    has_majority: bool,
) -> list[str]:
    found = []
    winner = ranking[0].log
    best = election_order(winner.position())
    if winner.key in unreliable:
        found.append(
            f"part of the log of {_named(winner.key)} can't be read, and there is no better one"
        )
    for standing in ranking[1:]:
        who = _named(standing.log.key)
        if standing.relation is Relation.CONFLICT:
            found.append(
                f"{who} and {_named(winner.key)} hold different records of one epoch at one "
                "offset, which no run of Raft leaves"
            )
        snapshot = standing.log.newest_snapshot
        if has_majority and snapshot is not None and election_order(snapshot) > best:
            found.append(
                f"snapshot {snapshot.offset}-{snapshot.epoch} of {who} is newer than the log of "
                f"{_named(winner.key)}: committed records are in it that no voter here holds"
            )
        if standing.lost.committed:
            found.append(
                f"{standing.lost.committed} records that are proven committed are on {who} and "
                f"not on {_named(winner.key)}"
            )
    found += [
        f"offsets {each.start} to {each.end - 1} hold different records that are all proven "
        "committed"
        for each in commitment.contested
    ]
    return found


def _no_majority(sets: Sequence[VoterKeys], relied: set[ReplicaKey], known: set[ReplicaKey]) -> str:
    if not sets:
        return "nothing tells who the voters are, so nobody knows what may be missing"
    short = next(each for each in sets if not is_majority(each, relied, known))
    left = sum(is_majority(frozenset({voter}), relied, known) for voter in short)
    return (
        f"only {left} of {len(short)} voters can be relied on, which is no majority: the others "
        "may have held committed records that nobody here knows of"
    )


def _named(key: ReplicaKey) -> str:
    return f"node {key.node_id} ({key.directory_id})"

"""Plans with which of the remaining replicas a quorum should go on, and what is lost by that.

Raft's own order decides: the log with the newest last epoch is the best one; among equals, the log
with the highest end offset. A log that is longer but ends in an older epoch missed an election, and
may hold records that were undone.

If a majority of the voters is left, the voter with the best log wins the election, and it has every
committed record. The reason: each committed record is on a majority, any two majorities share a
voter, and a log that is better than that voter's has the record too (Raft, section 5.4). Observers
can't be elected, and records that only an observer holds were never committed in this case.

Without a majority, no replica can be elected, and the above doesn't hold. Then the newest log of
all, which may be an observer's, should be given to the nodes that replace the lost voters.
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
from replica.history.voters import is_among, is_majority, is_voter
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys


class RecoveryDecision(Enum):
    """The answer to the question whether to go on with the first replica of the ranking."""

    SAFE = "safe"
    """The first replica holds all committed records."""
    UNPROVEN = "unproven"
    """The first replica holds all records that are known to be committed, but lost voters may have
    held more."""
    REFUSED = "refused"
    """Committed records would be lost, or the files don't show which history is right."""


@dataclass(frozen=True, slots=True)
class RankedReplica:
    """A replica in the ranking. relation: the relation of its log to the winner's; None for the
    winner itself.

    is_voter: None where the voters are unknown. at_risk: the offsets of its entries that the winner
    lacks, ascending. lost: the number of these entries, by commitment. truncates_to: the end
    (exclusive) of its log after it has followed the winner; None where it truncates nothing.
    snapshot_id: the winner's snapshot with which it has to begin anew instead; None where it
    hasn't.
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
    """A plan for a quorum that has lost replicas. ranking: all replicas, with the winner first. The
    winner's log is the one to go on with: the log of the voter that wins the election or, without a
    majority, the newest log of all. voters: the voters in force at the end of the newest log; None
    where no file names them. missing: the voters that are not among the replicas, or whose log
    can't be relied on. has_majority: whether the other voters are a majority of every voter set
    that may be in force. on_no_voter: the winner's offsets that no remaining voter holds,
    ascending. on_no_voter_counts: the number of these, by commitment. reasons: a sentence for each
    reason why the answer is not SAFE."""

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
        """The log of the voter that wins an election among the voters that are left; None where
        these are no majority, so that none of them can win."""
        return self.winner if self.has_majority else None


def plan_recovery(
    logs: Sequence[ReplicaLog], unreliable: Collection[ReplicaKey] = ()
) -> RecoveryPlan:
    """Make the plan. logs: the logs of the remaining replicas of one cluster, which were read while
    the nodes were stopped.

    unreliable: replicas of whose log a part could not be read. They may hold more than they show,
    so they come first only if all replicas are unreliable. Raises UsageError for an empty list, or
    for a replica that occurs twice.
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
    missing = frozenset(v for v in voters or () if not is_among(v, relied, known))
    alone = _on_no_voter(group, ranking)
    counts = commitment.counted(ranked[0].key, alone)
    return RecoveryPlan(
        answer, ranking, voters, missing, has_majority, alone, counts, tuple(reasons)
    )


def _rank(
    log: ReplicaLog, unreliable: Collection[ReplicaKey], voters: VoterKeys | None
) -> tuple[bool, tuple[int, int], bool, int, int, str]:
    """The key by which the logs are ordered. Among equally new logs, a voter comes before an
    observer, then the longer history, then the lower id. So the order of the arguments doesn't
    matter."""
    position, key = election_order(log.position()), log.key
    votes = voters is not None and is_voter(voters, key)
    return key not in unreliable, position, votes, -log.first_offset, -key.node_id, key.directory_id


def _settled_end(winner: ReplicaLog, commitment: Commitment) -> int:
    """The end (exclusive) of the part of a log that is proven to be committed."""
    proven = commitment.ranges(winner.key, EntryCommitment.PROVEN)
    ends = [proven[-1].end if proven else 0, winner.log_start]
    return max(*ends, *(snapshot.offset for snapshot in winner.snapshots), 0)


def _voter_sets(log: ReplicaLog, settled_end: int) -> tuple[VoterKeys, ...]:
    """The voter sets that may count: the set in force at the log's end and, if this one isn't
    proven to be committed, the set before it. No leader appends a set before the last one is
    committed, so there are at most two. Before the first election the static voters count. Empty
    where one of the sets is unknown."""
    named = sorted(log.voter_sets or log.leader_changes, key=lambda each: each.offset)
    if not named:
        return (log.static_voters,) if log.static_voters else ()
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
    # the order of the two logs doesn't matter here: the offsets are the same either way
    relation = diverge(winner, log, comparison).relation
    same = comparison.ranges(same=True)
    held = group.runs[log.key]
    own = difference(held, same)
    # below its log start the winner has a snapshot, which holds only committed records
    above = (OffsetRange(winner.log_start, max(winner.log_start, log.end_offset)),)
    at_risk = intersection(own, above)
    lost = commitment.counted(log.key, at_risk)
    outcome = fetch_rounds(winner, log)
    end = outcome.truncation_offset if outcome.truncation_offset < log.end_offset else None
    return RankedReplica(log, votes, relation, at_risk, lost, end, outcome.snapshot_id)


def _on_no_voter(group: GroupComparison, ranking: Sequence[RankedReplica]) -> Ranges:
    """The winner's offsets that no remaining voter holds. A voter has the records below its log
    start in a snapshot, so it counts as their holder."""
    winner, *others = ranking
    if winner.is_voter is not False:
        return ()
    held: Ranges = ()
    for other in (ranked.log for ranked in others if ranked.is_voter is not False):
        same = group.between(winner.log.key, other.key).ranges(same=True)
        held = union(held, same, (OffsetRange(0, other.log_start),))
    return difference(group.runs[winner.log.key], held)


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
    left = sum(is_among(voter, relied, known) for voter in short)
    return (
        f"only {left} of {len(short)} voters can be relied on, which is no majority: the others "
        "may have held committed records that nobody here knows of"
    )


def _named(key: ReplicaKey) -> str:
    return f"node {key.node_id} ({key.directory_id})"

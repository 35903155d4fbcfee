"""Which of the replicas that are left a quorum should go on with, and what that costs.

Raft's own order decides: the newest last epoch wins, then the highest end offset. A log that is
longer but ends in an older epoch was left behind by an election and may hold what was undone. With
a majority of the voters left, the winner holds every committed record, for each of them is on a
majority, any two majorities share a voter, and who ranks above a holder holds it too (Raft, section
5.4). Without one nothing of the kind can be known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from replica.errors import UsageError
from replica.history.commitment import (
    Commitment,
    GroupComparison,
    Losses,
    Verdict,
    classify_compared,
    compare_group,
)
from replica.history.divergence import Relation, diverge_compared
from replica.history.log import OffsetRange, ReplicaLog, VoterSetAt, election_order
from replica.history.ranges import Ranges, difference, intersection
from replica.history.voters import VoterSet, is_majority, is_voter
from replica.types import ReplicaKey


class Answer(Enum):
    """What to think of going on with the winner."""

    SAFE = "safe"
    """It holds everything that was committed."""
    UNPROVEN = "unproven"
    """Nothing known to be committed is lost, but voters that are gone may have held more."""
    REFUSED = "refused"
    """Committed records would be lost, or nobody can tell which history is right."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A replica in the ranking. relation: to the winner, None for the winner itself.

    at_risk: offsets with entries of its own that the winner lacks, ascending; lost: how many they
    are, by commitment. is_voter: None while the voters are unknown.
    """

    log: ReplicaLog
    is_voter: bool | None
    relation: Relation | None
    at_risk: Ranges
    lost: Losses


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """ranking: the winner first. voters: in force at the winner's end, None where nothing tells.
    missing: those of them that aren't among the replicas, or are but can't be relied on.
    has_majority: whether the rest is a majority of every voter set that may count. reasons: why the
    answer is not SAFE, a sentence each."""

    answer: Answer
    ranking: tuple[Standing, ...]
    voters: VoterSet | None
    missing: VoterSet
    has_majority: bool
    reasons: tuple[str, ...]

    @property
    def winner(self) -> ReplicaLog:
        return self.ranking[0].log


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
    ranked = sorted(logs, key=lambda log: _rank(log, unreliable), reverse=True)
    winner, known = ranked[0], {log.key for log in logs}
    relied = known - set(unreliable)
    sets = _voter_sets(winner, _settled_end(winner, commitment))
    voters = sets[0] if sets else None
    ranking = tuple(_standing(group, commitment, winner, log, voters) for log in ranked)
    has_majority = bool(sets) and all(is_majority(each, relied, known) for each in sets)
    reasons = [*_refusals(ranking, commitment, unreliable)]
    answer = Answer.REFUSED if reasons else Answer.SAFE
    if not has_majority:
        reasons.append(_no_majority(sets, relied, known))
        answer = answer if answer is Answer.REFUSED else Answer.UNPROVEN
    missing = frozenset(v for v in voters or () if not is_majority(frozenset({v}), relied, known))
    return RecoveryPlan(answer, ranking, voters, missing, has_majority, tuple(reasons))


def _rank(
    log: ReplicaLog, unreliable: Collection[ReplicaKey]
) -> tuple[bool, tuple[int, int], int, int, str]:
    """Among equals the longer history wins, then the lower id, so that the order of logs doesn't
    matter."""
    position = election_order(log.position())
    key = log.key
    return key not in unreliable, position, -log.first_offset, -key.node_id, key.directory_id


def _settled_end(winner: ReplicaLog, commitment: Commitment) -> int:
    """The end (exclusive) of what is proven committed in a log."""
    proven = commitment.ranges(winner.key, Verdict.PROVEN)
    ends = [proven[-1].end if proven else 0, winner.log_start]
    return max(*ends, *(snapshot.offset for snapshot in winner.snapshots), 0)


def _voter_sets(log: ReplicaLog, settled_end: int) -> tuple[VoterSet, ...]:
    """The set in force at the log's end, then the one before it, unless the newer one is proven
    committed: no leader appends a set before the last one is. Empty where one of them is unknown.
    """
    changes = [VoterSetAt(each.offset, each.epoch, each.voters) for each in log.leader_changes]
    named = sorted(log.voter_sets or changes, key=lambda each: each.offset)
    if not named:
        return ()
    newest = named[-1]
    if newest.offset < settled_end or not log.voter_sets:
        return (newest.voters,)
    older = [each for each in (*named, *changes) if each.offset < newest.offset]
    if not older:
        return ()
    before = max(older, key=lambda each: each.offset)
    return (newest.voters, before.voters)


def _standing(
    group: GroupComparison,
    commitment: Commitment,
    winner: ReplicaLog,
    log: ReplicaLog,
    voters: VoterSet | None,
) -> Standing:
    votes = None if voters is None else is_voter(voters, log.key)
    if log is winner:
        return Standing(log, votes, None, (), Losses(0, 0, 0))
    comparison = group.between(winner.key, log.key)
    # in the order in which the pair was compared, which names the offsets alike either way
    relation = diverge_compared(winner, log, comparison).relation
    same = comparison.ranges(same=True)
    held = group.runs[log.key]
    own = difference(held, same)
    # below its log start the winner has a snapshot, which holds committed records alone
    above = (OffsetRange(winner.log_start, max(winner.log_start, log.end_offset)),)
    at_risk = intersection(own, above)
    return Standing(log, votes, relation, at_risk, _counted(commitment, log.key, at_risk))


def _counted(commitment: Commitment, key: ReplicaKey, ranges: Ranges) -> Losses:
    counts = [
        sum(each.size for each in intersection(ranges, commitment.ranges(key, verdict)))
        for verdict in (Verdict.PROVEN, Verdict.UNPROVEN, Verdict.SUPERSEDED)
    ]
    return Losses(*counts)


def _refusals(
    ranking: Sequence[Standing], commitment: Commitment, unreliable: Collection[ReplicaKey]
) -> list[str]:
    found = []
    winner = ranking[0].log
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


def _no_majority(sets: Sequence[VoterSet], relied: set[ReplicaKey], known: set[ReplicaKey]) -> str:
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

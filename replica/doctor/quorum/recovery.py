"""Plans with which of the remaining replicas a quorum should continue, and which records are lost.

Raft's own order decides: the log with the newest last epoch is the best; among equals, the log with
the highest end offset. A log that is longer but ends in an older epoch missed an election, and may
hold records that were undone.

If a majority of the voters is left, a voter may win the election if its log is at least as good as
the logs of a majority, and it then has every committed record: each committed record is on a
majority, any two majorities share a voter, and a log that is as good as this voter's log has the
record too (Raft, section 5.4). Any of these voters may win, so records that only some of them hold
may be discarded; none of these records was committed. Observers can't be elected, and records that
only an observer holds were never committed in this case.

A voter counts only if its disk knows in which epochs it voted (see known_quorum): a voter that was
restored from an older copy, or lost its quorum-state, may vote a second time.

Without a majority, no replica can be elected. If half of an even number of voters is left, every
majority has one of them: the newest log of all has every committed record, and nothing is lost
whichever further voter starts with its own disk. If less than half is left, the missing voters may
hold more. Only where their disks are gone, the newest log of all, which may be an observer's, is
given to the nodes that replace them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from replica.doctor.quorum.conditions import late_voters
from replica.doctor.quorum.known_quorum import NO_FILES, KnownQuorum, QuorumFiles, known_quorum
from replica.doctor.quorum.known_voter import BAD_DISKS, KnownVoter
from replica.doctor.quorum.reasons import RankedReplica, nobody_wins, refusals, winners_that_lose
from replica.doctor.quorum.went_back import ComparedRound
from replica.errors import UsageError
from replica.history.commitment import (
    Commitment,
    EntryCommitment,
    GroupComparison,
    Losses,
)
from replica.history.divergence import diverge
from replica.history.log import OffsetRange, ReplicaLog
from replica.history.ranges import Ranges, below, difference, intersection, union
from replica.history.truncation import fetch_rounds
from replica.history.voters import is_among, is_majority, is_voter
from replica.model.epochs import election_order
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys, is_blocking


class RecoveryDecision(Enum):
    """The answer to the question whether to continue with the first replica of the ranking."""

    SAFE = "safe"
    """The first replica holds all committed records. It may still be that nobody is elected before
    one more voter starts (see RecoveryPlan.has_majority)."""
    UNPROVEN = "unproven"
    """The first replica holds all records that are known to be committed, but lost voters may have
    held more."""
    REFUSED = "refused"
    """Committed records would be lost, or the files don't show which history is right."""


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """A plan for a quorum that has lost replicas."""

    answer: RecoveryDecision
    ranking: tuple[RankedReplica, ...]
    """All replicas, with the winner first. The quorum should continue with the winner's log: the
    best log of a voter that may win the election or, if no voter may win, the newest log of all."""
    quorum: KnownQuorum
    """What the replicas prove about their quorum."""
    commitment: Commitment = field(compare=False)  # the proofs are in the order of the logs
    """The verdicts on all entries. In a SAFE plan, an entry that an electable voter lacks is not
    unproven: it was never committed."""
    electable: tuple[ReplicaKey, ...]
    """The voters that may win an election among the voters that are left, in the order of the
    ranking; empty if none may win."""
    led_by: Mapping[ReplicaKey, tuple[RankedReplica, ...]]
    """For each electable voter, in the same order: the ranking of all replicas if this voter
    wins."""
    on_no_voter: Ranges
    """The winner's offsets that no remaining voter holds, ascending."""
    on_no_voter_counts: Losses
    """The number of the entries at on_no_voter, by commitment."""
    reasons: tuple[str, ...]
    """A sentence for each reason why the answer is not SAFE, or why no voter may win."""

    @property
    def voters(self) -> VoterKeys | None:
        """The voters in force at the end of the newest log; None if no file names them."""
        return self.quorum.voter_sets[0] if self.quorum.voter_sets else None

    @property
    def is_dynamic(self) -> bool:
        """Whether the voters are named with their directories (KIP-853)."""
        return any(voter.directory_id != ZERO_UUID for voter in self.voters or ())

    @property
    def outvoted(self) -> frozenset[ReplicaKey]:
        """The replicas that can't be elected: reliable voters with a better log refuse them their
        vote, and the other voters that their own logs name are no majority. So no log is truncated
        to follow them. Empty if it is unknown which history is right, or who the voters are."""
        quorum, logs = self.quorum, [standing.log for standing in self.ranking]
        if quorum.is_conflicting or not quorum.voter_sets:
            return frozenset()
        return frozenset(log.key for log in logs if _is_outvoted(log, logs, quorum))

    @property
    def holds_nothing(self) -> bool:
        """Whether no replica at hand holds a record, and no majority is left that proves that none
        was ever written."""
        return self.answer is RecoveryDecision.UNPROVEN and not self.quorum.log_end

    @property
    def rests_on_same_voters(self) -> bool:
        """Whether the first replica holds all committed records if no voter was added or removed
        behind the end of its log, and nothing shows that none was. See
        KnownQuorum.holds_committed."""
        return (
            self.answer is RecoveryDecision.UNPROVEN
            and self.quorum.is_blocking
            and not self.quorum.has_majority
        )

    @property
    def missing(self) -> VoterKeys:
        """The voters that are not among the replicas, or that can't be relied on."""
        return self.quorum.missing

    @property
    def has_majority(self) -> bool:
        """Whether one of the voters that are left may win an election."""
        return bool(self.electable)

    @property
    def is_whole(self) -> bool:
        """Whether every voter is at hand and every disk is reliable, so that nothing has to be
        recovered."""
        return self.answer is RecoveryDecision.SAFE and not (self.missing or self.doubted)

    @property
    def rests_on_copies(self) -> bool:
        """Whether the answer holds only if no log grew while the directories were copied. That
        doesn't matter if nothing has to be recovered and no replica loses a record, whoever wins:
        each node starts with its own disk."""
        may_lose = any(one.at_risk or one.may_lose for one in self.ranking)
        return (may_lose or not self.is_whole) and not self._stood_still

    @property
    def _stood_still(self) -> bool:
        """Whether the logs show that none of them grew while the directories were copied: they were
        copied one after another, and end alike. A voter that may have been cut off for a long time
        has a condition of its own (late_voters)."""
        late = {voter.key for voter in late_voters(self.quorum)}
        ends = [
            one.log.position()
            for one in self.ranking
            if one.is_voter and one.log.key in self.quorum.relied - late
        ]
        newest = max((one.log.position() for one in self.ranking), key=election_order)
        return len(ends) > 1 and set(ends) == {newest}

    @property
    def doubted(self) -> tuple[KnownVoter, ...]:
        """The voters at hand whose disks can't be relied on. Each of their nodes stands for
        election when it is started, if its own log names it as a voter. So the plan holds only
        while these nodes are stopped."""
        return self.quorum.in_doubt(*BAD_DISKS)

    @property
    def winner(self) -> ReplicaLog:
        """The log from which the quorum should continue."""
        return self.ranking[0].log

    @property
    def leader(self) -> ReplicaLog | None:
        """The best log of a voter that may win an election among the voters that are left; None if
        no voter may win."""
        return self.winner if self.has_majority else None


def plan_compared(compared: ComparedRound, files: QuorumFiles = NO_FILES) -> RecoveryPlan:
    """Make the plan. compared: the logs of the remaining replicas of one cluster, which were read
    while the nodes were stopped. files: the facts from their other files.

    Replicas with an unreadable part of the log may hold more records, so they come first only if
    all replicas with records are unreadable in part. Raises UsageError if there is no log.
    """
    group, commitment = compared.group, compared.commitment
    logs = group.logs
    if not logs:
        raise UsageError("no replica to go on with")
    quorum = known_quorum(group, commitment, files)
    commitment = commitment.with_never_committed(_on_no_majority(group, quorum))
    unreliable = files.hidden
    sets = quorum.voter_sets
    voters = sets[0] if sets else None
    ranked = sorted(logs, key=lambda log: _rank(log, unreliable, voters), reverse=True)
    electable = _electable(ranked, quorum)
    if electable:
        ranked = [electable[0], *(log for log in ranked if log is not electable[0])]
    holds = bool(electable) or (quorum.holds_committed and not quorum.has_majority)

    def standings(winner: ReplicaLog, known: Commitment) -> tuple[RankedReplica, ...]:
        return tuple(_standing(group, known, winner, log, voters) for log in ranked)

    led_by = {winner.key: standings(winner, commitment) for winner in electable}
    ranking = led_by[electable[0].key] if electable else standings(ranked[0], commitment)
    reasons = [
        *refusals(ranking, quorum, commitment, unreliable, holds),
        *winners_that_lose(led_by, quorum),
    ]
    if holds and not reasons:
        lacked = _lacked(led_by or {ranked[0].key: ranking})
        commitment = commitment.with_never_committed(lacked)
        led_by = {winner.key: standings(winner, commitment) for winner in electable}
        ranking = led_by[electable[0].key] if electable else standings(ranked[0], commitment)
    ranking = tuple(
        replace(standing, may_lose=_may_lose(standing, place, led_by))
        for place, standing in enumerate(ranking)
    )
    answer = RecoveryDecision.REFUSED if reasons else RecoveryDecision.SAFE
    if not electable:
        reasons.append(nobody_wins(quorum))
    if not (holds or answer is RecoveryDecision.REFUSED):
        answer = RecoveryDecision.UNPROVEN
    alone = _on_no_voter(group, ranking)
    counts = commitment.counted(ranked[0].key, alone)
    keys = tuple(log.key for log in electable)
    return RecoveryPlan(
        answer, ranking, quorum, commitment, keys, led_by, alone, counts, tuple(reasons)
    )


def _electable(ranked: Sequence[ReplicaLog], quorum: KnownQuorum) -> list[ReplicaLog]:
    """The voters that may win. A candidate asks the voters that its own log names, and needs a
    majority of them whose logs are not better than its own (KIP-595, Vote; KIP-853)."""
    if not quorum.has_majority:
        return []
    found = []
    for log in ranked:
        voters = _named_by(log, quorum.voter_sets[0])
        if log.key not in quorum.relied or not is_voter(voters, log.key):
            continue
        granting = {
            other.key
            for other in ranked
            if other.key in quorum.relied
            and election_order(other.position()) <= election_order(log.position())
        }
        if is_majority(voters, granting, set(quorum.at_hand)):
            found.append(log)
    if found and not found[0].position().offset and ranked[0].position().offset:
        return []  # all of them would start again, and another log holds records
    return found


def _is_outvoted(log: ReplicaLog, logs: Sequence[ReplicaLog], quorum: KnownQuorum) -> bool:
    order = election_order(log.position())
    relied = (other for other in logs if other.key in quorum.relied)
    better = {other.key for other in relied if election_order(other.position()) > order}
    voters, seen = _named_by(log, quorum.voter_sets[0]), set(quorum.at_hand)
    refusing = sum(is_among(voter, better, seen) for voter in voters)
    return is_blocking(refusing, len(voters))


def _named_by(log: ReplicaLog, otherwise: VoterKeys) -> VoterKeys:
    """The voters that the newest record about voters in a log names; `otherwise` if the log has no
    such record."""
    named = log.voter_sets or log.leader_changes
    return max(named, key=lambda each: each.offset).voters if named else otherwise


def _on_no_majority(group: GroupComparison, quorum: KnownQuorum) -> dict[ReplicaKey, Ranges]:
    """The entries of each replica that equal the entries of the newest log from possible_end on."""
    newest = quorum.newest
    if newest is None:
        return {}
    behind = (OffsetRange(quorum.possible_end, max(quorum.possible_end, quorum.log_end)),)
    found: dict[ReplicaKey, Ranges] = {newest: behind}
    for log in group.logs:
        if log.key != newest:
            same = group.between(newest, log.key).ranges(same=True)
            found[log.key] = intersection(same, behind)
    return found


def _lacked(led_by: Mapping[ReplicaKey, Sequence[RankedReplica]]) -> dict[ReplicaKey, Ranges]:
    """For each replica, its entries that are missing from at least one voter that may win. They
    were never committed if each voter that may win holds all committed entries."""
    of_each = zip(*led_by.values(), strict=True)
    return {one[0].log.key: union(*(standing.at_risk for standing in one)) for one in of_each}


def _may_lose(
    standing: RankedReplica, place: int, led_by: Mapping[ReplicaKey, Sequence[RankedReplica]]
) -> Ranges:
    """The entries of a replica that the first voter that may win holds, and that another voter that
    may win lacks. place: the index of the replica in every ranking."""
    if len(led_by) < 2:
        return ()
    at_risk = union(*(standings[place].at_risk for standings in led_by.values()))
    return difference(at_risk, standing.at_risk)


def _rank(
    log: ReplicaLog, unreliable: Collection[ReplicaKey], voters: VoterKeys | None
) -> tuple[bool, bool, tuple[int, int], bool, int, int, str]:
    """The sort key of the logs: logs without records come last, and logs with an unreadable part
    before them. Among equally new logs, a voter comes before an observer, then the longer history,
    then the lower id. So the order of the arguments doesn't matter."""
    position, key = log.position(), log.key
    votes = voters is not None and is_voter(voters, key)
    return (
        position.offset > 0, key not in unreliable, election_order(position), votes,
        -log.first_offset, -key.node_id, key.directory_id,
    )  # fmt: skip


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
    # below its log start the winner has a snapshot, which holds only committed records: of the
    # entries there, only superseded entries are lost
    above = (OffsetRange(winner.log_start, max(winner.log_start, log.end_offset)),)
    superseded = commitment.ranges(log.key, EntryCommitment.SUPERSEDED)
    at_risk = union(intersection(own, above), below(superseded, winner.log_start))
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

"""What the replicas at hand prove about their quorum: the ground on which every answer about a
cluster stands.

Each voter is known, or there is a doubt about its disk, and then no majority may count it. Each
entry of the newest log is committed, may be committed, or is not. And where logs conflict, nobody
knows which history is right.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from replica.doctor.quorum.lacks_own import LacksOwn
from replica.doctor.quorum.sets_in_force import voter_sets_at_end
from replica.doctor.quorum.went_back import WentBack
from replica.history.commitment import Commitment, EntryCommitment, GroupComparison
from replica.history.log import ReplicaLog
from replica.history.ranges import Ranges
from replica.history.voters import is_majority, is_voter
from replica.model.epochs import UNDEFINED_EPOCH, election_order
from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys, majority


class VoterDoubt(StrEnum):
    """Why no majority may count a voter. The values are part of the output of --json."""

    NOT_GIVEN = "not-given"
    """Its directory is not at hand."""
    OF_ANOTHER_CLUSTER = "of-another-cluster"
    """The directory that was given for its node is of another cluster, and none is of its own."""
    NO_LOG = "no-log"
    """The directory that was given for its node is formatted, and holds no metadata log."""
    UNREADABLE = "unreadable"
    """A part of its log can't be read."""
    STALE = "stale"
    """Other files show that it led or voted in an epoch of which its own directory knows nothing:
    the directory was restored from an older copy, or copied earlier than the others. Or an earlier
    capture of it shows more than it has now."""
    NO_QUORUM_STATE = "no-quorum-state"
    """It has no quorum-state, so it may have voted in an epoch that no file shows."""
    UNREADABLE_QUORUM_STATE = "unreadable-quorum-state"
    """Its quorum-state is there and can't be read: nobody knows in which epochs it voted."""


ABSENT = (VoterDoubt.NOT_GIVEN, VoterDoubt.OF_ANOTHER_CLUSTER, VoterDoubt.NO_LOG)
"""The doubts about voters of whose own disks nothing is at hand."""
BAD_DISKS = tuple(doubt for doubt in VoterDoubt if doubt not in ABSENT)
"""The doubts about disks that are at hand."""
MAY_VOTE_TWICE = (
    VoterDoubt.STALE,
    VoterDoubt.NO_QUORUM_STATE,
    VoterDoubt.UNREADABLE_QUORUM_STATE,
)
"""The doubts about disks that may have forgotten in which epochs their nodes voted."""
UNCOUNTED = (*BAD_DISKS, VoterDoubt.OF_ANOTHER_CLUSTER, VoterDoubt.NO_LOG)
"""The doubts by which a voter may not be counted, whatever a look at further disks would show."""


@dataclass(frozen=True, slots=True)
class KnownVoter:
    """A voter and what is known of its disk."""

    key: ReplicaKey
    """The key of the voter, as the voter set names it."""
    doubt: VoterDoubt | None
    """The reason why no majority may count the voter's disk; None where the disk is at hand and
    there is no such reason."""
    known_epoch: int | None = None
    """The newest epoch that its own files show; None without files or quorum-state."""
    attested_epoch: int | None = None
    """The newest epoch in which other files show that it led or voted; None where none does."""
    held_end: int | None = None
    """The end (exclusive) of the entries of the newest log that its log has; None where its disk
    can't tell what it held."""
    went_back: WentBack | None = None
    """What an earlier capture of this voter shows, and its disk lacks now; None where the disk
    lacks nothing of it."""
    lived_on: bool = False
    """Whether it is known to have run after the newest log went on beyond held_end: its own log
    goes on otherwise, or it led or voted in a newer epoch than that of the next record there."""
    lacks_own: LacksOwn | None = None
    """The records that this voter wrote as a leader and that its log lacks; None where it lacks
    none."""

    @property
    def why_stale(self) -> str:
        """Why its disk is older than what is known of it, for a voter with this doubt."""
        if self.went_back is not None:
            return str(self.went_back)
        if self.lacks_own is not None:
            return str(self.lacks_own)
        if (self.attested_epoch or 0) <= (self.known_epoch or 0):
            return "an earlier capture of it shows more than its directory has now"
        return (
            f"its directory is of epoch {self.known_epoch}, and it led or voted in epoch "
            f"{self.attested_epoch}"
        )

    @property
    def why_doubted(self) -> str:
        """Why its disk can't be relied on, for a voter for whose node a disk is at hand."""
        if self.doubt is VoterDoubt.STALE:
            return f"{self.why_stale}: restored from an older copy, or copied earlier"
        if self.doubt is VoterDoubt.OF_ANOTHER_CLUSTER:
            return "the disk that was given for its node is of another cluster"
        if self.doubt is VoterDoubt.NO_LOG:
            return "the directory that was given for its node holds no metadata log"
        if self.doubt is VoterDoubt.NO_QUORUM_STATE:
            return "it has no quorum-state, so it may vote twice in one epoch"
        if self.doubt is VoterDoubt.UNREADABLE_QUORUM_STATE:
            return "its quorum-state can't be read, so nobody knows in which epochs it voted"
        return "a part of its log can't be read, so nobody knows all that it holds"

    def holds(self, offset: int) -> bool:
        """Whether it is known to hold this entry of the newest log."""
        return self.held_end is not None and offset < self.held_end


@dataclass(frozen=True, slots=True, order=True)
class LogConflict:
    """Two replicas whose logs can't both come from Raft (see Relation.CONFLICT)."""

    a: ReplicaKey
    b: ReplicaKey
    offset: int
    """The first offset at which the two logs conflict."""


@dataclass(frozen=True, slots=True)
class KnownQuorum:
    """The quorum of one cluster, as far as its replicas at hand show it."""

    voters: tuple[KnownVoter, ...] = ()
    """The voters in force at the end of the newest log, sorted; empty where no file names them."""
    leaving: tuple[KnownVoter, ...] = ()
    """The voters, with a directory at hand, that the voter set before the newest one names and the
    newest set lacks, sorted; empty where the newest set is proven to be committed. Each of them is
    still a voter by its own log, so it stands for election when it is started."""
    voter_sets: tuple[VoterKeys, ...] = ()
    """Every voter set of which a majority is needed: the set in force and, where that isn't proven
    to be committed, the set before it."""
    newest: ReplicaKey | None = None
    """The replica whose log an election would prefer; None where there is no log."""
    log_end: int = 0
    """The end (exclusive) of the newest log."""
    proven_end: int = 0
    """The entries of the newest log below this offset (exclusive) are proven to be committed."""
    possible_end: int = 0
    """The entries of the newest log from this offset on are on no majority, whatever the voters
    hold whose disks are not at hand or can't tell. So they were not committed when the directories
    were read. At least proven_end, at most log_end; log_end where logs conflict."""
    conflicts: tuple[LogConflict, ...] = ()
    """The pairs of replicas whose logs conflict."""
    contested: Ranges = ()
    """Offsets at which two different entries are proven to be committed."""
    relied: frozenset[ReplicaKey] = frozenset()
    """The replicas whose files are at hand and may be relied on."""
    at_hand: frozenset[ReplicaKey] = frozenset()
    """All replicas whose files are at hand."""

    @property
    def missing(self) -> VoterKeys:
        """The voters that no majority may count."""
        return frozenset(voter.key for voter in self.voters if voter.doubt is not None)

    @property
    def has_majority(self) -> bool:
        """Whether the voters without a doubt are a majority of every voter set that counts."""
        return bool(self.voter_sets) and all(self.is_majority(each) for each in self.voter_sets)

    def is_majority(self, voters: VoterKeys) -> bool:
        """Whether the voters of this set without a doubt are a majority of it."""
        return is_majority(voters, self.relied, set(self.at_hand))

    @property
    def is_conflicting(self) -> bool:
        """Whether nobody knows which history is right, so that no node may be started."""
        return bool(self.conflicts or self.contested)

    @property
    def unreliable(self) -> tuple[ReplicaKey, ...]:
        """The voters in force whose disks are at hand and can't be relied on."""
        return tuple(voter.key for voter in self.voters if voter.doubt in BAD_DISKS)

    def with_doubt(self, doubt: VoterDoubt, nodes: Collection[int]) -> KnownQuorum:
        """The same quorum, in which voters of these nodes without a directory have this doubt."""
        voters = tuple(
            replace(voter, doubt=doubt)
            if voter.doubt is VoterDoubt.NOT_GIVEN and voter.key.node_id in nodes
            else voter
            for voter in self.voters
        )
        return replace(self, voters=voters)

    def in_doubt(self, *doubts: VoterDoubt) -> tuple[KnownVoter, ...]:
        """The voters, leaving ones too, with one of these doubts."""
        return tuple(voter for voter in (*self.voters, *self.leaving) if voter.doubt in doubts)


@dataclass(frozen=True, slots=True)
class QuorumFiles:
    """What files other than the logs say about a quorum."""

    unreadable: frozenset[ReplicaKey] = frozenset()
    """The replicas of whose log a part can't be read."""
    attested: Mapping[ReplicaKey, int] = field(default_factory=dict)
    """For each replica the newest epoch in which it led or voted, by a record or by the
    quorum-state of another replica. A key without a directory (ZERO_UUID) is any directory of its
    node."""
    configured: VoterKeys = frozenset()
    """The voters that quorum-state or the configuration names, for logs that name none."""
    went_back: Mapping[ReplicaKey, WentBack] = field(default_factory=dict)
    """For each replica what an earlier capture shows that its files lack now."""
    unreadable_states: frozenset[ReplicaKey] = frozenset()
    """The replicas whose quorum-state is there and can't be read."""
    lacks_own: Mapping[ReplicaKey, LacksOwn] = field(default_factory=dict)
    """For each leader what its log lacks of its own records."""


NO_FILES = QuorumFiles()


def known_quorum(
    group: GroupComparison, commitment: Commitment, files: QuorumFiles = NO_FILES
) -> KnownQuorum:
    """What the replicas of one cluster prove. group: their logs, of which each pair that holds
    batches is compared. commitment: that of the group."""
    logs = group.logs
    if not logs:
        return KnownQuorum()
    newest = max(logs, key=lambda log: _preference(log, files.unreadable))
    proven_end = settled_end(newest, commitment)
    sets = voter_sets_at_end(newest, proven_end) or ((files.configured,) * bool(files.configured))
    pairs = [(min(pair), max(pair), one.conflict_offset) for pair, one in group.pairs.items()]
    conflicts = sorted(LogConflict(a, b, at) for a, b, at in pairs if at is not None)
    if conflicts:  # Who wrote which records isn't known then.
        files = replace(files, lacks_own={})
    doubts = _doubts(logs, files, sets)
    known = [
        tuple(_known(group, newest, voter, doubts, files) for voter in sorted(voters))
        for voters in sets
    ]
    is_known = not (conflicts or commitment.contested)
    possible = _possible_end(newest, known) if is_known else newest.end_offset
    return KnownQuorum(
        known[0] if known else (),
        _leaving(*known),
        sets,
        newest.key,
        newest.end_offset,
        proven_end,
        max(proven_end, min(possible, newest.end_offset)),
        tuple(conflicts),
        commitment.contested,
        frozenset(log.key for log in logs if log.key not in doubts),
        frozenset(log.key for log in logs),
    )


def settled_end(log: ReplicaLog, commitment: Commitment) -> int:
    """The end (exclusive) of the part of a log that is proven to be committed."""
    proven = commitment.ranges(log.key, EntryCommitment.PROVEN)
    ends = [proven[-1].end if proven else 0, log.log_start]
    return max(*ends, *(snapshot.offset for snapshot in log.snapshots), 0)


def _preference(
    log: ReplicaLog, unreadable: Collection[ReplicaKey]
) -> tuple[bool, bool, tuple[int, int], int, str]:
    return (
        log.position().offset > 0,
        log.key not in unreadable,
        election_order(log.position()),
        -log.key.node_id,
        log.key.directory_id,
    )


def _doubts(
    logs: Sequence[ReplicaLog], files: QuorumFiles, sets: Sequence[VoterKeys]
) -> dict[ReplicaKey, VoterDoubt]:
    """The doubts about replicas at hand, of several about one the worst: who may vote a second time
    can do harm, while a log that can't be read only can't be counted. Only a voter needs a
    quorum-state, and none needs one before the first record: then there is nothing to forget."""
    is_new = not any(log.position().offset for log in logs)
    found: dict[ReplicaKey, VoterDoubt] = {}
    for log in logs:
        votes = any(is_voter(voters, log.key) for voters in sets)
        if votes and _is_stale(log, files):
            found[log.key] = VoterDoubt.STALE
        elif votes and log.quorum_epoch == UNDEFINED_EPOCH and not is_new:
            is_there = log.key in files.unreadable_states
            found[log.key] = (
                VoterDoubt.UNREADABLE_QUORUM_STATE if is_there else VoterDoubt.NO_QUORUM_STATE
            )
        elif log.key in files.unreadable:
            found[log.key] = VoterDoubt.UNREADABLE
    return found


def _is_stale(log: ReplicaLog, files: QuorumFiles) -> bool:
    """Whether other files, or an earlier capture, show more of a replica than its own files. A file
    that can't be read may hold what it seems to lack: beside such a log only the epoch in
    quorum-state tells, and beside such a quorum-state no epoch does."""
    attested = None if log.key in files.unreadable_states else _attested(log.key, files.attested)
    known = max(log.quorum_epoch, log.position().epoch)
    is_behind = attested is not None and attested > known
    back = files.went_back.get(log.key)
    if log.key not in files.unreadable:
        return is_behind or back is not None or log.key in files.lacks_own
    has_forgotten = is_behind or (back is not None and back.has_forgotten_an_epoch)
    return has_forgotten and log.quorum_epoch != UNDEFINED_EPOCH


def _attested(key: ReplicaKey, attested: Mapping[ReplicaKey, int]) -> int | None:
    return max((epoch for told, epoch in attested.items() if told.matches(key)), default=None)


def _known(
    group: GroupComparison,
    newest: ReplicaLog,
    voter: ReplicaKey,
    doubts: Mapping[ReplicaKey, VoterDoubt],
    files: QuorumFiles,
) -> KnownVoter:
    """What is known of one voter. A voter without a directory id is any directory of its node: a
    doubt about one of them is a doubt about the voter."""
    own = [log for log in group.logs if voter.matches(log.key)]
    if not own:
        return KnownVoter(voter, VoterDoubt.NOT_GIVEN, None, _attested(voter, files.attested))
    told = [doubts[log.key] for log in own if log.key in doubts]
    known = [log.known_epoch for log in own if log.known_epoch is not None]
    attested = [_attested(log.key, files.attested) for log in own]
    lost = VoterDoubt.STALE in told or any(log.key in files.unreadable for log in own)
    held_end = max(_common_end(group, newest, log) for log in own)
    epochs = [epoch for epoch in (*known, *attested) if epoch is not None]
    then = newest.batch_at(held_end)
    return KnownVoter(
        voter,
        told[0] if told else None,
        max(known, default=None),
        max((epoch for epoch in attested if epoch is not None), default=None),
        None if lost else held_end,
        next((files.went_back[log.key] for log in own if log.key in files.went_back), None),
        any(log.end_offset > held_end for log in own)
        or (then is not None and max(epochs, default=UNDEFINED_EPOCH) > then.epoch),
        next((files.lacks_own[log.key] for log in own if log.key in files.lacks_own), None),
    )


def _leaving(
    in_force: Sequence[KnownVoter] = (), before: Sequence[KnownVoter] = ()
) -> tuple[KnownVoter, ...]:
    """The voters at hand that the set before names and the set in force lacks. One of the sets may
    name voters without directories."""
    stay = [voter.key for voter in in_force]
    return tuple(
        voter
        for voter in before
        if voter.doubt is not VoterDoubt.NOT_GIVEN
        and not any(key.matches(voter.key) or voter.key.matches(key) for key in stay)
    )


def _possible_end(newest: ReplicaLog, sets: Sequence[Sequence[KnownVoter]]) -> int:
    """The end (exclusive) of the part of the newest log that a majority of one of these voter sets
    may have held. A voter whose disk can't tell, or may be emptied, may have held all of it."""

    def may_have_held(voter: KnownVoter) -> int:
        is_unknown = voter.held_end is None or voter.doubt in MAY_VOTE_TWICE
        return newest.end_offset if is_unknown else voter.held_end or 0

    ends = [
        sorted(map(may_have_held, voters), reverse=True)[majority(len(voters)) - 1]
        for voters in sets
    ]
    return max(ends, default=newest.end_offset)


def _common_end(group: GroupComparison, newest: ReplicaLog, log: ReplicaLog) -> int:
    """The end (exclusive) of the entries that a log has in common with the newest one."""
    if log is newest:
        return newest.end_offset
    parted = group.between(newest.key, log.key).divergence_offset
    return min(log.position().offset, newest.end_offset) if parted is None else parted

"""What the replicas at hand prove about their quorum. Every answer about a cluster depends on it. A
replica is at hand if its directory was given.

There may be a doubt about the disk of a voter. Then no majority may count this voter. Each entry of
the newest log is committed, may be committed, or is not committed. If logs conflict, it is unknown
which history is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from replica.doctor.quorum.histories import LogConflict, conflicts_in, is_beside
from replica.doctor.quorum.known_voter import (
    ABSENT,
    BAD_DISKS,
    KnownVoter,
    VoterDoubt,
)
from replica.doctor.quorum.lacks_own import LacksOwn
from replica.doctor.quorum.log_ends import COPYING_MS, lag_ms
from replica.doctor.quorum.possible_end import possible_end
from replica.doctor.quorum.registered_later import RegisteredLater
from replica.doctor.quorum.sets_in_force import voter_sets_at_end
from replica.doctor.quorum.unled import gave_up_leading, in_unled_epochs, nobody_led_after
from replica.doctor.quorum.went_back import WentBack
from replica.history.commitment import Commitment, EntryCommitment, GroupComparison
from replica.history.log import ReplicaLog
from replica.history.ranges import Ranges
from replica.history.voters import is_among, is_majority, is_voter
from replica.model.epochs import UNDEFINED_EPOCH, election_order
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys, is_blocking


class LogBehind(NamedTuple):
    """A replica at hand whose log ends before the newest log, or diverges from it. end: the end
    (exclusive) of its entries of the newest log."""

    key: ReplicaKey
    end: int


@dataclass(frozen=True, slots=True)
class KnownQuorum:
    """The quorum of one cluster, as far as its replicas at hand show it."""

    voters: tuple[KnownVoter, ...] = ()
    """The voters in force at the end of the newest log, sorted; empty if no file names them."""
    leaving: tuple[KnownVoter, ...] = ()
    """The voters with a directory at hand that the previous voter set names and the newest set
    lacks, sorted; empty if the newest set is proven to be committed. Each is still a voter by its
    own log, so it stands for election when it is started."""
    voter_sets: tuple[VoterKeys, ...] = ()
    """Every voter set of which a majority is needed: the set in force and, if it isn't proven to be
    committed, the previous set."""
    newest: ReplicaKey | None = None
    """The replica whose log an election would prefer; None if there is no log."""
    log_end: int = 0
    """The end (exclusive) of the newest log."""
    proven_end: int = 0
    """The entries of the newest log below this offset (exclusive) are proven to be committed."""
    possible_end: int = 0
    """The entries of the newest log from this offset on are on no majority, whatever is on the
    disks that are not at hand or are unreadable. So they were not committed when the directories
    were read. At least proven_end, at most log_end; log_end if logs conflict."""
    conflicts: tuple[LogConflict, ...] = ()
    """The pairs of replicas whose logs conflict."""
    contested: Ranges = ()
    """Offsets at which two different entries are proven to be committed."""
    relied: frozenset[ReplicaKey] = frozenset()
    """The replicas whose files are at hand and may be relied on."""
    at_hand: frozenset[ReplicaKey] = frozenset()
    """All replicas whose files are at hand."""
    is_leaderless: bool = False
    """Whether the leader of the newest log's last epoch gave up its epoch, and no later leader is
    known. False where the voters without files at hand are a majority: they may have elected a
    leader among themselves."""
    gave_up: ReplicaKey | None = None
    """The leader that gave up; None if no leader gave up, or if it isn't known which one did."""
    behind: tuple[LogBehind, ...] = ()
    """The replicas at hand, voters or not, that may be relied on and lack the end of the newest
    log."""
    knows_last_leader: bool = False
    """Whether the last leader's log is at hand, and no later leader can have been elected: see
    nobody_led_after."""
    unled: tuple[int, ...] = ()
    """The nodes, voters or not, that are in an epoch without a known leader: it is newer than the
    epoch of the newest log, and than each epoch whose leader a file names. Sorted; empty if logs
    conflict."""

    @property
    def missing(self) -> VoterKeys:
        """The voters that no majority may count."""
        return frozenset(voter.key for voter in self.voters if voter.doubt is not None)

    @property
    def has_majority(self) -> bool:
        """Whether the voters without a doubt about their disks are a majority in all voter_sets."""
        return bool(self.voter_sets) and all(self.is_majority(each) for each in self.voter_sets)

    def is_majority(self, voters: VoterKeys) -> bool:
        """Whether those voters of the set whose disks aren't in doubt are a majority of the set."""
        return is_majority(voters, self.relied, set(self.at_hand))

    def left_of(self, voters: VoterKeys) -> list[int]:
        """The nodes of those voters of the set whose disks aren't in doubt, sorted."""
        seen = set(self.at_hand)
        return sorted(one.node_id for one in voters if is_among(one, self.relied, seen))

    @property
    def is_blocking(self) -> bool:
        """Whether no majority can be made without the voters whose disks aren't in doubt, and the
        newest log holds a record. These voters may be a majority, or half of an even number."""
        return bool(self.voter_sets and self.log_end) and all(
            is_blocking(len(self.left_of(each)), len(each)) for each in self.voter_sets
        )

    @property
    def holds_committed(self) -> bool:
        """Whether the newest log holds each record that was ever committed: each is on a majority
        of the voters. The voters that are away may have added or removed a voter (KIP-853) if they
        are half of the voters, for of the new voters they may be a majority."""
        are_fixed = self.knows_last_leader or all(
            voter.directory_id == ZERO_UUID for each in self.voter_sets for voter in each
        )
        return self.is_blocking and (self.has_majority or are_fixed)

    @property
    def is_conflicting(self) -> bool:
        """Whether it is unknown which history is right, so that no node may be started."""
        return bool(self.conflicts or self.contested)

    @property
    def unreliable(self) -> tuple[ReplicaKey, ...]:
        """The voters in force whose disks are at hand and can't be relied on."""
        return tuple(voter.key for voter in self.voters if voter.doubt in BAD_DISKS)

    @property
    def replaced(self) -> tuple[ReplicaKey, ...]:
        """The voters in force for whose nodes disks with other directory ids are at hand."""
        found = VoterDoubt.ANOTHER_DIRECTORY
        return tuple(voter.key for voter in self.voters if voter.doubt is found)

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
        """The voters with one of these doubts, including leaving voters."""
        return tuple(voter for voter in (*self.voters, *self.leaving) if voter.doubt in doubts)


@dataclass(frozen=True, slots=True)
class QuorumFiles:
    """What files other than the logs say about a quorum."""

    unreadable: frozenset[ReplicaKey] = frozenset()
    """The replicas with an unreadable part of the log."""
    attested: Mapping[ReplicaKey, int] = field(default_factory=dict)
    """For each replica the newest epoch in which it led or voted, by a record or by the
    quorum-state of another replica. A key without a directory (ZERO_UUID) is any directory of its
    node."""
    configured: VoterKeys = frozenset()
    """The voters that quorum-state or the configuration names, for logs that name none."""
    went_back: Mapping[ReplicaKey, WentBack] = field(default_factory=dict)
    """For each replica: the content of an earlier capture that its files lack now."""
    unreadable_states: frozenset[ReplicaKey] = frozenset()
    """The replicas with an unreadable quorum-state."""
    lacks_own: Mapping[ReplicaKey, LacksOwn] = field(default_factory=dict)
    """For each leader: its own records that its log lacks."""
    time_at: Callable[[ReplicaKey, int], int | None] = lambda _key, _offset: None
    """The largest time (ms since 1970) of the batch of a replica's log that holds an offset; None
    if it isn't known."""
    cut: Mapping[ReplicaKey, str] = field(default_factory=dict)
    """For each replica with an incomplete copy, whose log may continue: the name of the copy."""
    registered_later: Mapping[ReplicaKey, RegisteredLater] = field(default_factory=dict)
    """For each controller whose registration is newer than its log: the registration."""

    @property
    def hidden(self) -> frozenset[ReplicaKey]:
        """The replicas whose logs may hold more than was read."""
        return self.unreadable.union(self.cut)


NO_FILES = QuorumFiles()
_WITHOUT_VOTES = VoterDoubt.NO_QUORUM_STATE, VoterDoubt.UNREADABLE_QUORUM_STATE


def known_quorum(
    group: GroupComparison, commitment: Commitment, files: QuorumFiles = NO_FILES
) -> KnownQuorum:
    """What the replicas of one cluster prove. group: their logs, compared in pairs. commitment: the
    commitment of the group."""
    logs = group.logs
    if not logs:
        return KnownQuorum()
    newest = max(logs, key=lambda log: _preference(log, files.hidden))
    proven_end = settled_end(newest, commitment)
    sets = voter_sets_at_end(newest, proven_end) or ((files.configured,) * bool(files.configured))
    conflicts = sorted(conflicts_in(group))
    if conflicts:  # it is unknown which history each record and election belongs to
        files = replace(files, lacks_own={}, attested={}, registered_later={})
    doubts = _doubts(logs, files, sets)
    known = [
        tuple(_known(group, newest, voter, doubts, files) for voter in sorted(voters))
        for voters in sets
    ]
    is_known = not (conflicts or commitment.contested)
    possible = possible_end(newest, known) if is_known else newest.end_offset
    gave_up = None if conflicts else gave_up_leading(newest, logs, known[0] if known else ())
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
        gave_up is not None,
        gave_up,
        tuple(sorted(_behind(group, newest, doubts))),
        nobody_led_after(newest, logs, {log.key for log in logs if log.key not in doubts}),
        ()
        if conflicts
        else tuple(sorted(in_unled_epochs(newest, logs, known[0] if known else ()))),
    )


def _behind(
    group: GroupComparison, newest: ReplicaLog, doubts: Collection[ReplicaKey]
) -> Iterator[LogBehind]:
    for log, end in ((one, _common_end(group, newest, one)) for one in group.logs):
        is_other = is_beside(group, newest, log)
        if end < newest.end_offset and log.key not in doubts and not is_other:
            yield LogBehind(log.key, end)


def settled_end(log: ReplicaLog, commitment: Commitment) -> int:
    """The end (exclusive) of the part of a log that is proven to be committed."""
    proven = commitment.ranges(log.key, EntryCommitment.PROVEN)
    ends = [proven[-1].end if proven else 0, log.log_start]
    return max(*ends, *(snapshot.offset for snapshot in log.snapshots), 0)


def _preference(
    log: ReplicaLog, hidden: Collection[ReplicaKey]
) -> tuple[bool, bool, tuple[int, int], int, str]:
    return (
        log.position().offset > 0,
        log.key not in hidden,
        election_order(log.position()),
        -log.key.node_id,
        log.key.directory_id,
    )


def _doubts(
    logs: Sequence[ReplicaLog], files: QuorumFiles, sets: Sequence[VoterKeys]
) -> dict[ReplicaKey, VoterDoubt]:
    """The worst doubt about each replica at hand. A replica that may vote a second time can do
    harm; a replica with an unreadable log only can't be counted. Only a voter needs a quorum-state,
    and not before the first record."""
    is_new = not any(log.position().offset for log in logs)
    found: dict[ReplicaKey, VoterDoubt] = {}
    for log in logs:
        votes = any(is_voter(voters, log.key) for voters in sets)
        if votes and _is_stale(log, files):
            found[log.key] = VoterDoubt.STALE
        elif log.key in files.cut:
            found[log.key] = VoterDoubt.CUT
        elif votes and log.quorum_epoch == UNDEFINED_EPOCH and not is_new:
            found[log.key] = _WITHOUT_VOTES[log.key in files.unreadable_states]
        elif votes and log.quorum_epoch < log.last_epoch:
            found[log.key] = VoterDoubt.OLD_QUORUM_STATE
        elif log.key in files.unreadable:
            found[log.key] = VoterDoubt.UNREADABLE
    return found


def _is_stale(log: ReplicaLog, files: QuorumFiles) -> bool:
    """Whether other files, or an earlier capture, show more of a replica than its own files. An
    unreadable file may hold what seems to be missing: with an unreadable log only the epoch in
    quorum-state counts, and with an unreadable quorum-state no epoch counts."""
    attested = None if log.key in files.unreadable_states else _attested(log.key, files.attested)
    known = max(log.quorum_epoch, log.position().epoch)
    is_behind = attested is not None and attested > known
    back = files.went_back.get(log.key)
    if log.key not in files.hidden:
        lacks = log.key in files.lacks_own or log.key in files.registered_later
        return is_behind or back is not None or lacks
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
    """What is known about one voter. A voter without a directory id is any directory of its node: a
    doubt about one directory is a doubt about the voter."""
    own = [log for log in group.logs if voter.matches(log.key)]
    if not own:
        other = any(log.key.node_id == voter.node_id for log in group.logs)
        doubt = VoterDoubt.ANOTHER_DIRECTORY if other else VoterDoubt.NOT_GIVEN
        return KnownVoter(voter, doubt, None, _attested(voter, files.attested))
    told = [doubts[log.key] for log in own if log.key in doubts]
    known = [log.known_epoch for log in own if log.known_epoch is not None]
    attested = [_attested(log.key, files.attested) for log in own]
    lost = VoterDoubt.STALE in told or any(log.key in files.hidden for log in own)
    held_end = max(_common_end(group, newest, log) for log in own)
    epochs = [epoch for epoch in (*known, *attested) if epoch is not None]
    then, later = newest.batch_at(held_end), files.registered_later
    times = (files.time_at(one.key, held_end - 1) for one in (*own, newest))
    ended_ms = next((at for at in times if at is not None), None)
    is_even = held_end == newest.end_offset or any(is_beside(group, newest, one) for one in own)
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
        next((files.cut[log.key] for log in own if log.key in files.cut), ""),
        None if is_even else _behind_ms(newest, ended_ms, files),
        next((later[log.key] for log in own if log.key in later), None),
        any(_forgets_votes(log, files) for log in own),
        None if any(log.key in files.hidden for log in own) else held_end,
        ended_ms,
    )


def _forgets_votes(log: ReplicaLog, files: QuorumFiles) -> bool:
    """Whether a voter is known to have been in an epoch that its quorum-state doesn't know, so that
    the file may lack the vote in this epoch: a voter persists an epoch, and its vote, before it
    acts (Kafka: QuorumState). Without the file it is unknown in which epochs the voter voted."""
    epochs = [log.position().epoch]
    if (attested := _attested(log.key, files.attested)) is not None:
        epochs.append(attested)
    if (back := files.went_back.get(log.key)) is not None and back.epoch_before is not None:
        epochs.append(back.epoch_before)
    if (later := files.registered_later.get(log.key)) is not None:
        epochs.append(later.epoch)
    return log.quorum_epoch == UNDEFINED_EPOCH or max(epochs) > log.quorum_epoch


def _behind_ms(newest: ReplicaLog, ended_ms: int | None, files: QuorumFiles) -> int | None:
    """The lag_ms of a voter; None for less than COPYING_MS. A controller that leads appends two
    records a second, also when nothing happens. ended_ms: the time of the last entry that the voter
    has of the newest log, in ms since 1970 (UTC)."""
    lag = lag_ms(ended_ms, files.time_at(newest.key, newest.end_offset - 1))
    return lag if lag is not None and lag >= COPYING_MS else None


def _leaving(
    in_force: Sequence[KnownVoter] = (), before: Sequence[KnownVoter] = ()
) -> tuple[KnownVoter, ...]:
    """The voters at hand that the previous set names and the set in force lacks. One of the sets
    may name voters without directories."""
    stay = [voter.key for voter in in_force]
    return tuple(
        voter
        for voter in before
        if voter.doubt not in ABSENT
        and not any(key.matches(voter.key) or voter.key.matches(key) for key in stay)
    )


def _common_end(group: GroupComparison, newest: ReplicaLog, log: ReplicaLog) -> int:
    """The end (exclusive) of the entries that a log shares with the newest log."""
    if log is newest:
        return newest.end_offset
    parted = group.between(newest.key, log.key).divergence_offset
    return min(log.position().offset, newest.end_offset) if parted is None else parted

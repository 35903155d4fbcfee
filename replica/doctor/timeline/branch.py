"""Finds the branch of the log on which all rounds of captures agree, and the tails: the entries by
which other logs differ from it.

The replicas of one round (a capture group) are compared by replica.history. Each round has a
branch. The branch that would win an election is followed. Another round adds the entries below the
first entry of this branch, if its own branch holds this first entry too: two logs that hold the
same entry hold the same entries below it (Raft's log matching).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from replica.doctor.check.examined import Examined
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.membership import mixture_in
from replica.doctor.check.mixture import ClusterMixture
from replica.doctor.check.newest import cluster_id_of
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.branch import agreed_branch
from replica.doctor.quorum.went_back import ComparedRound
from replica.format.directory import SegmentFile
from replica.format.formatted import FormattedDirectory
from replica.format.walk import LocatedBatch
from replica.history.commitment import EntryCommitment, compare_group
from replica.history.divergence import compare
from replica.history.log import (
    LogBatch,
    OffsetRange,
    ReplicaLog,
    contiguous_runs,
)
from replica.history.ranges import Ranges, difference, holds_offset, intersection, union
from replica.model.epochs import election_order
from replica.model.voters import VotersAt


@dataclass(frozen=True, eq=False)
class Piece:
    """The entries from offset `start` (inclusive) to `end` (exclusive), which are read from one
    directory."""

    examined: Examined
    start: int
    end: int

    def batches(self) -> Iterator[tuple[SegmentFile, LocatedBatch]]:
        """The batches with a right CRC that hold any of the entries."""
        for segment, batch in self.examined.batches:
            if batch.header.base_offset >= self.end:
                return
            if batch.header.next_offset > self.start:
                yield segment, batch


@dataclass(frozen=True, eq=False)
class BranchTail(Piece):
    """Entries of a log that left the branch."""

    holders: tuple[Examined, ...]
    """All directories whose log leaves the branch with the same entry. The directory that is read
    is among them."""
    log: ReplicaLog
    """The log of the directory that is read."""
    lacking: Ranges = ()
    """The offsets of the tail's entries that the branch lacks, ascending."""
    proven: Ranges = ()
    """The offsets of the tail's entries that a round proves to be committed, ascending."""
    is_contested: bool = False
    """Whether the tail or the branch may be the right history: both are proven to be committed, or
    the two logs conflict."""

    def holds(self, offset: int, epoch: int, digest: object) -> bool:
        """Whether the entry of this offset and epoch, in a batch with this digest, is in the
        tail."""
        return offset >= self.start and _has(self.log, offset, epoch, digest)


@dataclass(frozen=True, eq=False)
class Branch:
    """The branch of one cluster."""

    cluster_id: str | None
    rounds: tuple[tuple[Examined, ...], ...]
    """All directories, in a tuple for each round."""
    pieces: tuple[Piece, ...]
    """The pieces of the branch, ascending and without overlap. No directory holds the entries
    between two pieces."""
    log: ReplicaLog
    """The batches of all pieces."""
    proven_end: int
    """The entries below this offset are proven to be committed, and no other history contradicts
    them; 0 where there are none."""
    tails: tuple[BranchTail, ...] = ()
    """The tails beside the branch, sorted by the offset at which they leave it."""
    elsewhere: frozenset[int] = frozenset()
    """The ids of voters whose nodes have only directories of another cluster in the newest
    round."""
    without_log: frozenset[int] = frozenset()
    """The ids of nodes that have only directories without a metadata log in the newest round."""

    @property
    def members(self) -> tuple[Examined, ...]:
        """All directories, of all rounds."""
        return tuple(examined for one in self.rounds for examined in one)

    def holds(self, offset: int, epoch: int, digest: object) -> bool:
        """Whether the entry of this offset and epoch, in a batch with this digest, is on the
        branch."""
        return _has(self.log, offset, epoch, digest)

    def tail_with(self, offset: int, epoch: int, digest: object) -> BranchTail | None:
        """The tail that holds the entry of this offset and epoch, in a batch with this digest; None
        if no tail holds it."""
        return next((one for one in self.tails if one.holds(offset, epoch, digest)), None)

    def commitment(self, offset: int, tail: BranchTail | None = None) -> str:
        """The commitment of an entry: `proven`, `unproven` or `superseded`. tail: the tail that
        holds the entry; None for an entry of the branch."""
        verdict = EntryCommitment.UNPROVEN
        if tail is None:
            verdict = EntryCommitment.PROVEN if offset < self.proven_end else verdict
        elif not tail.is_contested:
            if holds_offset(tail.proven, offset):
                verdict = EntryCommitment.PROVEN
            elif tail.start < self.proven_end and self.log.batch_at(tail.start) is not None:
                # what follows in a log on an entry that lost is committed no more than that is
                verdict = EntryCommitment.SUPERSEDED
        return str(verdict.value)


def _has(log: ReplicaLog, offset: int, epoch: int, digest: object) -> bool:
    batch = log.batch_at(offset)
    return batch is not None and (batch.epoch, batch.digest) == (epoch, digest)


def branches_of(
    rounds: Iterable[Sequence[Examined]], formatted: Sequence[FormattedDirectory] = ()
) -> list[Branch]:
    """The branch of each cluster, in the order of the cluster ids. Directories that hold no
    metadata log are left out, and so are clusters without a single entry.

    rounds: the directories that were read together, for each round. formatted: log directories
    without a metadata log beside them. Raises UsageError where a replica occurs twice in one round.
    """
    clusters: dict[str | None, list[tuple[Examined, ...]]] = {}
    mixtures: dict[str | None, ClusterMixture] = {}
    for group in rounds:
        mixture = mixture_in(group, formatted)
        of_round: dict[str | None, list[Examined]] = {}
        for examined in group:
            if partition_of(examined).is_metadata:
                of_round.setdefault(cluster_id_of(examined), []).append(examined)
        for cluster_id, members in of_round.items():
            clusters.setdefault(cluster_id, []).append(tuple(members))
            mixtures[cluster_id] = mixture
    ordered = sorted(clusters.items(), key=lambda one: one[0] or "")
    found = (
        replace(
            _branch(cluster_id, members),
            elsewhere=mixtures[cluster_id].elsewhere(cluster_id),
            without_log=frozenset(mixtures[cluster_id].without_log(cluster_id)),
        )
        for cluster_id, members in ordered
    )
    return [branch for branch in found if branch.log.batches]


def _branch(cluster_id: str | None, rounds: Sequence[tuple[Examined, ...]]) -> Branch:
    compared = [
        _Round.of([(one, replica_log(one, f"directory {number}")) for number, one in enumerate(of)])
        for of in rounds
    ]
    branches = [_of_round(one) for one in compared]
    tip, *others = sorted(branches, key=lambda b: election_order(b.log.position()), reverse=True)
    for other in sorted(others, key=lambda branch: branch.log.end_offset, reverse=True):
        tip = _with_head(tip, other)
    tails = _tails(tip, compared)
    settled = min([tip.proven_end, *(tail.start for tail in tails if tail.is_contested)])
    return replace(
        tip, cluster_id=cluster_id, rounds=tuple(rounds), tails=tails, proven_end=settled
    )


@dataclass(frozen=True, slots=True)
class _Round:
    """The directories of one round with their logs, and what these prove."""

    members: Sequence[tuple[Examined, ReplicaLog]]
    compared: ComparedRound

    @staticmethod
    def of(members: Sequence[tuple[Examined, ReplicaLog]]) -> _Round:
        return _Round(members, ComparedRound.of(compare_group([log for _, log in members])))

    def proven(self, log: ReplicaLog) -> Ranges:
        """The offsets of a member's entries that are proven to be committed."""
        return self.compared.commitment.ranges(log.key, EntryCommitment.PROVEN)


def _of_round(one: _Round) -> Branch:
    members = one.members
    parts = agreed_branch(one.compared.group, one.compared.commitment)
    by_key = {log.key: (examined, log) for examined, log in members}
    pieces: list[Piece] = []
    batches: list[LogBatch] = []
    for part in parts:
        examined, log = by_key[part.key]
        if pieces and pieces[-1].examined is examined and pieces[-1].end == part.start:
            pieces[-1] = replace(pieces[-1], end=part.end)
        else:
            pieces.append(Piece(examined, part.start, part.end))
        end = batches[-1].last_offset if batches else -1
        batches += (
            one
            for one in log.batches
            if one.base_offset > end
            and part.start <= one.last_offset
            and one.base_offset < part.end
        )
    proven = [part.end for part in parts if part.verdict is EntryCommitment.PROVEN]
    changes = [
        change
        for part in parts
        for change in by_key[part.key][1].leader_changes
        if part.start <= change.offset < part.end
    ]
    log = _log(members[0][1], batches, changes)
    return Branch(None, (), tuple(pieces), log, max(proven, default=0))


def _log(
    any_log: ReplicaLog, batches: Sequence[LogBatch], leader_changes: Sequence[VotersAt]
) -> ReplicaLog:
    """The log of these batches. leader_changes: those in the batches. By them the logs of a quorum
    with one voter are seen to conflict (replica.history.divergence)."""
    start = batches[0].base_offset if batches else 0
    return ReplicaLog(any_log.key, start, tuple(batches), leader_changes=tuple(leader_changes))


def _with_head(tip: Branch, other: Branch) -> Branch:
    """The branch `tip` with what the branch of another round adds: entries below the first entry of
    `tip`, and proofs that entries are committed."""
    if not tip.log.batches or not other.log.batches:
        return tip
    parted = compare(tip.log, other.log).divergence_offset
    first = tip.log.batches[0]
    head = [one for one in other.log.batches if one.last_offset < first.base_offset]
    has_head = bool(head) and other.log.batch_at(first.base_offset) == first
    if has_head:
        start = first.base_offset
        lower = [
            replace(piece, end=min(piece.end, start))
            for piece in other.pieces
            if piece.start < start
        ]
        below = (one for one in other.log.leader_changes if one.offset < start)
        changes = (*below, *tip.log.leader_changes)
        log = _log(tip.log, (*head, *tip.log.batches), changes)
        tip = replace(tip, pieces=(*lower, *tip.pieces), log=log)
    proven = min(other.proven_end, tip.log.end_offset)
    if has_head or parted is None or parted >= proven:
        tip = replace(
            tip, proven_end=max(tip.proven_end, proven if parted is None else min(proven, parted))
        )
    return tip


def _tails(branch: Branch, rounds: Iterable[_Round]) -> tuple[BranchTail, ...]:
    """The tails of the branch. Each tail occurs once, however many directories hold it, and is read
    from the directory that holds most of it."""
    found: dict[tuple[int, LogBatch | None], list[_Holder]] = {}
    for one in rounds:
        for examined, log in one.members:
            parted = compare(branch.log, log).divergence_offset
            if parted is not None:
                holder = _Holder(examined, log, one.proven(log))
                found.setdefault((parted, log.batch_at(parted)), []).append(holder)
    tails = [_tail(branch, start, holding) for (start, _), holding in found.items()]
    return tuple(sorted(tails, key=lambda tail: (tail.start, tail.end)))


class _Holder(NamedTuple):
    """A directory whose log leaves the branch. proven: the offsets of the log's entries that the
    directory's round proves to be committed."""

    examined: Examined
    log: ReplicaLog
    proven: Ranges


def _tail(branch: Branch, start: int, holding: Sequence[_Holder]) -> BranchTail:
    """The tail that leaves the branch at the offset `start`. holding: the directories that hold the
    first entry of the tail."""
    examined, log, _ = max(holding, key=lambda one: one.log.end_offset)
    beside = compare(branch.log, log)
    behind = (OffsetRange(start, max(start, log.end_offset)),)
    held = intersection(contiguous_runs(log.batches), behind)
    shared = (
        intersection(
            one.proven, held if one.log is log else compare(one.log, log).ranges(same=True)
        )
        for one in holding
    )
    proven = intersection(union(*shared), behind)
    return BranchTail(
        examined,
        start,
        log.end_offset,
        tuple(one.examined for one in holding),
        log,
        difference(held, beside.ranges(same=True)),
        proven,
        beside.conflict_offset is not None or (bool(proven) and start < branch.proven_end),
    )

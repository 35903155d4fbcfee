"""Finds which entries a group of replicas proves to be committed: each entry is proven, superseded
or unproven.

There are three kinds of proof. The first is a valid snapshot, because it contains only committed
entries (KIP-630). The second is an entry that a leader wrote as the only voter. The third is an
entry that a majority of the voters holds, if no voter of this majority, except the leader that
wrote the entry, knows a newer epoch than the entry's. Every later leader has this entry, because
the voters of the majority held it before they voted in a newer epoch (Raft, section 5.4.3). The
entries below it are committed with it. If other voters of the majority know a newer epoch, the
entry isn't proven (Raft, figure 8). The replicas need not have been read at the same moment, but
each replica's log must have been read no later than its quorum-state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations
from operator import attrgetter
from typing import Any

from replica.errors import UsageError
from replica.history.divergence import Comparison, Divergence, compare
from replica.history.log import OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import (
    END_OF_OFFSETS,
    Ranges,
    below,
    difference,
    holds_offset,
    intersection,
    size_of,
    union,
)
from replica.history.voters import is_majority, voter_sets_in_force
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey


class EntryCommitment(Enum):
    """The verdict on an entry. The values are used in the tables."""

    PROVEN = "proven"
    SUPERSEDED = "superseded"
    """The entry was never committed: another entry at its offset is proven in a log that doesn't
    conflict, or a voter that may lead lacks it (see Commitment.with_never_committed)."""
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class VerdictRange:
    """The verdict on all entries that a replica holds from `start` (inclusive) to `end`
    (exclusive)."""

    start: int
    end: int
    verdict: EntryCommitment


@dataclass(frozen=True, slots=True)
class Proof:
    """The reason why all entries up to the entry (`offset`, `epoch`) (inclusive) in the log of
    `key` are committed."""

    key: ReplicaKey
    offset: int
    epoch: int
    holders: frozenset[ReplicaKey] = frozenset()
    """All replicas that hold the entry and know no newer epoch, and the leader that wrote it. They
    are a majority of the voters, and possibly observers."""
    snapshot_id: OffsetAndEpoch | None = None
    """The valid snapshot that is the proof; None if `holders` are the proof."""


_NOTHING_IN_COMMON = Comparison((), None)


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The comparisons of all pairs of replicas of a group that hold batches."""

    logs: tuple[ReplicaLog, ...]
    holding: tuple[ReplicaLog, ...]
    """The logs that hold batches. An empty log can't be compared, and a group may have thousands of
    them."""
    pairs: Mapping[tuple[ReplicaKey, ReplicaKey], Comparison]
    runs: Mapping[ReplicaKey, Ranges]
    """The offsets that each replica holds."""

    def between(self, a: ReplicaKey, b: ReplicaKey) -> Comparison:
        """The comparison of two different replicas, in either order."""
        found = self.pairs.get((a, b))
        return self.pairs.get((b, a), _NOTHING_IN_COMMON) if found is None else found


@dataclass(frozen=True, slots=True)
class Commitment:
    """The verdicts on all entries of a group."""

    verdicts: Mapping[ReplicaKey, tuple[VerdictRange, ...]]
    """For each replica the ranges of offsets that it holds, ascending; holes are in no range."""
    proofs: tuple[Proof, ...]
    """The proofs: for each replica at most two, the highest one by a majority and the highest one
    by a snapshot."""
    contested: Ranges
    """The offsets at which two different entries are proven: the cluster broke Raft's safety, or an
    invalid snapshot was mistaken for valid."""

    def ranges(self, key: ReplicaKey, verdict: EntryCommitment) -> Ranges:
        """The offsets of one replica that have `verdict`."""
        return tuple(
            OffsetRange(r.start, r.end) for r in self.verdicts[key] if r.verdict is verdict
        )

    def counted(self, key: ReplicaKey, ranges: Ranges) -> Losses:
        """The numbers of the entries that one replica holds in these ranges."""

        def count(verdict: EntryCommitment) -> int:
            return size_of(intersection(ranges, self.ranges(key, verdict)))

        return Losses(
            committed=count(EntryCommitment.PROVEN),
            unproven=count(EntryCommitment.UNPROVEN),
            superseded=count(EntryCommitment.SUPERSEDED),
        )

    def with_never_committed(self, lacking: Mapping[ReplicaKey, Ranges]) -> Commitment:
        """The commitment with one change: the unproven entries that a replica holds in `lacking`
        are superseded. lacking: for each replica, the offsets of entries that no majority ever
        held."""
        verdicts = dict(self.verdicts)
        for key, ranges in lacking.items():
            proven = self.ranges(key, EntryCommitment.PROVEN)
            held = union(*((OffsetRange(r.start, r.end),) for r in self.verdicts[key]))
            never = union(self.ranges(key, EntryCommitment.SUPERSEDED), intersection(held, ranges))
            verdicts[key] = _verdicts(held, proven, difference(never, proven))
        return replace(self, verdicts=verdicts)

    def verdict_at(self, key: ReplicaKey, offset: int) -> EntryCommitment | None:
        """The verdict on one entry; None if the replica doesn't hold the offset."""
        found = (r.verdict for r in self.verdicts[key] if r.start <= offset < r.end)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class Losses:
    """The numbers of records that a replica loses, or may lose, by their commitment."""

    committed: int
    unproven: int
    superseded: int


def compare_group(logs: Sequence[ReplicaLog]) -> GroupComparison:
    """Compare all pairs of logs that hold batches. Raises UsageError if a replica occurs twice."""
    keys = [log.key for log in logs]
    if len(set(keys)) != len(keys):
        raise UsageError(
            "a replica occurs twice in one group: compare captures one group at a time"
        )
    holding = tuple(log for log in logs if log.batches)
    pairs = {(a.key, b.key): compare(a, b) for a, b in combinations(holding, 2)}
    runs = {log.key: contiguous_runs(log.batches) for log in logs}
    return GroupComparison(tuple(logs), holding, pairs, runs)


def classify(logs: Sequence[ReplicaLog]) -> Commitment:
    """The commitment of every entry of a group. logs: the logs of replicas of one cluster that were
    captured together."""
    return classify_compared(compare_group(logs))


def classify_compared(group: GroupComparison) -> Commitment:
    """The result of `classify` for a group whose pairs are already compared."""
    proofs: list[Proof] = []
    proven_ends: dict[ReplicaKey, int] = {}
    snapshots = {snapshot for log in group.logs for snapshot in log.snapshots}
    newest_first = sorted(snapshots - {BOOTSTRAP_SNAPSHOT}, reverse=True)
    for log in group.holding:
        found = [_majority_proof(group, log), _snapshot_proof(newest_first, log)]
        own = [proof for proof in found if proof is not None]
        proofs.extend(own)
        proven_ends[log.key] = max((proof.offset + 1 for proof in own), default=0)
    proven = {log.key: _proven(group, log, proven_ends) for log in group.holding}
    verdicts: dict[ReplicaKey, tuple[VerdictRange, ...]] = {log.key: () for log in group.logs}
    for log in group.holding:
        superseded = _superseded(group, log, proven)
        verdicts[log.key] = _verdicts(group.runs[log.key], proven[log.key], superseded)
    contested = [
        intersection(comparison.ranges(same=False), intersection(proven[a], proven[b]))
        for (a, b), comparison in group.pairs.items()
    ]
    return Commitment(verdicts, tuple(proofs), union(*contested))


def losses(divergence: Divergence, commitment: Commitment) -> Losses | None:
    """The numbers of records that the truncating replica loses, from the divergence to its log end.
    None if neither replica truncates."""
    if divergence.truncating is None or divergence.divergence_offset is None:
        return None
    rest = OffsetRange(divergence.divergence_offset, END_OF_OFFSETS)
    return commitment.counted(divergence.truncating, (rest,))


def divergence_columns(divergence: Divergence, lost: Losses | None) -> dict[str, Any]:
    """The columns of gold.divergence_points about the relation of two logs. lost: from `losses`.
    truncating_node is None if no replica truncates, or if its node id is unknown (negative)."""
    loser = divergence.truncating
    return {
        "relation": divergence.relation.value,
        "divergence_offset": divergence.divergence_offset,
        "epoch_a": divergence.epoch_a,
        "epoch_b": divergence.epoch_b,
        "truncating_node": None if loser is None or loser.node_id < 0 else loser.node_id,
        "truncation_offset": divergence.truncation_offset,
        "fetch_rounds": divergence.fetch_rounds,
        "draft_fetch_rounds": divergence.draft_fetch_rounds,
        "records_lost": divergence.records_lost,
        "committed_lost": lost and lost.committed,
        "unproven_lost": lost and lost.unproven,
        "superseded_lost": lost and lost.superseded,
    }


def _majority_proof(group: GroupComparison, log: ReplicaLog) -> Proof | None:
    """The proof by the highest entry of `log` that a majority holds, if no voter of the majority
    except the entry's leader knows a newer epoch, or that the leader wrote as the only voter. None
    without such a proof.

    From the log end downwards, the set of holders changes only at the ends of the entries that
    another replica shares. So only the entries at these ends are checked.
    """
    held_by = {
        other.key: _lineage(group.between(log.key, other.key))
        for other in group.holding
        if other.key != log.key
    }
    held_by[log.key] = group.runs[log.key]
    held_by = {one.key: acknowledged(one, held_by[one.key]) for one in group.holding}
    ends = {r.end for ranges in held_by.values() for r in ranges}
    alone = {change.epoch for change in log.leader_changes if len(change.voters) == 1}
    for epoch, start, end in reversed(_epoch_ranges(log)):
        eligible = [other for other in group.holding if _held_it_before(other, epoch)]
        if not eligible and epoch not in alone:
            continue
        candidates = {min(candidate, end) - 1 for candidate in ends if candidate > start}
        for offset in sorted(candidates, reverse=True):
            holders = [other for other in eligible if holds_offset(held_by[other.key], offset)]
            if holders and _proves(group, holders, offset, epoch):
                return Proof(log.key, offset, epoch, frozenset(h.key for h in holders))
            only = _only_voter(group, log, offset, epoch) if epoch in alone else None
            if only is not None:
                return Proof(log.key, offset, epoch, frozenset({log.key, only}))
    return None


def _only_voter(
    group: GroupComparison, log: ReplicaLog, offset: int, epoch: int
) -> ReplicaKey | None:
    """The leader that wrote this entry of `log`, if it was the only voter at its election and at
    the entry; else None. The only voter is a majority by itself. Kafka takes its entry as committed
    once the entry is appended, before the flush. So another replica's copy of the entry is a proof.

    None also if `log` is the leader's own log, or if a log of the leader differs from `log` at or
    below the entry: the leader may have lost the entry before the flush."""
    elected = [change.voters for change in log.leader_changes if change.epoch == epoch]
    sets = voter_sets_in_force([log], group.logs, group.runs, offset, epoch) or ()
    only, *others = {voter.node_id for voters in (*elected, *sets) for voter in voters}
    if others or not sets or only == log.key.node_id:
        return None
    own = (one for one in group.holding if one.key.node_id == only)
    parted = [group.between(log.key, one.key).divergence_offset for one in own]
    return min(sets[0]) if all(at is None or offset < at for at in parted) else None


def _proves(group: GroupComparison, holders: Sequence[ReplicaLog], offset: int, epoch: int) -> bool:
    """Whether the `holders` of one entry are a majority of every voter set that counts for this
    entry."""
    voter_sets = voter_sets_in_force(holders, group.logs, group.runs, offset, epoch)
    if voter_sets is None:
        return False
    keys = frozenset(holder.key for holder in holders)
    seen = {log.key for log in group.logs}
    return all(is_majority(voters, keys, seen) for voters in voter_sets)


def _snapshot_proof(newest_first: Sequence[OffsetAndEpoch], log: ReplicaLog) -> Proof | None:
    """The proof by a valid snapshot of the group: the newest one that has an entry of its last
    epoch in common with `log`. None without such a snapshot. One leader wrote the whole epoch in
    order, so `log` and the snapshot have the same entries of this epoch below the snapshot's
    end."""
    for snapshot in newest_first:
        place = bisect_right(log.batches, snapshot.offset - 1, key=attrgetter("base_offset"))
        while place and log.batches[place - 1].epoch > snapshot.epoch:
            place -= 1  # an entry of a branch that diverges below the snapshot's end
        batch = log.batches[place - 1] if place else None
        if batch is not None and batch.epoch == snapshot.epoch:
            offset = min(batch.last_offset, snapshot.offset - 1)
            return Proof(log.key, offset, snapshot.epoch, snapshot_id=snapshot)
    return None


def _proven(
    group: GroupComparison, log: ReplicaLog, proven_ends: Mapping[ReplicaKey, int]
) -> Ranges:
    """The entries of `log` below its own proof, and the entries that equal an entry below another
    log's proof."""
    sources = [below(group.runs[log.key], proven_ends[log.key])]
    for other in group.holding:
        if other.key != log.key and proven_ends[other.key]:
            same = group.between(log.key, other.key).ranges(same=True)
            sources.append(below(same, proven_ends[other.key]))
    return union(*sources)


def _superseded(
    group: GroupComparison, log: ReplicaLog, proven: Mapping[ReplicaKey, Ranges]
) -> Ranges:
    """The entries of `log` at whose offset another replica holds a different entry that is proven
    and belongs to the same history. Two logs that conflict are two histories, and a proof in one
    says nothing about the other: each may have had its own quorum."""
    found = [
        intersection(comparison.ranges(same=False), proven[other.key])
        for other in group.holding
        if other.key != log.key
        and (comparison := group.between(log.key, other.key)).conflict_offset is None
    ]
    return difference(union(*found), proven[log.key])


def _verdicts(held: Ranges, proven: Ranges, superseded: Ranges) -> tuple[VerdictRange, ...]:
    unproven = difference(difference(held, proven), superseded)
    labelled = (
        (proven, EntryCommitment.PROVEN),
        (superseded, EntryCommitment.SUPERSEDED),
        (unproven, EntryCommitment.UNPROVEN),
    )
    found = [VerdictRange(r.start, r.end, verdict) for ranges, verdict in labelled for r in ranges]
    return tuple(sorted(found, key=lambda r: r.start))


def _epoch_ranges(log: ReplicaLog) -> list[tuple[int, int, int]]:
    """(epoch, first offset, end offset (exclusive)) of each run of batches of one epoch."""
    found: list[tuple[int, int, int]] = []
    for batch in log.batches:
        if found and found[-1][0] == batch.epoch:
            found[-1] = (batch.epoch, found[-1][1], batch.last_offset + 1)
        else:
            found.append((batch.epoch, batch.base_offset, batch.last_offset + 1))
    return found


def _lineage(comparison: Comparison) -> Ranges:
    """The equal entries below the first difference. Behind it the two logs are two branches."""
    same = comparison.ranges(same=True)
    parted = comparison.divergence_offset
    return same if parted is None else below(same, parted)


def acknowledged(log: ReplicaLog, held: Ranges) -> Ranges:
    """The entries of `held` that the replica of `log` may have acknowledged: without entries behind
    a run of zeros, which were never synced (see ReplicaLog.unsynced_from)."""
    return held if log.unsynced_from is None else below(held, log.unsynced_from)


def _held_it_before(log: ReplicaLog, epoch: int) -> bool:
    """Whether the replica of `log` got its entries of `epoch` before it voted in a newer epoch.
    This is so if its quorum-state knows no newer epoch, or if the replica wrote the entries as the
    leader.

    The leader counts, although it may have voted since. Suppose that later leaders lack such an
    entry, and take the first of them. A majority voted for it. The voters that hold the entry and
    know no newer epoch gave it no vote, and neither did the old leader, which still held the entry.
    So the other voters would be a majority, which contradicts the majority that holds the entry.
    """
    known = log.known_epoch
    return epoch in log.led_epochs or (known is not None and known <= epoch)

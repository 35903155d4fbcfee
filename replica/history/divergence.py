"""Finds where two replicas' logs diverge, and which log Raft will truncate.

Two entries are equal if their epochs and the bytes of their batches are equal. All offsets that
both logs hold are compared, including leftovers below a log start, but not damaged batches. One
pass over both logs is enough, even if their batches have different borders.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice, starmap
from typing import TypeAlias

from replica.history.log import LogBatch, OffsetRange, ReplicaLog, contiguous_runs
from replica.history.truncation import draft_fetch_rounds, fetch_rounds
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey


class Relation(Enum):
    """The relation of two logs. The values are used in gold.divergence_points."""

    IDENTICAL = "identical"
    PREFIX = "prefix"
    """The shorter log is the beginning of the longer log."""
    DIVERGED = "diverged"
    """The epochs differ from some offset on. Raft will truncate one of the two logs at this
    offset."""
    CONFLICT = "conflict"
    """The logs have different content at the same offset and epoch, or of one epoch from different
    offsets on, which Raft never permits."""
    DISJOINT = "disjoint"
    """No offset is in both logs, so they can only be compared by snapshots."""


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets that both logs hold, from `start` (inclusive) to `end` (exclusive). Their entries are
    all equal (same), or all different."""

    start: int
    end: int
    same: bool


_SpanFields: TypeAlias = tuple[int, int, bool]
"""The fields of a Span."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All common offsets of two logs as maximal spans, ascending."""

    spans: tuple[Span, ...]
    conflict_offset: int | None
    """The first offset at which the two logs conflict: their entries have the same epoch and
    different bytes, or are equal again after the logs diverged, or both logs hold an epoch behind
    the place where they diverged. The cause is two leaders of one epoch, or damage with a valid
    CRC. The logs also conflict if an only voter lost entries that it wrote and the other log holds.
    None if the logs don't conflict."""

    @property
    def divergence_offset(self) -> int | None:
        """The first common offset at which the epochs or the batches' bytes differ; None if no
        offset differs."""
        return next((span.start for span in self.spans if not span.same), None)

    def ranges(self, *, same: bool) -> tuple[OffsetRange, ...]:
        """The offsets at which both logs hold the same entries (same=True), or different entries
        (same=False)."""
        return tuple(OffsetRange(s.start, s.end) for s in self.spans if s.same is same)

    @property
    def agreement(self) -> OffsetRange | None:
        """The offsets from the first common offset to the first difference, or to the end of the
        common offsets. None if there is no common offset, or if the first one differs."""
        if not self.spans or not self.spans[0].same:
            return None
        end = self.divergence_offset
        return OffsetRange(self.spans[0].start, self.spans[-1].end if end is None else end)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The relation of two logs: a row of gold.divergence_points without the numbers by commitment
    (see commitment.losses). divergence_offset, epoch_a and epoch_b are None unless the relation is
    diverged or conflict. truncation_offset, fetch_rounds, draft_fetch_rounds and records_lost are
    None if `truncating` is None."""

    relation: Relation
    divergence_offset: int | None = None
    """The first offset at which the logs differ; None unless they diverged or conflict."""
    epoch_a: int | None = None
    """The epoch at divergence_offset in log a; None without a divergence_offset."""
    epoch_b: int | None = None
    """The epoch at divergence_offset in log b; None without a divergence_offset."""
    truncating: ReplicaKey | None = None
    """The replica that would lose an election between the two. None for a conflict, which Raft
    can't resolve, and if both are equally new. A replica is as new as its log or its newest
    snapshot, whichever is newer."""
    truncation_offset: int | None = None
    """The log end (exclusive) of the truncating replica after the truncation; None if `truncating`
    is None."""
    fetch_rounds: int | None = None
    """The number of answers with a diverging epoch until the log ends at truncation_offset; None if
    `truncating` is None."""
    draft_fetch_rounds: int | None = None
    """The number of answers OUT_OF_RANGE until the logs agree, in KIP-595's draft; None if
    `truncating` is None."""
    records_lost: int | None = None
    """The number of offsets that the truncating replica holds from the divergence to its log end.
    The other replica holds none of these entries. None if `truncating` is None."""
    conflict_offset: int | None = None
    snapshot_id: OffsetAndEpoch | None = None
    """The snapshot that the winner would send instead of a diverging epoch (see FetchOutcome); None
    if it would send none."""


def compare(a: ReplicaLog, b: ReplicaLog) -> Comparison:
    """Compare every offset that both logs hold. The time is linear in the number of batches."""
    left, right = a.batches, b.batches
    start = max(a.first_offset, b.first_offset)
    i = bisect_left(left, start, key=lambda batch: batch.last_offset)
    j = bisect_left(right, start, key=lambda batch: batch.last_offset)
    spans: list[_SpanFields] = []
    equal = _equal_batches(left, i, right, j)
    for run in contiguous_runs(left[i : i + equal]):
        _add(spans, max(run.start, start), run.end, True)
    i, j = i + equal, j + equal
    conflict: int | None = None
    has_differed = False
    while i < len(left) and j < len(right):
        one, other = left[i], right[j]
        low = max(one.base_offset, other.base_offset)
        high = min(one.last_offset, other.last_offset)
        if low <= high:
            same = one == other
            has_differed = has_differed or not same
            if conflict is None and one.epoch == other.epoch and has_differed:
                conflict = low
            _add(spans, low, high + 1, same)
        if one.last_offset <= high:
            i += 1
        if other.last_offset <= high:
            j += 1
    found = Comparison(tuple(starmap(Span, spans)), conflict)
    return replace(found, conflict_offset=_conflict(a, b, found)) if has_differed else found


def _conflict(a: ReplicaLog, b: ReplicaLog, compared: Comparison) -> int | None:
    """The conflict_offset (see Comparison) of two logs that differ at a common offset; None if they
    don't conflict."""
    conflict = _epoch_twice(a, b, compared)
    if conflict is None and (
        _was_cut_by_itself(a, b, compared) or _was_cut_by_itself(b, a, compared)
    ):
        return compared.divergence_offset
    return conflict


def _was_cut_by_itself(old: ReplicaLog, new: ReplicaLog, compared: Comparison) -> bool:
    """Whether `new` begins an epoch where the logs diverge, with the only voter as its leader, and
    the same only voter wrote the entries of `old` from there on. No other node can lead, so the
    only voter never truncates its log: its disk lost these entries."""
    offset = compared.divergence_offset
    only = {
        voter.node_id
        for change in new.leader_changes
        if change.offset == offset and len(change.voters) == 1
        for voter in change.voters
    }
    entry = None if offset is None else old.batch_at(offset)
    return entry is not None and any(
        {voter.node_id for voter in change.voters} == only
        for change in old.leader_changes
        if change.epoch == entry.epoch
    )


def _epoch_twice(a: ReplicaLog, b: ReplicaLog, compared: Comparison) -> int | None:
    """The conflict_offset of two logs that diverged: the one that their common offsets show. Else
    the lowest offset by which both logs have begun the same epoch behind the divergence; None if
    they hold no such epoch. One leader writes an epoch, so logs with an entry of it agree from its
    first entry on."""
    parted = compared.divergence_offset
    if compared.conflict_offset is not None or parted is None:
        return compared.conflict_offset
    one, other = _epochs_from(a, parted), _epochs_from(b, parted)
    return min((max(one[epoch], other[epoch]) for epoch in one.keys() & other.keys()), default=None)


def _epochs_from(log: ReplicaLog, offset: int) -> dict[int, int]:
    """For each epoch of the entries from `offset` on: the first offset with this epoch."""
    place = bisect_left(log.batches, offset, key=lambda batch: batch.last_offset)
    found: dict[int, int] = {}
    for batch in islice(log.batches, place, None):
        found.setdefault(batch.epoch, max(batch.base_offset, offset))
    return found


def diverge(a: ReplicaLog, b: ReplicaLog, comparison: Comparison) -> Divergence:
    """The relation of `a` and `b`, and, if they diverged, the losses of the loser of an election
    between them. comparison: the comparison of the two logs."""
    offset = comparison.divergence_offset
    if offset is None:
        return Divergence(_undiverged_relation(a, b, comparison))
    batch_a, batch_b = a.batch_at(offset), b.batch_at(offset)
    assert batch_a is not None, "a common offset is held by a"
    assert batch_b is not None, "a common offset is held by b"
    found = Divergence(Relation.DIVERGED, offset, batch_a.epoch, batch_b.epoch)
    conflict = comparison.conflict_offset
    if conflict is not None:
        return replace(found, relation=Relation.CONFLICT, conflict_offset=conflict)
    loser = election_loser(a, b)
    if loser is None:
        return found
    winner = b if loser is a else a
    outcome = fetch_rounds(winner, loser)
    return replace(
        found,
        truncating=loser.key,
        truncation_offset=outcome.truncation_offset,
        fetch_rounds=outcome.rounds,
        draft_fetch_rounds=draft_fetch_rounds(winner, loser).rounds,
        records_lost=loser.held_from(offset),
        snapshot_id=outcome.snapshot_id,
    )


def election_loser(a: ReplicaLog, b: ReplicaLog) -> ReplicaLog | None:
    """The log whose replica would not get the other replica's vote; None if both are equally new
    (KIP-595, Vote)."""
    order_a, order_b = election_order(a.position()), election_order(b.position())
    if order_a == order_b:
        return None
    return a if order_a < order_b else b


def _undiverged_relation(a: ReplicaLog, b: ReplicaLog, comparison: Comparison) -> Relation:
    """The relation of two logs that differ at no common offset: IDENTICAL, PREFIX or DISJOINT."""
    if not comparison.spans:
        # a log that never held a record is the beginning of every log from offset 0 on
        fresh = [log for log in (a, b) if not log.batches and log.log_start == 0]
        if not fresh or max(a.first_offset, b.first_offset) > 0:
            return Relation.DISJOINT
    return Relation.IDENTICAL if a.end_offset == b.end_offset else Relation.PREFIX


def _add(spans: list[_SpanFields], start: int, end: int, same: bool) -> None:
    """Add a span behind the others. It is merged with the last span if both have the same value of
    `same`. The spans are tuples of fields, because a Span for each batch takes twice as long."""
    if spans and spans[-1][1:] == (start, same):
        spans[-1] = (spans[-1][0], end, same)
    else:
        spans.append((start, end, same))


def _equal_batches(left: tuple[LogBatch, ...], i: int, right: tuple[LogBatch, ...], j: int) -> int:
    """The number of batches that are equal from the indexes `i` and `j` on. This is a fast path,
    because nearly all batches are equal."""
    count = 0
    for one, other in zip(islice(left, i, None), islice(right, j, None), strict=False):
        if one != other:
            break
        count += 1
    return count

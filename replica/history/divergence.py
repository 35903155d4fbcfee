"""Where two replicas' logs part, and what Raft will do about it.

Entries are compared as (epoch, batch bytes) over the offsets both hold; holes of damaged batches
are not compared, leftovers below a log start are. One pass over both logs, whatever their batching.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum
from itertools import islice

from replica.history.log import LogBatch, OffsetRange, ReplicaLog, contiguous_runs
from replica.history.truncation import draft_fetch_rounds, fetch_rounds
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.keys import ReplicaKey


class Relation(Enum):
    """How two logs relate; the values are those of gold.divergence_points."""

    IDENTICAL = "identical"
    PREFIX = "prefix"
    """Equal as far as the shorter one reaches."""
    DIVERGED = "diverged"
    """Epochs differ from some offset on: Raft will truncate one tail."""
    CONFLICT = "conflict"
    """One offset and epoch with two contents: no Raft run leaves that."""
    DISJOINT = "disjoint"
    """No offset is held by both: compare through snapshots."""


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets held by both logs, `start` inclusive, `end` exclusive, all equal or all different."""

    start: int
    end: int
    same: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """All common offsets of two logs as maximal spans, ascending.

    conflict_offset: the first offset where both hold one epoch with different bytes, or hold equal
    entries again after they parted: two leaders of one epoch, or damage with a right CRC.
    """

    spans: tuple[Span, ...]
    conflict_offset: int | None

    @property
    def divergence_offset(self) -> int | None:
        """The first common offset where (epoch, batch bytes) differ."""
        return next((span.start for span in self.spans if not span.same), None)

    def ranges(self, *, same: bool) -> tuple[OffsetRange, ...]:
        """The offsets at which both hold the same, or at which they differ."""
        return tuple(OffsetRange(s.start, s.end) for s in self.spans if s.same is same)

    @property
    def agreement(self) -> OffsetRange | None:
        """The offsets from the first common one to the first difference or the end; None without a
        common offset."""
        if not self.spans or not self.spans[0].same:
            return None
        end = self.divergence_offset
        return OffsetRange(self.spans[0].start, self.spans[-1].end if end is None else end)


@dataclass(frozen=True, slots=True)
class Divergence:
    """A row of gold.divergence_points without the commitment counts (see commitment.losses).

    divergence_offset, epoch_a, epoch_b: None unless diverged or conflict.
    truncating: the replica that loses an election between the two, by the newest of log and
    snapshot; None for a conflict, with which Raft can't deal, and if both stand equal.
    truncation_offset: the log end (exclusive) the protocol leaves it; fetch_rounds: answers with a
    diverging epoch on the way there; draft_fetch_rounds: the same by the draft. records_lost:
    offsets it holds from the divergence to its log end, none of which the other holds. All None
    with truncating.
    snapshot_id: the winner would send this snapshot rather than diverge (see FetchOutcome).
    """

    relation: Relation
    divergence_offset: int | None = None
    epoch_a: int | None = None
    epoch_b: int | None = None
    truncating: ReplicaKey | None = None
    truncation_offset: int | None = None
    fetch_rounds: int | None = None
    draft_fetch_rounds: int | None = None
    records_lost: int | None = None
    conflict_offset: int | None = None
    snapshot_id: OffsetAndEpoch | None = None


def compare(a: ReplicaLog, b: ReplicaLog) -> Comparison:
    """Every offset that both hold, compared. Linear in the number of batches."""
    left, right = a.batches, b.batches
    start = max(a.first_offset, b.first_offset)
    i = bisect_left(left, start, key=_last_offset)
    j = bisect_left(right, start, key=_last_offset)
    spans = _SpanBuilder()
    equal = _equal_batches(left, i, right, j)
    for run in contiguous_runs(left[i : i + equal]):
        spans.add(max(run.start, start), run.end, True)
    i, j = i + equal, j + equal
    conflict: int | None = None
    while i < len(left) and j < len(right):
        one, other = left[i], right[j]
        low = max(one.base_offset, other.base_offset)
        high = min(one.last_offset, other.last_offset)
        if low <= high:
            same = one == other
            if conflict is None and one.epoch == other.epoch and (not same or spans.differed):
                conflict = low
            spans.add(low, high + 1, same)
        if one.last_offset <= high:
            i += 1
        if other.last_offset <= high:
            j += 1
    return Comparison(spans.finished(), conflict)


def diverge(a: ReplicaLog, b: ReplicaLog, comparison: Comparison) -> Divergence:
    """The relation of `a` and `b` and, where they diverged, what the loser of an election between
    them gives up. comparison: that of the two logs."""
    offset = comparison.divergence_offset
    if offset is None:
        return Divergence(_undiverged_relation(a, b, comparison))
    batch_a, batch_b = a.batch_at(offset), b.batch_at(offset)
    assert batch_a is not None, "a common offset is held by a"
    assert batch_b is not None, "a common offset is held by b"
    conflict = comparison.conflict_offset
    if conflict is not None:
        return Divergence(
            Relation.CONFLICT, offset, batch_a.epoch, batch_b.epoch, conflict_offset=conflict
        )
    loser = election_loser(a, b)
    if loser is None:
        return Divergence(Relation.DIVERGED, offset, batch_a.epoch, batch_b.epoch)
    winner = b if loser is a else a
    outcome = fetch_rounds(winner, loser)
    return Divergence(
        relation=Relation.DIVERGED,
        divergence_offset=offset,
        epoch_a=batch_a.epoch,
        epoch_b=batch_b.epoch,
        truncating=loser.key,
        truncation_offset=outcome.truncation_offset,
        fetch_rounds=outcome.rounds,
        draft_fetch_rounds=draft_fetch_rounds(winner, loser).rounds,
        records_lost=loser.held_from(offset),
        snapshot_id=outcome.snapshot_id,
    )


def election_loser(a: ReplicaLog, b: ReplicaLog) -> ReplicaLog | None:
    """Which of the two the other would not vote for; None if they are equal (KIP-595, Vote)."""
    order_a, order_b = election_order(a.position()), election_order(b.position())
    if order_a == order_b:
        return None
    return a if order_a < order_b else b


def _undiverged_relation(a: ReplicaLog, b: ReplicaLog, comparison: Comparison) -> Relation:
    """IDENTICAL, PREFIX or DISJOINT, once no common offset differs."""
    if not comparison.spans:
        # A log that never held anything is behind every log from offset 0 on.
        fresh = [log for log in (a, b) if not log.batches and log.log_start == 0]
        if not fresh or max(a.first_offset, b.first_offset) > 0:
            return Relation.DISJOINT
    return Relation.IDENTICAL if a.end_offset == b.end_offset else Relation.PREFIX


class _SpanBuilder:
    """Joins neighbouring equal, or different, ranges as they come."""

    __slots__ = ("_end", "_same", "_spans", "_start", "differed")

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._start = self._end = -1
        self._same = True
        self.differed = False

    def add(self, start: int, end: int, same: bool) -> None:
        self.differed = self.differed or not same
        if start == self._end and same == self._same:
            self._end = end
            return
        self._close()
        self._start, self._end, self._same = start, end, same

    def _close(self) -> None:
        if self._end > self._start:
            self._spans.append(Span(self._start, self._end, self._same))

    def finished(self) -> tuple[Span, ...]:
        self._close()
        return tuple(self._spans)


def _equal_batches(left: tuple[LogBatch, ...], i: int, right: tuple[LogBatch, ...], j: int) -> int:
    """How many batches are equal from `i` and `j` on: nearly all of them, so worth a quick pass."""
    count = 0
    for one, other in zip(islice(left, i, None), islice(right, j, None), strict=False):
        if one != other:
            break
        count += 1
    return count


def _last_offset(batch: LogBatch) -> int:
    return batch.last_offset

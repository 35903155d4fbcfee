"""silver.committed_log: the agreed branch of a cluster, entry by entry, over all captures.

An entry that one capture group proves stays proven, unless a newer group proves another history at
or before its offset, in a cluster that broke Raft's promises. Where no group proves anything, the
newest group whose branch reaches an offset decides, as in gold.leader_epoch_history. Where
histories contradict each other and nothing shows which is right, no entry is proven from the first
such offset on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.cluster.batches import Longs, first_of_each
from pipelines.cluster.overlaps import best_of_overlapping
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row
from pipelines.silver.capture_groups import moment
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, union

_PROVEN, _UNPROVEN = "proven", "unproven"
_COMMITMENTS = (_UNPROVEN, _PROVEN)
"""The commitment of an entry, by whether it is proven."""
_END = (1 << 63) - 1
"""A number above every offset."""
_MOST_PIECES = 4_000_000
"""The number of new pieces after which repeated pieces are removed. It bounds the memory."""

Batch = tuple[int, int, int]
"""A batch as (base_offset, leader_epoch, crc)."""
_Columns = TypeVar("_Columns", bound="_Ranges")


@dataclass(frozen=True)
class _Ranges:
    """Ranges of offsets of batches. At each index there is a range from low (inclusive) to high
    (exclusive)."""

    low: Longs
    high: Longs
    leader_epoch: Longs
    crc: Longs
    is_proven: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.low)

    def at(self: _Columns, places: npt.NDArray[Any]) -> _Columns:
        """The ranges with these indexes."""
        columns = (one.name for one in fields(self) if one.name != "cluster_id")
        return replace(self, **{name: getattr(self, name)[places] for name in columns})


@dataclass(frozen=True)
class AgreedBranch(_Ranges):
    """The agreed branch: ranges that don't overlap, ascending. Offsets that no replica holds are in
    no range."""

    cluster_id: str = ""

    @property
    def entries(self) -> int:
        """The number of offsets that have an entry."""
        return int((self.high - self.low).sum())

    @property
    def end(self) -> int:
        """The end (exclusive) of the branch; 0 where it has no entry."""
        return int(self.high.max(initial=0))

    def table(self) -> pa.Table:
        """All rows of silver.committed_log."""
        lengths = self.high - self.low
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        range_of = np.repeat(np.arange(len(self)), lengths)
        within = np.arange(total) - np.repeat(ends - lengths, lengths)
        return pa.table(
            {
                "cluster_id": pa.repeat(pa.scalar(self.cluster_id), total),
                "offset": self.low[range_of] + within,
                "leader_epoch": pa.array(self.leader_epoch[range_of]).cast(pa.int32()),
                "crc": self.crc[range_of],
                "commitment": self.commitments(range_of),
            }
        )

    def commitments(self, places: Longs) -> pa.Array:
        """The commitment of the entries in each of the ranges with these indexes."""
        return pa.array(_COMMITMENTS).take(pa.array(self.is_proven[places] + 0))

    def places(self, offsets: Longs) -> Longs:
        """The index of the range that holds each offset; -1 where no range holds it."""
        found = np.searchsorted(self.low, offsets, side="right") - 1
        if not len(self):
            return found
        return np.where(self.high[np.maximum(found, 0)] > offsets, found, -1)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the entry at an offset; None where no replica holds an entry there."""
        (place,) = self.places(np.array([offset])).tolist()
        return None if place < 0 else int(self.leader_epoch[place])

    def is_contested(self, offset: int, epoch: int) -> bool:
        """Whether the entry at an offset is of this epoch, and isn't proven. For an epoch that a
        group proves, this means that another history contradicts the entry."""
        (place,) = self.places(np.array([offset])).tolist()
        return place >= 0 and bool(self.leader_epoch[place] == epoch and not self.is_proven[place])

    def has(self, offsets: Longs, epochs: Longs, crcs: Longs) -> npt.NDArray[np.bool_]:
        """Whether the entry at each offset is in a batch with this epoch and CRC."""
        if not len(self):
            return np.zeros(len(offsets), bool)
        places = self.places(offsets)
        is_same = (self.leader_epoch[places] == epochs) & (self.crc[places] == crcs)
        return np.asarray(is_same & (places >= 0), bool)

    @cached_property
    def proven(self) -> Ranges:
        """The ranges in which the branch is proven."""
        places = np.flatnonzero(self.is_proven)
        starts, ends = self.low[places], self.high[places]
        is_first = np.ones(len(places), bool)
        is_first[1:] = starts[1:] != ends[:-1]
        is_last = np.append(is_first[1:], True) if len(places) else is_first
        bounds = zip(starts[is_first].tolist(), ends[is_last].tolist(), strict=True)
        return tuple(OffsetRange(start, end) for start, end in bounds)


@dataclass(frozen=True)
class _Pieces(_Ranges):
    """Pieces of batches in the branches of some groups."""

    base_offset: Longs
    moment: Longs
    """The rank of the newest group whose branch has the piece."""


def committed_log(cluster_id: str, held: HeldBatches, groups: Sequence[Row]) -> AgreedBranch:
    """The agreed branch of a cluster. groups: from group_findings."""
    in_order = sorted(groups, key=moment)
    pieces = _cut(_newest_of_each(_pieces(held, in_order)), in_order)
    best = best_of_overlapping(
        (pieces.low, pieces.high),
        (pieces.is_proven, pieces.moment, pieces.leader_epoch, pieces.crc),
    )
    chosen = pieces.at(best.claim)
    columns = chosen.leader_epoch, chosen.crc, chosen.is_proven
    branch = AgreedBranch(best.low, best.high, *columns, cluster_id)
    return _settled(branch, _contested_from(held, branch, groups))


def _settled(branch: AgreedBranch, contested_from: int | None) -> AgreedBranch:
    """The branch, unproven from the offset `contested_from` on, because nothing shows there which
    history is right. Unchanged for None."""
    if contested_from is None:
        return branch
    begins = np.flatnonzero((branch.low < contested_from) & (branch.high > contested_from))
    places = np.sort(np.concatenate([np.arange(len(branch)), begins]))
    cut = branch.at(places)
    is_second = np.append(False, places[1:] == places[:-1]) if len(places) else places.astype(bool)
    low = np.where(is_second, contested_from, cut.low)
    is_first = np.append(is_second[1:], False) if len(places) else is_second
    high = np.where(is_first, contested_from, cut.high)
    return replace(cut, low=low, high=high, is_proven=cut.is_proven & (low < contested_from))


def _contested_from(held: HeldBatches, branch: AgreedBranch, groups: Iterable[Row]) -> int | None:
    """The first offset from which on nothing shows which history is right, the history of the
    branch or the history of a log that leaves the branch there: the two conflict, or both are
    proven to be committed. None where there is no such offset."""
    batches = held.batches
    is_on = branch.has(batches.base_offset, batches.leader_epoch, batches.crc)
    places = branch.places(batches.base_offset)
    is_off = ~is_on & (places >= 0)
    if not is_off.any():
        return None
    is_alike = is_off & (branch.leader_epoch[places] == batches.leader_epoch)
    proven_end = max((one.end for one in branch.proven), default=0)
    proven = {
        index
        for group in groups
        for part in (*group["branch_parts"], *group["overruled"])
        if part["commitment"] == _PROVEN
        for index in _cut_to(held, part)[0].tolist()
        if is_off[index]
    }
    found = []
    for capture_id in held.captures:
        mine = held.places(capture_id)
        off = mine[is_off[mine]]
        if len(off):
            fork = int(batches.base_offset[off].min())
            is_again = is_on[mine] & (batches.base_offset[mine] > fork)
            is_proven = fork < proven_end and not proven.isdisjoint(off.tolist())
            if is_alike[off].any() or is_again.any() or is_proven:
                found.append(fork)
    return min(found, default=None)


def _pieces(held: HeldBatches, groups: Iterable[Row]) -> Iterator[_Pieces]:
    """The batches of each part of each group's branch. groups: ascending by their moments."""
    for rank, group in enumerate(groups):
        for part in group["branch_parts"]:
            places, low, high = _cut_to(held, part)
            batches = held.batches
            is_proven = np.full(len(places), part["commitment"] == _PROVEN)
            columns = batches.leader_epoch[places], batches.crc[places], is_proven
            rank_of = np.full(len(places), rank)
            yield _Pieces(low, high, *columns, batches.base_offset[places], rank_of)


def _cut_to(held: HeldBatches, part: Row) -> tuple[Longs, Longs, Longs]:
    """The batches of a capture's log that reach into a part of the branch: their indexes, and for
    each the first offset (inclusive) and the end (exclusive) of its offsets within the part."""
    batches, places = held.batches, held.places(part["capture_id"])
    low = np.maximum(part["start"], batches.base_offset[places])
    high = np.minimum(part["end"], batches.entries_end[places])
    reaches = low < high
    return places[reaches], low[reaches], high[reaches]


def _newest_of_each(pieces: Iterable[_Pieces]) -> _Pieces:
    """Each piece once, with the moment of the newest group whose branch has it. An unchanged log
    has the same pieces in every group."""
    waiting: list[_Pieces] = []
    count = 0
    for some in pieces:
        waiting.append(some)
        count += len(some)
        if count > _MOST_PIECES:
            waiting = [_distinct(_joined(waiting))]
            count = 0
    return _distinct(_joined(waiting))


def _distinct(pieces: _Pieces) -> _Pieces:
    names = ("low", "high", "leader_epoch", "crc", "is_proven", "base_offset")
    return pieces.at(first_of_each([getattr(pieces, name) for name in names], [-pieces.moment]))


def _joined(pieces: Sequence[_Pieces]) -> _Pieces:
    if not pieces:
        nothing = np.zeros(0, np.int64)
        return _Pieces(nothing, nothing, nothing, nothing, nothing.astype(bool), nothing, nothing)
    if len(pieces) == 1:
        return pieces[0]
    columns = {
        one.name: np.concatenate([getattr(some, one.name) for some in pieces])
        for one in fields(_Pieces)
    }
    return _Pieces(**columns)


def _cut(pieces: _Pieces, groups: Sequence[Row]) -> _Pieces:
    """The pieces without the parts that newer groups contradict. groups: ascending by their
    moments.

    A newer group may prove that a newer epoch began. Where nothing is proven, the branch of the
    newer group decides.
    """
    newer = _NewerGroups(groups)
    pieces = pieces.at(np.lexsort([pieces.moment, pieces.leader_epoch]))
    is_same = [column[1:] == column[:-1] for column in (pieces.leader_epoch, pieces.moment)]
    bounds = (np.flatnonzero(~np.all(is_same, axis=0)) + 1).tolist()
    left: list[_Pieces] = []
    for start, end in pairwise([0, *bounds, len(pieces)] if len(pieces) else []):
        mine = pieces.at(np.arange(start, end))
        epoch, rank = int(mine.leader_epoch[0]), int(mine.moment[0])
        begun = newer.first_successor(epoch, rank)
        left.append(_within(mine.at(mine.is_proven), 0, begun))
        others = mine.at(~mine.is_proven)
        if len(others):
            gaps = _gaps(newer.passed(epoch, rank))
            left += (_within(others, gap.start, min(gap.end, begun)) for gap in gaps)
    return _joined(left)


def _within(pieces: _Pieces, start: int, end: int) -> _Pieces:
    """The parts of the ranges within these offsets."""
    low, high = np.maximum(pieces.low, start), np.minimum(pieces.high, end)
    return replace(pieces, low=low, high=high).at(low < high)


def _gaps(ranges: Ranges) -> Iterator[OffsetRange]:
    """The offsets between, before and after ranges. The ranges must be in order."""
    start = 0
    for one in ranges:
        yield OffsetRange(start, one.start)
        start = one.end
    yield OffsetRange(start, _END)


class _NewerGroups:
    """The groups of one cluster, and what the groups newer than a rank say about the branch.
    groups: ascending by their moments; a group's rank is its index."""

    def __init__(self, groups: Sequence[Row]) -> None:
        self._groups = [(rank, group) for rank, group in enumerate(groups) if group["branch"]]

    def first_successor(self, epoch: int, rank: int) -> int:
        """The offset at which the groups prove that the first newer epoch begins. No record of
        `epoch` was committed at that offset or later. _END where no newer epoch is proven."""
        starts = (
            entry["start_offset"]
            for group in self._newer_than(rank)
            for entry in group["branch"]
            if entry["epoch"] > epoch and entry["start_offset"] < _proven_end(group)
        )
        return min(starts, default=_END)

    def passed(self, epoch: int, rank: int) -> Ranges:
        """The offsets at which the branch of a newer group decides the entry. This branch holds an
        entry there; or it ends before, and has a newer epoch than `epoch`, so that no entry of
        `epoch` can follow."""
        return union(
            OffsetRange(
                group["branch_start"],
                _END if group["branch"][-1]["epoch"] > epoch else group["branch_end"],
            )
            for group in self._newer_than(rank)
        )

    def _newer_than(self, rank: int) -> Iterator[Row]:
        return (group for other, group in self._groups if other > rank)


def _proven_end(group: Row) -> int:
    """The end (exclusive) of what the group proves; -1 where it proves nothing."""
    proven = (part["end"] for part in group["branch_parts"] if part["commitment"] == _PROVEN)
    return max(proven, default=-1)


def proven_ranges(
    held: HeldBatches, groups: Iterable[Row], wanted: Iterable[Batch]
) -> Mapping[Batch, Ranges]:
    """The parts of the wanted batches that some capture group proves to be committed, even where
    another proof contradicts this proof."""
    found: dict[Batch, list[OffsetRange]] = {batch: [] for batch in wanted}
    bases = np.array(sorted({base_offset for base_offset, _, _ in found}), np.int64)
    for group in groups if found else ():
        for part in (*group["branch_parts"], *group["overruled"]):
            if part["commitment"] == _PROVEN:
                places, low, high = _cut_to(held, part)
                for index in np.flatnonzero(np.isin(held.batches.base_offset[places], bases)):
                    batch = held.batches.identity(int(places[index]))
                    if batch in found:
                        found[batch].append(OffsetRange(int(low[index]), int(high[index])))
    return {batch: union(ranges) for batch, ranges in found.items()}
